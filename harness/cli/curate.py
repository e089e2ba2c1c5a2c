"""`harness curate`: import, check, sample and export tasks with ratings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import import_table, options, verdicts
from harness.cli.binding import takes
from harness.cli.option_panels import PanelCommand
from harness.cli.output import echo, echo_json, echo_result, show, write
from harness.cli.rating_queue import draw, finding_of, next_ratings
from harness.cli.team import export_project
from harness.curation.curation_options import (
    CardOptions,
    DownloadOptions,
    DropOptions,
    KeptVerdicts,
    NewTask,
    NewTaskOptions,
    SampleOptions,
    TeamOptions,
)
from harness.curation.verdicts.score_export import SCORE_FORMATS
from harness.errors import TaskError, fault_of
from harness.options.concerns import Json, JsonOrDetails, Seed
from harness.options.result_options import Page

if TYPE_CHECKING:
    from harness.curation.verdicts.score_export import ScoreFormat
    from harness.tasks.dataset_fields import HubDataset

PASSES_ON = {"ignore_unknown_options": True, "allow_extra_args": True}
app = typer.Typer(
    help="Import, check, sample and export ratings.", cls=options.Group, rich_markup_mode=None
)


@app.callback()
def curate() -> None:
    """Import, check, sample and export ratings."""


@app.command("audit", short_help="Check the items and ratings of a task.")
@takes
def audit(
    task: options.TaskName,
    *,
    verdicts: KeptVerdicts,
    page: Page,
    seed: Seed,
    printing: JsonOrDetails,
) -> None:
    """Check a task's items and ratings for problems, and suggest a fix for each.

    Finds duplicates and near duplicates, items with a single rater, raters with few items, outlying
    raters, raters who may copy each other, contradicting choices and sets, unused and misspelt
    options, secrets and personal data, and says whether there are enough ratings. With verdicts, it
    also finds suspected rating errors. Findings that change the decision if you drop their items or
    raters come first. Each finding ends with the command to fix it.

    \b
    Examples:
      harness curate audit toxicity
      harness curate audit ./mine --verdicts ./mine/verdicts.csv --page audit.html
      harness curate audit ./mine --json > audit.json
    """
    from harness.curation.audit import audit_task, audit_text
    from harness.curation.audit.audit_report import audit_page
    from harness.tasks import load_task

    result = audit_task(load_task(task), verdicts.verdicts, name=task, seed=seed.seed)
    if page.page is not None:
        write(page.page, audit_page(result))
    if printing.as_json:
        echo_result(result)
        return
    echo(audit_text(result, details=printing.details))
    if page.page is not None:
        echo(f"\nWrote {page.page}.")


@app.command("card", short_help="Write a data card and Croissant metadata.")
@takes
def card(task: options.TaskName, *, place: CardOptions, printing: Json) -> None:
    """Write a data card (card.md) and Croissant metadata (croissant.json) for a task.

    The card describes the ratings, their origin, rater agreement, the audit's findings and any
    changes. It doesn't contain item texts. The command overwrites both files.

    \b
    Examples:
      harness curate card ./mine
      harness curate card toxicity --to cards
    """
    from harness.curation.versions.data_card import write_cards
    from harness.tasks import load_task

    paths = write_cards(load_task(task), place.card_folder)
    if printing.as_json:
        echo_json({"files": [str(path) for path in paths]}, indent=None)
    else:
        echo("\n".join(f"Wrote {path}." for path in paths))


@app.command("diff", short_help="Compare two versions of a task.")
@takes
def diff(
    before: Annotated[str, typer.Argument(help="Name or path of the earlier version.")],
    after: Annotated[str, typer.Argument(help="Name or path of the later version.")],
    *,
    verdicts: KeptVerdicts,
    seed: Seed,
    printing: Json,
) -> None:
    """Compare two versions of a task: items, ratings, options, other fields, and the decision.

    \b
    Examples:
      harness curate diff ./mine ./mine-2
      harness curate diff runs/mine-20260101T120000Z-1a2b3c/task ./mine
      harness curate diff ./mine ./mine-2 --verdicts ./mine/verdicts.csv --json
    """
    from harness.curation.versions.task_diff import diff_text, task_diff
    from harness.tasks import load_task

    tasks = load_task(before), load_task(after)
    result = task_diff(*tasks, verdicts.verdicts, seed=seed.seed)
    if printing.as_json:
        echo_result(result)
    else:
        echo(diff_text(result))


@app.command("download", short_help="Fetch a data set from the Hugging Face hub.")
@takes
def download(
    name: Annotated[
        str, typer.Argument(help="OWNER/NAME of the data set on the hub, or a recipe.")
    ],
    *,
    wanted: DownloadOptions,
) -> None:
    """Write a split of a Hugging Face data set as parquet, for curate import.

    You pass a fixed commit, so that everybody gets the same rows. The command reads csv, json,
    parquet and arrow files, and never runs a data set's code.

    \b
    Examples:
      harness curate download OWNER/NAME --revision COMMIT --split test
      harness curate download mt-bench --revision COMMIT
    """
    from harness.tasks.dataset_fields import HUB
    from harness.tasks.hub_download import download_split

    dataset = _dataset(name, wanted.model_dump(exclude_none=True, exclude={"parquet_file"}))
    if dataset.revision is None:
        address = f"{HUB}/{dataset.name}"
        raise TaskError(
            f"{dataset.name}: pass --revision COMMIT, because branches can change. "
            f"`git ls-remote {address} HEAD` prints the newest."
        )
    file = wanted.parquet_file or Path(f"{dataset.name.rpartition('/')[2]}-{dataset.split}.parquet")
    n_rows = download_split(dataset.name, dataset, file)
    echo(f"{file}: {n_rows} rows")


def _dataset(name: str, options: dict[str, str]) -> HubDataset:
    """Return a data set on the hub, named directly or by a recipe, with the command's options."""
    from pydantic import ValidationError

    from harness.tasks.dataset_fields import HubDataset

    fields = {"name": name} if "/" in name else _of_recipe(name).model_dump()
    try:
        return HubDataset.model_validate(fields | options)
    except ValidationError as error:
        fault = fault_of(error)
        expected = "Write OWNER/NAME" if fault.place == "name" else fault.problem
        raise TaskError(f"{fault.place}: found {fault.found!r}. {expected}.") from None


def _of_recipe(name: str) -> HubDataset:
    """Return the location on the hub of a recipe's data set."""
    from harness.curation.importing.import_recipe import read_recipe

    recipe = read_recipe(name)
    if recipe.datasets is None:
        raise TaskError(
            f"recipe {name!r}: this data set isn't on the hub. Get the data set from "
            f"{recipe.source}."
        )
    return recipe.datasets


@app.command("drop", short_help="Write a task without some items or raters.")
@takes
def drop(
    task: options.TaskName,
    *,
    made: NewTask,
    wanted: DropOptions,
    printing: Json,
) -> None:
    """Write a version of a task without some items or raters, and count the rest.

    The first of several duplicate items stays, and so does the first of a pair of raters. Items
    that lose all ratings are left out too. Ids don't change, and verdicts.csv is updated.

    \b
    Examples:
      harness curate drop ./mine --as mine-2 --raters zoe
      harness curate drop ./mine --as mine-2 --finding duplicate_items
    """
    from harness.curation.importing.new_folder import check_new
    from harness.curation.versions.dropping import write_without
    from harness.files.plain_text import counted
    from harness.tasks import load_task

    folder = options.task_folder(made.new_name)
    check_new(folder)
    if not (wanted.items_out or wanted.raters_out or wanted.finding):
        raise typer.BadParameter(
            "you didn't say what to leave out. Pass --items, --raters or --finding"
        )
    loaded = load_task(task)
    items, raters = list(wanted.items_out or ()), list(wanted.raters_out or ())
    if wanted.finding:
        found = finding_of(loaded, wanted.finding, wanted.verdicts, wanted.seed)
        items += found.left_out_items
        raters += found.left_out_raters
    result = write_without(loaded, folder, items=items, raters=raters)
    if printing.as_json:
        echo_json({"folder": str(folder), **asdict(result)}, indent=None)
        return
    left = f"{counted([result.n_items])}, {counted([result.n_ratings], 'rating')}"
    dropped = counted([result.n_items_dropped])
    dropped += f", {counted([result.n_ratings_dropped], 'rating')}"
    echo(
        f"Wrote {folder}: {left}. Left out: {dropped}.\n"
        f"Next:\n  harness curate diff {quote(task)} {options.argument(folder)}"
    )


app.command("next", short_help="List the items to rate next.")(next_ratings)
app.command("draw", short_help="Draw items without ratings for an estimate.")(draw)


@app.command("sample", short_help="Draw items of a task.")
@takes
def sample(task: options.TaskName, *, wanted: SampleOptions, seed: Seed, printing: Json) -> None:
    """Draw a random sample of the items with their ratings, or equal numbers by --by.

    Every item keeps its inclusion probability, and the task's notice says that its numbers describe
    the sample. Ids are built from the content and the occurrence number.

    \b
    Examples:
      harness curate sample ./mine --as chosen --items 200
      harness curate sample ./mine --as chosen --items 200 --by disagreement
      harness curate sample ./mine --as chosen --items 300 --by group --split 0.3
    """
    import numpy as np

    from harness.curation.collecting.sampling import (
        PARTS,
        draw_sample,
        split_by_group,
        write_sample,
    )
    from harness.curation.importing.new_folder import check_new
    from harness.tasks import load_task

    source, folder = load_task(task), options.task_folder(wanted.new_name)
    rng = np.random.default_rng(seed.seed)
    drawn = draw_sample(source, wanted.drawn_by, wanted.n_drawn, rng=rng, levels=wanted.levels)
    written = {folder: drawn}
    if (share := wanted.calibration_share) is not None:
        paths = [folder.with_name(f"{folder.name}-{part}") for part in PARTS]
        written = dict(zip(paths, split_by_group(source, drawn, share, rng=rng), strict=True))
    for path in written:
        check_new(path)
    for path, part in written.items():
        write_sample(source, part, path, wanted.drawn_by)
    if printing.as_json:
        folders = {str(path): len(part.probabilities) for path, part in written.items()}
        strata = [asdict(stratum) for stratum in drawn.strata]
        summary = {"folders": folders, "strata": strata, "n_outside": drawn.n_outside}
        echo_json(summary)
        return
    show([{"stratum": s.name, "items": s.n_items, "sampled": s.n_sampled} for s in drawn.strata])
    if drawn.n_outside:
        echo(
            f"{drawn.n_outside} items don't belong to any stratum, so the weights don't "
            "represent them."
        )
    for path, part in written.items():
        echo(f"Wrote {path}: {len(part.probabilities)} items.")


app.command("verdicts", short_help="Write verdicts of other tools for validate.")(verdicts.verdicts)
app.command("import", cls=PanelCommand, short_help="Make a task from a table of ratings.")(
    import_table.import_
)


@app.command("export", short_help="Write a task as one table, or for a rating tool.")
@takes
def export(
    task: options.TaskName,
    file: Annotated[
        Path, typer.Argument(help="Table to write (csv or jsonl). With --to: a folder, or jsonl.")
    ],
    *,
    project: TeamOptions,
    printing: Json,
) -> None:
    """Write a task, its ratings and verdicts as one table, or its items for a rating tool.

    FILE.task.yaml and the folder FILE.files next to the table contain the rest of the task,
    including images. `harness curate import FILE` restores the task from them. In csv, cells that
    start with = + - @ get an apostrophe, which the import removes. With --to, the command writes a
    folder with files for the rating tool, one for each form of rating, and assignments.csv.
    `harness curate import EXPORT --into TASK` adds the finished ratings. With --to langfuse or
    mlflow, FILE gets the judges' verdicts as scores of the traces that the items came from, with
    one request per line.

    \b
    Examples:
      harness curate export ./mine ratings.csv
      harness curate export ./mine team --to label-studio --raters ann,bea,cem
      harness curate export ./mine team --to label-studio --queue queue.csv
      harness curate export ./mine out.jsonl --to mlflow --verdicts verdicts.csv
    """
    from harness.curation.versions.task_export import export_task, sidecar_of
    from harness.tasks import load_task

    form = next((form for form in SCORE_FORMATS if form == project.tool), None)
    if form is not None:
        _export_scores(task, file, form, project.verdicts, as_json=printing.as_json)
        return
    if project.tool is not None:
        if project.per_item and not project.team:
            raise typer.BadParameter(
                "this option works only with --raters", param_hint="--per-item"
            )
        if project.team_queue and project.team:
            raise typer.BadParameter("pass --queue or --raters, but not both")
        loaded = load_task(task, unrated=True)
        export_project(
            loaded, file, project, project.tool, seed=project.seed, as_json=printing.as_json
        )
        return
    summary = export_task(load_task(task), file)
    if printing.as_json:
        echo_json({"file": str(file), **asdict(summary)}, indent=None)
        return
    echo(f"Wrote {file} and {sidecar_of(file).name}: {summary}.")


def _export_scores(
    name: str, file: Path, form: ScoreFormat, verdicts: Path | None, *, as_json: bool
) -> None:
    """Write verdicts as scores, and print how many were written."""
    from harness.curation.verdicts.score_export import export_scores
    from harness.curation.versions.task_export import verdicts_of
    from harness.judging.parsing.external_verdicts import read_external
    from harness.tasks import load_task

    task = load_task(name)
    path = verdicts or verdicts_of(task)
    if path is None:
        raise TaskError(f"{name}: has no verdicts.csv. Pass a run's verdicts with --verdicts.")
    path = path / "verdicts.jsonl" if path.is_dir() else path
    summary = export_scores(task, read_external(path, task), file, form)
    if as_json:
        echo_json({"file": str(file), **asdict(summary)}, indent=None)
        return
    counts = ", ".join(f"{judge} {n}" for judge, n in summary.judges.items())
    echo(f"Wrote {file}: {summary.judges.total()} scores ({counts or 'none'}).")
    if summary.left_out:
        left_out = ", ".join(f"{n} {outcome}" for outcome, n in summary.left_out.items())
        echo(f"Left out, because they have no answer: {left_out}.")


@app.command(
    "new", short_help="Write a task folder, optionally from a table.", context_settings=PASSES_ON
)
@takes
def new_task(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or path of the new folder.")],
    *,
    wanted: NewTaskOptions,
    printing: Json,
) -> None:
    """Write a task folder: an example to edit, or a task from a table of ratings.

    With --from, this is `harness curate import FILE --as NAME` and takes its options.

    \b
    Examples:
      harness curate new politeness
      harness curate new mine --from ratings.csv
    """
    folder = options.task_folder(name)
    if wanted.source is not None:
        arguments = ["import", str(wanted.source), "--as", name, *context.args]
        command = typer.main.get_command(app)
        command.main(
            [*arguments, *(["--json"] if printing.as_json else [])],
            prog_name="harness curate",
            standalone_mode=False,
        )
        return
    from harness.curation.importing import write_starter

    options.check_without_table(context)
    write_starter(folder.name, folder)
    if printing.as_json:
        echo_json({"folder": str(folder)}, indent=None)
    else:
        echo(_starter_message(folder))


def _starter_message(folder: Path) -> str:
    return (
        f"Wrote {folder}: task.yaml (commented), items.csv and ratings.csv, a made-up example.\n"
        f"Next:\n  harness run --task {options.argument(folder)}\n"
        "Then replace the items and ratings, or start from a table: "
        "harness curate import --help"
    )
