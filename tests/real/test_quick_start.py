"""The figures of README's first run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.html_pages import MOST_WORDS, n_words
from support.processes import invoke

import harness
from harness.errors import JudgeUnavailable
from harness.judging.judges.smollm2 import weights

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "README.md"
STORY = CHECKOUT / "docs" / "how-to" / "strategies.md"
ESTIMATE = CHECKOUT / "docs" / "how-to" / "estimate.md"
JUDGES = ("smollm2", "smollm2@verbalised", "lexicon")
ROUNDING = 0.05  # of a 135-million-parameter model, whose replies depend on the processor
MOST_LINES = 25  # of the output of a command
FEW = 6  # replies that may differ for the same reason
IMPROVE = re.compile(r"`harness (improve [^`]*)`")
SHARE = re.compile(r"reasonable: ([\d.]+)% \[([\d.]+)%, ([\d.]+)%\]")
ROW = re.compile(r"^[\d-]+ +(\S+) +([\d.]+) \[", re.MULTILINE)


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
    """The values of all judges, and the verdict, are those of the same command here."""
    text = README.read_text(encoding="utf-8")
    run = harness.run("toxicity", JUDGES, out=tmp_path)
    shown = {judge: float(value) for judge, value in ROW.findall(text)}
    values = {row.judge: row.value for row in run.validation.evidence.judges}
    assert {judge: shown[judge] for judge in JUDGES} == pytest.approx(values, abs=ROUNDING)
    assert run.validation.decision.verdict == "none"
    [folder] = tmp_path.iterdir()
    assert len(invoke("validate", folder).stdout.splitlines()) <= MOST_LINES
    story = " ".join(STORY.read_text(encoding="utf-8").split())
    n_toxic = re.search(r"it replies `A` \(toxic\) to (\d+) of the 120 comments", story)[1]
    n_unreadable = re.search(r"(\d+) of its replies can't be read", story)[1]
    verdicts = run.verdicts[run.verdicts["judge"] == "smollm2"]
    sets = verdicts[verdicts["elicitation"] == "response_set"]
    choices = verdicts[verdicts["elicitation"] == "forced_choice"]
    assert (sets["value"] == '["A"]').sum() == pytest.approx(int(n_toxic), abs=FEW)
    assert (choices["outcome"] == "invalid").sum() == pytest.approx(int(n_unreadable), abs=FEW)
    assert "Don't use any of these." in text
    assert "The best, smollm2@verbalised, is not significantly better than" in text
    improved = invoke(*shlex.split(IMPROVE.search(text)[1]), "--out", tmp_path / "searches").stdout
    assert len(improved.splitlines()) <= MOST_LINES
    words = " ".join(improved.split())
    assert "smollm2@verbalised is the best on the development items, but you tried" in words
    assert "You can't claim a gain" in words
    report = next(tmp_path.glob("*/report.html"))
    assert n_words(report.read_text(encoding="utf-8")) <= MOST_WORDS


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.skipif(not available(), reason="xllamacpp or the weights are not installed")
@pytest.mark.timeout(1800)
def test_the_page_of_estimates_tells_what_the_estimate_shows(tmp_path, monkeypatch):
    """The share of toxic comments is shown with its interval, and the interval holds the truth."""
    monkeypatch.chdir(tmp_path)
    text = ESTIMATE.read_text(encoding="utf-8").partition("known truth")[2]
    run = harness.run("toxicity", JUDGES, out=tmp_path, new_ledger=True)
    items = CHECKOUT / "datasets" / "toxicity" / "unlabelled.jsonl"
    command = ("estimate", run.path, "--judge", "smollm2@verbalised", "--items", items)
    printed = invoke(*command, "--quiet").stdout
    shown, found = (tuple(map(float, SHARE.search(part).groups())) for part in (text, printed))
    assert found == pytest.approx(shown, abs=100 * ROUNDING)
    truth = float(re.search(r"The truth, .*? is ([\d.]+)%", " ".join(text.split()))[1])
    assert found[1] <= truth <= found[2]
    assert "don't look like the rated ones" not in printed
