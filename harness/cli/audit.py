"""`harness curate audit`: check the items and ratings of a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json

if TYPE_CHECKING:
    from harness.curation.audit import Audit


def audit(
    task: Annotated[str, typer.Argument(help="Name or path of a task.")],
    *,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="Verdicts of judges (a file or a run folder), to measure what findings do to the "
            "decision; by default verdicts.csv of the task."
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write a new version with the safe findings repaired.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--as", help="With --fix: folder to make.  [default: the next TASK-2]"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the audit into this file, as a page.")
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Check the items and ratings of a task: what endangers a decision, and what to do about it.

    Finds duplicates and near duplicates, items with a single rater, raters with few items, raters
    unlike the others, unused and misspelt options, secrets and personal data, and says whether
    there are enough ratings. With verdicts it also finds suspected rating errors, and puts first
    what changes the decision when it is left out.

    --fix merges identical items where no rater rated both, puts the other duplicates into a group
    and merges spellings of an option, in a new folder; the rest is listed as left to you.

    \b
    Examples:
      harness curate audit toxicity
      harness curate audit ./mine --verdicts ./mine/verdicts.csv --page audit.html
      harness curate audit ./mine --fix --as mine-2
      harness curate audit ./mine --json > audit.json
    """
    from harness.analysis.serialize import to_json
    from harness.curation.audit import audit_task, audit_text, write_repaired
    from harness.curation.convert import check_new
    from harness.tasks import load_task

    if name and not fix:
        raise typer.BadParameter("name a folder with --fix only", param_hint="--as")
    folder = options.task_folder(name) if name else None
    if folder is not None:
        check_new(folder)
    loaded = load_task(task)
    result = audit_task(loaded, verdicts, seed=seed)
    if fix:
        result = replace(result, version=write_repaired(loaded, result, folder))
    if page is not None:
        _write_page(page, result)
    if as_json:
        echo_json(to_json(result))
        return
    echo(audit_text(result))
    if result.version and result.version.folder:
        echo(f"\nNext:\n  harness curate diff {task} {_argument(result.version.folder)}")
    if page is not None:
        echo(f"\nWrote {page}.")


def _argument(folder: str) -> str:
    return folder if Path(folder).is_absolute() else f"./{folder}"


def _write_page(page: Path, audit: Audit) -> None:
    from harness.curation.audit.audit_report import audit_page
    from harness.errors import TaskError
    from harness.files import write_file

    try:
        write_file(page, audit_page(audit).encode())
    except OSError as error:
        raise TaskError(f"{page}: cannot be written ({error.strerror}).") from None
