"""Import recipes of published data sets, without their data.

A recipe is a YAML file: where the data set is, which of its columns hold what, and what its labels
mean. ``harness curate import FILE --recipe NAME`` reads a file of that form with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from harness.errors import TaskError
from harness.tasks.dataset_fields import HubDataset, Names, derived
from harness.tasks.strict_yaml import read_yaml
from harness.tasks.tables.checks import first_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.tasks.tables import Row

BUNDLED = Path(__file__).with_name("recipes")


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
        New columns; see `harness.tasks.dataset_fields.derived`.
    columns : dict of str to str or tuple of str
        Columns by role, as in `harness.tasks.columns.column_mapping.ColumnMapping`.
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
        return derived(self.derive, rows)


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
        place, problem = first_problem(error)
        raise TaskError(f"{path}: {place}: {problem}.") from None
