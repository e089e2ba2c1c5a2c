"""Options of `harness curate import`: the files of a table, its columns and its answers."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import field_validator, model_validator

from harness.command_options import DryRun, Unasked
from harness.errors import OptionError, TaskError
from harness.option_declarations import (
    IMPORT,
    IMPORT_EXPORTED,
    IMPORT_INTO,
    Lists,
    Options,
    Repeated,
    option,
)
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import RaterIds, RaterKind, Scale, as_number

READING = (IMPORT,)  # a table whose columns are guessed


class FileOptions(Options):
    """How the files of a table are read."""

    sheets: Lists = option(
        (), "Sheets of a workbook, read one after the other.", READING, flag="--sheet"
    )
    encoding: str = option("", "Of texts that are not UTF-8.", READING)
    drop: Lists = option((), "Columns to leave out.", READING)
    plain: bool = False  # rows are taken as they stand, although they have the marks of a format

    def words(self) -> list[str]:
        """Return the options as they are given on the command line."""
        words = [word for sheet in self.sheets for word in ("--sheet", sheet)]
        words += ["--encoding", self.encoding] if self.encoding else []
        return words + [word for column in self.drop for word in ("--drop", column)]


class ColumnOptions(Options):
    """Which columns have which role, see `harness.tasks.columns.column_mapping.ColumnMapping`."""

    id_columns: Lists = option(
        (), "Columns that name the item, joined if several.", READING, flag="--id"
    )
    text_columns: Lists = option((), "Columns that judges are shown.", READING, flag="--text")
    raters_columns: Lists = option(
        (), "Columns of ratings, one per rater.", READING, flag="--raters"
    )
    pattern_columns: str | None = option(
        None,
        "What columns per criterion and rater are called: {{criterion}}_{{rater}}.",
        READING,
        flag="--pattern",
    )
    rater_columns: str | None = option(
        None, "Column that names the rater of a row.", READING, flag="--rater"
    )
    label_columns: str | None = option(
        None, "With {rater_columns}: column of the rating.", READING, flag="--label"
    )
    criteria_columns: Lists = option(
        (),
        "With {rater_columns}: columns of ratings, one per criterion.",
        READING,
        flag="--criteria",
    )
    set_columns: str | None = option(
        None, "With {rater_columns}: column of the response set.", READING, flag="--set"
    )
    sets_columns: Lists = option(
        (),
        "With {rater_columns}: columns of 0 and 1, one per option of the set.",
        READING,
        flag="--sets",
    )
    counts_columns: Lists = option(
        (), "Columns of the number, or share, of raters per option.", READING, flag="--counts"
    )
    votes_columns: Lists = option(
        (), "Column of all ratings of an item: a list, or counts.", READING, flag="--votes"
    )
    total_columns: str | None = option(
        None, "Column of the number of raters, for shares.", READING, flag="--total"
    )
    judges_columns: Lists = option(
        (),
        "Columns of verdicts, or judges among the raters; none.",
        READING,
        flag="--judges -j",
    )
    group_columns: str | None = option(
        None, "Column of the document or prompt that items share.", READING, flag="--group"
    )
    criterion_columns: str | None = option(
        None, "Column of what is rated, where that differs.", READING, flag="--criterion"
    )
    rated_at_columns: str | None = option(
        None, "With {rater_columns}: column of the time of a rating.", READING, flag="--rated-at"
    )

    def by_role(self) -> dict[str, tuple[str, ...]]:
        """Return the columns that are named, by role."""
        named = {
            name.removesuffix("_columns"): getattr(self, name) for name in self.model_fields_set
        }
        return {
            role: (columns,) if isinstance(columns, str) else columns
            for role, columns in named.items()
            if columns
        }


class AnswerSettings(Options):
    """What the answers of a table mean, said by the user or a recipe; what is not, is guessed."""

    scale: Scale | None = option(None, "Scale of the answers.", READING)
    options: Lists = option((), "Labels that are options, in order.", READING)
    positive: Lists = option((), "Options that count as positive.", READING)
    abstain: Lists = option((), "Labels of a rater who could not say (CANNOT_ASSESS).", READING)
    ignore: Lists = option((), "Labels to count and leave out.", READING)
    rename: Repeated = option(
        (), "A label that means an option; repeatable.", READING, metavar="LABEL=OPTION"
    )
    bounds: tuple[float, float] | None = option(
        None,
        "Least and greatest number of a continuous scale.",
        READING,
        metavar="LOW,HIGH",
    )
    raters_per_item: int | None = option(
        None, "Number of raters of every item, for shares.", READING, flag="--n-raters", ge=1
    )
    lists: Literal["ratings", "sets", "counts", "raters"] | None = option(
        None, "What a list or numbers by name in a cell are.", READING
    )
    separator: str | None = option(
        None, "What divides the options of a response set in a cell, such as ';'.", READING
    )
    decimal: Literal["comma", "point"] | None = option(
        None, "Whether 3,5 in a cell is a number; asked where it may be one.", READING
    )
    on_duplicate: Literal["reject", "last"] = option(
        "reject",
        "Whether a second rating is rejected, or the last by its time counts.",
        READING,
    )
    scales: Literal["shared", "own"] | None = option(
        None, "One task for all criteria, or one for each; by default as labels do.", READING
    )

    @field_validator("separator")
    @classmethod
    def _with_line_breaks(cls, text: str | None) -> str | None:
        return (text or "").replace("\\n", "\n") or None

    @field_validator("bounds", mode="before")
    @classmethod
    def _are_ordered(cls, ends: object) -> object:
        if not isinstance(ends, list | tuple):
            return ends
        numbers = [as_number(end.strip()) if isinstance(end, str) else end for end in ends]
        match numbers:
            case [int() | float() as low, int() | float() as high] if low < high:
                return numbers
        raise ValueError("write LOW,HIGH such as 0,100")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.bounds is not None and self.scale != "continuous":
            raise OptionError("bounds", "it goes with {scale} continuous", "add that one")
        return self

    def meanings(self) -> dict[str, str]:
        """Return what labels, in lower case, stand for where that is not their own option."""
        meanings = {label.casefold(): label for label in self.ignore}
        meanings |= dict.fromkeys((label.casefold() for label in self.abstain), CANNOT_ASSESS)
        for pair in self.rename:
            label, sign, option_ = (part.strip() for part in pair.rpartition("="))
            if not label or not sign or not option_:
                raise TaskError(f"--rename: found {pair!r}; write it as label=option.")
            meanings[label.casefold()] = option_
        return meanings


class RatedOptions(Options):
    """What was rated and by whom, as in ``task.yaml``."""

    property: str = option("", "What is rated, as a phrase that judges read.", READING)
    rater_ids: RaterIds | None = option(
        None, "Whether a rater is a person, or a position within the item.", READING
    )
    kind: RaterKind | None = option(None, "Kind of raters; sets eps to 0.2, 0.15 or 0.1.", READING)


class MadeTask(Options):
    """The task that is made of a table, or gets its ratings."""

    made: str | None = option(
        None, "Name or path of the folder to make.", (IMPORT, IMPORT_EXPORTED), flag="--as"
    )
    into: str | None = option(
        None,
        "Task to add the ratings of a project of `harness curate export` to.",
        (IMPORT_INTO,),
    )
    rater_names: Repeated = option(
        (),
        "With {into}: who an account of the tool is; repeatable.",
        (IMPORT_INTO,),
        flag="--rater-name",
        metavar="ACCOUNT=NAME",
    )
    outdated_answers: bool = option(
        False,
        "With {into}: also ratings made when the item's text or options were others.",
        (IMPORT_INTO,),
        flag="--outdated",
    )
    recipe: str | None = option(
        None,
        "How a published data set is read: a bundled recipe, or a YAML file.",
        READING,
    )


class WritingOptions(DryRun, Unasked):
    """Whether a task is written."""

    max_rejected: str = option(
        "5%",
        "Most rows and cells that may be rejected, or share of answers.",
        READING,
        metavar="N|N%",
    )
