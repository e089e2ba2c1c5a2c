"""`harness curate` and `new-task`: tasks from tables of ratings, and what is done with them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import import_table, options, verdicts
from harness.cli.output import echo, echo_json, echo_result, show, write
from harness.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tasks.dataset_fields import HubDataset

app = typer.Typer(
    help="Import, check, sample and export ratings.", cls=options.Group, rich_markup_mode=None
)

EVIDENCE = {
    "consistency": "Simulated against random items at equal budget: less error of consistency from "
    "one answer per item on; with half an answer, none where choices hide options.",
    "decision": "Simulated against random items at equal budget: not shown to choose a better "
    "judge.",
    "break-even": "Simulated against random items, half of them pairs, at equal budget: beta is on "
    "the wrong side less often. Items are random here too; none shows more of beta.",
    "annotator-test": "Simulated against random items at equal budget: standard errors of judge "
    "less rater are 10 to 14 % smaller.",
}


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
    from harness.curation.audit import audit_task, audit_text, write_repaired
    from harness.curation.audit.audit_report import audit_page
    from harness.curation.new_folder import check_new
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
        write(page, audit_page(result))
    if as_json:
        echo_result(result)
        return
    echo(audit_text(result))
    if result.version and result.version.folder:
        echo(
            f"\nNext:\n  harness curate diff {task} {options.argument(Path(result.version.folder))}"
        )
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
        problem = error.errors(include_url=False)[0]
        field = problem["loc"][0]
        expected = "write OWNER/NAME" if field == "name" else problem["msg"]
        raise TaskError(f"{field}: found {problem['input']!r}; {expected}.") from None


def _of_recipe(name: str) -> HubDataset:
    """Return where the data set of a recipe is on the hub."""
    from harness.curation.import_recipe import read_recipe

    recipe = read_recipe(name)
    if recipe.datasets is None:
        raise TaskError(f"recipe {name!r}: it is not on the hub; get it from {recipe.source}.")
    return recipe.datasets


@app.command("next", short_help="List the items to rate next.")
def next_ratings(
    task: options.TaskName,
    *,
    budget: Annotated[int, typer.Option(min=1, help="Answers to collect; a pair is two.")],
    quantity: Annotated[
        Literal["consistency", "decision", "break-even", "annotator-test"],
        typer.Option("--for", help="What the ratings are for."),
    ] = "consistency",
    verdicts: Annotated[
        Path | None, typer.Option(help="Verdicts of judges: a file or a run folder.")
    ] = None,
    queue_file: Annotated[
        Path | None, typer.Option("--queue", help="Write a csv file for harness annotate --queue.")
    ] = None,
    tau: options.Tau = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """List the ratings that are worth most: choices of one more rater, and pairs with a set.

    The value, per answer, is the expected fall of the number of items on the wrong side of the
    cut-off (consistency), weighted by what they do to the choice of a judge (decision); of the
    chance that the raters' beta is on the wrong side of the break-even (break-even); or the growth
    of what the annotator test rests on (annotator-test). Repeat it with the new ratings.

    Of up to 20 raters, "raters" names those who have not rated the item so; harness annotate asks
    no rater again, and takes new ones.

    \b
    Examples:
      harness curate next ./mine --budget 100 --queue queue.csv
      harness curate next ./mine --budget 9 --for decision --verdicts runs/mine-1
    """
    from harness.curation.rating_queue import next_ratings as best_ratings
    from harness.curation.rating_queue import queue_csv, rows_of_queue
    from harness.report.text_table import paragraph
    from harness.sources import source_on_task
    from harness.tasks import load_task

    loaded = load_task(task)
    by_judge = source_on_task(loaded, verdicts).verdicts if verdicts else {}
    queue = best_ratings(loaded, budget, quantity=quantity, verdicts=by_judge, tau=tau, seed=seed)
    if queue_file is not None:
        write(queue_file, queue_csv(queue))
        n_pairs = sum(row.elicitation == "paired" for row in queue)
        echo(f"Wrote {queue_file}: {len(queue)} ratings, {n_pairs} of them pairs.")
        echo(paragraph(EVIDENCE[quantity]))
        return
    if as_json:
        echo_json([asdict(row) for row in queue])
        return
    nothing = f"No rating changes what is expected for {quantity}."
    show(rows_of_queue(queue), empty=nothing)
    if queue:
        echo(f"\n{paragraph(EVIDENCE[quantity])}")


@app.command("sample", short_help="Draw items of a task, by disagreement.")
def sample(
    task: options.TaskName,
    *,
    name: Annotated[str, typer.Option("--as", help="Name or path of the folder to make.")],
    items: Annotated[int, typer.Option(min=1, help="Number of items.")],
    by: Annotated[
        Literal["disagreement", "criterion", "group"],
        typer.Option(help="What the sample has equal numbers of."),
    ] = "disagreement",
    levels: Annotated[
        str, typer.Option(help="By disagreement: per cents positive, in steps of ten.")
    ] = "10,20,30,40,50",
    split: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Write two tasks by group; this share of groups for calibration."
        ),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Draw equal numbers of items by disagreement, criterion or group, with their ratings.

    Every item keeps its inclusion probability; the task's notice says that its numbers describe
    the sample. Ids are made of content and occurrence number.

    \b
    Examples:
      harness curate sample ./mine --as chosen --items 200
      harness curate sample ./mine --as chosen --items 300 --by group --split 0.3
    """
    import numpy as np

    from harness.curation.new_folder import check_new
    from harness.curation.sampling import PARTS, draw_sample, split_by_group, write_sample
    from harness.tasks import load_task

    source, folder = load_task(task), options.task_folder(name)
    rng = np.random.default_rng(seed)
    drawn = draw_sample(source, by, items, rng=rng, levels=_levels(levels))
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


@app.command("export", short_help="Write a task as one table.")
def export(
    task: options.TaskName,
    file: Annotated[Path, typer.Argument(help="Table to write: csv or jsonl.")],
    as_json: options.Json = False,
) -> None:
    """Write a task, its ratings and verdicts as one table.

    FILE.task.yaml beside the table holds the rest of the task; `harness curate import FILE` makes
    the same task of both. In csv, cells that start with = + - @ get an apostrophe, which the
    import removes.

    \b
    Example:
      harness curate export ./mine ratings.csv
    """
    from harness.curation.task_export import export_task, sidecar_of
    from harness.tasks import load_task

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
