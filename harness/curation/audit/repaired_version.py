"""Writing a repaired task as a new version beside the one that was audited."""

from __future__ import annotations

import csv
import json
import shutil
from io import StringIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.curation.audit.finding import Version
from harness.curation.audit.fixes import repair
from harness.curation.new_folder import new_folder
from harness.curation.task_export import VERDICTS, verdicts_of
from harness.files import write_file
from harness.tasks import CHANGELOG, load_task, record_change, write_task
from harness.tasks.provenance import read_provenance
from harness.tasks.tables import parse_json, read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.curation.audit.finding import Audit
    from harness.curation.audit.fixes import Names, Repair
    from harness.tasks import Task


def write_repaired(task: Task, audit: Audit, folder: Path | None = None) -> Version:
    """Write a task with its safe findings repaired as a new version; see `repair`.

    Ratings keep when and how they were made, and ``verdicts.csv`` follows merged items and
    options. The changelog goes on with a line per repair.

    Parameters
    ----------
    folder : Path, optional
        Must not exist yet; by default the next free ``NAME-2``, ``NAME-3`` in the current folder.

    Raises
    ------
    TaskError
        If the folder exists or cannot be written.
    """
    result = repair(task, audit)
    fixes, left = tuple(result.fixes), tuple(result.left)
    if not fixes:
        return Version(folder=None, fixes=(), left=left)
    target = folder or next_version(task.name)
    with new_folder(target) as part:
        _write(task, result, part)
    return Version(folder=str(target), fixes=fixes, left=left)


def next_version(name: str) -> Path:
    """Return the first of ``NAME-2``, ``NAME-3``, ... that does not exist here."""
    return next(path for n in count(2) if not (path := Path(f"{name}-{n}")).exists())


def _write(task: Task, result: Repair, folder: Path) -> None:
    provenance = {
        (result.items.get(item, item), rater, elicitation): cells
        for (item, rater, elicitation), cells in read_provenance(task).items()
    }
    write_task(result.task, folder, item_text=True, provenance=provenance)
    for name in set(task.prompts.values()):
        shutil.copyfile(task.folder / name, folder / name)
    verdicts = verdicts_of(task)
    if verdicts:
        write_file(folder / VERDICTS, _verdicts(verdicts, result).encode())
    changelog = task.folder / CHANGELOG
    if changelog.exists():
        shutil.copyfile(changelog, folder / CHANGELOG)
    for fix in result.fixes:
        record_change(folder, f"audit: {fix.what}", before=fix.before, after=fix.after)
    load_task(folder)


def _verdicts(path: Path, result: Repair) -> str:
    """Return a table of verdicts whose items and options are those of the repaired task."""
    rows = [row for _, row in read_rows(path)]
    own = {_key(row) for row in rows if row["item"] not in result.items}
    kept = []
    for row in rows:
        renamed = row | {"item": result.items.get(row["item"], row["item"])}
        if row["item"] in result.items and _key(renamed) in own:
            continue
        own.add(_key(renamed))
        kept.append(renamed | {"value": _value(row["value"], result.options)})
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept)
    return text.getvalue()


def _key(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("item", "judge", "elicitation", "sample"))


def _value(text: str, merged: Names) -> str:
    """Return a verdict in the options' new spelling; what is no list of options stays as it is."""
    if not (merged and text.startswith("[")):
        return merged.get(text, text)
    try:
        members = parse_json(text)
    except ValueError:
        return text
    keys = [merged.get(key, key) for key in members if isinstance(key, str)]
    return json.dumps(list(dict.fromkeys(keys)), ensure_ascii=False) if keys else text
