"""Croissant metadata of a task folder (MLCommons Croissant 1.0)."""

from __future__ import annotations

import json
import os
import re
from hashlib import file_digest
from typing import TYPE_CHECKING, Any

from harness.files import reader
from harness.tasks import read_changes
from harness.tasks.load import table_path
from harness.tasks.schema import TASK_FILE, read_task_file
from harness.tasks.tables import read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tasks import Task

TABLES = ("items", "groups", "ratings")
FORMATS = {
    ".jsonl": "application/jsonlines",
    ".csv": "text/csv",
    ".parquet": "application/x-parquet",
}
DESCRIPTIONS = {
    "id": "Identifier.",
    "group": "Group of items that depend on each other, such as a document.",
    "criterion": "What is rated about the item.",
    "item": "The item that was rated.",
    "rater": "Who rated it.",
    "elicitation": "Forced choice (also where empty) or response set.",
    "value": "An option key, a list of option keys, or CANNOT_ASSESS.",
    "rated_at": "When it was rated.",
    "form": "The form on which it was rated.",
    "instructions": "Version of the instructions.",
}
KEYS = {"items": "id", "groups": "id"}
REFERENCES = {"ratings": {"item": "items"}, "items": {"group": "groups"}}
ADDRESS = re.compile(r"https?://[^\s<>\"]+")
JSON_VALUES = {"@type": "@json"}
CONTEXT: dict[str, Any] = {
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


def croissant(task: Task, folder: Path) -> str:
    """Return the metadata of a task's tables as JSON-LD.

    Parameters
    ----------
    task : Task
        Loaded from its folder.
    folder : Path
        Where the metadata will stand; files are named relative to it.

    Raises
    ------
    TaskError
        If a table cannot be read.

    References
    ----------
    Croissant Format Specification, version 1.0, MLCommons 2024.
    """
    paths = task_tables(task)
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


def task_tables(task: Task) -> dict[str, Path]:
    """Return the tables of a task's folder that there are, by their kind."""
    file = read_task_file(task.folder / TASK_FILE)
    if file.datasets and file.datasets.file:
        return {"datasets": task.folder / file.datasets.file}
    paths = {kind: table_path(task.folder, kind, getattr(file, kind)) for kind in TABLES}
    return {kind: path for kind, path in paths.items() if path is not None}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with reader(path) as file:
        return file_digest(file, "sha256").hexdigest()


def _stated(task: Task) -> dict[str, str]:
    """Return source, licence and instructions, as far as the task states them."""
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


def _record_set(table: str, path: Path, tables: set[str]) -> dict[str, Any]:
    columns = dict.fromkeys(name for _, row in read_rows(path) for name in row)
    key = {"key": {"@id": f"{table}/{KEYS[table]}"}} if table in KEYS else {}
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        **key,
        "field": [_field(table, column, path, tables) for column in columns],
    }


def _field(table: str, column: str, path: Path, tables: set[str]) -> dict[str, Any]:
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
