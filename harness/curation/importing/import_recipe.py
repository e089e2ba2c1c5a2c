"""Recipes for importing published data sets.

A recipe is a YAML file with a data set's location, the roles of its columns and the meaning of its
labels. ``harness curate import FILE --recipe NAME`` reads a file with this layout.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import TaskError, fault_of, in_sentences, use_one_of
from harness.files.strict_yaml import read_yaml
from harness.tasks.columns.table_answers import AnswerSettings
from harness.tasks.dataset_fields import ColumnNames, HubDataset
from harness.tasks.schema import RaterIds, RaterKind

BUNDLED = Path(__file__).with_name("recipes")


class Recipe(BaseModel):
    """Instructions for creating a task from a data set.

    Attributes
    ----------
    about : str
        Description of the data set.
    source : str
        Origin of the data.
    licence : str
        Terms of use.
    datasets : HubDataset or None
        The data set's location on the hub.
    derive : dict of str to str
        New columns. See `harness.tasks.dataset_fields.derived`.
    columns : dict of str to tuple of str
        Columns by role, as in `harness.tasks.columns.column_mapping.ColumnMapping`.
    answers : AnswerSettings
        Meaning of the labels.
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
    """List the names of the bundled recipes."""
    return sorted(path.stem for path in BUNDLED.glob("*.yaml"))


def read_recipe(name: str) -> Recipe:
    """Read a recipe.

    Parameters
    ----------
    name : str
        Name of a bundled recipe, or path of a ``.yaml`` file.

    Raises
    ------
    TaskError
        If the recipe doesn't exist or is invalid; the message names file and field.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else BUNDLED / f"{name}.yaml"
    if path.parent == BUNDLED and name not in recipe_names():
        raise TaskError(
            in_sentences(
                f"recipe {name!r} was not found",
                use_one_of(name, recipe_names(), none=""),
                "You can also pass a file that ends in .yaml.",
            )
        )
    try:
        return Recipe.model_validate(read_yaml(path))
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise TaskError(f"{path}: {place}: {problem}.") from None
