"""Readers for Langfuse and MLflow: people's, evaluators' and programs' scores for traces.

A score or an assessment rates a trace or a step in a trace. People's scores become ratings,
evaluators' scores become judges' verdicts, and a score's name is the criterion. Judges see the
trace's input and output. The trace's other fields stay with the item.

References
----------
Langfuse: "Export data from UI" (https://langfuse.com/docs/api-and-data-platform/features/export-from-ui)
and "Export to blob storage" have the columns of scores and traces; the API returns the same scores
below ``data`` (https://api.reference.langfuse.com, ``GET /api/public/v2/scores``).

MLflow: `mlflow.search_traces` returns a table, and `mlflow.entities.Trace.to_json` an object, with
the same assessments (https://mlflow.org/docs/latest/genai/tracing/search-traces,
https://mlflow.org/docs/latest/genai/concepts/feedback).
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.files.tables.checks import PlaceError, as_text
from harness.tasks.columns.formats import N_OPENING, Format, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.files.json_values import JsonObject
    from harness.files.tables import Row

SCORE = frozenset({"name", "source", "value", "traceId"})
SOURCES = frozenset({"ANNOTATION", "API", "EVAL"})
TRACE = frozenset({"id", "name", "timestamp", "input", "output", "tags"})
FIELDS_OF_TRACE = ("name", "environment", "release", "version", "userId", "sessionId", "tags")
BLOB_NAMES = {  # in exports to blob storage
    "trace_id": "traceId",
    "observation_id": "observationId",
    "data_type": "dataType",
    "string_value": "stringValue",
    "author_user_id": "authorUserId",
    "session_id": "sessionId",
    "user_id": "userId",
}
NO_NAME = "annotator"  # name for a person whose score has none
EVALUATOR = "evaluator"
API = "API"
PEOPLE = "HUMAN"
PREVIEWS = ("request_preview", "response_preview")


def _rows(content: object) -> list[JsonObject]:
    """Return the content's first rows."""
    rows = content[:N_OPENING] if isinstance(content, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _parsed(cell: object) -> Any:  # noqa: ANN401 -- JSON
    """Parse a cell that contains JSON or a Python literal, as pandas writes to csv."""
    if not isinstance(cell, str) or not cell.strip().startswith(("{", "[", '"')):
        return cell
    for read in (json.loads, ast.literal_eval):
        try:
            return read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return cell


def _object(cell: object) -> JsonObject:
    """Return the object in a cell, or an empty object if the cell contains none."""
    parsed = _parsed(cell)
    return parsed if isinstance(parsed, dict) else {}


def _text(cell: object) -> str:
    """Convert an input or output to text: its messages or only value, or else JSON."""
    value = _parsed(cell)
    while isinstance(value, dict) and (len(value) == 1 or "messages" in value):
        value = value["messages"] if "messages" in value else next(iter(value.values()))
    return as_text(value)


def _langfuse_names(row: JsonObject) -> JsonObject:
    """Rename a row's columns to the names in the UI export."""
    return {BLOB_NAMES.get(name, name): cell for name, cell in row.items()}


def _is_score(row: JsonObject) -> bool:
    return row.keys() >= SCORE and row.get("source") in SOURCES


def _is_langfuse(content: object) -> bool:
    rows = [_langfuse_names(row) for row in _rows(content)]
    return bool(rows) and (
        all(map(_is_score, rows)) or all(row.keys() >= TRACE | {"bookmarked"} for row in rows)
    )


def _langfuse(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield a row per score. The traces can be in the same file or a separate one."""
    rows = [_langfuse_names(dict(row)) for row in content]
    scores = [row for row in rows if _is_score(row)]
    traces = {as_text(row["id"]): row for row in rows if not _is_score(row) and row.get("id")}
    if not scores:
        raise PlaceError(
            "these are Langfuse traces without scores. Export the scores too, and pass both files."
        )
    left_out: Counter[str] = Counter(filter(None, map(_why_no_rating, scores)))
    kept = [row for row in scores if not _why_no_rating(row)]
    _note(reading, left_out, kept, traces)
    who = [_langfuse_rater(row) for row in kept]
    _roles(reading, judges=[name for name, kind in who if kind == "judge"])
    reading.unclear = tuple(dict.fromkeys(name for name, kind in who if kind == "unclear"))
    for row, (rater, _) in zip(kept, who, strict=True):
        trace = traces.get(as_text(row["traceId"]), {})
        cells = _item(as_text(row["traceId"]), as_text(row.get("observationId")))
        cells |= _shown(trace.get("input"), trace.get("output"))
        cells |= {name: trace.get(name) for name in FIELDS_OF_TRACE if trace.get(name)}
        cells |= _with_mark("metadata", _object(trace.get("metadata")))
        cells |= {"annotator": rater, "label": _langfuse_value(row)}
        cells |= {"rated_at": as_text(row.get("timestamp"))}
        yield cells | {"criterion": as_text(row["name"])}


def _why_no_rating(score: JsonObject) -> str:
    """Return why a score isn't a rating of a trace, or "" if the score is a rating."""
    if score.get("dataType") == "CORRECTION":
        return "corrections of an output"
    if not score.get("traceId"):
        return "scores of sessions or data set runs"
    return "" if as_text(_langfuse_value(score)) else "scores without a value"


def _langfuse_value(score: JsonObject) -> object:
    """Return a score's label or, without a label, its number."""
    return score.get("stringValue") or score.get("value")


def _langfuse_rater(score: JsonObject) -> tuple[str, str]:
    """Return a score's author, and whether the author is a person, a judge or unclear.

    Scores from the API can come from people or programs. Scores from `harness curate export` name
    their judge.
    """
    judge = as_text(_object(score.get("metadata")).get("judge"))
    if score["source"] == "ANNOTATION":
        names = (score.get(name) for name in ("authorUserName", "authorUserId"))
        return as_text(next(filter(None, names), NO_NAME)), "person"
    if judge or score["source"] == "EVAL":
        return judge or EVALUATOR, "judge"
    return API, "unclear"


def _note(
    reading: Reading, left_out: Mapping[str, int], kept: Sequence[JsonObject], traces: JsonObject
) -> None:
    """Add notes about left-out rows and missing data."""
    reading.notes += [f"left out {what}: {n}" for what, n in left_out.items()]
    nameless = sum(_langfuse_rater(row) == (NO_NAME, "person") for row in kept)
    if nameless:
        reading.notes.append(
            f"{nameless} annotation scores don't name a rater, so they count as one rater's scores"
        )
    without = sum(as_text(row["traceId"]) not in traces for row in kept)
    if without:
        reading.notes.append(
            f"the traces for {without} scores aren't in the files. Export the traces, and "
            "pass both files"
        )


def _roles(reading: Reading, *, judges: Sequence[str]) -> None:
    """Set the column roles for the rows."""
    reading.columns |= {"id": ["item_id"], "rater": ["annotator"], "label": ["label"]}
    reading.columns |= {"criterion": ["criterion"], "rated_at": ["rated_at"]}
    reading.columns["judges"] = list(dict.fromkeys(judges))


def _item(trace: str, step: str) -> JsonObject:
    """Return an item's id and the ids of its trace and step."""
    named = {"item_id": f"{trace}/{step}" if step else trace, "trace_id": trace}
    return named | ({"observation_id": step} if step else {})


def _shown(request: object, response: object) -> JsonObject:
    """Return an item's input and output as texts."""
    texts = {"input": _text(request), "output": _text(response)}
    return {name: text for name, text in texts.items() if text}


def _with_mark(mark: str, cells: JsonObject) -> JsonObject:
    """Prefix an object's field names, so that no name is a role's column."""
    return {f"{mark}.{name}": as_text(cell) for name, cell in cells.items()}


def _with_texts(rows: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield rows, and set which columns contain texts."""
    kept = list(rows)
    columns = {name for row in kept for name in row}
    reading.columns["text"] = [name for name in ("input", "output") if name in columns]
    yield from kept


LANGFUSE = Format(
    "scores of Langfuse",
    _is_langfuse,
    lambda content, reading: _with_texts(_langfuse(content, reading), reading),
)


def _is_mlflow(content: object) -> bool:
    rows = _rows(content)
    if not rows:
        return False
    listed = [assessment for row in rows for assessment in _assessments(row)]
    named = all("trace_id" in row or "request_id" in row or "info" in row for row in rows)
    return named and bool(listed) and all("source_type" in _object(a["source"]) for a in listed)


def _assessments(row: Row) -> list[JsonObject]:
    """Return a trace's assessments from a table row or an object."""
    cells = _object(row["info"]) if "info" in row else row
    listed = _parsed(cells.get("assessments"))
    entries = map(_object, listed if isinstance(listed, list) else [])
    return [entry for entry in entries if "source" in entry]


def _mlflow(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield a row for each feedback on a trace. Expectations aren't ratings."""
    traces = list(content)
    rated = [(row, entry) for row in traces for entry in _assessments(row)]
    left_out = Counter(filter(None, (_why_no_feedback(entry) for _, entry in rated)))
    reading.notes += [f"left out {what}: {n}" for what, n in left_out.items()]
    kept = [(row, entry) for row, entry in rated if not _why_no_feedback(entry)]
    people = {_source(entry)[0] for _, entry in kept if _source(entry)[1] == PEOPLE}
    judges = [_judge(entry, people) for _, entry in kept if _source(entry)[1] != PEOPLE]
    _roles(reading, judges=judges)
    if any(_is_cut(row) for row in traces):
        reading.notes.append("some texts are previews, which MLflow could have cut")
    for row, entry in kept:
        info = _object(row["info"]) if "info" in row else row
        trace = as_text(info.get("trace_id") or info.get("request_id"))
        who, kind = _source(entry)
        cells = _item(trace, as_text(entry.get("span_id"))) | _shown(*_texts(row))
        cells |= {
            name: info.get(name) for name in ("state", "execution_duration") if info.get(name)
        }
        cells |= _with_mark("metadata", _plain(info.get("trace_metadata")))
        cells |= _with_mark("tags", _plain(info.get("tags")))
        cells |= {"annotator": who if kind == PEOPLE else _judge(entry, people)}
        cells |= {"label": _object(entry["feedback"])["value"]}
        cells |= {"rated_at": as_text(entry.get("create_time"))}
        yield cells | {"criterion": _name(entry)}


def _why_no_feedback(entry: JsonObject) -> str:
    """Return why an assessment isn't a rating, or "" if the assessment is a rating."""
    if "feedback" not in entry or entry["feedback"] is None:
        return "expectations"
    if entry.get("valid") is False:
        return "feedback that was replaced later"
    value = _object(entry["feedback"]).get("value")
    return "feedback without a label" if value is None or isinstance(value, dict) else ""


def _source(entry: JsonObject) -> tuple[str, str]:
    """Return an assessment's author and the kind of source."""
    source = _object(entry["source"])
    return as_text(source.get("source_id")) or NO_NAME, as_text(source["source_type"]).upper()


def _judge(entry: JsonObject, people: Iterable[str]) -> str:
    """Return a judge's name, changed if a person has the same name."""
    who, kind = _source(entry)
    nameless = who in {NO_NAME, "default"} or who in people
    return f"{kind.casefold()} {who}" if nameless else who


def _name(entry: JsonObject) -> str:
    return as_text(entry.get("assessment_name") or entry.get("name"))


def _plain(cell: object) -> JsonObject:
    """Return metadata or tags without the entries that MLflow sets."""
    return {name: value for name, value in _object(cell).items() if not name.startswith("mlflow.")}


def _root(row: Row) -> JsonObject:
    """Return the attributes of a trace's first span without a parent."""
    spans = _parsed(_object(row["data"]).get("spans") if "data" in row else row.get("spans"))
    first = [span for span in map(_object, spans or ()) if not span.get("parent_span_id")][:1]
    return _object(first[0].get("attributes")) if first else {}


def _texts(row: Row) -> tuple[object, object]:
    """Return a trace's input and output, or previews if the complete texts are missing."""
    if "request" in row:
        return row["request"], row.get("response")
    root, info = _root(row), _object(row.get("info"))
    whole = root.get("mlflow.spanInputs"), root.get("mlflow.spanOutputs")
    return whole if any(whole) else (info.get(PREVIEWS[0]), info.get(PREVIEWS[1]))


def _is_cut(row: Row) -> bool:
    is_whole = "request" in row or any(name.startswith("mlflow.span") for name in _root(row))
    return not is_whole and any(_object(row.get("info")).get(name) for name in PREVIEWS)


MLFLOW = Format(
    "traces of MLflow",
    _is_mlflow,
    lambda content, reading: _with_texts(_mlflow(content, reading), reading),
)
