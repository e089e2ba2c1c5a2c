"""Options of the commands of `harness curate`, beside those of the import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator

from harness.options.concerns import AnswerKind, Elicitation
from harness.options.declaration import (
    DROP,
    DROP_FINDING,
    EXPORT_SCORES,
    EXPORT_TEAM,
    IMPORT_VERDICTS,
    NEXT,
    NEXT_ESTIMATE,
    NEXT_FINDING,
    SAMPLE,
    SAMPLE_LEVELS,
    Names,
    Options,
    Repeated,
    option,
)

CARD, DOWNLOAD = "curate card", "curate download"
NEW_TASK = "curate new"
MAKING = (DROP, DROP_FINDING, SAMPLE, SAMPLE_LEVELS)
DECILES = range(0, 101, 10)  # per cents


class CardOptions(Options):
    """Where a data card is written."""

    card_folder: Path | None = option(
        None, "Folder to write into; by default the task's own.", (CARD,), flag="--to"
    )


class DownloadOptions(Options):
    """Which part of a data set of the hub is written, and where."""

    revision: str | None = option(
        None,
        "Commit of the data set: 40 hexadecimal digits. The recipe's if it has one.",
        (DOWNLOAD,),
    )
    configuration: str | None = option(
        None, "Configuration of the data set, where it has several.", (DOWNLOAD,)
    )
    split: str | None = option(None, "The split to write: train, or the recipe's.", (DOWNLOAD,))
    parquet_file: Path | None = option(
        None, "File to write; NAME-SPLIT.parquet by default.", (DOWNLOAD,), flag="--output"
    )


class FindingOption(Options):
    """A finding of the audit."""

    finding: str | None = option(
        None,
        "Items and raters of a finding of `harness curate audit`, by its kind.",
        (DROP_FINDING, NEXT_FINDING),
    )


class NewTask(Options):
    """The folder of a version of a task."""

    new_name: str = option(..., "Name or path of the folder to make.", MAKING, flag="--as")


class NewTaskOptions(Options):
    """From what a task is made."""

    source: Path | None = option(
        None,
        "Table of ratings, with the options of `harness curate import`.",
        (NEW_TASK,),
        flag="--from",
    )


class DropOptions(FindingOption):
    """What is left out of a task."""

    items_out: Names = option(
        None, "Ids of items to leave out, comma-separated.", (DROP, DROP_FINDING), flag="--items"
    )
    raters_out: Names = option(
        None, "Raters to leave out, comma-separated.", (DROP, DROP_FINDING), flag="--raters"
    )


class NextOptions(FindingOption):
    """How many ratings are listed, and for what."""

    budget: int = option(
        ...,
        "Answers to collect; a pair is two.",
        (NEXT, NEXT_FINDING, NEXT_ESTIMATE),
        ge=1,
    )
    quantity: Literal["consistency", "annotator-test", "pairs", "estimate"] = option(
        "consistency", "What the ratings are for.", (NEXT, NEXT_ESTIMATE), flag="--for"
    )
    slice_of: str | None = option(
        None,
        "Only items of a slice, such as language=de, with the names of harness validate.",
        (NEXT,),
        flag="--slice",
        metavar="FIELD=VALUE",
    )
    queue_file: Path | None = option(
        None,
        "Write a csv file for harness annotate --queue.",
        (NEXT, NEXT_FINDING),
        flag="--queue",
    )


class DrawOptions(Options):
    """From which items without ratings some are drawn, for which estimate."""

    estimating_judge: str | None = option(
        None,
        "With {quantity} estimate: the judge of the estimate.",
        (NEXT_ESTIMATE,),
        flag="--judge",
    )
    unrated_items: Path | None = option(
        None,
        "With {quantity} estimate: the items without ratings.",
        (NEXT_ESTIMATE,),
        flag="--items",
    )
    drawn_name: str | None = option(
        None,
        "With {quantity} estimate: name or path of the folder to make.",
        (NEXT_ESTIMATE,),
        flag="--as",
    )
    estimating_run: str | None = option(
        None,
        "With {quantity} estimate: the run, by name or path; the newest by default.",
        (NEXT_ESTIMATE,),
        flag="--run",
    )


def _levels(levels: object) -> object:
    if isinstance(levels, list) and not set(levels) <= {str(level) for level in DECILES}:
        raise ValueError("expected per cents in steps of ten, such as 10,20")
    return levels


SampledBy: TypeAlias = Literal["disagreement", "criterion", "group"]


class SampleOptions(NewTask):
    """How many items are drawn, and how."""

    n_drawn: int = option(..., "Number of items.", (SAMPLE, SAMPLE_LEVELS), flag="--items", ge=1)
    drawn_by: SampledBy | None = option(
        None,
        "Draw equal numbers of items by this, instead of a random sample.",
        (SAMPLE, SAMPLE_LEVELS),
        flag="--by",
    )
    levels: Annotated[tuple[int, ...], BeforeValidator(_levels)] = option(
        (10, 20, 30, 40, 50),  # Guerdan et al. 2025, appendix E
        "With disagreement: percentages of positive choices, in steps of ten.",
        (SAMPLE_LEVELS,),
    )
    calibration_share: float | None = option(
        None,
        "Write two tasks by group; this share of groups for calibration.",
        (SAMPLE, SAMPLE_LEVELS),
        flag="--split",
        ge=0,
        le=1,
    )


class TeamOptions(Options):
    """The project of a rating tool that is written."""

    tool: Literal["label-studio", "argilla", "langfuse", "mlflow"] | None = option(
        None,
        "Tool in which a team rates the items, or whose traces get the verdicts as scores.",
        (EXPORT_TEAM, EXPORT_SCORES),
        flag="--to",
    )
    form: Elicitation = option(
        "forced_choice",
        "With {tool}: one option, all reasonable options, or both.",
        (EXPORT_TEAM,),
        flag="--elicitation",
    )
    team_queue: Path | None = option(
        None,
        "With {tool}: table of what to rate, of harness curate next.",
        (EXPORT_TEAM,),
        flag="--queue",
    )
    team: Names = option(
        None,
        "With {tool}: raters among whom the items are divided.",
        (EXPORT_TEAM,),
        flag="--raters",
    )
    per_item: int | None = option(
        None,
        "With {team}: raters of each item; all of them by default.",
        (EXPORT_TEAM,),
        ge=1,
    )


class VerdictImport(Options):
    """How verdicts of other tools are read, and where they are written."""

    judge_names: Repeated = option(
        (),
        "A column, scorer, provider or model, and the judge's name. Repeat for others.",
        (IMPORT_VERDICTS,),
        flag="--map",
        metavar="SOURCE[=JUDGE]",
    )
    item_id: str = option(
        "",
        "Column or variable that names the item; of a batch, the pattern of custom_id, such as "
        "rate-{{item}}.",
        (IMPORT_VERDICTS,),
        flag="--id",
    )
    values: Repeated = option(
        (),
        "A value, and the option that it means.",
        (IMPORT_VERDICTS,),
        flag="--rename",
        metavar="VALUE=OPTION",
    )
    value_kind: AnswerKind = option(
        "forced_choice",
        "What the values are, where the file does not say.",
        (IMPORT_VERDICTS,),
        flag="--elicitation",
    )
    verdict_file: Path = option(
        Path("verdicts.jsonl"),
        "File to write: jsonl or csv.",
        (IMPORT_VERDICTS,),
        flag="--output -o",
    )
    max_unmatched: str = option(
        "5%",
        "Most entries that may match no item or option.",
        (IMPORT_VERDICTS,),
        flag="--max-rejected",
        metavar="N|N%",
    )
