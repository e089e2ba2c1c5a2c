"""The figures of README's first run, and what it says of choosing by hit rate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import harness
from harness.errors import JudgeUnavailable
from harness.judging.judges.smollm2 import weights
from harness.stats.selection.regret import GOALS

README = Path(__file__).resolve().parents[2] / "README.md"
JUDGES = ("smollm2", "smollm2@few-shot:4", "smollm2@verbalised", "lexicon")
ROUNDING = 0.05  # of a 135-million-parameter model, whose replies depend on the processor
ROW = re.compile(r"^[\d-]+ +(\S+) +([\d.]+) \[", re.MULTILINE)
SENTENCE = re.compile(
    r"hit rate picks `(\S+)`, and that choice would cost ([\d.]+) \[([\d.]+), ([\d.]+)\]"
)


def available():
    try:
        weights()
    except JudgeUnavailable:
        return False
    return True


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.skipif(not available(), reason="xllamacpp or the weights are not installed")
@pytest.mark.timeout(1800)
def test_the_readme_tells_what_the_first_run_shows(tmp_path):
    """The table is that of response sets; with single choices as well, hit rate picks another."""
    text = README.read_text(encoding="utf-8")
    run = harness.run("toxicity", JUDGES, out=tmp_path)
    by_sets = harness.run("toxicity", JUDGES, elicitations=["response_set"], out=tmp_path)
    shown = {judge: float(value) for judge, value in ROW.findall(text)}
    values = {row.judge: row.value for row in by_sets.validation.evidence.judges}
    assert {judge: shown[judge] for judge in JUDGES} == pytest.approx(values, abs=ROUNDING)
    assert by_sets.validation.decision.verdict == "none"
    judge, *figures = SENTENCE.search(text).groups()
    regret = run.validation.choosing.regret["hit_rate(h/h)"][GOALS[0]]
    assert regret.selected == (judge,)
    computed = (regret.value, regret.interval.low, regret.interval.high)
    assert tuple(map(float, figures)) == pytest.approx(computed, abs=ROUNDING)
