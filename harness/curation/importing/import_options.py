"""Options of `harness curate import`: the files of a table, its columns and its raters."""

from __future__ import annotations

from typing import ClassVar

from harness.options.concerns import DryRun, Unasked
from harness.options.declaration import (
    IMPORT,
    IMPORT_EXPORTED,
    IMPORT_INTO,
    Lists,
    Options,
    Repeated,
    option,
)
from harness.tasks.columns.table_answers import READING


class FileOptions(Options):
    """How the files of a table are read."""

    panel: ClassVar[str] = "The table"
    rare: ClassVar[tuple[str, ...]] = (
        "encoding",
        "header",
        "drop",
    )
    sheets: Lists = option(
        (), "Sheets of a workbook, read one after the other.", READING, flag="--sheet"
    )
    encoding: str = option("", "Encoding of files that are not UTF-8.", READING)
    header: int | None = option(
        None,
        "Number of the line that names the columns; 0 if none does. By default the first that "
        "looks so.",
        READING,
        ge=0,
    )
    drop: Lists = option((), "Columns to leave out.", READING)
    plain: bool = False  # rows are taken as they stand, although they have the marks of a format

    def words(self) -> list[str]:
        """Return the options as they are given on the command line."""
        words = [word for sheet in self.sheets for word in ("--sheet", sheet)]
        words += ["--encoding", self.encoding] if self.encoding else []
        words += ["--header", str(self.header)] if self.header is not None else []
        return words + [word for column in self.drop for word in ("--drop", column)]


class ColumnOptions(Options):
    """Which columns have which role, see `harness.tasks.columns.column_mapping.ColumnMapping`."""

    panel: ClassVar[str] = "Columns"
    rare: ClassVar[tuple[str, ...]] = (
        "pattern_columns",
        "sets_columns",
        "counts_columns",
        "votes_columns",
        "total_columns",
        "criterion_columns",
        "rated_at_columns",
    )
    id_columns: Lists = option(
        (), "Columns that name the item, joined if several.", READING, flag="--id"
    )
    text_columns: Lists = option((), "Columns that judges are shown.", READING, flag="--text")
    image_columns: str | None = option(
        None, "Column of the image: files beside the table, or data: URLs.", READING, flag="--image"
    )
    raters_columns: Lists = option(
        (), "Columns of ratings, one per rater.", READING, flag="--raters"
    )
    pattern_columns: str | None = option(
        None,
        "Names of columns per criterion and rater, such as {{criterion}}_{{rater}}.",
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
        "Columns of ratings, one per criterion; with {rater_columns}, of each rater.",
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
        "Columns of verdicts, or judges among the raters; none if there are none.",
        READING,
        flag="--judges -j",
    )
    group_columns: str | None = option(
        None, "Column of the document or prompt that items share.", READING, flag="--group"
    )
    criterion_columns: str | None = option(
        None, "Column of the criterion, if items have several.", READING, flag="--criterion"
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


class MadeTask(Options):
    """The task that is made of a table, or gets its ratings."""

    rare: ClassVar[tuple[str, ...]] = (
        "rater_names",
        "outdated_answers",
    )
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
        "With {into}: name of the rater behind an account of the tool; repeatable.",
        (IMPORT_INTO,),
        flag="--rater-name",
        metavar="ACCOUNT=NAME",
    )
    outdated_answers: bool = option(
        False,
        "With {into}: also add ratings of earlier versions of the item's text or options.",
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

    panel: ClassVar[str] = "Output"
    rare: ClassVar[tuple[str, ...]] = ("max_rejected",)
    max_rejected: str = option(
        "5%",
        "Most rows and cells that may be rejected, or share of answers.",
        READING,
        metavar="N|N%",
    )
