"""Options of `harness curate import`: a table's files, columns and raters."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import model_validator

from harness.errors import OptionError
from harness.options.concerns import DryRun, Unasked
from harness.options.declaration import Lists, Options, Repeated, leave_out, option

if TYPE_CHECKING:
    from collections.abc import Collection

OF_ANSWERS = {"rater_names", "outdated_answers"}


class FileOptions(Options):
    """Options for reading a table's files."""

    panel: ClassVar[str] = "The table"
    sheets: Lists = option((), "Sheets of the workbook to read, in this order.", flag="--sheet")
    encoding: str = option("", "Encoding of files that are not UTF-8.", rare=True)
    header: int | None = option(
        None,
        "Line number of the header, or 0 for none. Default: the first line that looks like a "
        "header.",
        ge=0,
        rare=True,
    )
    drop: Lists = option((), "Columns to leave out.", rare=True)
    plain: bool = False  # read rows unchanged, even if they have a format's marks


class ColumnOptions(Options):
    """Options for column roles. See `harness.tasks.columns.column_mapping.ColumnMapping`."""

    panel: ClassVar[str] = "Columns"
    id_columns: Lists = option((), "Columns that name the item. Several are joined.", flag="--id")
    text_columns: Lists = option((), "Columns that are shown to judges.", flag="--text")
    image_columns: str | None = option(
        None, "Column with images: names of files next to the table, or data: URLs.", flag="--image"
    )
    raters_columns: Lists = option((), "Columns of ratings, one per rater.", flag="--raters")
    pattern_columns: str | None = option(
        None,
        "Names of columns per criterion and rater, such as {{criterion}}_{{rater}}.",
        flag="--pattern",
        rare=True,
    )
    rater_columns: str | None = option(
        None, "Column that names the rater of a row.", flag="--rater"
    )
    label_columns: str | None = option(
        None, "With {rater_columns}: column with the rating.", flag="--label"
    )
    criteria_columns: Lists = option(
        (),
        "Columns with ratings, one per criterion. With {rater_columns}, each row is one rater's.",
        flag="--criteria",
    )
    set_columns: str | None = option(
        None, "With {rater_columns}: column with the response set.", flag="--set"
    )
    sets_columns: Lists = option(
        (),
        "With {rater_columns}: columns with 0 or 1, one per option of the set.",
        flag="--sets",
        rare=True,
    )
    counts_columns: Lists = option(
        (),
        "Columns with the number or share of raters who chose an option.",
        flag="--counts",
        rare=True,
    )
    votes_columns: Lists = option(
        (), "Column with all ratings of an item: a list, or counts.", flag="--votes", rare=True
    )
    total_columns: str | None = option(
        None,
        "Column with the number of raters, if others contain shares.",
        flag="--total",
        rare=True,
    )
    judges_columns: Lists = option(
        (),
        "Columns with verdicts, or judges among the raters, or none.",
        flag="--judges -j",
    )
    group_columns: str | None = option(
        None, "Column with the document or prompt that items share.", flag="--group"
    )
    criterion_columns: str | None = option(
        None, "Column with the criterion, if items have several.", flag="--criterion", rare=True
    )
    rated_at_columns: str | None = option(
        None,
        "With {rater_columns}: column with the time of a rating.",
        flag="--rated-at",
        rare=True,
    )

    def by_role(self) -> dict[str, tuple[str, ...]]:
        """Return the columns that the user named, by role."""
        named = {
            name.removesuffix("_columns"): getattr(self, name) for name in self.model_fields_set
        }
        return {
            role: (columns,) if isinstance(columns, str) else columns
            for role, columns in named.items()
            if columns
        }


class MadeTask(Options):
    """Options for the task to create, or to add ratings to."""

    made: str | None = option(None, "Name or path of the folder to create.", flag="--as")
    into: str | None = option(
        None, "Task to add the ratings of a project of `harness curate export` to."
    )
    rater_names: Repeated = option(
        (),
        "With {into}: the rater's name for an account in the tool. Repeatable.",
        flag="--rater-name",
        metavar="ACCOUNT=NAME",
        rare=True,
    )
    outdated_answers: bool = option(
        False,
        "With {into}: also add ratings made before an item's text or options changed.",
        flag="--outdated",
        rare=True,
    )
    recipe: str | None = option(
        None, "Recipe for a published data set: a bundled name, or a YAML file."
    )

    @model_validator(mode="after")
    def _made_or_added_to(self) -> Self:
        if (self.made is None) is (self.into is None):
            problem = "pass {made} to create a task, or {into} to add ratings to one"
            raise OptionError("", problem)
        if self.into is None:
            leave_out(self.model_fields_set & OF_ANSWERS, "this option works only with {into}")
        else:
            self.check_added_to(self.model_fields_set - {"into", *OF_ANSWERS})
        return self

    def check_added_to(self, given: Collection[str]) -> None:
        """Reject options for tables if a team's answers are added to a task."""
        if self.into is not None:
            leave_out(given, "with {into}, the project itself says how to read its answers")


class WritingOptions(DryRun, Unasked):
    """Options for writing a task, and limits on rejected rows."""

    panel: ClassVar[str] = "Output"
    dry_run: bool = option(False, "Show how the table would be read, without writing anything.")
    max_rejected: str = option(
        "5%",
        "Maximum number of rejected rows and cells, or their share of all answers.",
        metavar="N|N%",
        rare=True,
    )
