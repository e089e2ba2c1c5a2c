"""Download a split of a data set of the Hugging Face hub, at a fixed commit, as parquet."""

from __future__ import annotations

import logging
import os
import re
from io import BytesIO
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files import write_file

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

COMMIT = re.compile(r"[0-9a-f]{40}")
NAME = re.compile(r"[\w.-]+/[\w.-]+")
BUILDERS = ("csv", "json", "parquet", "arrow")  # those that read tables alone


def download_split(name: str, revision: str, split: str, file: Path) -> int:
    """Download a split into a parquet file; no code of the data set is run.

    Parameters
    ----------
    name : str
        OWNER/NAME of the data set.
    revision : str
        Hash of a commit, of 40 hexadecimal digits: a branch or tag may change.
    split : str
        Such as ``"train"``.
    file : Path
        What is written.

    Returns
    -------
    n_rows : int
        Rows of the split.

    Raises
    ------
    TaskError
        If the name or revision is of another form; if the data set is no csv, json, parquet or
        arrow files; or if it cannot be downloaded or written.
    """
    if not NAME.fullmatch(name):
        raise TaskError(f"{name!r} is no data set of the hub; write OWNER/NAME.")
    if not COMMIT.fullmatch(revision):
        raise TaskError(f"revision {revision!r} is no commit; give its 40 hexadecimal digits.")
    table = _split_table(name, revision, split)
    import pyarrow.parquet as pq  # noqa: PLC0415 -- heavy, and only this needs it

    buffer = BytesIO()
    pq.write_table(table.replace_schema_metadata(None), buffer)
    try:
        write_file(file, buffer.getvalue())
    except OSError as error:
        raise TaskError(f"{file}: cannot be written ({error.strerror}).") from None
    return int(table.num_rows)


def _split_table(name: str, revision: str, split: str) -> pa.Table:
    os.environ.setdefault("HF_UPDATE_DOWNLOAD_COUNTS", "0")  # contacts another server
    from datasets import disable_progress_bars, load_dataset_builder  # noqa: PLC0415 -- heavy

    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        builder = load_dataset_builder(name, revision=revision)
        if builder.name in BUILDERS:
            builder.download_and_prepare()
            return builder.as_dataset(split).with_format("arrow")[:]
    except Exception as error:  # noqa: BLE001 -- of the hub, the network or the files
        raise TaskError(
            f"{name}: cannot be downloaded ({type(error).__name__}); check name, revision, split "
            "and network (HF_HUB_OFFLINE must not be set)."
        ) from None
    raise TaskError(f"{name}: is made of {builder.name}; only {', '.join(BUILDERS)} are read.")
