"""Recipes: how a published data set becomes a task, without its data.

A recipe is a YAML file: where the data set is, which of its columns hold what, and what its labels
mean. ``harness curate import FILE --recipe NAME`` reads a file of that form with it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from harness.errors import TaskError
from harness.tasks.strict_yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.tasks.tables import Row

BUNDLED = Path(__file__).with_name("recipes")
COMPLEMENT = re.compile(r"1 - (\S+)")
Names = str | tuple[str, ...]


class HubDataset(BaseModel):
    """A split of a data set of the Hugging Face hub.

    Attributes
    ----------
    name : str
        OWNER/NAME.
    split : str
        Of the data set.
    revision : str or None
        Commit that the recipe is for, 40 hexadecimal digits; None leaves it to the user.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    split: str = "train"
    revision: Annotated[str, Field(pattern="^[0-9a-f]{40}$")] | None = None


class AnswerFields(BaseModel):
    """What the labels mean; see `harness.curation.option_guess.AnswerSettings`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: Literal["binary", "nominal", "ordinal", "pairwise"] | None = None
    options: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    abstain: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rename: tuple[str, ...] = ()
    n_raters: int | None = None
    lists: Literal["ratings", "sets"] | None = None
    scales: Literal["shared", "own"] | None = None


class Recipe(BaseModel):
    """How a data set becomes a task.

    Attributes
    ----------
    about : str
        What it is.
    source : str
        Where it comes from.
    licence : str
        On what terms.
    datasets : HubDataset or None
        Where it is on the hub.
    derive : dict of str to str
        New columns: ``a.b`` for field b of the objects in column a, ``1 - c`` for the complement of
        the share in column c.
    columns : dict of str to str or tuple of str
        Columns by role, as in `harness.curation.column_mapping.ColumnMapping`.
    answers : AnswerFields
        What the labels mean.
    property, kind, rater_ids
        As in ``task.yaml``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    source: str
    licence: str
    datasets: HubDataset | None = None
    derive: dict[str, str] = {}
    columns: dict[str, Names] = {}
    answers: AnswerFields = AnswerFields()
    property: str
    kind: Literal["expert", "skilled", "crowd"] | None = None
    rater_ids: Literal["real", "positional"] | None = None

    @field_validator("columns")
    @classmethod
    def _check_columns(cls, columns: dict[str, Names]) -> dict[str, Names]:
        return {role: (n,) if isinstance(n, str) else n for role, n in columns.items()}

    def roles(self) -> dict[str, list[str]]:
        """Column names by role, as on the command line."""
        return {role: list(names) for role, names in self.columns.items()}

    def derived(self, rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
        """Yield rows with the new columns; the objects that they are fields of are left out."""
        objects = {path.partition(".")[0] for path in self.derive.values() if "." in path}
        for line, row in rows:
            new = {name: _value(row, path) for name, path in self.derive.items()}
            yield line, {name: row[name] for name in row if name not in objects} | new


def recipe_names() -> list[str]:
    """Return the names of the bundled recipes."""
    return sorted(path.stem for path in BUNDLED.glob("*.yaml"))


def read_recipe(name: str) -> Recipe:
    """Read a recipe.

    Parameters
    ----------
    name : str
        Of a bundled recipe, or the path of a file that ends in ``.yaml``.

    Raises
    ------
    TaskError
        If there is none, or it is wrong; with file and field.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else BUNDLED / f"{name}.yaml"
    if path.parent == BUNDLED and name not in recipe_names():
        raise TaskError(
            f"recipe {name!r}: there is none; use one of {', '.join(recipe_names())}, or a file "
            "that ends in .yaml."
        )
    try:
        return Recipe.model_validate(read_yaml(path))
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise TaskError(f"{path}: {place}: {problem['msg']}.") from None


def _value(row: Row, path: str) -> Any:  # noqa: ANN401 -- a cell
    if match := COMPLEMENT.fullmatch(path):
        share = row.get(match[1])
        return None if share is None or share == "" else 1.0 - float(share)
    value: Any = row
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
