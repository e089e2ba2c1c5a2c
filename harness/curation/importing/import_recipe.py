"""Import recipes of published data sets, without their data.

A recipe is a YAML file: where the data set is, which of its columns hold what, and what its labels
mean. ``harness curate import FILE --recipe NAME`` reads a file of that form with it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import TaskError, fault_of
from harness.files.strict_yaml import read_yaml
from harness.tasks.columns.table_answers import AnswerSettings
from harness.tasks.dataset_fields import ColumnNames, HubDataset
from harness.tasks.schema import RaterIds, RaterKind

BUNDLED = Path(__file__).with_name("recipes")


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
    columns : dict of str to tuple of str
        Columns by role, as in `harness.tasks.columns.column_mapping.ColumnMapping`.
    answers : AnswerSettings
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
    columns: dict[str, ColumnNames] = {}
    answers: AnswerSettings = AnswerSettings()
    property: str
    kind: RaterKind | None = None
    rater_ids: RaterIds | None = None


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
            f"recipe {name!r}: there is none. Use one of {', '.join(recipe_names())}, or a file "
            "that ends in .yaml."
        )
    try:
        return Recipe.model_validate(read_yaml(path))
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise TaskError(f"{path}: {place}: {problem}.") from None
