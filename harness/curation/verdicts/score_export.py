"""Verdicts as scores of Langfuse or assessments of MLflow, to be sent to the traces they are about.

A line of the file is the body of one request: ``POST /api/public/scores`` of Langfuse
(https://api.reference.langfuse.com), or ``POST /api/3.0/mlflow/traces/TRACE/assessments`` of
MLflow, whose ``assessment`` is what `mlflow.entities.Assessment.to_dictionary` writes
(https://mlflow.org/docs/latest/genai/concepts/feedback). A score is called after the criterion, or
after the task, and its metadata name the judge.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, get_args

from harness.errors import TaskError
from harness.files.regular_files import write_file, writing_to
from harness.files.tables.writer import jsonl_text
from harness.judging.parsing.verdict import PairValue
from harness.tasks.schema import as_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from harness.files.json_values import JsonObject
    from harness.judging.parsing.verdict import Verdict
    from harness.tasks import Task
    from harness.tasks.item import Item

ScoreFormat = Literal["langfuse", "mlflow"]
SCORE_FORMATS: tuple[ScoreFormat, ...] = get_args(ScoreFormat)
ENDING = ".jsonl"
SHOWN_DIGITS = 32  # of the hash that is the id of a score


@dataclass(slots=True)
class ScoreSummary:
    """Counts of exported scores.

    Attributes
    ----------
    judges : Counter of str
        Scores by judge.
    left_out : Counter of str
        Verdicts without an answer, by outcome.
    """

    judges: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def export_scores(
    task: Task, verdicts: Iterable[Verdict], path: Path, form: ScoreFormat
) -> ScoreSummary:
    """Write the verdicts on a task's items as scores, a line each.

    Parameters
    ----------
    task : Task
        An item that was imported from a trace has its id in the fields ``trace_id`` and
        ``observation_id``; otherwise the item's id is taken to be that of its trace.
    verdicts : iterable of Verdict
        Those without an answer are left out, and counted.
    path : Path
        A jsonl file that does not exist yet.
    form : str
        ``langfuse`` or ``mlflow``.

    Raises
    ------
    TaskError
        If the ending is another, or the file exists or cannot be written.
    """
    if path.suffix.lower() != ENDING:
        raise TaskError(f"{path}: scores are written as {ENDING}. Choose a name that ends so.")
    if path.exists():
        raise TaskError(f"{path}: exists already. Choose another name, or remove it yourself.")
    body_of = BODIES[form]
    summary, lines = ScoreSummary(), []
    for verdict in verdicts:
        if verdict.value is None:
            summary.left_out[verdict.outcome] += 1
            continue
        summary.judges[verdict.judge] += 1
        lines.append(body_of(task, task.by_id[verdict.item], verdict))
    with writing_to(path, TaskError):
        write_file(path, jsonl_text(lines).encode())
    return summary


def _name(task: Task, item: Item) -> str:
    """Return what a score is called: the criterion, or the task."""
    return item.criterion or task.name


def _trace(item: Item) -> tuple[str, str]:
    """Return the trace that an item is, and its step; "" for the whole trace."""
    trace = item.fields.get("trace_id") or item.group or item.id
    return trace, item.fields.get("observation_id", "")


def _value(task: Task, verdict: Verdict) -> float | str | list[str]:
    """Return the label of a verdict, a number where it is one, or the labels of a set."""
    labels = {option.key: option.label for option in task.options}
    if isinstance(verdict.value, tuple):
        return [labels.get(key, key) for key in verdict.value]
    key = verdict.value.choice if isinstance(verdict.value, PairValue) else verdict.value or ""
    label = labels.get(key, key)
    return label if (number := as_number(label)) is None else number


def _metadata(task: Task, verdict: Verdict) -> JsonObject:
    said = {"judge": verdict.judge, "task": task.name, "elicitation": verdict.elicitation}
    return said | ({"sample": str(verdict.sample)} if verdict.sample else {})


def _score(task: Task, item: Item, verdict: Verdict) -> JsonObject:
    """Return a score of Langfuse, which has one value: a number, or a text; a set is JSON.

    Its id follows from what it is about, so that a second upload replaces the first.
    """
    trace, step = _trace(item)
    value = _value(task, verdict)
    unit = [task.name, item.id, verdict.judge, verdict.elicitation, str(verdict.sample)]
    body: JsonObject = {
        "id": sha256("\0".join(unit).encode()).hexdigest()[:SHOWN_DIGITS],
        "traceId": trace,
        "name": _name(task, item),
        "value": json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value,
        "dataType": "NUMERIC" if isinstance(value, float) else "CATEGORICAL",
        "metadata": _metadata(task, verdict),
    }
    return body | ({"observationId": step} if step else {})


def _assessment(task: Task, item: Item, verdict: Verdict) -> JsonObject:
    """Return the body of a request that adds an assessment of MLflow, whose value may be a list."""
    trace, step = _trace(item)
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    assessment: JsonObject = {
        "trace_id": trace,
        "assessment_name": _name(task, item),
        "source": {"source_type": "LLM_JUDGE", "source_id": verdict.judge},
        "create_time": now,
        "last_update_time": now,
        "feedback": {"value": _value(task, verdict)},
        "metadata": _metadata(task, verdict),
    }
    return {"assessment": assessment | ({"span_id": step} if step else {})}


BODIES: dict[ScoreFormat, Callable[[Task, Item, Verdict], JsonObject]] = {
    "langfuse": _score,
    "mlflow": _assessment,
}
