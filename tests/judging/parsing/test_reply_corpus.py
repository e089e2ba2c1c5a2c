"""Labelled replies: none is misread, and nearly all that a person can read are read.

A corpus is a folder of two files. ``tasks.yaml`` names the tasks that the replies are about, each
with fields of a task.yaml: ``scale``, ``abstain``, ``options`` (``key``, ``label``,
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

The corpus beside this file was written for this project, in the style of ten model families, and
labelled by hand before the phrases were tuned. ``held_out`` was written after that, in another
style, in three parts and without regard to the phrases; ``adversarial`` was written to be misread.
Set HARNESS_REPLIES to score more folders, separated as in PATH.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from harness.judging.parsing.grammar import GRAMMAR_VERSION, REASONS
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.requests import Unit
from harness.judging.strategies.strategy_registry import named
from harness.tasks import Item, Option, Task

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "replies"
MORE = [Path(name) for name in os.environ.get("HARNESS_REPLIES", "").split(os.pathsep) if name]
SHIPPED = [CORPUS, HERE / "held_out", HERE / "adversarial"]
READ_BY_VERSION = {3: "6da0c8153e3775a1"}  # of the readings of `SHIPPED`
NO_OPTION = {"abstained", "refused", "unreadable"}
LEAST_RIGHT = 0.9  # of the replies that a person can read


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
    """

    misread: list[str]
    lost: list[str]
    n_readable: int
    reasons: Counter[str]
    readings: str

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


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "replies.jsonl").read_text("utf-8").splitlines()]


def score(folder: Path) -> Score:
    """Read all replies of a folder and compare them with their labels."""
    tasks = yaml.safe_load((folder / "tasks.yaml").read_text("utf-8"))
    misread, lost, n_readable, reasons, readings = [], [], 0, Counter(), []
    for row in rows_of(folder):
        task = task_of(tasks[row.get("task", next(iter(tasks)))], row.get("item", ""))
        assert NO_OPTION.isdisjoint(option.key for option in task.options)
        reply = Reply(
            request="0" * 64, text=row["reply"], finish_reason=row.get("finish_reason", "stop")
        )
        reader = ReplyReader(task, named(row.get("strategy", "zero-shot")))
        verdict = reader.verdict(reply, Unit("i", row.get("elicitation", "forced_choice")), "j")
        readings.append([verdict.outcome, verdict.value])
        read = verdict.outcome if verdict.value is None else verdict.value
        read = {"invalid": "unreadable"}.get(read, list(read) if isinstance(read, tuple) else read)
        n_readable += row["expect"] != "unreadable"
        if verdict.outcome == "invalid":
            reasons[verdict.reason] += 1
        if read != row["expect"]:
            line = f"{row['expect']} read as {read} {verdict.reason}: {row['reply']!r}"
            (lost if read == "unreadable" else misread).append(line)
    return Score(misread, lost, n_readable, reasons, json.dumps(readings))


@pytest.mark.parametrize("folder", [*SHIPPED, *MORE], ids=lambda path: path.name)
def test_no_reply_is_misread_and_nine_in_ten_are_read(folder):
    """Nothing is read that a person reads otherwise, and at most a tenth of the rest is lost."""
    result = score(folder)
    assert result.misread == []
    assert result.right >= LEAST_RIGHT, "\n".join(result.lost)
    assert result.reasons.keys() <= REASONS.keys()


def test_another_reading_raises_the_version_of_the_grammar():
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
