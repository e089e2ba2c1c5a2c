"""Exports of annotation tools and published benchmarks, as rows of ratings.

Each reader takes the parsed file and yields rows with the columns ``item_id``, ``annotator``,
``label``, ``criterion`` where there are several, and the fields of the item; verdicts of models are
rows whose annotator is the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.tasks.tables.checks import PlaceError, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from harness.tasks.tables import Row

ROLES: dict[str, list[str]] = {"id": ["item_id"], "rater": ["annotator"], "label": ["label"]}
VALUE_FIELDS = ("choices", "rating", "selected", "labels", "taxonomy", "number")


def rows_of_json(content: object, notes: list[str]) -> Iterator[Row]:
    """Yield the rows of a JSON file.

    Parameters
    ----------
    content : object
        The parsed file: a list of rows, or a form of `FORMATS`.
    notes : list of str
        Gets the format.

    Raises
    ------
    PlaceError
        If it has none of these forms.
    """
    for name, matches, rows in FORMATS:
        if matches(content):
            notes.append(f"read as {name}")
            try:
                yield from rows(content)
            except (AttributeError, TypeError, KeyError):
                problem = f"this JSON looks like {name}, but a part of it has another form"
                raise PlaceError("", f"{problem}; write it as a table.") from None
            return
    if isinstance(content, list) and all(isinstance(row, dict) for row in content):
        yield from content
        return
    raise PlaceError(
        "", "this JSON is neither a list of rows nor an export that is read; see the manual."
    )


def _first(content: object) -> Mapping[str, Any]:
    first = content[0] if isinstance(content, list) and content else None
    return first if isinstance(first, dict) else {}


def _is_label_studio(content: object) -> bool:
    return isinstance(_first(content).get("annotations"), list) and "data" in _first(content)


def _label_studio(content: list[dict[str, Any]]) -> Iterator[Row]:
    several = len({r.get("from_name") for task in content for _, r in _results(task)}) > 1
    for number, task in enumerate(content, 1):
        shared = {"item_id": task.get("id", number), **_fields(task.get("data") or {})}
        for annotator, result in _results(task):
            criterion = {"criterion": result.get("from_name")} if several else {}
            yield shared | criterion | {"annotator": annotator, "label": _chosen(result)}


def _results(task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield annotator and result of each rating; cancelled annotations are none."""
    for annotation in task.get("annotations") or ():
        if not annotation.get("was_cancelled"):
            who = _who(annotation.get("completed_by"))
            for result in annotation.get("result") or ():
                yield who, result
    for prediction in task.get("predictions") or ():
        if isinstance(prediction, dict):
            for result in prediction.get("result") or ():
                yield f"model {prediction.get('model_version') or 'prediction'}", result


def _who(completed_by: object) -> str:
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return f"annotator {completed_by}" if isinstance(completed_by, int) else as_text(completed_by)


def _chosen(result: Mapping[str, Any]) -> object:
    value = result.get("value") or {}
    chosen = next((value[name] for name in VALUE_FIELDS if name in value), None)
    if isinstance(chosen, list) and len(chosen) == 1:
        return chosen[0]
    return chosen


def _is_argilla(content: object) -> bool:
    return "responses" in _first(content) and "fields" in _first(content)


def _argilla(content: list[dict[str, Any]]) -> Iterator[Row]:
    several = len({name for record in content for name, _ in _responses(record)}) > 1
    for number, record in enumerate(content, 1):
        shared = {"item_id": record.get("id") or number, **_fields(record.get("fields") or {})}
        for name, response in _responses(record):
            criterion = {"criterion": name} if several else {}
            who = f"annotator {response.get('user_id')}"
            yield shared | criterion | {"annotator": who, "label": response.get("value")}
        for name, suggestion in _suggestions(record).items():
            criterion = {"criterion": name} if several else {}
            if isinstance(suggestion, dict) and suggestion.get("value") is not None:
                who = f"model {suggestion.get('agent') or 'suggestion'}"
                yield shared | criterion | {"annotator": who, "label": suggestion["value"]}


def _responses(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield question and response: by question in version 2, by user in version 1."""
    responses = record.get("responses") or {}
    if isinstance(responses, dict):
        for name, question in responses.items():
            yield from ((name, response) for response in question or ())
        return
    for of_user in responses:
        if of_user.get("status", "submitted") == "submitted":
            who = {"user_id": of_user.get("user_id")}
            for name, answer in of_user["values"].items():
                yield name, who | {"value": answer.get("value")}


def _suggestions(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return suggestions by question; version 1 lists them."""
    suggestions = record.get("suggestions") or {}
    if isinstance(suggestions, dict):
        return suggestions
    return {suggestion["question_name"]: suggestion for suggestion in suggestions}


def _is_judge_bench(content: object) -> bool:
    return isinstance(content, dict) and {"annotations", "instances"} <= content.keys()


def _judge_bench(content: dict[str, Any]) -> Iterator[Row]:
    several = len(content["annotations"]) > 1
    for number, instance in enumerate(content["instances"], 1):
        shared = {"item_id": instance.get("id", number), "text": instance.get("instance")}
        for criterion, annotation in (instance.get("annotations") or {}).items():
            scores = annotation.get("individual_human_scores")
            if scores:
                named = {"criterion": criterion} if several else {}
                yield shared | named | {"labels": scores}


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


FORMATS: tuple[tuple[str, Callable[[object], bool], Callable[[Any], Iterator[Row]]], ...] = (
    ("an export of Label Studio", _is_label_studio, _label_studio),
    ("an export of Argilla", _is_argilla, _argilla),
    ("a data set of JUDGE-BENCH", _is_judge_bench, _judge_bench),
    ("labels by annotator and item (AltTest)", _is_alt_test, _alt_test),
)
