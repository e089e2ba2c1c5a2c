"""Data sets of the hub: a fixed commit, tables alone, and no code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.hub_server import NAME, REVISION

from harness.curation.hub_download import download_split
from harness.errors import TaskError

SERVER = Path(__file__).resolve().parents[1] / "support" / "hub_server.py"
CSV = "id,text,ann1,ann2\n1,hello,good,good\n2,bye,bad,good\n"
CODE = "raise SystemExit('the code of a data set was run')\n"


@contextmanager
def hub(**files):
    """Serve the files of one commit, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, SERVER, json.dumps(files)], stdout=subprocess.PIPE, text=True
    ) as server:
        yield server.stdout.readline().strip()
        server.kill()


def run_download(address, folder, *words):
    """Run the command against a hub, in a process of its own."""
    env = os.environ | {
        "HF_ENDPOINT": address,
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "0",
    }
    return subprocess.run(
        [sys.executable, "-m", "harness", "curate", "download", NAME, *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_split_of_a_commit_becomes_a_file_to_import(tmp_path):
    """The rows of the split are written as they are, without the data set's metadata."""
    with hub(**{"data/train.csv": CSV, "README.md": "# Ratings\n"}) as address:
        ended = run_download(address, tmp_path, "--revision", REVISION)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "ratings-train.parquet: 2 rows\n"
    table = pq.read_table(tmp_path / "ratings-train.parquet")
    assert table.schema.metadata is None
    assert table.column("ann2").to_pylist() == ["good", "good"]


@pytest.mark.parametrize(
    "files", [{"ratings.py": CODE}, {"a.txt": "lines\n", "ratings.py": CODE}], ids=["code", "text"]
)
def test_data_sets_of_code_or_other_files_are_refused(files, tmp_path):
    """No loader script is run, and what is no table is not read."""
    with hub(**files) as address:
        ended = run_download(address, tmp_path, "--revision", REVISION)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"harness: {NAME}: ")
    assert "was run" not in ended.stderr + ended.stdout
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.parametrize(
    ("name", "revision", "message"),
    [
        ("ratings", REVISION, "write OWNER/NAME"),
        ("../x/y", REVISION, "write OWNER/NAME"),
        (NAME, "main", "40 hexadecimal digits"),
        (NAME, REVISION, "HF_HUB_OFFLINE must not be set"),
    ],
)
def test_a_name_or_revision_that_may_change_is_refused(name, revision, message, tmp_path):
    """A branch is no revision, and nothing is fetched where the hub is switched off."""
    with pytest.raises(TaskError, match=message):
        download_split(name, revision, "train", tmp_path / "x.parquet")
