"""Options of the `harness curate` commands, except the import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, model_validator

from harness.options.concerns import AnswerKind, Elicitation, Out, Seed, TaskOption, Tau
from harness.options.declaration import Names, Options, Repeated, leave_out, option
from harness.options.result_options import JudgeName, VerdictFile

QueuePurpose: TypeAlias = Literal["consistency", "annotator-test", "pairs"]
OF_TEAM = {"form", "team_queue", "team", "per_item", "seed"}
OF_TOOL = {"": set(), "langfuse": {"verdicts"}, "mlflow": {"verdicts"}}  # others: a team
DECILES = range(0, 101, 10)  # percentages


class CardOptions(Options):
    """Option for a data card's location."""

    card_folder: Path | None = option(
        None, "Folder to write to. Default: the task's own.", flag="--to"
    )


class DownloadOptions(Options):
    """Options for the part of a hub data set to download, and its file."""

    revision: str | None = option(
        None, "Commit of the data set: 40 hexadecimal digits. Default: the recipe's commit."
    )
    configuration: str | None = option(None, "Configuration of the data set, if it has several.")
    split: str | None = option(None, "The split to write. Default: the recipe's, or train.")
    parquet_file: Path | None = option(
        None, "File to write. Default: NAME-SPLIT.parquet.", flag="--output"
    )


class KeptVerdicts(VerdictFile):
    """Option for judges' verdicts on a task."""

    verdicts: Path | None = option(
        None, "The judges' verdicts, as a file or run folder. Default: the task's verdicts.csv."
    )


class FindingOptions(VerdictFile, Seed):
    """Options for an audit's finding and the verdicts behind it."""

    finding: str | None = option(
        None, "Leave out items and raters of this kind of `harness curate audit` finding."
    )
    verdicts: Path | None = option(
        None, "With {finding}: the judges' verdicts, if the audit used any."
    )


class NewTask(Options):
    """Option for the folder of a task's new version."""

    new_name: str = option(..., "Name or path of the folder to create.", flag="--as")


class NewTaskOptions(Options):
    """Option for a new task's source."""

    source: Path | None = option(
        None, "Table of ratings, with the options of `harness curate import`.", flag="--from"
    )


class DropOptions(FindingOptions):
    """Options for the items and raters to leave out of a task."""

    items_out: Names = option(None, "Ids of items to leave out, comma-separated.", flag="--items")
    raters_out: Names = option(None, "Raters to leave out, comma-separated.", flag="--raters")

    @model_validator(mode="after")
    def _of_a_finding(self) -> Self:
        if self.finding is None:
            leave_out(
                self.model_fields_set & {"verdicts", "seed"},
                "this option works only with {finding}",
            )
        return self


class Budget(Options):
    """Option for the number of answers to collect."""

    budget: int = option(..., "Number of answers to collect. A pair counts as two.", ge=1)


class NextOptions(Tau, Budget, FindingOptions):
    """Options for the number and purpose of ratings to list."""

    quantity: QueuePurpose = option("consistency", "Purpose of the ratings.", flag="--for")
    slice_of: str | None = option(
        None,
        "Only items of a slice, such as language=de, named as in harness validate.",
        flag="--slice",
        metavar="FIELD=VALUE",
    )
    queue_file: Path | None = option(
        None, "Write a csv file for harness annotate --queue.", flag="--queue"
    )

    @model_validator(mode="after")
    def _of_a_finding_or_by_worth(self) -> Self:
        if self.finding is None:
            leave_out(self.model_fields_set & {"verdicts"}, "this option works only with {finding}")
        else:
            by_worth = self.model_fields_set & {"quantity", "slice_of", "tau"}
            leave_out(by_worth, "{finding} already sets the items and their order")
        return self


class DrawOptions(Seed, Out, NewTask, Budget, JudgeName):
    """Options for drawing unlabelled items for an estimate."""

    budget: int = option(..., "Approximate number of items to draw.", ge=1)
    judge: str = option(..., "The judge of the estimate.", flag="--judge -j")
    unrated_items: Path = option(..., "The items without ratings.", flag="--items")
    estimating_run: str | None = option(
        None, "The run, by name or path. Default: the newest run.", flag="--run"
    )


def _levels(levels: object) -> object:
    if isinstance(levels, list) and not set(levels) <= {str(level) for level in DECILES}:
        raise ValueError("expected percentages in steps of ten, such as 10,20")
    return levels


SampledBy: TypeAlias = Literal["disagreement", "criterion", "group"]


class SampleOptions(NewTask):
    """Options for drawing a sample of items."""

    n_drawn: int = option(..., "Number of items.", flag="--items", ge=1)
    drawn_by: SampledBy | None = option(
        None,
        "Draw a stratified sample with the same number of items for each value of this field.",
        flag="--by",
    )
    levels: Annotated[tuple[int, ...], BeforeValidator(_levels)] = option(
        (10, 20, 30, 40, 50),  # Guerdan et al. 2025, appendix E
        "With disagreement: percentages of positive choices, in steps of ten, such as 10,20.",
    )
    calibration_share: float | None = option(
        None,
        "Split the groups into two tasks, with this share of groups for calibration.",
        flag="--split",
        ge=0,
        le=1,
    )

    @model_validator(mode="after")
    def _by_disagreement(self) -> Self:
        if self.drawn_by != "disagreement":
            leave_out(
                self.model_fields_set & {"levels"},
                "this option works only with {drawn_by} disagreement",
            )
        return self


class TeamOptions(VerdictFile, Seed):
    """Options for writing a project for a rating tool."""

    verdicts: Path | None = option(
        None,
        "With {tool} langfuse or mlflow: the verdicts to write, such as a run's. Default: the "
        "task's verdicts.csv.",
    )
    tool: Literal["label-studio", "argilla", "langfuse", "mlflow"] | None = option(
        None,
        "Tool in which a team rates the items, or whose traces get the verdicts as scores.",
        flag="--to",
    )
    form: Elicitation = option(
        "forced_choice",
        "With {tool}: one option, all reasonable options, or both.",
        flag="--elicitation",
    )
    team_queue: Path | None = option(
        None, "With {tool}: table of items to rate, from harness curate next.", flag="--queue"
    )
    team: Names = option(None, "With {tool}: raters to divide the items among.", flag="--raters")
    per_item: int | None = option(
        None, "With {team}: number of raters per item. Default: all raters.", ge=1
    )

    @model_validator(mode="after")
    def _for_a_tool(self) -> Self:
        takes = OF_TOOL.get(self.tool or "", OF_TEAM)
        what = f"{self.tool} takes" if self.tool else "a table takes"
        leave_out(self.model_fields_set - takes - {"tool"}, f"{what} none")
        return self


class VerdictImport(TaskOption):
    """Options for importing other tools' verdicts into a file for a task."""

    task: str = option(..., "Name of a task, or path of a task folder.", flag="--task -t")
    judge_names: Repeated = option(
        (),
        "A column, scorer, provider or model, and the judge's name. Repeatable.",
        flag="--map",
        metavar="SOURCE[=JUDGE]",
    )
    item_id: str = option(
        "",
        "Column or variable that names the item. For a batch: the pattern of custom_id, such as "
        "rate-{{item}}.",
        flag="--id",
    )
    values: Repeated = option(
        (), "A value, and the option that it means.", flag="--rename", metavar="VALUE=OPTION"
    )
    value_kind: AnswerKind = option(
        "forced_choice", "Kind of values, if the file doesn't say.", flag="--elicitation"
    )
    verdict_file: Path = option(
        Path("verdicts.jsonl"), "File to write: jsonl or csv.", flag="--output -o"
    )
    max_unmatched: str = option(
        "5%",
        "Maximum number or share of entries that match no item or option.",
        flag="--max-rejected",
        metavar="N|N%",
    )
