"""Roles of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.curation.column_profile import Table

Layout = Literal["wide", "long"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """Roles of the columns of a table; its fields are named like the command-line options.

    Attributes
    ----------
    id : tuple of str
        Columns that together name an item; none means that rows are numbered.
    text : tuple of str
        Columns that judges are shown.
    raters : tuple of str
        Wide: the columns that hold ratings, one per rater.
    rater, label : str
        Long: the columns that hold the rater's name and the rating.
    judges : tuple of str
        Wide: columns that hold verdicts, one per judge. Long: such columns, or names in the
        rater's column that are those of judges.
    group, criterion : str
        The columns of the cluster to resample and of the criterion; "" for none.
    elicitation : str
        Long: the column of the elicitation; "" for none.
    """

    id: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    rater: str = ""
    label: str = ""
    judges: tuple[str, ...] = ()
    group: str = ""
    criterion: str = ""
    elicitation: str = ""

    @property
    def layout(self) -> Layout:
        """``wide`` (a column per rater) or ``long`` (a row per rating)."""
        return "long" if self.rater else "wide"

    def by_role(self) -> dict[str, tuple[str, ...]]:
        """Return the columns by role, without empty roles."""
        roles = {}
        for role in fields(self):
            value = getattr(self, role.name)
            columns = (value,) if isinstance(value, str) else value
            if any(columns):
                roles[role.name] = tuple(columns)
        return roles

    def judge_names(self, table: Table) -> tuple[str, ...]:
        """Judges that are names in the rater's column rather than columns."""
        return tuple(name for name in self.judges if name not in table.columns)

    def judge_columns(self, table: Table) -> tuple[str, ...]:
        """Judges that are columns."""
        return tuple(name for name in self.judges if name in table.columns)

    def unused(self, table: Table) -> tuple[str, ...]:
        """Columns without a role."""
        used = {name for columns in self.by_role().values() for name in columns}
        return tuple(name for name in table.columns if name not in used)


def mapping_fields(roles: Mapping[str, Sequence[str]], table: Table) -> dict[str, Any]:
    """Turn column names from the command line into fields of a `ColumnMapping`.

    Parameters
    ----------
    roles : mapping of str to sequence of str
        Column names by role. A name that is no column is split at its commas.
    table : Table
        Says which columns there are.

    Raises
    ------
    TaskError
        If a role or a column is unknown, or a role that takes one column is given several.
    """
    single = {role.name for role in fields(ColumnMapping) if role.type == "str"}
    values: dict[str, Any] = {}
    for role, names in roles.items():
        if role not in ColumnMapping.__dataclass_fields__:
            known_roles = ", ".join(ColumnMapping.__dataclass_fields__)
            raise TaskError(
                f"{role!r} is no role of a column; use one of {known_roles}. The meaning of labels "
                "is set on the command line (--scale, --options, --positive, --ignore)."
            )
        columns = tuple(part for name in names for part in _split(name, table))
        for name in columns if role != "judges" else ():
            _check_column(role, name, table)
        if role in single and len(columns) > 1:
            raise TaskError(f"--{role}: found {len(columns)} columns; name one.")
        values[role] = "".join(columns) if role in single else columns
    return values


def _split(name: str, table: Table) -> list[str]:
    if name in table.columns:
        return [name]
    return [part.strip() for part in name.split(",") if part.strip()]


def check(mapping: ColumnMapping, table: Table) -> None:
    """Check that a task can be made from a table with this mapping.

    Raises
    ------
    TaskError
        Naming the option that is missing or wrong, and the columns there are.
    """
    where = str(table.path)
    if len(table.columns) == 1 and set(next(iter(table.columns))) & set(";\t|"):
        raise TaskError(
            f"{where}: found one column; save it as CSV with commas between the columns."
        )
    columns = ", ".join(map(repr, list(table.columns)[:20]))
    if mapping.rater and mapping.raters:
        raise TaskError(f"{where}: give --raters (a column per rater) or --rater, not both.")
    if mapping.rater and not mapping.label:
        raise TaskError(f"{where}: no column of labels; give --label (the columns are {columns}).")
    if mapping.label and not mapping.rater:
        raise TaskError(
            f"{where}: --label {mapping.label!r} goes with a row per rating; give --rater, the "
            f"column that names the rater, too (the columns are {columns})."
        )
    if mapping.rater and not mapping.id:
        raise TaskError(
            f"{where}: no column names the items; give --id (the columns are {columns})."
        )
    if not mapping.rater and not mapping.raters:
        raise TaskError(
            f"{where}: no columns of ratings were found; give --raters (a column per rater), or "
            f"--rater and --label (a row per rating). The columns are {columns}."
        )
    for name in mapping.judges if not mapping.rater else ():
        _check_column("judges", name, table)
    used = [name for names in mapping.by_role().values() for name in names]
    repeated = {name for name in used if used.count(name) > 1} - {*mapping.id, mapping.group}
    if repeated:
        raise TaskError(f"{where}: column {min(repeated)!r} is given two roles; give it one.")


def _check_column(role: str, name: str, table: Table) -> None:
    if name not in table.columns:
        columns = ", ".join(map(repr, list(table.columns)[:20]))
        raise TaskError(
            f"{table.path}: --{role}: found no column {name!r}; the columns are {columns}."
        )
