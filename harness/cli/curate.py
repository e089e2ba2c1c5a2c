"""`harness curate` and `new-task`: tasks from tables of ratings, and what is done with them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import import_table, options, verdicts
from harness.cli.output import echo, echo_json, echo_result, show, write
from harness.cli.rating_queue import FINDING, finding_of, next_ratings
from harness.cli.team import Project, export_project
from harness.errors import TaskError, fault_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tasks.dataset_fields import HubDataset

app = typer.Typer(
    help="Import, check, sample and export ratings.", cls=options.Group, rich_markup_mode=None
)


@app.callback()
def curate() -> None:
    """Import, check, sample and export ratings."""


@app.command("audit", short_help="Check the items and ratings of a task.")
def audit(
    task: options.TaskName,
    *,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="Verdicts of judges (a file or a run folder), to measure what findings do to the "
            "decision; by default verdicts.csv of the task."
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the audit into this file, as a page.")
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Check the items and ratings of a task: what endangers a decision, and what to do about it.

    Finds duplicates and near duplicates, items with a single rater, raters with few items, raters
    unlike the others or too much like another, contradicting choices and sets, unused and misspelt
    options, secrets and personal data, and says whether there are enough ratings. With verdicts it
    also finds suspected rating errors, and puts first what changes the verdict, or which judges are
    equals, when it is left out. Each finding ends with the command that acts on it.

    \b
    Examples:
      harness curate audit toxicity
      harness curate audit ./mine --verdicts ./mine/verdicts.csv --page audit.html
      harness curate audit ./mine --json > audit.json
    """
    from harness.curation.audit import audit_task, audit_text
    from harness.curation.audit.audit_report import audit_page
    from harness.tasks import load_task

    result = audit_task(load_task(task), verdicts, name=task, seed=seed)
    if page is not None:
        write(page, audit_page(result))
    if as_json:
        echo_result(result)
        return
    echo(audit_text(result))
    if page is not None:
        echo(f"\nWrote {page}.")


@app.command("card", short_help="Write a data card and Croissant metadata.")
def card(
    task: options.TaskName,
    *,
    folder: Annotated[
        Path | None,
        typer.Option("--to", help="Folder to write into; by default the task's own."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a data card (card.md) and Croissant metadata (croissant.json) of a task.

    The card says what the ratings are, how they were made, how far raters agree, what the audit
    finds, and what was changed; it holds no text of an item. Both are written anew each time.

    \b
    Examples:
      harness curate card ./mine
      harness curate card toxicity --to cards
    """
    from harness.curation.data_card import write_cards
    from harness.tasks import load_task

    paths = write_cards(load_task(task), folder)
    if as_json:
        echo_json({"files": [str(path) for path in paths]}, indent=None)
    else:
        echo("\n".join(f"Wrote {path}." for path in paths))


@app.command("diff", short_help="Compare two versions of a task.")
def diff(
    before: Annotated[str, typer.Argument(help="Name or path of the earlier version.")],
    after: Annotated[str, typer.Argument(help="Name or path of the later version.")],
    *,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="Verdicts of judges; by default verdicts.csv of each version."),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Compare two versions of a task: items, ratings, options, other fields, and the decision.

    \b
    Examples:
      harness curate diff ./mine ./mine-2
      harness curate diff runs/mine-20260101T120000Z-1a2b3c/task ./mine
      harness curate diff ./mine ./mine-2 --verdicts ./mine/verdicts.csv --json
    """
    from harness.curation.task_diff import diff_text, task_diff
    from harness.tasks import load_task

    result = task_diff(load_task(before), load_task(after), verdicts, seed=seed)
    if as_json:
        echo_result(result)
    else:
        echo(diff_text(result))


@app.command("download", short_help="Fetch a data set of the Hugging Face hub.")
def download(
    name: Annotated[
        str, typer.Argument(help="OWNER/NAME of the data set on the hub, or a recipe.")
    ],
    *,
    revision: Annotated[
        str | None,
        typer.Option(
            help="Commit of the data set: 40 hexadecimal digits. The recipe's if it has one."
        ),
    ] = None,
    configuration: Annotated[
        str | None, typer.Option(help="Configuration of the data set, where it has several.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The split to write: train, or the recipe's.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write; NAME-SPLIT.parquet by default.")
    ] = None,
) -> None:
    """Write a split of a data set of the Hugging Face hub as parquet, for curate import.

    The commit is fixed, so that everybody gets the same rows.
    Data sets of csv, json, parquet and arrow files are read; no code of a data set is run.

    \b
    Examples:
      harness curate download OWNER/NAME --revision COMMIT --split test
      harness curate download mt-bench --revision COMMIT
    """
    from harness.tasks.dataset_fields import HUB
    from harness.tasks.hub_download import download_split

    options = {"configuration": configuration, "split": split, "revision": revision}
    dataset = _dataset(name, {key: value for key, value in options.items() if value is not None})
    if dataset.revision is None:
        address = f"{HUB}/{dataset.name}"
        raise TaskError(
            f"{dataset.name}: give --revision COMMIT: a branch may change. "
            f"`git ls-remote {address} HEAD` prints the newest."
        )
    file = output or Path(f"{dataset.name.rpartition('/')[2]}-{dataset.split}.parquet")
    n_rows = download_split(dataset.name, dataset, file)
    echo(f"{file}: {n_rows} rows")


def _dataset(name: str, options: dict[str, str]) -> HubDataset:
    """Return a data set of the hub, or that of a recipe, with the options of the command."""
    from pydantic import ValidationError

    from harness.tasks.dataset_fields import HubDataset

    fields = {"name": name} if "/" in name else _of_recipe(name).model_dump()
    try:
        return HubDataset.model_validate(fields | options)
    except ValidationError as error:
        fault = fault_of(error)
        expected = "write OWNER/NAME" if fault.place == "name" else fault.problem
        raise TaskError(f"{fault.place}: found {fault.found!r}; {expected}.") from None


def _of_recipe(name: str) -> HubDataset:
    """Return where the data set of a recipe is on the hub."""
    from harness.curation.import_recipe import read_recipe

    recipe = read_recipe(name)
    if recipe.datasets is None:
        raise TaskError(f"recipe {name!r}: it is not on the hub; get it from {recipe.source}.")
    return recipe.datasets


@app.command("drop", short_help="Write a task without some items or raters.")
def drop(
    task: options.TaskName,
    *,
    name: Annotated[str, typer.Option("--as", help="Name or path of the folder to make.")],
    items: Annotated[
        str | None, typer.Option(help="Ids of items to leave out, comma-separated.")
    ] = None,
    raters: Annotated[
        str | None, typer.Option(help="Raters to leave out, comma-separated.")
    ] = None,
    finding: Annotated[str | None, FINDING] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="With --finding: verdicts of judges, where the audit had them."),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Write a version of a task without some items or raters, and say what is left.

    Of duplicates the first item stays, of a pair of raters the first. Items that nobody rated then
    are left out too; ids stay, and verdicts.csv follows.

    \b
    Examples:
      harness curate drop ./mine --as mine-2 --raters zoe
      harness curate drop ./mine --as mine-2 --finding duplicate_items
    """
    from harness.curation.dropping import write_without
    from harness.curation.new_folder import check_new
    from harness.report.formatting import counted
    from harness.tasks import load_task

    folder = options.task_folder(name)
    check_new(folder)
    if not (items or raters or finding):
        raise typer.BadParameter("say what to leave out: --items, --raters or --finding")
    loaded = load_task(task)
    left_out_items = options.split(items, "--items") or []
    left_out_raters = options.split(raters, "--raters") or []
    if finding:
        found = finding_of(loaded, finding, verdicts, seed)
        left_out_items += found.left_out_items
        left_out_raters += found.left_out_raters
    result = write_without(loaded, folder, items=left_out_items, raters=left_out_raters)
    if as_json:
        echo_json({"folder": str(folder), **asdict(result)}, indent=None)
        return
    left = f"{counted([result.n_items])}, {counted([result.n_ratings], 'rating')}"
    dropped = counted([result.n_items_dropped])
    dropped += f", {counted([result.n_ratings_dropped], 'rating')}"
    echo(
        f"Wrote {folder}: {left}. Left out: {dropped}.\n"
        f"Next:\n  harness curate diff {task} {options.argument(folder)}"
    )


app.command("next", short_help="List the items to rate next.")(next_ratings)


@app.command("sample", short_help="Draw items of a task.")
def sample(
    task: options.TaskName,
    *,
    name: Annotated[str, typer.Option("--as", help="Name or path of the folder to make.")],
    items: Annotated[int, typer.Option(min=1, help="Number of items.")],
    by: Annotated[
        Literal["disagreement", "criterion", "group"] | None,
        typer.Option(help="What the sample has equal numbers of, in place of a random sample."),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help="By disagreement: per cents positive, in steps of ten.  [default: 10,20,30,40,50]"
        ),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Write two tasks by group; this share of groups for calibration."
        ),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Draw a random sample of the items with their ratings, or equal numbers by --by.

    Every item keeps its inclusion probability; the task's notice says that its numbers describe
    the sample. Ids are made of content and occurrence number.

    \b
    Examples:
      harness curate sample ./mine --as chosen --items 200
      harness curate sample ./mine --as chosen --items 200 --by disagreement
      harness curate sample ./mine --as chosen --items 300 --by group --split 0.3
    """
    import numpy as np

    from harness.curation.new_folder import check_new
    from harness.curation.sampling import LEVELS, PARTS, draw_sample, split_by_group, write_sample
    from harness.tasks import load_task

    if levels is not None and by != "disagreement":
        raise typer.BadParameter("it goes with --by disagreement", param_hint="--levels")
    source, folder = load_task(task), options.task_folder(name)
    rng = np.random.default_rng(seed)
    drawn = draw_sample(
        source, by, items, rng=rng, levels=LEVELS if levels is None else _levels(levels)
    )
    written = {folder: drawn}
    if split is not None:
        paths = [folder.with_name(f"{folder.name}-{part}") for part in PARTS]
        written = dict(zip(paths, split_by_group(source, drawn, split, rng=rng), strict=True))
    for path in written:
        check_new(path)
    for path, part in written.items():
        write_sample(source, part, path, by)
    if as_json:
        folders = {str(path): len(part.probabilities) for path, part in written.items()}
        strata = [asdict(stratum) for stratum in drawn.strata]
        summary = {"folders": folders, "strata": strata, "n_outside": drawn.n_outside}
        echo_json(summary)
        return
    show([{"stratum": s.name, "items": s.n_items, "sampled": s.n_sampled} for s in drawn.strata])
    if drawn.n_outside:
        echo(f"{drawn.n_outside} items belong to no stratum; no weights can speak for them.")
    for path, part in written.items():
        echo(f"Wrote {path}: {len(part.probabilities)} items.")


def _levels(text: str) -> Sequence[int]:
    parts = options.split(text, "--levels") or []
    allowed = [str(level) for level in range(0, 101, 10)]
    if not set(parts) <= set(allowed):
        raise typer.BadParameter(
            f"{text!r}: expected per cents in steps of ten, such as 10,20", param_hint="--levels"
        )
    return [int(part) for part in parts]


app.command("verdicts", short_help="Write verdicts of other tools for validate.")(verdicts.verdicts)
app.command("import", short_help="Make a task of a table of ratings.")(import_table.import_)


@app.command("export", short_help="Write a task as one table, or for a rating tool.")
def export(
    task: options.TaskName,
    file: Annotated[
        Path, typer.Argument(help="Table to write: csv or jsonl; with --to, a folder to make.")
    ],
    *,
    to: Annotated[
        Literal["label-studio", "argilla"] | None,
        typer.Option(help="Tool in which a team rates the items."),
    ] = None,
    form: Annotated[
        Literal["forced_choice", "response_set", "paired"] | None,
        typer.Option(
            "--elicitation",
            help="With --to: one option, all reasonable options, or both.  "
            "[default: forced_choice]",
        ),
    ] = None,
    queue: Annotated[
        Path | None, typer.Option(help="With --to: table of what to rate, of harness curate next.")
    ] = None,
    raters: Annotated[
        str | None, typer.Option(help="With --to: among whom the items are divided.")
    ] = None,
    per_item: Annotated[
        int | None,
        typer.Option(min=1, help="With --raters: raters of each item; all of them by default."),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Write a task, its ratings and verdicts as one table, or its items for a rating tool.

    FILE.task.yaml and the folder FILE.files beside the table hold the rest of the task, images
    included; `harness curate import FILE` makes the same task of them. In csv, cells that start
    with = + - @ get an apostrophe, which the import removes.

    With --to, a folder holds what the tool imports, for each form of rating, and assignments.csv;
    `harness curate import EXPORT --into TASK` adds the ratings that come back.

    \b
    Examples:
      harness curate export ./mine ratings.csv
      harness curate export ./mine team --to label-studio --raters ann,bea,cem
      harness curate export ./mine team --to label-studio --queue queue.csv
    """
    from harness.curation.task_export import export_task, sidecar_of
    from harness.tasks import load_task

    named = options.split(raters, "--raters") or []
    if to is not None:
        if per_item and not named:
            raise typer.BadParameter("it goes with --raters", param_hint="--per-item")
        if queue and named:
            raise typer.BadParameter("give --queue or --raters, not both")
        wanted = Project(
            tool=to, form=form or "forced_choice", queue=queue, raters=named, per_item=per_item
        )
        export_project(load_task(task, unrated=True), file, wanted, seed=seed, as_json=as_json)
        return
    if form or queue or named or per_item:
        raise typer.BadParameter("--elicitation, --queue, --raters and --per-item go with --to")
    summary = export_task(load_task(task), file)
    if as_json:
        echo_json({"file": str(file), **asdict(summary)}, indent=None)
        return
    counts = f"{summary.n_items} items, {summary.n_ratings} ratings, {summary.n_verdicts} verdicts"
    echo(f"Wrote {file} and {sidecar_of(file).name}: {counts}.")


def new_task(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or path of the folder to make.")],
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Table of ratings, with the options of `harness curate import`."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a task folder: an example to edit, or a task from a table of ratings.

    With --from, this is `harness curate import FILE --as NAME` and takes its options.

    \b
    Examples:
      harness new-task politeness
      harness new-task mine --from ratings.csv
    """
    folder = options.task_folder(name)
    if source is not None:
        arguments = ["import", str(source), "--as", name, *ctx.args]
        command = typer.main.get_command(app)
        command.main(
            [*arguments, *(["--json"] if as_json else [])],
            prog_name="harness curate",
            standalone_mode=False,
        )
        return
    from harness.curation import write_starter

    options.check_without_table(ctx)
    write_starter(folder.name, folder)
    if as_json:
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
