"""Content hash of a task folder that an import wrote, computed without holding the task."""

from __future__ import annotations

import csv
import json
from hashlib import sha256
from itertools import islice
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

import msgspec

from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import TASK_FILE, read_task_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from harness.tasks import TaskFile

CHUNK = 10_000  # rows whose JSON is hashed at once
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def imported_hash(folder: Path) -> str:
    """Return the `Task.content_hash` of a folder with ``items.jsonl`` and ``ratings.csv``.

    Loading a table of a million rows as a task takes gigabytes; this reads a row at a time.

    Parameters
    ----------
    folder : Path
        As `harness.curation.make_task` writes it: every value is an option, a list of options or
        a label that is ignored.
    """
    file = read_task_file(folder / TASK_FILE)
    digest = sha256(b"{")
    ignored = _ratings(folder, file, ignored=True) if file.ignore_labels else iter(())
    for name, rows in (
        ("ignored", ignored),
        ("items", _items(folder)),
        ("ratings", _ratings(folder, file, ignored=False)),
    ):
        digest.update(f'"{name}":['.encode())
        for i, part in enumerate(_joined(rows)):
            digest.update(("," + part if i else part).encode())
        digest.update(b"],")
    digest.update(f'"task":{_encode(file.described())}}}'.encode())
    return digest.hexdigest()


def _joined(rows: Iterator[str]) -> Iterator[str]:
    while chunk := list(islice(rows, CHUNK)):
        yield ",".join(chunk)


def _items(folder: Path) -> Iterator[str]:
    decode = msgspec.json.Decoder(dict[str, str]).decode
    with (folder / "items.jsonl").open("rb") as lines:
        for line in lines:
            row = decode(line)
            yield _encode([row.pop("id"), row.pop("group", None), row.pop("criterion", None), row])


def _ratings(folder: Path, file: TaskFile, *, ignored: bool) -> Iterator[str]:
    """Yield ratings, or those that the task ignores, as JSON arrays."""
    values: dict[str, tuple[bool, str]] = {}  # whether it is ignored, and its JSON
    with (folder / "ratings.csv").open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        next(rows)
        for item, rater, elicitation, text, *_ in rows:
            key = elicitation + text
            if key not in values:
                values[key] = _value(file, elicitation, text)
            is_foreign, value = values[key]
            if is_foreign is ignored:
                names = f"{encode_basestring_ascii(item)},{encode_basestring_ascii(rater)}"
                yield f'[{names},"{elicitation}",{value}]'


def _value(file: TaskFile, elicitation: str, text: str) -> tuple[bool, str]:
    foreign = set(file.ignore_labels)
    if elicitation == "forced_choice" or text == CANNOT_ASSESS:
        return text in foreign, _encode(text)
    named: Iterable[Any] = json.loads(text)
    if foreign.intersection(named):
        return True, _encode(named)
    return False, _encode([option.key for option in file.options if option.key in named])
