"""A look in words and tables."""

from __future__ import annotations

import re

from msgspec.structs import replace

from harness.revalidation.baseline_design import DetectionPower
from harness.revalidation.history_text import look_text
from harness.revalidation.records import (
    Baseline,
    ComparedJudge,
    DecisionFacts,
    Figure,
    JudgeLook,
    Look,
    ProviderReport,
)
from harness.revalidation.reply_categories import Category, StreamReplies
from harness.revalidation.sentences import judge_sentence, lead
from harness.stats import Estimate

STREAM = StreamReplies("gpt", "forced_choice", (Category("answered", "A"),), ((0, 0), (0, 0)))
FLIPS = Figure(
    name="flips", elicitation="forced_choice", baseline=0.0, look=0.0, low=0.0, high=0.6, n=2
)
ONLY = ComparedJudge(
    judge="gpt",
    usable_replies=1.0,
    n_planned=4,
    answered_fraction=1.0,
    estimate=Estimate(value=0.25, n_used=2, n_replies=2.0),
    ranks=(1, 2),
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
    providers={
        "gpt": ProviderReport(models=("gpt-1",), fingerprints=("fp",), cost=2.0, latency=0.5)
    },
    alpha=0.05,
    decision=DecisionFacts(metric="mse(s/s)", verdict="use", judge="gpt", judges=(ONLY,)),
    power={"gpt": DetectionPower(share=0.1)},
    streams=(STREAM,),
)


def test_details_show_ranks_and_what_the_provider_reports_before_and_now():
    """Beside the baseline; what is not known is NA."""
    now = ProviderReport(
        models=("gpt-2",),
        fingerprints=("fp",),
        cost=3.0,
        tokens=2.5,
    )
    look = Look(
        number=1,
        occasion=1,
        baseline=1,
        at="2026-01-08",
        judges=(
            JudgeLook(
                judge="gpt", verdict="changed", p=0.0001, since=1, provider=now, figures=(FLIPS,)
            ),
        ),
        streams=(STREAM,),
        decision=DecisionFacts(metric="mse(s/s)", verdict="none", judge=None),
    )
    text = look_text(look, BASELINE, details=True)
    rows = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    assert ["flips", "0%", "0% [0%, 60%]", "2 items"] in rows
    assert ["p, all rounds", "<0.001"] in rows
    assert ["cost", "2.00", "3.00", "USD per 1,000 answers"] in rows
    assert ["tokens", "NA", "2.5", "mean tokens of a reply"] in rows
    assert ["latency", "0.50", "NA", "median seconds of a reply"] in rows
    assert ["ranks", "1-2", "NA"] in rows
    assert ["model version", "gpt-1", "gpt-2"] in rows
    assert ["fingerprint", "fp", "fp"] in rows
    assert "gpt: model version gpt-1 before, gpt-2 now." in text
    assert "$0.2500" not in look_text(look, BASELINE)


def test_looks_at_sampled_items_say_what_describes_the_sample():
    """Metrics are weighted; flips and tests are not."""
    look = Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=())
    words = "changes over all rounds describe the sample."
    assert words in " ".join(look_text(look, replace(BASELINE, sampled=True)).split())
    assert words not in " ".join(look_text(look, BASELINE).split())


def test_a_judge_that_is_not_comparable_is_not_called_changed():
    """A change that an earlier round found is no part of the reason."""
    judge = JudgeLook(
        judge="gpt", verdict="not comparable", reason="its model has changed", since=1
    )
    assert sentence(judge) == "gpt: not compared, because its model has changed."


def sentence(judge: JudgeLook, **fields: object) -> str:
    look = Look(number=3, occasion=3, baseline=1, at="2026-01-22", judges=(judge,), **fields)
    [(verdict, text)] = lead(look, BASELINE)
    assert verdict == judge.verdict
    assert text == judge_sentence(judge, look, BASELINE)
    return text


def test_a_sentence_says_since_when_and_what_changed():
    """The day without the year, unless it is another one; agreement where it was tested."""
    change = {"judge": "gpt", "since": 2, "what": "34 of 150 answers changed, most from no to yes"}
    judge = JudgeLook(verdict="changed", since_at="2026-01-12T08:00:00+00:00", **change)
    claim = "gpt: a different judge since 12 Jan: 34 of 150 answers changed, most from no to yes"
    assert sentence(judge) == f"{claim}."
    assert sentence(replace(judge, since_at="2025-11-12")).startswith(
        "gpt: a different judge since 12 Nov 2025:"
    )
    judge = replace(judge, verdict="worse", margin=0.04)
    said = f"{claim}; it agrees less with the raters, by more than 4.0% of the metric's range"
    assert sentence(judge) == f"{said}."
    assert sentence(replace(judge, reason="rate limit")) == (
        f"{said}; it was not run in this round (rate limit)."
    )
    silent = Figure(name="answered", elicitation="forced_choice", baseline=1.0, look=0.0, n=2)
    judge = replace(judge, margin=None, figures=(silent,))
    assert sentence(judge) == f"{claim}; no reply is an answer."


def test_a_sentence_without_a_change_says_which_one_may_be_missed():
    """The size that rounds find, or what to do where they do not find a large one."""
    judge = JudgeLook(judge="gpt", verdict="stable")
    assert sentence(judge) == (
        "gpt: no change detected (a change in 10% of the items would be detected within 4 rounds)."
    )
    look = Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=())
    judge = replace(judge, verdict="underpowered")
    for power, words, advice in (
        (DetectionPower(share=0.35), "fewer than 35%", "Add items"),
        (
            DetectionPower(share=None, n_items_needed=90),
            "any number",
            "An anchor of 90 items would show a change in 20%",
        ),
    ):
        baseline = replace(BASELINE, power={"gpt": power})
        assert judge_sentence(judge, look, baseline) == (
            f"gpt: no change detected, but a change in {words} of the items could go undetected. "
            f"{advice}."
        )


def test_the_most_serious_verdict_leads():
    """What is worse stands before what changed, and that before what is stable."""
    names = ("stable", "underpowered", "changed", "not asked", "worse")
    judges = tuple(
        JudgeLook(judge="gpt", verdict=name, since_at="2026-01-01", since=1) for name in names
    )
    look = Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=judges)
    order = [verdict for verdict, _ in lead(look, BASELINE)]
    assert order == ["worse", "changed", "not asked", "underpowered", "stable"]
    [(verdict, text)] = lead(replace(look, causes=("the prompts have changed",)), BASELINE)
    assert (verdict, text) == ("not comparable", "Nothing was compared: the prompts have changed.")
