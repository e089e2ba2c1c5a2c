"""Data cards and Croissant metadata for tasks."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from hashlib import file_digest
from statistics import median
from typing import TYPE_CHECKING

from harness.analysis import validate
from harness.curation.audit import audit_task
from harness.curation.audit.audit_report import TITLES, capitalized
from harness.errors import TaskError
from harness.files.plain_text import counted
from harness.files.regular_files import reader, write_file, writing_to
from harness.files.tables import read_rows
from harness.report.formatting import estimate
from harness.report.judge_card import markdown
from harness.report.judge_charts import MEASURES
from harness.runs.sources import source_of_verdicts
from harness.tasks import CANNOT_ASSESS, bundled, read_changes
from harness.tasks.load import task_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from harness.files.json_values import JsonObject
    from harness.tasks import Task


FORMATS = {
    ".jsonl": "application/jsonlines",
    ".csv": "text/csv",
    ".parquet": "application/x-parquet",
}
DESCRIPTIONS = {
    "id": "Identifier.",
    "group": "Group of dependent items, such as a document.",
    "criterion": "Rated property of the item.",
    "item": "The rated item.",
    "rater": "Name of the rater.",
    "elicitation": "Forced choice (also if empty) or response set.",
    "value": "An option key, a list of option keys, or CANNOT_ASSESS.",
    "rated_at": "Time of the rating.",
    "form": "Form used for the rating.",
    "instructions": "Version of the instructions.",
    "shown": "Version of the item and the options as shown.",
    "swapped": "Whether the two answers of a pair were shown in reverse order.",
    "comment": "Comment of the rater.",
    "flagged": "Whether the rater flagged the item.",
}
KEYS = {"items": "id", "groups": "id"}
REFERENCES = {"ratings": {"item": "items"}, "items": {"group": "groups"}}
ADDRESS = re.compile(r"https?://[^\s<>\"]+")
JSON_VALUES = {"@type": "@json"}
CONTEXT: JsonObject = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileObject"),
            *("fileProperty", "fileSet", "format", "includes", "isLiveDataset", "jsonPath"),
            *("key", "md5", "parentField", "path", "recordSet", "references", "regex"),
            *("repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
    "data": {"@id": "cr:data", **JSON_VALUES},
    "examples": {"@id": "cr:examples", **JSON_VALUES},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
}
MAX_NAMED = 20  # criteria, labels


def croissant(task: Task, folder: Path) -> str:
    """Return Croissant metadata (JSON-LD) for a task's tables.

    Parameters
    ----------
    task : Task
        The task, loaded from its folder.
    folder : Path
        Folder for the metadata; file names are relative to it.

    Raises
    ------
    TaskError
        If a table can't be read.

    References
    ----------
    Croissant Format Specification, version 1.0, MLCommons 2024.
    """
    paths = task_tables(task.folder)
    changes = read_changes(task.folder)
    metadata = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": task.name,
        "description": ". ".join(text for text in (task.property, task.notice) if text),
        "version": f"{max(len(changes), 1)}.0.0+{task.content_hash[:12]}",
        **_stated(task),
        **({"datePublished": changes[-1].at[:10]} if changes else {}),
        "distribution": [_file(path, folder) for path in paths.values()],
        "recordSet": [_record_set(table, path, set(paths)) for table, path in paths.items()],
    }
    return json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with reader(path) as file:
        return file_digest(file, "sha256").hexdigest()


def _stated(task: Task) -> dict[str, str]:
    """Return the task's source, licence and instructions, if stated, as Croissant properties."""
    address = ADDRESS.search(task.source)
    stated = {
        "license": task.licence,
        "citeAs": task.source,
        "url": address[0] if address else "",
        "rai:dataAnnotationProtocol": task.instructions,
    }
    return {name: text for name, text in stated.items() if text}


def _file(path: Path, folder: Path) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": os.path.relpath(path, folder),
        "encodingFormat": FORMATS[path.suffix.lower()],
        "sha256": sha256_of(path),
    }


def _record_set(table: str, path: Path, tables: set[str]) -> JsonObject:
    columns = dict.fromkeys(name for _, row in read_rows(path) for name in row)
    key = {"key": {"@id": f"{table}/{KEYS[table]}"}} if table in KEYS else {}
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        **key,
        "field": [_field(table, column, path, tables) for column in columns],
    }


def _field(table: str, column: str, path: Path, tables: set[str]) -> JsonObject:
    other = REFERENCES.get(table, {}).get(column)
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": DESCRIPTIONS.get(column, "Text of the item."),
        "dataType": "sc:Text",
        "source": {"fileObject": {"@id": path.name}, "extract": {"column": column}},
        **({"references": {"field": {"@id": f"{other}/id"}}} if other in tables else {}),
    }


CARD, CROISSANT = "card.md", "croissant.json"


def data_card(task: Task) -> str:
    """Render a task's data card as Markdown. It contains no text of an item."""
    sections = {
        "Content": _content(task),
        **({"Answers": _answers(task)} if task.is_open else {"Options": _options(task)}),
        "How the ratings were made": _making(task),
        "Agreement among raters": _agreement(task),
        "Findings of the audit": _findings(task),
        "Changes": _changes(task),
        "Files": _files(task),
    }
    lines = [f"# Data card: {task.name}", "", f"Rated: {markdown(task.property)}."]
    if task.notice:
        lines += ["", f"Note: {markdown(task.notice)}."]
    for title, body in sections.items():
        lines += ["", f"## {title}", "", *body]
    return "\n".join(lines) + "\n"


def _table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    heads = list(heads)
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(markdown(str(cell)) for cell in row)} |"


def _content(task: Task) -> Iterator[str]:
    per_item = Counter(rating.item for rating in task.ratings if rating.value != CANNOT_ASSESS)
    numbers = [per_item[item.id] for item in task.items]
    kinds = Counter(rating.elicitation for rating in task.ratings)
    groups = {item.group for item in task.items} - {None}
    criteria = list(dict.fromkeys(item.criterion for item in task.items if item.criterion))
    n_raters = len({rating.rater for rating in task.ratings})
    names = {"forced_choice": "forced choice", "response_set": "response set"}
    rows = [
        ("content, SHA-256", task.content_hash),
        ("items", f"{len(task.items):,}{f' in {len(groups):,} groups' if groups else ''}"),
        ("criteria", ", ".join(criteria[:MAX_NAMED]) or "one"),
        ("raters", f"{n_raters:,}, {task.raters}; ids {task.rater_ids}"),
        ("ratings", ", ".join(counted([n], names[kind]) for kind, n in kinds.items())),
        (
            "ratings per item",
            f"{min(numbers)} to {max(numbers)}, median {median(numbers):g}, without abstentions",
        ),
        ("abstentions", sum(rating.value == CANNOT_ASSESS for rating in task.ratings)),
        ("ignored labels", ", ".join(f"{k} ({n})" for k, n in task.n_ignored.items()) or "none"),
        ("scale", task.scale),
        ("source", task.source or "not stated"),
        ("licence", task.licence or "not stated"),
    ]
    return _table(("", ""), rows)


def _options(task: Task) -> Iterator[str]:
    forced, endorsed = Counter[str](), Counter[str]()
    for rating in task.ratings:
        counter = forced if isinstance(rating.value, str) else endorsed
        counter.update(rating.labels)
    rows = [
        (
            option.key,
            option.label,
            "yes" if option.key in task.positive else "",
            forced[option.key],
            endorsed[option.key],
        )
        for option in task.options
    ]
    heads = ("option", "label", "positive", "forced choices", "response sets that contain it")
    return _table(heads, rows)


def _answers(task: Task) -> Iterator[str]:
    """Describe raters' answers on an open scale."""
    answers = [str(r.value) for r in task.ratings if r.value != CANNOT_ASSESS]
    rows: list[tuple[str, object]] = [("answers", len(answers)), ("distinct", len(set(answers)))]
    if task.scale == "continuous":
        rows.append(("bounds", "{:g} to {:g}".format(*task.bounds) if task.bounds else "none"))
    if task.scale == "continuous" and answers:
        numbers = sorted(map(float, answers))
        ends = f"{numbers[0]:g}, {median(numbers):g}, {numbers[-1]:g}"
        rows.append(("minimum, median, maximum", ends))
    return _table(("", ""), rows)


def _making(task: Task) -> Iterator[str]:
    instructions = markdown(task.instructions) if task.instructions else "not stated"
    yield f"Instructions: {instructions}"
    made = [dict(r.provenance) for r in (*task.ratings, *task.ignored)]
    times = sorted(cells["rated_at"] for cells in made if "rated_at" in cells)
    forms = Counter(cells["form"] for cells in made if "form" in cells)
    versions = {cells["instructions"] for cells in made if "instructions" in cells}
    yield ""
    if not times:
        yield "When and how each rating was made is not recorded."
        return
    form_counts = ", ".join(f"{markdown(form)} {n}" for form, n in forms.items())
    yield (
        f"Of {len(task.ratings) + len(task.ignored)} ratings, {len(times)} have a time, from "
        f"{markdown(times[0])} to {markdown(times[-1])}. By form: {form_counts or 'not recorded'}. "
        f"Versions of the instructions: {len(versions)}."
    )


def _agreement(task: Task) -> Iterator[str]:
    result = validate(source_of_verdicts(task, None)).humans
    rows = [
        (MEASURES.get(name, name.replace("_", " ")), estimate(value), value.n_used)
        for name, value in result.agreement.items()
    ]
    return _table(("measure", "value [95 %]", "items"), rows)


def _findings(task: Task) -> Iterator[str]:
    findings = audit_task(task).findings
    if not findings:
        yield "None."
    for finding in findings:
        what = markdown(capitalized(finding.what))
        yield f"- {TITLES[finding.kind]}: {what}. {markdown(finding.why)}"


def _changes(task: Task) -> Iterator[str]:
    changes = read_changes(task.folder)
    if not changes:
        yield "No changes are recorded."
        return
    yield from _table(
        ("when (UTC)", "what", "hash before", "hash after"),
        [(c.at, c.change, c.before[:12] or "new", c.after[:12]) for c in changes],
    )
    if changes[-1].after != task.content_hash:
        yield ""
        yield f"The content changed after that in unrecorded ways: {task.content_hash[:12]}."


def _files(task: Task) -> Iterator[str]:
    rows = [(p.name, p.stat().st_size, sha256_of(p)) for p in task_tables(task.folder).values()]
    return _table(("file", "bytes", "SHA-256"), rows)


def write_cards(task: Task, folder: Path | None = None) -> tuple[Path, Path]:
    """Write ``card.md`` and ``croissant.json``, replacing earlier files.

    Parameters
    ----------
    folder : Path, optional
        Folder to write into, created if missing. Default: the task's folder.

    Raises
    ------
    TaskError
        If the folder is a bundled task's, or can't be written.
    """
    target = folder or task.folder
    if target.resolve().is_relative_to(bundled("datasets").resolve()):
        raise TaskError(f"{target}: bundled tasks can't be changed. Pass a folder with --to.")
    texts = {target / CARD: data_card(task), target / CROISSANT: croissant(task, target)}
    with writing_to(target, TaskError):
        target.mkdir(parents=True, exist_ok=True)
        first, second = (write_file(path, text.encode()) for path, text in texts.items())
    return first, second
