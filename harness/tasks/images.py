"""Items' images, which are files in the task's folder and are never downloaded."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.regular_files import read_file
from harness.tasks.item import path_inside

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.tasks.item import Item

MAX_IMAGE_BYTES = 5 << 20  # Anthropic refuses larger ones
MAX_IMAGES = 5_000  # of a task: they are copied into each run folder
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image of an item.

    Attributes
    ----------
    path : Path
        Location of the file.
    media_type : str
        Type detected from the first bytes, such as ``image/png``.
    n_bytes : int
        Size of the file.
    digest : str
        SHA-256, 64 hex digits.
    """

    path: Path
    media_type: str
    n_bytes: int
    digest: str

    @property
    def reference(self) -> str:
        """Reference that stands for the image in a request's cache key."""
        return f"{self.media_type};sha256,{self.digest}"

    def data_url(self) -> str:
        """Return the image as a ``data:`` URL.

        Raises
        ------
        TaskError
            If the image cannot be read or has changed.
        """
        return f"data:{self.media_type};base64,{base64.b64encode(self.read()).decode('ascii')}"

    def read(self) -> bytes:
        """Return the image as bytes.

        Raises
        ------
        TaskError
            If the image cannot be read or has changed.
        """
        data = read_image(self.path)
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise TaskError(f"{self.path}: the image has changed since it was checked.")
        return data


def read_images(folder: Path, field: str, items: Iterable[Item]) -> dict[str, Image]:
    """Read and check items' images. An item with an empty field has no image."""
    images: dict[str, Image] = {}
    for item in items:
        if name := item.fields.get(field, ""):
            path = path_inside(folder, name, f"item {item.id!r}: {field}")
            images[item.id] = _image(path, read_image(path))
            if len(images) > MAX_IMAGES:
                raise TaskError(f"{folder}: more than {MAX_IMAGES} images. Split the task.")
    return images


def _image(path: Path, data: bytes) -> Image:
    media_type = next((t for start, t in SIGNATURES.items() if data.startswith(start)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type = "image/webp"
    if not media_type:
        raise TaskError(f"{path}: not a PNG, JPEG, GIF or WebP image. Convert it.")
    return Image(path, media_type, len(data), hashlib.sha256(data).hexdigest())


def read_image(path: Path) -> bytes:
    """Return an image's content. Raise `TaskError` if the file is unreadable or too large."""
    try:
        return read_file(path, MAX_IMAGE_BYTES)
    except OSError as error:
        raise TaskError(f"{path}: the image cannot be read ({error.strerror}).") from None
