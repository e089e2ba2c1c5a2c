"""Fields that name a task's or a recipe's data set, and the roles of its columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from harness.tasks.options import Frozen, Key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from harness.files.tables import Row

COMMIT = re.compile(r"[0-9a-f]{40}")
COMPLEMENT = re.compile(r"1 - (\S+)")
HUB = "https://huggingface.co/datasets"
COUNTED = frozenset({"counts", "votes"})  # how often options were chosen, not by whom
LAYOUTS = ("raters", "rater", *sorted(COUNTED))  # how the ratings stand in a table
Role = Literal[
    "id",
    "text",
    "raters",
    "rater",
    "label",
    "elicitation",
    "counts",
    "votes",
    "total",
    "group",
    "criterion",
]
SEVERAL = frozenset({"id", "text", "raters", "counts"})
RESERVED = frozenset({"id", "group", "criterion"})  # of an item; no fields
HubName = Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]


def _list_of(names: object) -> object:
    """Put a single name into a list."""
    return [names] if isinstance(names, str) else names


ColumnNames = Annotated[
    tuple[str, ...], BeforeValidator(_list_of, json_schema_input_type=str | tuple[str, ...])
]


class Split(Frozen):
    """A split of a data set on the Hugging Face hub.

    Attributes
    ----------
    configuration : str or None
        Configuration of the data set; None for its only one.
    split : str
        Split of the configuration.
    revision : str or None
        Full commit hash with 40 hexadecimal digits, because branches and tags can move.
    """

    configuration: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]{1,100}$")] | None = None
    split: Annotated[str, Field(pattern=r"^\w+(\.\w+)*$")] = "train"
    revision: str | None = None

    @field_validator("revision")
    @classmethod
    def _check_revision(cls, revision: str | None) -> str | None:
        if revision is not None and not COMMIT.fullmatch(revision):
            raise PydanticCustomError(
                "revision",
                "use a full 40-character commit hash, because branches and tags can move",
            )
        return revision


class HubDataset(Split):
    """A split of a named data set on the hub.

    Attributes
    ----------
    name : str
        OWNER/NAME.
    """

    name: HubName


class DatasetFields(Split):
    """Table that contains a task's items and ratings, in place of separate files.

    Attributes
    ----------
    name : str or None
        OWNER/NAME of a data set on the hub; it needs a ``revision``.
    file : str or None
        A csv, jsonl or parquet file in the task's folder, instead of a hub data set.
    derive : dict of str to str
        New columns: ``a.b`` for field b of the objects in column a, ``a`` for column a under a
        different name, ``1 - c`` for the complement of the share in column c.
    columns : dict of str to tuple of str
        Columns by role: ``id`` (several are joined; without it, rows are numbered), ``text`` (the
        fields of the items), ``group``, ``criterion``, and the columns of ratings: ``raters`` (a
        column per rater), ``rater`` and ``label`` (a row per rating; ``elicitation`` if they
        differ), ``counts`` (a column per option) or ``votes`` (a column of lists or counts), the
        last two with ``total`` if they are shares.
    n_raters : int or None
        Number of raters per item, if ``counts`` or ``votes`` are shares and no column contains it.
    rename : dict of str to str
        Labels that are neither key nor label of an option, with the key that each one means.
    """

    name: HubName | None = None
    file: Annotated[str, Field(min_length=1)] | None = None
    derive: dict[str, str] = Field(default_factory=dict)
    columns: dict[Role, ColumnNames]
    n_raters: Annotated[int, Field(ge=1)] | None = None
    rename: dict[Key, Key] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.name is None) is (self.file is None):
            raise ValueError(
                "name: write a data set from the hub as OWNER/NAME, or pass a file instead"
            )
        if self.name and self.revision is None:
            raise ValueError(
                "revision: this field is missing. Add the commit that `git ls-remote "
                f"{HUB}/{self.name} HEAD` prints, 40 hexadecimal digits"
            )
        if self.file and {"configuration", "split", "revision"} & self.model_fields_set:
            raise ValueError(
                "file: a file has no configuration, split or revision. Remove these fields"
            )
        layouts = [role for role in LAYOUTS if role in self.columns]
        if len(layouts) != 1:
            named = " and ".join(layouts) or "none"
            raise ValueError(f"columns: found {named}. Use one of {', '.join(LAYOUTS)}")
        if ("rater" in self.columns) is not ("label" in self.columns):
            raise ValueError(
                "columns: rater and label work only together. Add the missing one, or remove both"
            )
        for role, names in self.columns.items():
            if len(names) > 1 and role not in SEVERAL:
                raise ValueError(f"columns: found {len(names)} columns for {role}. Use only one")
        if reserved := RESERVED.intersection(self.columns.get("text", ())):
            name = min(reserved)
            raise ValueError(
                f"columns: text: {name!r} is not a field. Rename the column under 'derive'"
            )
        if "rater" in self.columns and "id" not in self.columns:
            raise ValueError("columns: id is missing. Add the column that identifies items")
        return self

    @property
    def is_counted(self) -> bool:
        """Whether the table counts the raters who chose each option, without naming them."""
        return not self.columns.keys().isdisjoint(COUNTED)

    @property
    def origin(self) -> str:
        """Phrase for messages that says where the table is."""
        if self.file:
            return self.file
        configuration = f", {self.configuration}" if self.configuration else ""
        return f"{self.name}{configuration}, split {self.split}, commit {self.revision}"


def derived(
    derive: Mapping[str, str], rows: Iterable[tuple[int, Row]]
) -> Iterator[tuple[int, Row]]:
    """Yield rows with the derived columns added, and without the objects they come from."""
    objects = {path.partition(".")[0] for path in derive.values() if "." in path}
    for line, row in rows:
        new = {name: _value(row, path) for name, path in derive.items()}
        yield line, {name: row[name] for name in row if name not in objects} | new


def _value(row: Row, path: str) -> Any:  # noqa: ANN401 -- a cell
    if match := COMPLEMENT.fullmatch(path):
        share = row.get(match[1])
        return None if share is None or share == "" else 1.0 - float(share)
    value: Any = row
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
