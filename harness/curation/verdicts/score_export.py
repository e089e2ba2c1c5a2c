"""Export of verdicts as Langfuse scores or MLflow assessments.

Each line in the file is the body of a request: ``POST /api/public/scores`` for Langfuse
(https://api.reference.langfuse.com), or ``POST /api/3.0/mlflow/traces/TRACE/assessments`` of
MLflow, whose ``assessment`` is what `mlflow.entities.Assessment.to_dictionary` writes
(https://mlflow.org/docs/latest/genai/concepts/feedback). A score's name is the criterion or the
task, and its metadata name the judge.
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
SHOWN_DIGITS = 32  # digits of the hash that is a score's id


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
    """Write verdicts on a task's items as lines of scores.

    Parameters
    ----------
    task : Task
        The task. An item imported from a trace has the trace's id in the fields ``trace_id`` and
        ``observation_id``; otherwise, the item's id serves as the trace's id.
    verdicts : iterable of Verdict
        The verdicts. Those without an answer are counted but not written.
    path : Path
        A jsonl file that doesn't exist yet.
    form : str
        ``langfuse`` or ``mlflow``.

    Raises
    ------
    TaskError
        If the ending isn't .jsonl, or the file exists or can't be written.
    """
    if path.suffix.lower() != ENDING:
        raise TaskError(f"{path}: scores are written as {ENDING}. Choose a name with this ending.")
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
    """Return a score's name: the criterion or, without a criterion, the task."""
    return item.criterion or task.name


def _trace(item: Item) -> tuple[str, str]:
    """Return the ids of an item's trace and step. The step is "" for a whole trace."""
    trace = item.fields.get("trace_id") or item.group or item.id
    return trace, item.fields.get("observation_id", "")


def _value(task: Task, verdict: Verdict) -> float | str | list[str]:
    """Return a verdict's label, as a number if it is one, or the list of labels in a set."""
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
    """Return a Langfuse score. Its value is a number or a text, so a set becomes JSON text.

    The score's id depends on item, judge and sample, so a second upload replaces the first.
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
    """Return the body of a request that adds an MLflow assessment. Its value can be a list."""
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
