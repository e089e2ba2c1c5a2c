"""Splits of Hugging Face hub data sets, at a fixed commit, as parquet."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.regular_files import write_file, writing_to
from harness.files.user_folders import cache_folder
from harness.loading import silenced, variables_set

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from harness.tasks.dataset_fields import Split

BUILDERS = ("csv", "json", "parquet", "arrow")  # those that read tables alone
CACHED = "cache"  # what reads a data set of the library's cache where the hub is out of reach

NOT_CACHED = (
    "the hub cannot be reached, and this commit is not in the cache. Connect to the internet "
    "once (HF_HUB_OFFLINE must not be set)."
)


def cached_split(name: str, split: Split) -> Path:
    """Return a split's file, after downloading it on first use."""
    assert split.revision is not None, "checked with the task"
    file = f"{split.configuration or 'default'}-{split.split}.parquet"
    path = cache_folder() / "datasets" / name.replace("/", "--") / split.revision / file
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TaskError(
                f"{path.parent}: this folder can't be created ({error.strerror})."
            ) from None
        download_split(name, split, path)
    return path


def download_split(name: str, split: Split, file: Path) -> int:
    """Download a split to a parquet file, without running any code of the data set.

    Parameters
    ----------
    name : str
        OWNER/NAME of the data set.
    split : Split
        Split with a revision.
    file : Path
        File to write.

    Returns
    -------
    n_rows : int
        Number of rows in the split.

    Raises
    ------
    TaskError
        If the data set doesn't consist of csv, json, parquet or arrow files, or if it can't be
        downloaded or written.
    """
    table = _split_table(name, split)
    import pyarrow.parquet as pq  # noqa: PLC0415 -- heavy, and only this needs it

    buffer = BytesIO()
    pq.write_table(table.replace_schema_metadata(None), buffer)
    with writing_to(file, TaskError):
        write_file(file, buffer.getvalue())
    return int(table.num_rows)


def _split_table(name: str, split: Split) -> pa.Table:
    counts = os.environ.get("HF_UPDATE_DOWNLOAD_COUNTS", "0")  # counting contacts another server
    with variables_set(HF_UPDATE_DOWNLOAD_COUNTS=counts):
        import datasets  # noqa: PLC0415 -- heavy

    shows_progress = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with silenced(("huggingface_hub", "datasets")):
            return _table_of(name, split)
    finally:
        if shows_progress:
            datasets.enable_progress_bars()


def _table_of(name: str, split: Split) -> pa.Table:
    from datasets import load_dataset_builder  # noqa: PLC0415 -- heavy

    try:
        builder = load_dataset_builder(name, split.configuration, revision=split.revision)
        kind = builder.name
        is_other = kind == CACHED and builder.hash != split.revision  # the newest in the cache
        if kind in (*BUILDERS, CACHED) and not is_other:
            builder.download_and_prepare()
            return builder.as_dataset(split.split).with_format("arrow")[:]
    except Exception as error:  # noqa: BLE001 -- of the hub, the network or the files
        raise TaskError(f"{name}: {_problem(error)}") from None
    if is_other:
        raise TaskError(f"{name}: {NOT_CACHED}")
    raise TaskError(
        f"{name}: the data set consists of {kind} files, but only {', '.join(BUILDERS)} can be "
        "read."
    )


def _problem(error: Exception) -> str:
    if "script" in str(error):
        return (
            "needs a script, but the harness doesn't run a data set's code. Use a different "
            "data set."
        )
    if isinstance(error, ConnectionError):
        return NOT_CACHED
    kind = type(error).__name__
    return f"cannot be downloaded ({kind}). Check the name, configuration, split and revision."
