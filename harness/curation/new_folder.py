"""Writing a task folder whole or not at all."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.curation.convert import check_new
from harness.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a hidden folder to write into, which becomes ``folder`` at the end.

    Raises
    ------
    TaskError
        If the folder exists already or cannot be written; nothing is left then.
    """
    check_new(folder)
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        part.replace(folder)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written ({error.strerror}).") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
