"""Scores of imports: each table is read right, asked about or read wrong.

A case is a folder with the table (or several), ``args.txt`` (an option or its value per line) and
``truth.json``; see `support.table_corpus.Case`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from support.processes import call_harness

from harness.tasks import load_task

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tasks import Task

NOT_TABLES = {"args.txt", "truth.json"}


@dataclass(frozen=True)
class Score:
    """What came of a case, and why it is wrong.

    Attributes
    ----------
    advice : list of str
        The command lines that were printed to accept a draft.
    """

    case: str
    outcome: Literal["right", "asked", "wrong"]
    why: str = ""
    advice: tuple[str, ...] = ()
    must_ask: bool = False


def score(case: Path, place: Path, command: str | None = None) -> Score:
    """Import a case into a new folder, by a command line or its own options."""
    truth = json.loads((case / "truth.json").read_text(encoding="utf-8"))
    args = [line for line in (case / "args.txt").read_text("utf-8").splitlines() if line]
    tables = sorted(path.name for path in case.iterdir() if path.name not in NOT_TABLES)
    name = place / case.name
    words = [*tables, *args] if command is None else shlex.split(command)[3:]
    if command is not None and "--as" in words:
        del words[words.index("--as") : words.index("--as") + 2]
    done = call_harness("curate", "import", *words, "--as", name, "--yes", cwd=case)
    must_ask = bool(truth.get("ask"))
    if done.returncode == 0:
        why = difference(name, truth)
        return Score(case.name, "wrong" if why else "right", why, (), must_ask)
    if done.returncode != 2:
        return Score(case.name, "wrong", f"exit {done.returncode}: {done.stderr}", (), must_ask)
    advice = tuple(
        line.strip()
        for line in joined(done.stdout).splitlines()
        if line.strip().startswith("harness curate import")
    )
    return Score(case.name, "asked", done.stderr.strip(), advice, must_ask)


def joined(text: str) -> str:
    """Return a text whose lines that end in a backslash are joined with the next."""
    return re.sub(r"\s*\\\n\s*", " ", text)


def difference(folder: Path, truth: dict[str, Any]) -> str:
    """Say in which respect the imported task is not the truth; "" where it is."""
    folders = [folder] if folder.is_dir() else sorted(folder.parent.glob(f"{folder.name}-*"))
    tasks = {path.name.removeprefix(f"{folder.name}"): load_task(str(path)) for path in folders}
    if not tasks:
        return "nothing was written"
    several = len(tasks) > 1
    by_fields = {tuple(sorted(fields.items())): item for item, fields in truth["items"].items()}
    ratings: Counter[tuple[str, ...]] = Counter()
    raters: set[str] = set()
    for suffix, task in tasks.items():
        for rating in task.ratings:
            item = task.by_id[rating.item]
            shown = {name: item.fields[name] for name in task.text if name in item.fields}
            known = by_fields.get(tuple(sorted(shown.items())))
            if known is None and (shown or any(truth["items"].values())):
                return f"fields shown: {shown}"
            criterion = item.criterion or (suffix[1:] if several else "")
            name = known if shown else rating.item
            raters.add(rating.rater)
            value = label_of(task, rating.value)
            who = rating.rater if truth["raters"] is not None else ""
            ratings[name or "", criterion, who, rating.elicitation, value] += 1
        if why := _scale_difference(task, truth):
            return why
    if truth["raters"] is not None and raters != set(truth["raters"]):
        return f"raters: {sorted(raters)} where {truth['raters']} were expected"
    expected = Counter(
        (i, c, r if truth["raters"] is not None else "", e, folded(v))
        for i, c, r, e, v in truth["ratings"]
    )
    if ratings != expected:
        more, less = ratings - expected, expected - ratings
        return f"ratings: {next(iter(more), None)} where {next(iter(less), None)} was expected"
    return ""


def _scale_difference(task: Task, truth: dict[str, Any]) -> str:
    if truth.get("scale") and task.scale != truth["scale"]:
        return f"scale: {task.scale} where {truth['scale']} was expected"
    options = [option.label.casefold() for option in task.options]
    wanted = [option.casefold() for option in truth["options"]]
    if task.scale == "ordinal" and options != wanted:
        return f"order: {options} where {wanted} was expected"
    if sorted(options) != sorted(wanted):
        return f"options: {options} where {wanted} was expected"
    return ""


def label_of(task: Task, value: str | tuple[str, ...]) -> str:
    """Return a value by the labels of its options, in one case and order."""
    labels = {option.key: option.label for option in task.options}
    if isinstance(value, tuple):
        return folded([labels.get(key, key) for key in value])
    return folded(labels.get(value, value))


def folded(value: str | list[str]) -> str:
    """Return a value in lower case, a set in order."""
    if isinstance(value, list):
        return json.dumps(sorted(label.casefold() for label in value), ensure_ascii=False)
    return value.casefold()


def summary(scores: list[Score]) -> str:
    """Return the counts, and what is wrong."""
    counts = Counter(score.outcome for score in scores)
    lines = [f"{counts['right']} right, {counts['asked']} asked, {counts['wrong']} wrong"]
    lines += [f"{s.case}: {s.why}" for s in scores if s.outcome == "wrong"]
    lines += [f"{s.case}: not asked about" for s in scores if s.must_ask and s.outcome == "right"]
    return "\n".join(lines)
