"""`harness curate download`: a split of a data set of the Hugging Face hub as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.output import echo
from harness.errors import TaskError

if TYPE_CHECKING:
    from harness.tasks.dataset_fields import HubDataset


def download(
    name: Annotated[
        str, typer.Argument(help="OWNER/NAME of the data set on the hub, or a recipe.")
    ],
    *,
    revision: Annotated[
        str | None,
        typer.Option(
            help="Commit of the data set: 40 hexadecimal digits. The recipe's if it has one."
        ),
    ] = None,
    configuration: Annotated[
        str | None, typer.Option(help="Configuration of the data set, where it has several.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The split to write: train, or the recipe's.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write; NAME-SPLIT.parquet by default.")
    ] = None,
) -> None:
    """Write a split of a data set of the Hugging Face hub as parquet, for curate import.

    The commit is fixed, so that everybody gets the same rows.
    Data sets of csv, json, parquet and arrow files are read; no code of a data set is run.

    \b
    Examples:
      harness curate download OWNER/NAME --revision COMMIT --split test
      harness curate download mt-bench --revision COMMIT
    """
    from harness.tasks.dataset_fields import HUB
    from harness.tasks.hub_download import download_split

    options = {"configuration": configuration, "split": split, "revision": revision}
    dataset = _dataset(name, {key: value for key, value in options.items() if value is not None})
    if dataset.revision is None:
        address = f"{HUB}/{dataset.name}"
        raise TaskError(
            f"{dataset.name}: give --revision COMMIT: a branch may change. "
            f"`git ls-remote {address} HEAD` prints the newest."
        )
    file = output or Path(f"{dataset.name.rpartition('/')[2]}-{dataset.split}.parquet")
    n_rows = download_split(dataset.name, dataset, file)
    echo(f"{file}: {n_rows} rows")


def _dataset(name: str, options: dict[str, str]) -> HubDataset:
    """Return a data set of the hub, or that of a recipe, with the options of the command."""
    from pydantic import ValidationError

    from harness.tasks.dataset_fields import HubDataset

    fields = {"name": name} if "/" in name else _of_recipe(name).model_dump()
    try:
        return HubDataset.model_validate(fields | options)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = problem["loc"][0]
        expected = "write OWNER/NAME" if field == "name" else problem["msg"]
        raise TaskError(f"{field}: found {problem['input']!r}; {expected}.") from None


def _of_recipe(name: str) -> HubDataset:
    """Return where the data set of a recipe is on the hub."""
    from harness.curation.import_recipe import read_recipe

    recipe = read_recipe(name)
    if recipe.datasets is None:
        raise TaskError(f"recipe {name!r}: it is not on the hub; get it from {recipe.source}.")
    return recipe.datasets
