"""Readers for crowdsourcing and survey platforms: Toloka, Amazon Mechanical Turk and Qualtrics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.files.tables.checks import PlaceError, as_text
from harness.tasks.columns.column_words import REMARK_COLUMNS, contains_word, is_remark
from harness.tasks.columns.formats import Format, Reading, first_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.files.json_values import JsonObject
    from harness.files.tables import Row

TOLOKA_LEFT_OUT = frozenset({"REJECTED", "EXPIRED", "SKIPPED", "ACTIVE"})
MAX_ANSWERS = 20  # most distinct answers to a rating question
LEAST_SHARED = 0.3  # smallest share of all options among the answers to each question


def _is_toloka(content: object) -> bool:
    names = first_row(content)
    starts = {name.partition(":")[0] for name in names}
    return {"INPUT", "OUTPUT"} <= starts and "ASSIGNMENT:worker_id" in names


def _toloka(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield accepted assignments. Inputs become the item, and outputs become ratings."""
    rows = list(content)
    inputs = [name for name in rows[0] if name.startswith("INPUT:")]
    outputs = [name for name in rows[0] if name.startswith("OUTPUT:")]
    outputs = _rated([name for name in outputs if any(row.get(name) for row in rows)], rows)
    kept = [r for r in rows if str(r.get("ASSIGNMENT:status") or "").upper() not in TOLOKA_LEFT_OUT]
    _note_left_out(reading, len(rows) - len(kept), "assignments that weren't accepted")
    reading.columns["rater"] = ["ASSIGNMENT:worker_id"]
    reading.columns |= {"label": outputs} if len(outputs) == 1 else {"criteria": outputs}
    has_task = all(row.get("ASSIGNMENT:task_id") for row in kept)
    reading.columns["id"] = ["ASSIGNMENT:task_id"] if has_task else inputs
    times = [name for name in ("ASSIGNMENT:submitted",) if name in rows[0]]
    reading.columns |= {"rated_at": times} if times else {}
    reading.aside |= {name for name in rows[0] if name.startswith(("GOLDEN:", "HINT:"))}
    named = {*times, "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id"}
    platform = [name for name in rows[0] if name.startswith("ASSIGNMENT:") and name not in named]
    yield from ({n: value for n, value in row.items() if n not in platform} for row in kept)


TOLOKA = Format("an export of Toloka", _is_toloka, _toloka)


def _is_mturk(content: object) -> bool:
    names = first_row(content)
    return {"HITId", "WorkerId"} <= names.keys() and any(n.startswith("Answer.") for n in names)


def _mturk(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield approved and submitted assignments. A question's ticked options become its label."""
    rows = list(content)
    kept = [row for row in rows if str(row.get("AssignmentStatus") or "").lower() != "rejected"]
    _note_left_out(reading, len(rows) - len(kept), "assignments that were rejected")
    inputs = [name for name in rows[0] if name.startswith("Input.")]
    answers = [_mturk_answers(row) for row in kept]
    names = _rated(list(dict.fromkeys(name for answer in answers for name in answer)), answers)
    sets = {n for n in names if any(isinstance(a.get(n), list) and len(a[n]) != 1 for a in answers)}
    reading.columns |= {"id": ["HITId"], "rater": ["WorkerId"]}
    reading.columns |= {"label": names} if len(names) == 1 else {"criteria": names}
    for row, answer in zip(kept, answers, strict=True):
        given = {name: answer[name] for name in names if name in answer}
        cells = {n: v[0] if isinstance(v, list) and n not in sets else v for n, v in given.items()}
        yield {n: row[n] for n in ("HITId", "WorkerId", *inputs)} | dict.fromkeys(names) | cells


def _mturk_answers(row: Row) -> JsonObject:
    """Return a row's answers by question. An answer is a text, or a list of ticked options."""
    answers: JsonObject = {}
    for name, value in row.items():
        if name == "Answer.taskAnswers" and value:
            for question, answer in _task_answers(str(value)).items():
                answers[question] = _ticked(answer) if isinstance(answer, dict) else answer
        elif name.startswith("Answer."):
            question, _, option = name.removeprefix("Answer.").rpartition(".")
            if question and str(value).lower() in {"true", "false", ""}:
                ticked = answers.setdefault(question, [])
                ticked += [option] if str(value).lower() == "true" else []
            else:
                answers[name] = value
    return answers


def _task_answers(text: str) -> JsonObject:
    try:
        content = json.loads(text)
    except ValueError:
        raise PlaceError("Answer.taskAnswers isn't JSON. Export the batch again.") from None
    first = content[0] if isinstance(content, list) and content else content
    return first if isinstance(first, dict) else {}


def _ticked(answer: JsonObject) -> object:
    if "label" in answer:
        return answer["label"]
    return [option for option, value in answer.items() if value is True]


MTURK = Format("batch results from Amazon Mechanical Turk", _is_mturk, _mturk)


def _is_qualtrics(content: object) -> bool:
    rows = content if isinstance(content, list) else []
    return any(
        isinstance(row, dict) and any('"ImportId"' in as_text(cell) for cell in row.values())
        for row in rows[:3]
    )


def _qualtrics(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield each person's answer to each question. Questions become items.

    The header ends with the row of ``ImportId``s. The row before contains the questions' texts.
    """
    rows = list(content)
    marks = [
        k for k, row in enumerate(rows) if any('"ImportId"' in as_text(c) for c in row.values())
    ]
    header, ids = rows[marks[0] - 1] if marks[0] else rows[marks[0]], rows[marks[0]]
    people = rows[marks[0] + 1 :]
    questions = [name for name in ids if "QID" in as_text(ids[name])]
    if not questions:
        raise PlaceError("the row of ImportId names no question (QID). Export the survey again.")
    answers = {q: {as_text(row.get(q)) for row in people} - {""} for q in questions}
    rated = [q for q in questions if 0 < len(answers[q]) <= MAX_ANSWERS]
    options = {label for q in rated for label in answers[q] if not is_remark(label)}
    for question in rated:
        if len(answers[question] & options) < LEAST_SHARED * len(options):
            raise PlaceError(
                f"question {question!r} has unusual answers. Leave columns out with --drop."
            )
    finished = [row for row in people if as_text(row.get("Finished")).lower() not in {"0", "false"}]
    _note_left_out(reading, len(people) - len(finished), "responses that weren't finished")
    _note_left_out(reading, len(questions) - len(rated), "questions with free answers")
    reading.columns |= {"id": ["question_id"], "text": ["question"], "rater": ["ResponseId"]}
    reading.columns |= {"label": ["answer"], "judges": []}
    for number, row in enumerate(finished, 1):
        who = as_text(row.get("ResponseId")) or f"response {number}"
        for question in rated:
            yield {
                "question_id": question,
                "question": header.get(question),
                "ResponseId": who,
                "answer": row.get(question),
            }


QUALTRICS = Format("an export of Qualtrics", _is_qualtrics, _qualtrics)


def _rated(names: list[str], rows: Sequence[JsonObject]) -> list[str]:
    """Return the rating questions. Questions named after remarks or with free answers are excluded.

    If no question remains, all questions are returned.
    """
    answers = {n: {as_text(row.get(n)) for row in rows} - {""} for n in names}
    rated = [
        n for n in names if not contains_word(n, REMARK_COLUMNS) and len(answers[n]) <= MAX_ANSWERS
    ]
    return rated or names


def _note_left_out(reading: Reading, number: int, what: str) -> None:
    if number:
        reading.notes.append(f"left out {what}: {number}")
