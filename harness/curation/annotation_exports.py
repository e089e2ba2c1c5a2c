"""Exports of annotation tools and published benchmarks, as rows of ratings.

Each reader takes the parsed file and yields rows with the columns ``item_id``, ``annotator``,
``label``, ``criterion`` where there are several, and the fields of the item; verdicts of models are
rows whose annotator is the model.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from harness.errors import fault_of
from harness.tasks.tables.checks import PlaceError, as_text, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from harness.tasks.tables import Row


VALUE_FIELDS = ("choices", "rating", "selected", "labels", "taxonomy", "number")


def rows_of_json(content: object, notes: list[str]) -> Iterator[Row]:
    """Yield the rows of a JSON file."""
    for name, matches, kind, rows in FORMATS:
        if matches(content):
            notes.append(f"read as {name}")
            yield from rows(_checked(content, kind, name))
            return
    if isinstance(content, list) and all(isinstance(row, dict) for row in content):
        yield from content
        return
    raise PlaceError(
        "this JSON is neither a list of rows nor an export that is read; see the manual."
    )


def _checked(content: object, kind: Any, name: str) -> Any:  # noqa: ANN401 -- a type, its value
    """Return the content as a type; an error names the place in it."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise PlaceError(
            f"this JSON looks like {name}, but {short(place)}: {problem}; write it as a table."
        ) from None


def _first(content: object) -> Mapping[str, Any]:
    first = content[0] if isinstance(content, list) and content else None
    return first if isinstance(first, dict) else {}


class LabelStudioResult(BaseModel):
    """A rating of a task."""

    from_name: str | None = None
    value: dict[str, Any] | None = None

    @property
    def chosen(self) -> object:
        """What was chosen: a text or number, or a list of several."""
        value = self.value or {}
        chosen = next((value[name] for name in VALUE_FIELDS if name in value), None)
        return chosen[0] if isinstance(chosen, list) and len(chosen) == 1 else chosen


class LabelStudioAnnotation(BaseModel):
    """The ratings of a task by a person."""

    was_cancelled: bool | None = None
    completed_by: int | str | dict[str, Any] | None = None
    result: list[LabelStudioResult] | None = None

    @property
    def who(self) -> str:
        """Name of the person."""
        by = self.completed_by
        if isinstance(by, dict):
            by = by.get("email") or by.get("id")
        return f"annotator {by}" if isinstance(by, int) else as_text(by)


class LabelStudioPrediction(BaseModel):
    """The ratings of a task by a model."""

    model_version: str | None = None
    result: list[LabelStudioResult] | None = None


class LabelStudioTask(BaseModel):
    """A task of Label Studio."""

    id: int | str | None = None
    data: dict[str, Any] | None = None
    annotations: list[LabelStudioAnnotation] | None = None
    predictions: list[LabelStudioPrediction | int] | None = None

    def results(self) -> Iterator[tuple[str, LabelStudioResult]]:
        """Yield annotator and result of each rating; cancelled annotations are none."""
        for annotation in self.annotations or ():
            if not annotation.was_cancelled:
                yield from ((annotation.who, result) for result in annotation.result or ())
        for prediction in self.predictions or ():
            if not isinstance(prediction, int):
                who = f"model {prediction.model_version or 'prediction'}"
                yield from ((who, result) for result in prediction.result or ())


def _is_label_studio(content: object) -> bool:
    return isinstance(_first(content).get("annotations"), list) and "data" in _first(content)


def _label_studio(tasks: list[LabelStudioTask]) -> Iterator[Row]:
    several = len({result.from_name for task in tasks for _, result in task.results()}) > 1
    for number, task in enumerate(tasks, 1):
        shared = {"item_id": _id(task.id, number), **_fields(task.data or {})}
        for annotator, result in task.results():
            criterion = {"criterion": result.from_name} if several else {}
            yield shared | criterion | {"annotator": annotator, "label": result.chosen}


class ArgillaResponse(BaseModel):
    """The answer of a user to a question."""

    user_id: Any = None
    value: Any = None


class ArgillaUserResponses(BaseModel):
    """The answers of a user by question, in version 1."""

    user_id: Any = None
    status: str = "submitted"
    values: dict[str, ArgillaResponse]


class ArgillaSuggestion(BaseModel):
    """The answer of a model to a question, which version 1 names in it."""

    question_name: str = ""
    agent: str | None = None
    value: Any = None


class ArgillaRecord(BaseModel):
    """A record of Argilla: answers by question in version 2, by user in version 1."""

    id: int | str | None = None
    fields: dict[str, Any] | None = None
    responses: dict[str, list[ArgillaResponse] | None] | list[ArgillaUserResponses] | None = None
    suggestions: dict[str, ArgillaSuggestion | None] | list[ArgillaSuggestion] | None = None

    def answers(self) -> Iterator[tuple[str, str, object]]:
        """Yield question, annotator and value of each submitted response."""
        if isinstance(self.responses, list):
            for user in self.responses:
                if user.status == "submitted":
                    for name, answer in user.values.items():
                        yield name, f"annotator {as_text(user.user_id)}", answer.value
            return
        for name, responses in (self.responses or {}).items():
            for answer in responses or ():
                yield name, f"annotator {as_text(answer.user_id)}", answer.value

    def suggested(self) -> Iterator[tuple[str, str, object]]:
        """Yield question, model and value of each suggestion."""
        suggestions = self.suggestions or {}
        if isinstance(suggestions, list):
            suggestions = {suggestion.question_name: suggestion for suggestion in suggestions}
        for name, suggestion in suggestions.items():
            if suggestion is not None and suggestion.value is not None:
                yield name, f"model {suggestion.agent or 'suggestion'}", suggestion.value


def _is_argilla(content: object) -> bool:
    return "responses" in _first(content) and "fields" in _first(content)


def _argilla(records: list[ArgillaRecord]) -> Iterator[Row]:
    several = len({name for record in records for name, *_ in record.answers()}) > 1
    for number, record in enumerate(records, 1):
        shared = {"item_id": _id(record.id, number), **_fields(record.fields or {})}
        for name, who, value in chain(record.answers(), record.suggested()):
            criterion = {"criterion": name} if several else {}
            yield shared | criterion | {"annotator": who, "label": value}


class JudgeBenchScores(BaseModel):
    """The scores of an instance by a criterion."""

    individual_human_scores: list[Any] | None = None


class JudgeBenchInstance(BaseModel):
    """An instance, scores by criterion."""

    id: int | str | None = None
    instance: Any = None
    annotations: dict[str, JudgeBenchScores] | None = None


class JudgeBenchFile(BaseModel):
    """A data set of JUDGE-BENCH."""

    annotations: list[Any]
    instances: list[JudgeBenchInstance]


def _is_judge_bench(content: object) -> bool:
    return isinstance(content, dict) and {"annotations", "instances"} <= content.keys()


def _judge_bench(content: JudgeBenchFile) -> Iterator[Row]:
    several = len(content.annotations) > 1
    for number, instance in enumerate(content.instances, 1):
        shared = {"item_id": _id(instance.id, number), "text": instance.instance}
        for criterion, annotation in (instance.annotations or {}).items():
            if annotation.individual_human_scores:
                named = {"criterion": criterion} if several else {}
                yield shared | named | {"labels": annotation.individual_human_scores}


def _id(name: int | str | None, number: int) -> int | str:
    return number if name is None else name


def _is_alt_test(content: object) -> bool:
    """Whether a file holds labels by annotator and item."""
    return (
        isinstance(content, dict)
        and len(content) > 1
        and all(isinstance(labels, dict) and labels for labels in content.values())
        and all(_is_label(label) for labels in content.values() for label in labels.values())
    )


def _is_label(label: object) -> bool:
    return label is None or isinstance(label, str | int | float)


def _alt_test(content: dict[str, dict[str, Any]]) -> Iterator[Row]:
    for annotator, labels in content.items():
        for item, label in labels.items():
            yield {"item_id": item, "annotator": annotator, "label": label}


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item under names that no role has."""
    taken = {"item_id", "annotator", "label", "labels", "criterion"}
    return {f"{name}_" if name in taken else name: value for name, value in data.items()}


FORMATS: tuple[tuple[str, Callable[[object], bool], Any, Callable[[Any], Iterator[Row]]], ...] = (
    ("an export of Label Studio", _is_label_studio, list[LabelStudioTask], _label_studio),
    ("an export of Argilla", _is_argilla, list[ArgillaRecord], _argilla),
    ("a data set of JUDGE-BENCH", _is_judge_bench, JudgeBenchFile, _judge_bench),
    (
        "labels by annotator and item (AltTest)",
        _is_alt_test,
        dict[str, dict[str, Any]],
        _alt_test,
    ),
)
