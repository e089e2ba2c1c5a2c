"""A race and a ranking of the same judges, which reply several times per item."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import race_of, source_of, task_of

from harness.analysis import validate
from harness.extras.racing.race_pool import pool_of
from harness.judging.judges.config import new_judge
from harness.judging.parsing.verdict import Verdict
from harness.options.concerns import Choices
from harness.report.race_text import found
from harness.runs.run_folder import RunConfig

N_ITEMS, N_REPLIES, METRIC = 60, 10, "mse(s/s)"
NAMES = ("varies", "steady", "coin")


def pool_and_source(seed):
    """Draw a pool: one judge varies about the truth, one always gives one answer per item."""
    rng = np.random.default_rng(seed)
    names = [f"i{i}" for i in range(N_ITEMS)]
    truth = rng.integers(2, size=N_ITEMS)

    def said(right):
        return np.where(right, truth, 1 - truth)

    raters = {
        f"r{j}": dict(
            zip(names, np.array(["A", "B"])[said(rng.random(N_ITEMS) < 0.85)], strict=True)
        )
        for j in range(3)
    }
    shape = (N_REPLIES, N_ITEMS)
    steady = said(rng.random(N_ITEMS) < 0.83)
    replies = {
        "varies": said(rng.random(shape) < 0.78),
        "steady": np.broadcast_to(steady, shape),
        "coin": rng.integers(2, size=shape),
    }
    task = task_of({name: {k: str(v) for k, v in of.items()} for name, of in raters.items()})
    verdicts = {
        judge: [
            Verdict(
                item=names[i],
                judge=judge,
                elicitation="forced_choice",
                sample=sample,
                outcome="answered",
                value="AB"[answers[sample, i]],
            )
            for sample in range(N_REPLIES)
            for i in range(N_ITEMS)
        ]
        for judge, answers in replies.items()
    }
    return task, verdicts


def returned(task, verdicts):
    """Race the judges for the one best, on all replies."""
    config = RunConfig(
        task=task.name, choices=Choices(metric=METRIC), race=True, within=0.0, samples=N_REPLIES
    )
    specs = tuple(new_judge(name=name, kind="random", model="random") for name in NAMES)
    pool = pool_of(task, specs, config)
    *_, last = pool.standings(pool.losses_on(slice(None), verdicts))
    return specs[last.leader].name


def ranked_first(task, verdicts, replies):
    """Rank the same judges on the same replies."""
    source = source_of(
        task, {name: {} for name in NAMES}, metric=METRIC, replies=replies, n_resamples=0
    )
    planned = {name: {"forced_choice": N_ITEMS * N_REPLIES} for name in NAMES}
    result = validate(replace(source, verdicts=verdicts, planned=planned))
    return result.evidence.judges[0].judge


@pytest.mark.slow
def test_race_returns_the_judge_that_a_ranking_at_one_reply_puts_first():
    """On twenty pools. A ranking at ten replies prefers the judge that varies in most of them."""
    pools = [pool_and_source(seed) for seed in range(20)]
    raced = [returned(*pool) for pool in pools]
    assert raced == [ranked_first(*pool, 1) for pool in pools]
    at_ten = [ranked_first(*pool, N_REPLIES) for pool in pools]
    assert sum(a != b for a, b in zip(raced, at_ten, strict=True)) > 10


@pytest.mark.parametrize(
    ("n_replies", "words"), [(1, "pool, at"), (10, "pool with one reply per item")]
)
def test_race_says_that_it_compares_single_replies(n_replies, words):
    """In its first line, if judges give several."""
    assert words in found(race_of("a", n_replies=n_replies))
