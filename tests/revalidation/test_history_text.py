"""A look in words and tables."""

from __future__ import annotations

import re

from msgspec.structs import replace

from harness.revalidation.baseline_design import DetectionPower
from harness.revalidation.history import (
    Baseline,
    DecisionFacts,
    JudgeResult,
    Look,
    Provider,
    Rate,
    StreamResult,
)
from harness.revalidation.history_text import judge_sentence, look_text
from harness.revalidation.reply_categories import Category, StreamReplies
from harness.stats.drift.reply_counts import Window
from harness.stats.drift.stream_path import Component, LookResult, WindowResult

STREAM = StreamReplies("gpt", "forced_choice", (Category("answered", "A"),), ((0, 0), (0, 0)))
WINDOW = WindowResult(Window(1, 1), 0.0, 1.0, Component("few_items", None, None, 0.0))
RESULT = StreamResult(
    judge="gpt",
    elicitation="forced_choice",
    flip_rate=Rate(0.0, 0.0, 0.6, 2),
    retest_rate=Rate(0.0, 0.0, 0.6, 2),
    outcomes=dict.fromkeys(("answered", "abstained", "refused", "invalid"), 0),
    baseline_outcomes=dict.fromkeys(("answered", "abstained", "refused", "invalid"), 0),
    evidence=LookResult(1, 0.0, 1.0, WINDOW, WINDOW),
)
BASELINE = Baseline(
    number=1,
    at="2026-01-01T00:00:00+00:00",
    items=("i1", "i2"),
    n_items_in_run=2,
    hashes={},
    item_hashes=("0", "1"),
    ratings_hash="0",
    grammar_version=1,
    providers={"gpt": Provider(models=("gpt-1",), fingerprints=("fp",), latency_s=0.5)},
    alpha=0.05,
    decision=DecisionFacts(metric="mse(s/s)", verdict="use", judge="gpt", ranks={"gpt": (1, 2)}),
    power={"gpt": DetectionPower(share=0.1)},
    streams=(STREAM,),
)


def test_details_show_ranks_and_what_the_provider_reports_before_and_now():
    """What is the same stands once; what is not known is NA."""
    now = Provider(models=("gpt-2",), fingerprints=("fp",), cost_usd=0.25)
    look = Look(
        number=1,
        occasion=1,
        baseline=1,
        at="2026-01-08",
        judges=(JudgeResult(judge="gpt", verdict="changed", p=0.0001, since=1, provider=now),),
        results=(RESULT,),
        streams=(STREAM,),
        decision=DecisionFacts(metric="mse(s/s)", verdict="none", judge=None, ranks={}),
    )
    text = look_text(look, BASELINE, details=True)
    [row] = [line for line in text.splitlines() if "$0.2500" in line]
    cells = re.split(r"  +", row)
    assert cells == ["gpt", "$0.2500", "1-2 to NA", "0.50 s to NA", "gpt-1 to gpt-2", "fp"]
    assert "gpt: changed since look 1 (estimate), p < 0.001" in text
    assert "$0.2500" not in look_text(look, BASELINE)


def test_looks_at_sampled_items_say_what_describes_the_sample():
    """Metrics are weighted; flips and tests are not."""
    look = Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=())
    words = "changes over all looks describe the sample."
    assert words in " ".join(look_text(look, replace(BASELINE, sampled=True)).split())
    assert words not in " ".join(look_text(look, BASELINE).split())


def test_what_is_not_comparable_is_not_said_to_have_changed():
    """A change that an earlier look found is no part of the reason."""
    judge = JudgeResult(judge="gpt", verdict="not comparable", reason="other prompts", since=1)
    assert judge_sentence(judge, BASELINE) == "gpt: not comparable (other prompts)."
