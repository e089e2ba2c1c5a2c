"""Labelled replies: none is misread, nearly all readable ones are read, and every option alike.

A corpus is a folder of two or three files. ``tasks.yaml`` names the tasks that the replies are
about, each with fields of a task.yaml: ``scale``, ``abstain``, ``options`` (``key``, ``label``,
``description``), ``response_sets``, and on a continuous scale ``bounds``. ``replies.jsonl`` has an
object a line:

- ``reply``: the text;
- ``expect``: what a person reads in it: the key of an option (or a number), a list of keys for a
  response set, ``abstained``, ``refused``, or ``unreadable`` where no single answer is stated;
- ``task``: name of the task; may be left out where ``tasks.yaml`` has but one;
- ``elicitation``: ``forced_choice`` (the default) or ``response_set``;
- ``strategy``, ``finish_reason``, ``item``: the judge's strategy, why the reply ended, and the text
  that was rated, where they matter;
- ``family``: the style in which it is written; it is only reported.

``shapes.yaml``, where there is one, adds replies written by shape, each for every option of its
tasks: `support.reply_shapes` fills them in. No option may be read more often than another there.

The corpus beside this file was written for this project, in the style of ten model families, and
labelled by hand before the phrases were tuned. ``held_out`` was written after that, in another
style, in three parts and without regard to the phrases; ``adversarial`` was written to be misread.
``shapes`` was written after published logs of judges (pairwise verdicts, ratings with feedback,
JSON, chat templates, thinking tags, Korean, Chinese, Japanese and German), before the reader was
taught them, and ``strangers``, ``newcomers`` and ``outsiders`` afterwards. The last has 450
templates of sentences that name an option without choosing it. ``guests`` was written when the
reader looked for the part of a reply that is the verdict, in rounds of which each was read before
it was looked at: 73, 70, 79 and 82% of the readable replies were read, without a mistake. Its
families ``fresh_1`` and on were written without any sight of the reader, in the styles of public
evaluation tools, and are harder: 62, 81, 57, 67, 74, 82, 93, 83, 90 and 77% were read at first,
with two mistakes. The families of opposites look like them and state no answer. Set
HARNESS_REPLIES to score more folders, separated as in PATH.

The default tests fill in each template of `THINNED` for some tasks and options, the slow ones for
all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from support.reply_shapes import shape_rows, tasks_of

from harness.judging.parsing.grammar import GRAMMAR_VERSION, REASONS
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.strategies.strategy_registry import named
from harness.tasks import Item, Option, Task

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "replies"
MORE = [Path(name) for name in os.environ.get("HARNESS_REPLIES", "").split(os.pathsep) if name]
SHAPES = HERE / "shapes"
STRANGERS = HERE / "strangers"
NEWCOMERS = HERE / "newcomers"
OUTSIDERS = HERE / "outsiders"
GUESTS = HERE / "guests"
THINNED = [SHAPES, STRANGERS, NEWCOMERS, OUTSIDERS]
SHIPPED = [CORPUS, HERE / "held_out", HERE / "adversarial", *THINNED, GUESTS]
READ_BY_VERSION = {16: "4742442ea5255214"}  # of the readings of `SHIPPED`
NO_OPTION = {"abstained", "refused", "unreadable"}
LEAST_RIGHT = 0.95  # of the replies that a person can read


class Score(NamedTuple):
    """How a corpus was read.

    Attributes
    ----------
    misread : list of str
        Replies that were read as something else than a person reads.
    lost : list of str
        Replies that a person can read and that were not read.
    n_readable : int
        Replies that a person can read.
    reasons : Counter of str
        Why replies were not read.
    readings : str
        Outcome and value of every reply, as JSON.
    by_shape : dict
        Per shape and task, how many replies about each option were read rightly.
    """

    misread: list[str]
    lost: list[str]
    n_readable: int
    reasons: Counter[str]
    readings: str
    by_shape: dict[tuple[str, str], Counter[str]]

    @property
    def right(self) -> float:
        """Share of the readable replies that were read rightly."""
        wrong = len(self.lost) + len(self.misread)
        return 1 - wrong / self.n_readable if self.n_readable else 1.0


def task_of(fields: dict, text: str) -> Task:
    """Make a task of an entry of ``tasks.yaml``, with an item."""
    return Task(
        name="corpus",
        property="as labelled",
        scale=fields["scale"],
        options=tuple(Option(**option) for option in fields.get("options", ())),
        abstain=fields.get("abstain", True),
        response_sets=fields.get("response_sets", "all"),
        bounds=tuple(fields["bounds"]) if "bounds" in fields else None,
        items=(Item("i", {"text": text}),),
        ratings=(),
    )


def rows_of(folder: Path, *, some: bool = False) -> list[dict]:
    path = folder / "replies.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines] + shape_rows(folder, some=some)


@cache
def reader_of(folder: Path, task: str, strategy: str, item: str) -> ReplyReader:
    """Return the reader of replies to a task of a folder, asked in some way about a text."""
    tasks = tasks_of(folder)
    fields = tasks[task or next(iter(tasks))]
    assert NO_OPTION.isdisjoint(option["key"] for option in fields.get("options", ()))
    return ReplyReader(task_of(fields, item), named(strategy))


@cache
def score(folder: Path, *, some: bool = False) -> Score:
    """Read the replies of a folder, or some by shape, and compare them with their labels."""
    misread, lost, n_readable, reasons, readings = [], [], 0, Counter(), []
    by_shape: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows_of(folder, some=some):
        reply = Reply(
            request="0" * 64, text=row["reply"], finish_reason=row.get("finish_reason", "stop")
        )
        strategy = row.get("strategy", "zero-shot")
        reader = reader_of(folder, row.get("task", ""), strategy, row.get("item", ""))
        verdict = reader.verdict(reply, Unit("i", row.get("elicitation", "forced_choice")), "j")
        readings.append([verdict.outcome, verdict.value])
        read = verdict.outcome if verdict.value is None else verdict.value
        read = {"invalid": "unreadable"}.get(read, list(read) if isinstance(read, tuple) else read)
        n_readable += row["expect"] != "unreadable"
        if verdict.outcome == "invalid":
            reasons[verdict.reason] += 1
        if "about" in row:
            by_shape[row["family"], row["task"]][row["about"]] += read == row["expect"]
        if read != row["expect"]:
            line = f"{row['expect']} read as {read} {verdict.reason}: {row['reply']!r}"
            (lost if read == "unreadable" else misread).append(line)
    return Score(misread, lost, n_readable, reasons, json.dumps(readings), by_shape)


def check(result: Score) -> None:
    """Nothing is read that a person reads differently, and at most 5% of the rest is lost."""
    assert result.misread == []
    assert result.right >= LEAST_RIGHT, "\n".join(result.lost)
    assert result.reasons.keys() <= REASONS.keys()


@pytest.mark.parametrize("folder", [*SHIPPED, *MORE], ids=lambda path: path.name)
def test_no_reply_is_misread_and_19_in_20_are_read(folder):
    """Every template of a shape is read for some of its tasks and options."""
    check(score(folder, some=True) if folder in THINNED else score(folder))


@pytest.mark.slow
@pytest.mark.parametrize("folder", THINNED, ids=lambda path: path.name)
def test_no_reply_by_shape_is_misread_in_any_task(folder):
    """Every template is read for all of its tasks and options."""
    check(score(folder))


@pytest.mark.parametrize(
    "folder",
    [*(pytest.param(folder, marks=pytest.mark.slow) for folder in THINNED), GUESTS, *MORE],
    ids=lambda path: path.name,
)
def test_all_options_are_read_equally_often(folder):
    """Of the replies of a shape, the numbers read of any two options differ by one at most."""
    uneven = {
        shape: counts
        for shape, counts in score(folder).by_shape.items()
        if max(counts.values()) - min(counts.values()) > 1
    }
    assert uneven == {}


def test_the_shapes_are_many_and_mirrored():
    """At least 600 replies written by hand, each for every option it can be about."""
    shapes = yaml.safe_load((SHAPES / "shapes.yaml").read_text("utf-8"))
    assert sum(len(group["replies"].splitlines()) for group in shapes.values()) >= 600
    options = defaultdict(set)
    for row in shape_rows(SHAPES):
        options[row["family"], row["task"]].add(row["about"])
    assert all(len(about) > 1 or {"C", "tie"} & about for about in options.values())


@pytest.mark.slow
def test_changed_readings_raise_the_version_of_the_grammar():
    """Exported baselines without texts compare this number: raise it where a reply is read anew.

    A corpus that grows needs a new digest, not a new version.
    """
    readings = "\n".join(score(folder).readings for folder in SHIPPED)
    digest = hashlib.sha256(readings.encode()).hexdigest()[:16]
    assert READ_BY_VERSION[GRAMMAR_VERSION] == digest


def test_the_corpus_has_ten_families_and_is_not_easy():
    """At least 400 replies of ten model families; a quarter cannot be read by a person either."""
    rows = rows_of(CORPUS)
    assert len(rows) >= 400
    families = Counter(row["family"] for row in rows)
    assert len(families) >= 10
    assert min(families.values()) >= 20
    assert sum(row["expect"] == "unreadable" for row in rows) >= len(rows) / 4
