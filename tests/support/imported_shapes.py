"""What an import makes of a form, and of the commands that it prints."""

from __future__ import annotations

import csv
import json
import shlex
from collections import Counter

from support.processes import invoke

from harness.errors import HarnessError
from harness.tasks.schema import read_task_file

MOST_ROUNDS = 4
MOST_LINES = 25


def commands(done):
    lines = [line.strip() for line in done.output.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("harness curate import")]


def plain(labels):
    """Join labels in order; a number has no sign for its kind, as 1 and 1.0 are one rating."""
    return "+".join(sorted(map(_plain, labels)))


def _plain(label):
    try:
        return f"{float(label):g}"
    except ValueError:
        return label.casefold()


def written(place):
    """Return how often each item has each label, and the raters, of all tasks together."""
    items, raters = {}, set()
    for folder in sorted(path.parent for path in place.glob("made*/task.yaml")):
        file = read_task_file(folder / "task.yaml")
        labels = {option.key: option.label for option in file.options or ()}
        with (folder / "ratings.csv").open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                if row["value"] in file.ignore_labels:
                    continue
                is_set = row["elicitation"] == "response_set"
                keys = (
                    json.loads(row["value"])
                    if is_set and row["value"][0] == "["
                    else [row["value"]]
                )
                value = plain(labels.get(key, key) for key in keys)
                items.setdefault((folder.name, row["item"]), Counter())[value] += 1
                raters.add(row["rater"])
    return Counter(frozenset(of.items()) for of in items.values()), raters


def is_right(place, shape):
    items = {}
    for item, _, value in shape.ratings.elements():
        labels = value.split("+") if isinstance(value, str) else value
        items.setdefault(item, Counter())[plain(labels)] += 1
    named = {rater for _, rater, _ in shape.ratings} - {""}
    by_item, raters = written(place)
    expected = Counter(frozenset(of.items()) for of in items.values())
    return by_item == expected and (not named or len(raters) == len(named))


def first_import(make, place, monkeypatch):
    monkeypatch.chdir(place)
    shape = make()
    (place / shape.name).write_text(shape.content, encoding="utf-8")
    return shape, invoke("curate", "import", shape.name, "--as", "made")


def reaches_right(shape, done, place, monkeypatch):
    """Return whether a printed command, or one that this prints, reads a form right."""
    reached = [(commands(done), 1)]
    for words, depth in ((w, d) for listed, d in reached for w in listed):
        pasted = place / f"round-{len(reached)}"
        pasted.mkdir()
        (pasted / shape.name).write_text(shape.content, encoding="utf-8")
        monkeypatch.chdir(pasted)
        again = invoke(*words)
        if is_right(pasted, shape):
            return True
        reached += [(commands(again), depth + 1)] if depth < MOST_ROUNDS else []
    return False


def check_asked(make, place, monkeypatch):
    """Check that a form is asked about on one screen, and read right by a command printed there."""
    shape, done = first_import(make, place, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not list(place.glob("*/task.yaml"))
    assert len(done.output.splitlines()) <= MOST_LINES
    assert reaches_right(shape, done, place, monkeypatch), f"{done.exception}\n{done.output}"
