"""The commented example task that `harness new-task NAME` writes."""

from __future__ import annotations

from pathlib import Path

from harness.curation.convert import check_new
from harness.errors import TaskError
from harness.files import write_file
from harness.tasks.changelog import record_change
from harness.tasks.schema import TASK_FILE

STARTER = Path(__file__).parent / "starter"
FILES = (TASK_FILE, "items.csv", "ratings.csv")


def write_starter(name: str, folder: Path) -> None:
    """Write the example task.

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
    check_new(folder)
    try:
        folder.mkdir(parents=True)
        for file in FILES:
            text = (STARTER / file).read_text(encoding="utf-8")
            text = text.replace("name: starter", f"name: {name}") if file == TASK_FILE else text
            write_file(folder / file, text.encode())
        record_change(folder, "commented example")
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written ({error.strerror}).") from None
