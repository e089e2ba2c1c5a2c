"""`harness curate download`: a split of a data set of the Hugging Face hub as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.output import echo
from harness.errors import TaskError

if TYPE_CHECKING:
    from harness.curation.import_recipe import HubDataset


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
    split: Annotated[
        str | None, typer.Option(help="The split to write: train, or the recipe's.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write; NAME-SPLIT.parquet by default.")
    ] = None,
) -> None:
    """Write a split of a data set of the Hugging Face hub as parquet, for curate import.

    This command alone contacts the hub. The commit is fixed, so that everybody gets the same rows.
    Data sets of csv, json, parquet and arrow files are read; no code of a data set is run.

    \b
    Examples:
      harness curate download OWNER/NAME --revision COMMIT --split test
      harness curate download mt-bench --revision COMMIT
    """
    from harness.curation.hub_download import download_split
    from harness.curation.import_recipe import HubDataset

    dataset = HubDataset.model_construct(name=name) if "/" in name else _of_recipe(name)
    revision, split = revision or dataset.revision, split or dataset.split
    if revision is None:
        raise TaskError(f"{dataset.name}: give the commit with --revision: a branch may change.")
    file = output or Path(f"{dataset.name.rpartition('/')[2]}-{split}.parquet")
    n_rows = download_split(dataset.name, revision, split, file)
    echo(f"{file}: {n_rows} rows")


def _of_recipe(name: str) -> HubDataset:
    """Return where the data set of a recipe is on the hub."""
    from harness.curation.import_recipe import read_recipe

    recipe = read_recipe(name)
    if recipe.datasets is None:
        raise TaskError(f"recipe {name!r}: it is not on the hub; get it from {recipe.source}.")
    return recipe.datasets
