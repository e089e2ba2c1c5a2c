"""The numbers of a run as a table, and flat for experiment trackers."""

from __future__ import annotations

import posixpath
import re
import sys
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.report.flat_metrics import short_names

# mlflow.utils.validation: letters, digits, _ - . space : and /, as a path of at most 250 characters
TRACKER_NAME = re.compile(r"[/\w.\- :]{1,250}")


def is_accepted(name):
    return TRACKER_NAME.fullmatch(name) and posixpath.normpath(name) == name and name[0] not in "/."


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    return harness.run("toxicity", judges=["lexicon", "random"], limit=20, out=out, no_store=True)


def test_frame_has_a_row_for_each_judge_and_metric(run):
    """Values, intervals and n are those of the validation; NA is null with a reason."""
    frame = run.to_frame()
    assert set(frame["judge"]) == {"lexicon", "random", "raters"}
    for judge in run.validation.judges:
        rows = frame[frame["judge"] == judge.name].set_index("metric")
        for name, estimate in judge.metrics.items():
            row = rows.loc[name]
            assert row["n_used"] == estimate.n_used
            if estimate.value is None:
                assert row["reason"] == estimate.reason
            else:
                assert row["value"] == estimate.value
                assert row["reason"] == ""


def test_metrics_are_the_defined_numbers_of_the_frame(run):
    """Each is a finite float under one name, and what is left out has a reason in the frame."""
    flat, frame = run.metrics(), run.to_frame()
    ranked = run.validation.judge("lexicon").metrics["mse(srs/srs)"]
    assert flat["lexicon/mse_srs_srs"] == ranked.value
    assert flat["lexicon/mse_srs_srs_low"] == ranked.interval.low
    assert flat["lexicon/mse_srs_srs_high"] == ranked.interval.high
    assert flat["lexicon/cost_usd"] == 0
    assert all(type(value) is float and isfinite(value) for value in flat.values())
    defined = frame["value"].notna()
    assert (~defined).sum() > 0
    assert (frame.loc[~defined, "reason"] != "").all()
    assert len(flat) == defined.sum() + 2 * frame["low"].notna().sum() + 2


def test_names_are_those_that_trackers_accept(run):
    """`mlflow.log_metrics` refuses parentheses, commas, @ and paths that are not normal."""
    assert [name for name in run.metrics() if not is_accepted(name)] == []


@given(st.lists(st.text(max_size=150), max_size=6))
def test_any_two_judges_keep_their_own_numbers(texts):
    """Names stay apart, whatever characters they lose."""
    names = short_names(texts)
    assert len(set(names.values())) == len(set(texts)) == len(names)
    assert all(is_accepted(f"{name}/mse_srs_srs_high") for name in names.values())


def test_table_without_pandas_is_an_arrow_table(run, monkeypatch):
    """pandas is no dependency."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = run.to_frame()
    assert type(table).__module__.startswith("pyarrow")
    assert table.num_rows > len(run.validation.judges)
