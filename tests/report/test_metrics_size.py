"""``metrics.json`` holds what a view shows or a documented use needs, nothing else."""

from __future__ import annotations

import json

import pytest
from support.processes import invoke

from harness.analysis import Validation

MAX_BYTES = 150_000


@pytest.mark.slow
def test_metrics_of_two_judges_and_120_items_stay_below_150_kB(tmp_path):  # noqa: N802 -- the unit
    """They took 743 kB: every coefficient of every stratum, curves of every metric, indents."""
    words = ("--task", "toxicity", "--judges", "lexicon,random", "--cache", str(tmp_path / "cache"))
    assert invoke("run", *words, "--out", str(tmp_path / "runs"), "--quiet").exit_code == 0
    [file] = tmp_path.glob("runs/*/metrics.json")
    stored = file.read_text(encoding="utf-8")
    assert json.loads(stored)["task"]["n_items"] == 120
    assert len(stored.encode()) < MAX_BYTES
    validation = Validation.from_json(stored)
    assert len(validation.judges) == 2
    assert json.loads(validation.to_json()) == json.loads(stored)
