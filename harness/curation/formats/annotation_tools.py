"""Readers for Label Studio, Argilla and two published formats of ratings.

Each reader takes the parsed file and yields rows with the columns ``item_id``, ``annotator``,
``label``, ``criterion`` (if there are several) and the item's fields. A model's verdicts are rows
with the model as the annotator.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from harness.errors import fault_of
from harness.files.json_values import JsonObject
from harness.files.tables.checks import PlaceError, as_text, short
from harness.tasks.columns.cell_values import list_of
from harness.tasks.columns.formats import Format, Reading, first_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.files.tables import Row


N_PAIR = 2  # number of questions: the response set, and the choice from it
MOST_WITHIN = 0.8  # share of choices inside the sets, from which two questions form a pair
T = TypeVar("T")
VALUE_FIELDS = ("choices", "rating", "selected", "labels", "taxonomy", "number")


def _checked(content: object, kind: type[T], name: str) -> T:
    """Validate the content as a type. An error names the location of an invalid value."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise PlaceError(
            f"this JSON looks like {name}, but {short(place)}: {problem}. Write it as a table."
        ) from None


def _long(reading: Reading, *, judges: Sequence[str] = (), several: bool = False) -> None:
    """Set the roles of the rows' columns."""
    reading.columns |= {"id": ["item_id"], "rater": ["annotator"], "label": ["label"]}
    reading.columns["judges"] = list(dict.fromkeys(judges))
    if several:
        reading.columns["criterion"] = ["criterion"]


class LabelStudioResult(BaseModel):
    """A question's answer within an annotation or a prediction."""

    from_name: str | None = None
    value: JsonObject | None = None

    @property
    def chosen(self) -> object:
        """Chosen text, number or list. None if the result isn't a rating, for example a comment."""
        value = self.value or {}
        return next((value[name] for name in VALUE_FIELDS if name in value), None)

    @property
    def typed(self) -> object:
        """Typed text, which can be a comment, or None if no text was typed."""
        return (self.value or {}).get("text")


class LabelStudioAnnotation(BaseModel):
    """A person's answers for a Label Studio task."""

    was_cancelled: bool | None = None
    created_at: str | None = None
    updated_at: str | None = None
    completed_by: int | str | JsonObject | None = None
    result: list[LabelStudioResult] | None = None

    @property
    def who(self) -> str:
        """Name of the person."""
        by = self.completed_by
        if isinstance(by, dict):
            by = by.get("email") or by.get("id")
        return as_text(by)


class LabelStudioPrediction(BaseModel):
    """A model's answers for a Label Studio task."""

    model_version: str | None = None
    result: list[LabelStudioResult] | None = None


class LabelStudioTask(BaseModel):
    """A Label Studio task."""

    id: int | str | None = None
    data: JsonObject | None = None
    annotations: list[LabelStudioAnnotation] | None = None
    predictions: list[LabelStudioPrediction | int] | None = None

    def results(self) -> Iterator[tuple[str, str, LabelStudioResult]]:
        """Yield each rating's annotator, time and result. Cancelled annotations are skipped."""
        for annotation in self.annotations or ():
            if not annotation.was_cancelled:
                for result in annotation.result or ():
                    yield annotation.who, annotation.created_at or "", result

    def predicted(self) -> Iterator[tuple[str, str, LabelStudioResult]]:
        """Yield each prediction's model, an empty time, and its result."""
        for prediction in self.predictions or ():
            if not isinstance(prediction, int):
                for result in prediction.result or ():
                    yield f"model {prediction.model_version or 'prediction'}", "", result


def _is_label_studio(content: object) -> bool:
    given = first_row(content).get("annotations")
    marked = isinstance(given, list) and all(
        not isinstance(of, dict) or "result" in of or "completed_by" in of for of in given
    )
    return marked and "data" in first_row(content)


def _label_studio(content: object, reading: Reading) -> Iterator[Row]:
    tasks: list[LabelStudioTask] = _checked(content, list[LabelStudioTask], reading.name)
    rated = [
        (number, task, who, time, result)
        for number, task in enumerate(tasks, 1)
        for who, time, result in chain(task.results(), task.predicted())
        if result.chosen is not None
    ]
    names = {result.from_name for *_, result in rated}
    sets = {  # questions for which someone chose several options
        result.from_name
        for *_, result in rated
        if isinstance(result.chosen, list) and len(result.chosen) > 1
    }
    models = [who for task in tasks for who, *_ in task.predicted()]
    asked = _elicitations(rated, sets) if len(names) == N_PAIR and len(sets) == 1 else {}
    _long(reading, judges=models, several=len(names) > 1 and not asked)
    if any(time for *_, time, _ in rated):
        reading.columns["rated_at"] = ["created_at"]
    for number, task, who, time, result in rated:
        chosen = result.chosen
        if isinstance(chosen, list) and result.from_name not in sets:
            chosen = chosen[0] if chosen else None
        row = {"item_id": _id(task.id, number), **_fields(task.data or {}), "annotator": who}
        row["label"] = chosen
        if asked:
            row["elicitation"] = asked[result.from_name]
        elif len(names) > 1:
            row["criterion"] = result.from_name
        yield row | ({"created_at": time} if "rated_at" in reading.columns else {})


def _elicitations(
    rated: Sequence[tuple[int, LabelStudioTask, str, str, LabelStudioResult]], sets: set[str | None]
) -> dict[str | None, str]:
    """Return elicitations by question if one asks for a set and the other for a choice from it."""
    answers: dict[tuple[int, str], dict[bool, list[object]]] = {}
    for number, _, who, _, result in rated:
        chosen = result.chosen if isinstance(result.chosen, list) else [result.chosen]
        answers.setdefault((number, who), {})[result.from_name in sets] = chosen
    both = [of for of in answers.values() if len(of) == N_PAIR]
    within = sum(len(of[False]) == 1 and of[False][0] in of[True] for of in both)
    if not both or within < MOST_WITHIN * len(both):
        return {}
    names = {result.from_name for *_, result in rated}
    return {name: "response_set" if name in sets else "forced_choice" for name in names}


LABEL_STUDIO = Format("an export of Label Studio", _is_label_studio, _label_studio)


class ArgillaResponse(BaseModel):
    """A user's answer to a question."""

    user_id: Any = None
    value: Any = None
    status: str = "submitted"


class ArgillaUserResponses(BaseModel):
    """A user's answers by question, in version 1."""

    user_id: Any = None
    status: str = "submitted"
    values: dict[str, ArgillaResponse]


class ArgillaSuggestion(BaseModel):
    """A model's answer to a question. Version 1 names the question inside the answer."""

    question_name: str = ""
    agent: str | None = None
    value: Any = None


class ArgillaRecord(BaseModel):
    """An Argilla record. Version 2 groups its answers by question, version 1 by user."""

    id: int | str | None = None
    fields: JsonObject | None = None
    metadata: JsonObject | None = None
    responses: dict[str, list[ArgillaResponse] | None] | list[ArgillaUserResponses] | None = None
    suggestions: dict[str, ArgillaSuggestion | None] | list[ArgillaSuggestion] | None = None

    def answers(self) -> Iterator[tuple[str, str, object]]:
        """Yield each submitted response's question, annotator and value."""
        if isinstance(self.responses, list):
            for user in self.responses:
                if user.status == "submitted":
                    for name, answer in user.values.items():
                        yield name, as_text(user.user_id), answer.value
            return
        for name, responses in (self.responses or {}).items():
            for answer in responses or ():
                if answer.status == "submitted":
                    yield name, as_text(answer.user_id), answer.value

    def suggested(self) -> Iterator[tuple[str, str, object]]:
        """Yield each suggestion's question, model and value."""
        suggestions = self.suggestions or {}
        if isinstance(suggestions, list):
            suggestions = {suggestion.question_name: suggestion for suggestion in suggestions}
        for name, suggestion in suggestions.items():
            if suggestion is not None and suggestion.value is not None:
                yield name, f"model {suggestion.agent or 'suggestion'}", suggestion.value


def _is_argilla(content: object) -> bool:
    return "responses" in first_row(content) and "fields" in first_row(content)


def _argilla(content: object, reading: Reading) -> Iterator[Row]:
    records: list[ArgillaRecord] = _checked(content, list[ArgillaRecord], reading.name)
    several = len({name for record in records for name, *_ in record.answers()}) > 1
    models = [who for record in records for _, who, _ in record.suggested()]
    _long(reading, judges=models, several=several)
    described = {name for record in records for name in _fields(record.metadata or {})}
    reading.aside |= described - {name for r in records for name in _fields(r.fields or {})}
    for number, record in enumerate(records, 1):
        known = _fields(record.metadata or {}) | _fields(record.fields or {})
        shared = {"item_id": _id(record.id, number), **known}
        for name, who, value in chain(record.answers(), record.suggested()):
            criterion = {"criterion": name} if several else {}
            yield shared | criterion | {"annotator": who, "label": value}


ARGILLA = Format("an export of Argilla", _is_argilla, _argilla)


def _is_argilla_table(content: object) -> bool:
    return any(name.endswith(".responses.users") for name in first_row(content))


def _argilla_table(content: object, reading: Reading) -> Iterator[Row]:
    """Yield answers from records that were saved as a data set, with three lists per question."""
    rows = [dict(row) for row in content] if isinstance(content, list) else []
    marks = [name.removesuffix(".users") for name in rows[0] if name.endswith(".responses.users")]
    own = {"status", "_server_id", "id"}
    fields = [n for n in rows[0] if n not in own and "." not in n and n != "vectors"]
    _long(reading, several=len(marks) > 1)
    reading.columns["text"] = list(_fields(dict.fromkeys(fields)))
    for number, row in enumerate(rows, 1):
        shared = {"item_id": _id(row.get("id"), number)}
        shared |= _fields({name: row.get(name) for name in fields})
        for mark in marks:
            lists = [list_of(row.get(f"{mark}{end}")) or [] for end in ("", ".users", ".status")]
            lists[2] = lists[2] or ["submitted"] * len(lists[0])
            if len({*map(len, lists)}) > 1:
                raise PlaceError(
                    f"record {number}: {mark!r} has answers without users. Export it again."
                )
            criterion = {"criterion": mark.removesuffix(".responses")} if len(marks) > 1 else {}
            for value, who, status in zip(*lists, strict=True):
                if status == "submitted":
                    yield shared | criterion | {"annotator": as_text(who), "label": value}


ARGILLA_TABLE = Format("a data set of Argilla", _is_argilla_table, _argilla_table)


class JudgeBenchScores(BaseModel):
    """Scores for an instance on one criterion."""

    individual_human_scores: list[Any] | None = None


class JudgeBenchInstance(BaseModel):
    """An instance with scores by criterion."""

    id: int | str | None = None
    instance: Any = None
    annotations: dict[str, JudgeBenchScores] | None = None


class JudgeBenchFile(BaseModel):
    """A JUDGE-BENCH data set."""

    annotations: list[Any]
    instances: list[JudgeBenchInstance]


def _is_judge_bench(content: object) -> bool:
    return isinstance(content, dict) and {"annotations", "instances"} <= content.keys()


def _judge_bench(content: object, reading: Reading) -> Iterator[Row]:
    file: JudgeBenchFile = _checked(content, JudgeBenchFile, reading.name)
    several = len(file.annotations) > 1
    reading.columns |= {"id": ["item_id"], "votes": ["labels"]}
    reading.columns |= {"criterion": ["criterion"]} if several else {}
    reading.lists = "ratings"
    for number, instance in enumerate(file.instances, 1):
        shared = {"item_id": _id(instance.id, number), "text": instance.instance}
        for criterion, annotation in (instance.annotations or {}).items():
            if annotation.individual_human_scores:
                named = {"criterion": criterion} if several else {}
                yield shared | named | {"labels": annotation.individual_human_scores}


JUDGE_BENCH = Format("a data set of JUDGE-BENCH", _is_judge_bench, _judge_bench)


def _id(name: int | str | None, number: int) -> int | str:
    return number if name is None else name


def _is_alt_test(content: object) -> bool:
    """Return whether a file maps annotators to items and items to labels.

    Such a file has few, recurring labels, and no more annotators than items. The check is needed
    because objects by id, which contain texts and other fields, are nested in the same way.
    """
    if not isinstance(content, dict) or len(content) <= 1:
        return False
    if not all(isinstance(labels, dict) and labels for labels in content.values()):
        return False
    labels = [label for of in content.values() for label in of.values() if label is not None]
    if not all(map(_is_label, labels)):
        return False
    items = {item for of in content.values() for item in of}
    n_labels = len({str(label).casefold() for label in labels})
    return n_labels <= max(2, min(MOST_LABELS, len(labels) / 2)) and len(content) <= len(items)


def _is_label(label: object) -> bool:
    return isinstance(label, str | int | float)


def _alt_test(content: dict[str, JsonObject], reading: Reading) -> Iterator[Row]:
    reading.columns |= {"id": ["item_id"], "rater": ["annotator"], "label": ["label"]}
    for annotator, labels in content.items():
        for item, label in labels.items():
            yield {"item_id": item, "annotator": annotator, "label": label}


MOST_LABELS = 20
ALT_TEST = Format("labels by annotator and item (AltTest)", _is_alt_test, _alt_test)


def _fields(data: Mapping[str, Any]) -> JsonObject:
    """Rename an item's fields so that no name is a role's column."""
    taken = {"item_id", "annotator", "label", "labels", "criterion", "created_at", "elicitation"}
    return {f"{name}_" if name in taken else name: value for name, value in data.items()}
