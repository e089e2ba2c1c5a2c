"""Columns of images: names of files next to the table, or ``data:`` URLs."""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.regular_files import write_file
from harness.tasks.images import read_image
from harness.tasks.item import path_inside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.curation.importing.column_facts import Facts
    from harness.tasks.columns.table_columns import Table

    Pictures = Mapping[str, Path | bytes]

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
OPENING = "data:image/"
ENCODED = ";base64,"
DIGITS = 16  # digits in a file's name


def is_picture(text: str) -> bool:
    """Return whether a cell is an image file's name or a ``data:`` URL.

    Examples
    --------
    >>> is_picture("shots/page_1.png"), is_picture("data:image/png;base64,iVBO")
    (True, True)
    >>> is_picture("https://example.org/1.png"), is_picture("see fig. 2.png or so")
    (False, False)
    """
    if text.startswith(OPENING):
        return ENCODED in text
    return PurePosixPath(text).suffix.lower() in ENDINGS and not {" ", ":"} & {*text}


def picture_column(facts: Facts, columns: list[str]) -> str:
    """Return the only column of images, or "" if none or several columns contain images."""
    pictures = [name for name in columns if facts.all_values(name, is_picture)]
    return pictures[0] if len(pictures) == 1 else ""


def with_pictures(table: Table, column: str) -> tuple[Table, Pictures]:
    """Replace a column's cells with image file names, and return the table and each file's source.

    Raises
    ------
    TaskError
        If a file isn't next to the table, is outside its folder, or a ``data:`` URL can't be
        decoded.
    """
    folder = table.path.parent
    pictures: dict[str, Path | bytes] = {}
    names = [""]
    for text in table.columns[column].values:
        if text.startswith(OPENING):
            name, pictures[name] = _decoded(text, f"{table.path}: {column}")
        else:
            name = text
            pictures[name] = path_inside(folder, name, column)
            if not (folder / name).is_file():
                raise TaskError(f"{table.path}: {column}: file {name!r} isn't next to the table.")
        names.append(name)
    return table.with_texts(column, names), pictures


def _decoded(text: str, where: str) -> tuple[str, bytes]:
    """Decode an image from a ``data:`` URL. Return its file name and content."""
    kind, _, encoded = text.removeprefix(OPENING).partition(ENCODED)
    try:
        content = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise TaskError(f"{where}: a data: URL can't be decoded. Write it as base64.") from None
    ending = re.split(r"\W", kind, maxsplit=1)[0].replace("jpeg", "jpg")
    return f"images/{sha256(content).hexdigest()[:DIGITS]}.{ending}", content


def write_pictures(pictures: Pictures, folder: Path) -> None:
    """Write images to a task's folder."""
    for name, source in pictures.items():
        content = source if isinstance(source, bytes) else read_image(source)
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, content)
