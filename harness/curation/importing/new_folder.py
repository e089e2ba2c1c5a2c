"""Atomic writing of a task folder, and a commented example task."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.regular_files import write_file
from harness.tasks.changelog import record_change
from harness.tasks.item import TASK_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTER = Path(__file__).parent / "starter"
FILES = (TASK_FILE, "items.csv", "ratings.csv")


def check_new(folder: Path) -> None:
    """Reject a folder that already exists.

    Raises
    ------
    TaskError
        If the path exists.
    """
    if folder.exists():
        raise TaskError(f"{folder}: exists already. Choose another name, or remove it yourself.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder to write to, which is renamed to ``folder`` at the end.

    Raises
    ------
    TaskError
        If the folder already exists or can't be written. The hidden folder is then removed.
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


def write_starter(name: str, folder: Path) -> None:
    """Write the commented example task.

    Parameters
    ----------
    name : str
        Name of the task.
    folder : Path
        Must not exist yet.

    Raises
    ------
    TaskError
        If the folder exists or cannot be written.
    """
    with new_folder(folder) as part:
        for file in FILES:
            text = (STARTER / file).read_text(encoding="utf-8")
            text = text.replace("name: starter", f"name: {name}") if file == TASK_FILE else text
            write_file(part / file, text.encode())
        record_change(part, "commented example")
