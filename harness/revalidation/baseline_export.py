"""Export of a baseline: a small folder that is re-validated elsewhere, as on a CI machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.files import read_file, write_file, writing_to
from harness.revalidation.history import FILE, HistoryFile
from harness.revalidation.occasion import FOLDER
from harness.revalidation.revalidate import LookOptions, Sitting
from harness.runs import RunFolder
from harness.tasks import write_task

if TYPE_CHECKING:
    from pathlib import Path


def export_baseline(
    run: RunFolder, target: Path, options: LookOptions, *, item_text: bool = False
) -> None:
    """Write manifest, prompts, history, and the anchor's items and ratings into a new folder.

    A run without a baseline gets that of ``options`` first. Without the items' texts, a look reads
    them from the task. Raises `HarnessError` if the run cannot be read, or the folder exists or
    cannot be written.
    """
    if target.exists():
        raise RunError(f"{target}: it exists already; choose another folder, or remove it.")
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        if sitting.history.baseline is None:
            sitting.append(sitting.first_baseline())
        history = read_file(file.path)
    task, anchor = sitting.setup.task, set(sitting.history.baselines[-1].items)
    small = task.model_copy(
        update={
            "items": tuple(item for item in task.items if item.id in anchor),
            "ratings": tuple(rating for rating in task.ratings if rating.item in anchor),
            "ignored": tuple(rating for rating in task.ignored if rating.item in anchor),
        }
    )
    config = run.manifest.config.model_copy(update={"item_text": item_text})
    with writing_to(target, RunError):
        target.mkdir(parents=True)
        write_task(small, target / "task", item_text=item_text)
        sitting.setup.prompts.save(target / "prompts", item_text=item_text)
        write_file(target / FILE, history)
        write_file(target / ".gitignore", f"{FOLDER}/\n".encode())
        RunFolder(target, run.manifest, sealed=run.sealed).update(config=config)
