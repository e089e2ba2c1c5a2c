"""A metric is added by one file, an aggregation form by one entry; both show up in a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.task_folders import make_task_folder

CHECKOUT = Path(__file__).resolve().parent.parent
METRIC = '''
"""Share of items on which judge and raters give no option the same share."""

import numpy as np

from harness.stats.inference.metric import average_metric, both_rated, weighted


def apart(human, judge):
    """1 where no entry is equal: (n, 2)."""
    return weighted((human != judge).all(axis=1).astype(np.float64), both_rated(human, judge))


METRICS = (
    average_metric(
        "apart", apart, ("s", "s"), family="distributional", paper="a test", bounds=(0.0, 1.0)
    ),
)
'''
FORMS = "FORMS: dict[Form, Aggregation] = {\n"
ENTRY = """
    "rare": Aggregation(
        vectors=lambda dist, _: 1.0 - dist.O,
        elicitation="forced_choice",
        symbol="rare",
        words="options not chosen",
        meaning="shares of other choices",
    ),
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy the package, with another file and another entry."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        CHECKOUT / "harness", folder / "harness", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "harness/stats/metrics/apart.py").write_text(METRIC, encoding="utf-8")
    tables = folder / "harness/stats/data/rating_table.py"
    text = tables.read_text(encoding="utf-8")
    assert text.count(FORMS) == 1
    tables.write_text(text.replace(FORMS, FORMS + ENTRY), encoding="utf-8")
    return folder


def test_a_metric_in_one_file_and_a_form_in_one_entry_are_in_the_output_of_a_run(copy, tmp_path):
    """`harness validate` computes the metric, and every metric that compares the form."""
    make_task_folder(tmp_path / "task", n=12)
    verdicts = "\n".join(f"i{i},z,A" for i in range(12))
    (tmp_path / "verdicts.csv").write_text(f"item,judge,value\n{verdicts}\n", encoding="utf-8")

    def printed(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "harness", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    result = json.loads(
        printed("validate", "--task", "./task", "--verdicts", "verdicts.csv", "--json")
    )
    [judge] = result["judges"]
    metrics = judge["metrics"]
    assert metrics["apart(s/s)"]["value"] == 9 / 12  # raters agree on every fourth item
    assert metrics["mse(rare/rare)"]["value"] == pytest.approx(metrics["mse(s/s)"]["value"])
    assert metrics["mse(rare/rare)"]["interval"] is not None
    names = {"apart(s/s)", "mse(rare/srs)", "mse(h/rare)", "bce(rare/h)"}
    assert names < set(metrics)
    assert "apart(s/s)" in printed("metrics")
