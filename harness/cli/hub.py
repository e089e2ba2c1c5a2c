"""`harness curate download`: a split of a data set of the Hugging Face hub as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.output import echo


def download(
    name: Annotated[str, typer.Argument(help="OWNER/NAME of the data set on the hub.")],
    *,
    revision: Annotated[str, typer.Option(help="Commit of the data set: 40 hexadecimal digits.")],
    split: Annotated[str, typer.Option(help="The split to write.")] = "train",
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
    """
    from harness.curation.hub_download import download_split

    file = output or Path(f"{name.rpartition('/')[2]}-{split}.parquet")
    n_rows = download_split(name, revision, split, file)
    echo(f"{file}: {n_rows} rows")
