"""Calling the library leaves the process as it was: variables, warnings, loggers, csv's limit."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from harness.scoped_state import SharedBlock, silenced, variables_set

STATE = """
import csv, logging, os, sys, warnings
from pathlib import Path

import litellm, datasets, scipy.sparse, scipy.stats  # what they change on import is theirs

NAMES = ("psycopg", "psycopg.pool", "huggingface_hub", "datasets", "LiteLLM", "LiteLLM Router")

def state():
    levels = {name: logging.getLogger(name).level for name in NAMES}
    shows = not datasets.are_progress_bars_disabled()
    return dict(os.environ), list(warnings.filters), csv.field_size_limit(), levels, shows

before = state()

import harness
from harness.errors import TaskError
from harness.tasks.dataset_fields import Split
from harness.tasks.hub_download import download_split
from harness.tasks.tables.checks import Limits
from harness.tasks.tables.delimited import csv_rows

run = harness.run("toxicity", "gpt", judges_file="judges.yaml", limit=4)
assert run.exit_code == 0
Path("long.csv").write_text("item,rater,label,text\\n" + "".join(
    f"i{i},{rater},{'ny'[i % 2]},{i} {'long ' * 40_000}\\n" for i in range(4) for rater in "ab"
))
rows = list(csv_rows(Path("long.csv"), (), Limits()))
assert len(rows) == 8
try:
    download_split("nobody/nothing", Split(split="train", revision="0" * 40), Path("x.parquet"))
except TaskError:
    pass
for one, other in zip(before, state()):
    assert one == other, (one, other)
"""
JUDGE = "judges: {{gpt: {{kind: litellm, model: openai/stub, base_url: '{url}', samples: 1}}}}\n"


def test_environment_is_put_back(monkeypatch):
    """Also what was not set, and after an error."""
    monkeypatch.setenv("HARNESS_KEPT", "own")
    monkeypatch.delenv("HARNESS_NEW", raising=False)

    def fail():
        with variables_set(HARNESS_KEPT="other", HARNESS_NEW="yes"):
            assert os.environ["HARNESS_KEPT"] == "other"
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 -- the one raised above
        fail()
    assert os.environ["HARNESS_KEPT"] == "own"
    assert "HARNESS_NEW" not in os.environ


def test_overlapping_blocks_put_a_level_back_in_the_end():
    """In whichever order they end."""
    logger = logging.getLogger("test_scoped_state")
    logger.setLevel(logging.INFO)
    block = SharedBlock(lambda: silenced([logger.name]))
    first, second = block.entered(), block.entered()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not logger.isEnabledFor(logging.CRITICAL)
    second.__exit__(None, None, None)
    assert logger.level == logging.INFO


def test_library_leaves_the_process_as_it_was(tmp_path, stub):
    """After a run with a hosted model, a table with long fields and a download that failed."""
    (tmp_path / "judges.yaml").write_text(JUDGE.format(url=stub.url()))
    own = {"HOME": str(tmp_path), "OPENAI_API_KEY": "sk-none", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-W", "error::UserWarning", "-c", STATE]
    ended = subprocess.run(
        command, env=os.environ | own, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "Warning" not in ended.stderr
