"""Roles of a table's columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

import msgspec

from harness.errors import TaskError, in_sentences, use_one_of
from harness.tasks.columns.cell_values import folded_name, nearest
from harness.tasks.columns.column_words import parts
from harness.tasks.columns.rater_names import are_people
from harness.tasks.dataset_fields import RESERVED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.tasks.columns.table_columns import Table
    from harness.tasks.schema import RaterKind

Layout = Literal["wide", "pattern", "long", "criteria", "rated_once", "sets", "counts", "votes"]
LAYOUTS: Mapping[Layout, str] = {
    "wide": "a column per rater",
    "pattern": "a column per criterion and rater",
    "long": "a row per rating",
    "criteria": "a row per item and rater, a column per criterion",
    "rated_once": "a row per item, a column per criterion",
    "sets": "a row per item and rater, a column per option of the set",
    "counts": "a column per option, with how many raters chose it",
    "votes": "a column with all of an item's ratings",
}
WHOLE_ROLES = {"id", "text", "raters", "rater", "label", "judges", "group"}
MIN_GRID = 4  # columns that may be called after criterion and rater
ONLY_RATER = "p1"  # of a table that names no raters
NONE = "none"  # says that no column has a role
PLACEHOLDERS = ("{criterion}", "{rater}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """Roles of a table's columns. The fields have the names of the command-line options.

    Attributes
    ----------
    id : tuple of str
        Columns that together identify an item; if empty, rows are numbered.
    text : tuple of str
        Columns that judges see.
    image : str
        The column of the image that judges see: a file next to the table, or a ``data:`` URL; ""
        for none.
    raters : tuple of str
        Columns with ratings, one per rater, or per criterion and rater.
    pattern : str
        Name pattern of such columns, e.g. ``{criterion}_{rater}``; "" for one column per rater.
    rater, label : str
        Long: columns with the rater's name and the rating.
    criteria : tuple of str
        Columns with one rating each. With ``rater``, a row is an item and a rater; without it, an
        item that was rated once.
    set : str
        Long: the column of the response set, with or without a choice.
    sets : tuple of str
        Long: columns, one per option, with 1 or 0 for whether it is in the set.
    counts : tuple of str
        Columns with the number or share of raters who chose an option.
    votes : tuple of str
        Columns, one per criterion, with all ratings of an item: a list, numbers by option, or
        labels by rater. With ``rater``, that column lists their raters.
    total : str
        The column of the number of raters, if the others contain shares.
    judges : tuple of str
        Columns with verdicts, one per judge. Long: such columns, or names of judges in the rater's
        column.
    group, criterion : str
        The columns of the cluster to resample and of the criterion; "" for none.
    elicitation : str
        Long: the column of the elicitation; "" for none.
    rated_at : str
        A row per item and rater: the column with the time of rating; "" for none.
    """

    id: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    image: str = ""
    raters: tuple[str, ...] = ()
    pattern: str = ""
    rater: str = ""
    label: str = ""
    criteria: tuple[str, ...] = ()
    set: str = ""
    sets: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    votes: tuple[str, ...] = ()
    total: str = ""
    judges: tuple[str, ...] = ()
    group: str = ""
    criterion: str = ""
    elicitation: str = ""
    rated_at: str = ""

    @property
    def layout(self) -> Layout:
        """Layout of ratings in the table."""
        if self.counts or self.votes:
            return "counts" if self.counts else "votes"
        if self.rater:
            return "sets" if self.sets else "criteria" if self.criteria else "long"
        if self.criteria:
            return "rated_once"
        return "pattern" if self.pattern else "wide"

    @property
    def one_row_per_item(self) -> bool:
        """Whether a row contains all ratings of its item."""
        return not self.rater or bool(self.votes)

    @property
    def rating_columns(self) -> tuple[str, ...]:
        """Columns with ratings."""
        single = tuple(filter(None, (self.label, self.set)))
        return (*self.raters, *single, *self.criteria, *self.sets, *self.counts, *self.votes)

    @property
    def has_several_criteria(self) -> bool:
        """Whether a row contains ratings for several criteria."""
        return bool(self.criteria or self.pattern) or len(self.votes) > 1

    @property
    def kind(self) -> RaterKind:
        """``expert`` if the names of the raters' columns indicate experts, else ``crowd``."""
        names = self.raters or (self.rater,)
        return "expert" if all("expert" in parts(name) for name in names) else "crowd"

    def item_fields(self, table: Table) -> dict[str, str]:
        """Map the columns that become fields of items to the fields' names.

        These columns are the texts, the image, and every column without a role that is constant
        within each item. Judges see only the texts and the image.
        """
        unused = self.unused(table)
        if self.rater and not self.votes:
            items = table.keys(self.id)
            unused = tuple(name for name in unused if table.is_constant_within(items, name))
        named: dict[str, str] = {}
        for column in dict.fromkeys((*self.text, *filter(None, [self.image]), *unused)):
            name = column
            while name in self._not_for(column) or name in named.values():
                name += "_"
            named[column] = name
        return named

    def _not_for(self, column: str) -> frozenset[str]:
        """Return the names a column's field can't have.

        For example, judges see a field "text" by default.
        """
        return RESERVED if self.text or column != "text" else RESERVED | {"text"}

    def with_roles(self, roles: Mapping[str, object]) -> ColumnMapping:
        """Return a copy of the mapping with different columns for some roles."""
        before = {role.name: getattr(self, role.name) for role in fields(self)}
        return msgspec.convert(before | dict(roles), ColumnMapping)

    def by_role(self) -> dict[str, tuple[str, ...]]:
        """Return the columns for each role that has any."""
        roles = {}
        for role in fields(self):
            value = getattr(self, role.name)
            columns = (value,) if isinstance(value, str) else value
            if any(columns):
                roles[role.name] = tuple(columns)
        return roles

    def judge_names(self, table: Table) -> tuple[str, ...]:
        """Return the judges that are named in the rater's column."""
        return tuple(name for name in self.judges if name not in table.columns)

    def judge_columns(self, table: Table) -> tuple[str, ...]:
        """Return the columns of verdicts, one per judge."""
        return tuple(name for name in self.judges if name in table.columns)

    def unused(self, table: Table) -> tuple[str, ...]:
        """Return the columns without a role."""
        used = {name for columns in self.by_role().values() for name in columns}
        return tuple(name for name in table.columns if name not in used)

    def criterion_and_rater(self, column: str) -> tuple[str, str]:
        """Return the criterion and the rater that a rating column's name contains."""
        if not self.pattern:
            is_criterion = not self.rater and column in self.criteria
            return (column, ONLY_RATER) if is_criterion else ("", column)
        match = pattern_of(self.pattern).fullmatch(column)
        return (match["criterion"], match["rater"]) if match else ("", column)


def whole_mapping(roles: Mapping[str, Sequence[str]], table: Table) -> ColumnMapping | None:
    """Return the roles of all columns if the user specified them, or None if any must be inferred.

    Nothing must be inferred if items, texts and rating columns are named, no column remains, and
    values are unambiguous: the table has a row per rating or a column per rater, each text belongs
    to one item, and no rater has a model's name.

    Raises
    ------
    TaskError
        See `mapping_of` and `check`.
    """
    if not {"id", "text"} <= roles.keys() <= WHOLE_ROLES:
        return None
    mapping = mapping_of(roles, table)
    if mapping.unused(table) or len(mapping.id) != 1 or not mapping.text:
        return None
    if mapping.judges == (NONE,):
        mapping = replace(mapping, judges=())
    n_items = table.n_distinct(mapping.id)
    texts = [name for name in mapping.text if name not in mapping.id]
    has_own_texts = all(table.n_distinct((name,)) >= n_items for name in texts)
    if table.n_distinct((*mapping.id, *texts)) > n_items or not (has_own_texts or mapping.group):
        return None
    if mapping.rater and mapping.label:
        names = table.columns[mapping.rater].values
        is_whole = "judges" in roles or are_people(mapping.rater, names)
    else:
        is_whole = 0 < len(mapping.raters) < MIN_GRID
    if is_whole:
        check(mapping, table)
    return mapping if is_whole else None


def pattern_of(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for a pattern such as ``{criterion}_{rater}``.

    The rater is the shorter part: without the separator if it is last, up to the first separator if
    it is first.
    """
    first, second = sorted(PLACEHOLDERS, key=pattern.index)
    between, after = pattern[len(first) :].split(second)
    lazy = r"\S*?\d+" if not between else ".+?"
    ends = {first: ".+" if first == "{criterion}" else ".+?", second: ".+"}
    if second == "{rater}":
        ends[second] = f"(?:(?!{re.escape(between)}).)+" if between else lazy
    return re.compile(
        "".join(
            f"(?P<{name[1:-1]}>{ends[name]}){re.escape(between) if name == first else ''}"
            for name in (first, second)
        )
        + re.escape(after)
    )


def mapping_of(roles: Mapping[str, Sequence[str]], table: Table) -> ColumnMapping:
    """Return the mapping for the column names that were passed on the command line.

    Parameters
    ----------
    roles : mapping of str to sequence of str
        Column names by role. A name that isn't a column is split at its commas.
    table : Table
        Table with the columns.

    Raises
    ------
    TaskError
        If a role or a column is unknown, or a role for one column has several.
    """
    single = {role.name for role in fields(ColumnMapping) if role.type == "str"}
    values: dict[str, object] = {}
    for role, names in roles.items():
        if role not in ColumnMapping.__dataclass_fields__:
            raise TaskError(
                in_sentences(
                    f"{role!r} isn't a column role",
                    use_one_of(role, ColumnMapping.__dataclass_fields__, none=""),
                    "On the command line, --scale, --options, --positive and --ignore define what "
                    "labels mean.",
                )
            )
        columns = tuple(part for name in names for part in _split(name, table))
        if columns == (NONE,) and NONE not in table.columns and role != "judges":
            values[role] = "" if role in single else ()
            continue
        for name in columns if role not in {"judges", "pattern"} else ():
            _check_column(role, name, table)
        if role in single and len(columns) > 1:
            option = role.replace("_", "-")
            raise TaskError(f"--{option}: found {len(columns)} columns. Pass only one.")
        values[role] = "".join(columns) if role in single else columns
    mapping = ColumnMapping().with_roles(values)
    return _with_columns_of_pattern(mapping, table) if mapping.pattern else mapping


def _with_columns_of_pattern(mapping: ColumnMapping, table: Table) -> ColumnMapping:
    """Set the rating columns to those whose names match the pattern."""
    pattern = mapping.pattern
    if not all(pattern.count(name) == 1 for name in PLACEHOLDERS):
        raise TaskError(f"--pattern: found {pattern!r}. Write it like {{criterion}}_{{rater}}.")
    names = mapping.raters or [n for n, column in table.columns.items() if column.labels]
    expression = pattern_of(pattern)
    raters = tuple(name for name in names if expression.fullmatch(name))
    if not raters:
        raise TaskError(
            f"{table.path}: --pattern: no column that contains labels matches {pattern!r}."
        )
    return replace(mapping, raters=raters)


def _split(name: str, table: Table) -> list[str]:
    if name in table.columns:
        return [name]
    return [part.strip() for part in name.split(",") if part.strip()]


def check(mapping: ColumnMapping, table: Table) -> None:
    """Check that a table can become a task with this mapping.

    Raises
    ------
    TaskError
        Names the missing or wrong option, and the table's columns.
    """
    where = str(table.path)
    if len(table.columns) == 1 and set(next(iter(table.columns))) & set(";\t|"):
        raise TaskError(
            f"{where}: found one column. Save it as CSV with commas between the columns."
        )
    columns = listed_columns(table)
    layouts = ("raters", "counts", "votes") if mapping.votes else ("raters", "rater", "counts")
    kinds = [option for option in layouts if getattr(mapping, option)]
    kinds += ["criteria"] if mapping.criteria and not mapping.rater else []
    if len(kinds) > 1:
        raise TaskError(
            f"{where}: pass --{kinds[0]} or --{kinds[1]}, not both, because each of them is for "
            "a different layout."
        )
    answers = mapping.label or mapping.set or mapping.criteria or mapping.sets or mapping.votes
    if mapping.rater and not answers:
        raise TaskError(
            f"{where}: no column contains labels. Pass --label (the columns are {columns})."
        )
    _check_beside(mapping, where)
    named = mapping.label or mapping.set or "".join(mapping.sets[:1])
    if named and not mapping.rater:
        roles = {"label": mapping.label, "set": mapping.set}
        option = f"--{next((role for role in roles if roles[role]), 'sets')}"
        raise TaskError(
            f"{where}: {option} {named!r} works only for tables with a row per rating. Also pass "
            f"--rater, the column that names the rater (the columns are {columns})."
        )
    if mapping.rater and not mapping.id and not mapping.votes:
        raise TaskError(
            f"{where}: no column names the items. Pass --id (the columns are {columns})."
        )
    if not kinds:
        raise TaskError(
            f"{where}: no columns with ratings were found. Pass --raters (a column per rater), "
            "--rater and --label (a row per rating), --criteria (a column per criterion), "
            "--counts (a column per option) or --votes (a column of lists). The columns are "
            f"{columns}."
        )
    _check_judges(mapping, table)
    used = [
        name
        for role, names in mapping.by_role().items()
        for name in names
        if role not in {"pattern", "total"}
    ]
    repeated = {name for name in used if used.count(name) > 1} - {*mapping.id, mapping.group}
    if repeated:
        raise TaskError(f"{where}: column {min(repeated)!r} has two roles. Keep only one of them.")


def _check_judges(mapping: ColumnMapping, table: Table) -> None:
    """Check that each judge is a column or, with a row per rating, a name in the rater's column."""
    if not mapping.rater or mapping.votes:
        for name in mapping.judges:
            _check_column("judges", name, table)
        return
    raters = {folded_name(text): text for text in table.columns[mapping.rater].values}
    for name in mapping.judge_names(table):
        if folded_name(name) not in raters:
            problem = f"{table.path}: --judges: no column or rater is called {name!r}"
            near = nearest(name, raters.values())
            listed = f". The most similar names in {mapping.rater!r} are {near}" if near else ""
            raise TaskError(problem + listed, "Correct the name, or remove it.")


def _check_beside(mapping: ColumnMapping, where: str) -> None:
    """Check the roles that depend on other roles."""
    if mapping.total and not (mapping.counts or mapping.votes):
        raise TaskError(
            f"{where}: --total works only with counts of raters. Pass --counts or --votes."
        )
    if mapping.rated_at and not mapping.rater:
        raise TaskError(
            f"{where}: --rated-at works only for tables with a row per rating. Also pass --rater."
        )


def _check_column(role: str, name: str, table: Table) -> None:
    if name not in table.columns:
        raise TaskError(
            f"{table.path}: --{role}: found no column {name!r}. The columns are "
            f"{listed_columns(table)}."
        )


def listed_columns(table: Table) -> str:
    """List a table's first columns for a message."""
    return ", ".join(map(repr, list(table.columns)[:20]))
