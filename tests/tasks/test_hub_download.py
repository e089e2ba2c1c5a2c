"""Data sets of the hub: a fixed commit, tables alone, and no code."""

from __future__ import annotations

import os

import pyarrow.parquet as pq
import pytest
from support.hub_server import NAME, REVISION, serve
from support.processes import invoke, run_harness

from harness.errors import TaskError

CSV = "id,text,ann1,ann2\n1,hello,good,good\n2,bye,bad,good\n"
CODE = "raise SystemExit('the code of a data set was run')\n"


def run_download(address, folder, *words):
    """Run the command against a hub, in a process of its own."""
    env = os.environ | {
        "HF_ENDPOINT": address,
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "0",
    }
    return run_harness("curate", "download", NAME, *words, cwd=folder, env=env)


@pytest.mark.slow
def test_split_of_a_commit_becomes_a_file_to_import(tmp_path):
    """The rows of the split are written as they are, without the data set's metadata."""
    with serve(**{"data/train.csv": CSV, "README.md": "# Ratings\n"}) as address:
        ended = run_download(address, tmp_path, "--revision", REVISION)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "ratings-train.parquet: 2 rows\n"
    table = pq.read_table(tmp_path / "ratings-train.parquet")
    assert table.schema.metadata is None
    assert table.column("ann2").to_pylist() == ["good", "good"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"ratings.py": CODE}, "needs a script, but the harness doesn't run a data set's code"),
        pytest.param(
            {"a.txt": "lines\n"},
            "the data set consists of text files, but only csv",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["code", "text"],
)
def test_data_sets_of_code_or_other_files_are_refused(files, message, tmp_path):
    """No loader script is run, and what is no table is not read."""
    with serve(**files) as address:
        ended = run_download(address, tmp_path, "--revision", REVISION)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"harness: {NAME}: {message}")
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ratings"], "was not found. Use one of"),
        (["../x/y", "--revision", REVISION], "name: found '../x/y'. Write OWNER/NAME"),
        ([NAME], "pass --revision COMMIT"),
        ([NAME, "--revision", "main"], "use a full 40-character"),
        ([NAME, "--revision", REVISION], "HF_HUB_OFFLINE must not be set"),
    ],
)
def test_a_name_or_revision_that_may_change_is_refused(words, message):
    """A branch is no revision, and nothing is fetched where the hub is switched off."""
    result = invoke("curate", "download", *words)
    assert isinstance(result.exception, TaskError)
    assert message in str(result.exception)
