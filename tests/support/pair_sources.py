"""Sources of a validation with the raters and judges of `support.pair_designs`."""

from __future__ import annotations

import numpy as np
from support.pair_designs import SPACE, draw_theta, judge_tables, raters
from support.verdicts import verdict_from

from harness.analysis import JudgeFacts, Settings, Source
from harness.tasks import Item, Option, Rating, Task


def pair_source(n=400, *, seed=0, n_paired=100, n_pairs=1, **choices):
    """Make a source of items with five choices each, some of them of raters who gave pairs."""
    rng = np.random.default_rng(seed)
    theta = draw_theta(rng, n)
    human = raters(rng, theta, n_paired=n_paired, n_pairs=n_pairs)
    verdicts = {name: list(_verdicts(table)) for name, table in judge_tables(rng, theta).items()}
    return Source(
        task=_task(human),
        items=_task(human).items,
        judges=tuple(JudgeFacts(name=name) for name in verdicts),
        verdicts=verdicts,
        planned={
            name: dict.fromkeys(("forced_choice", "response_set"), len(listed) // 2)
            for name, listed in verdicts.items()
        },
        settings=Settings(**{"n_resamples": 100} | choices),
    )


def _task(human):
    return Task(
        name="small",
        property="whether it is toxic",
        scale="binary",
        options=[Option(key="T", label="Toxic"), Option(key="N", label="Fine")],
        positive=("T",),
        sensitivity={"N": ("T",)},
        ranks_by="forced_choice",
        items=tuple(Item(item, {"text": "words"}) for item in human.items),
        ratings=tuple(_ratings(human)),
    )


def _ratings(human):
    for i, item in enumerate(human.items):
        pairs = [
            place for place in np.argwhere(human.joint[i]) for _ in range(human.joint[i][*place])
        ]
        others = np.repeat(np.arange(2), human.forced_choice[i] - human.joint[i].sum(axis=1))
        for rater, (k, v) in enumerate(pairs):
            yield Rating(item, f"r{rater}", "forced_choice", SPACE.options[k])
            yield Rating(item, f"r{rater}", "response_set", SPACE.sets[v])
        for rater, k in enumerate(others, start=len(pairs)):
            yield Rating(item, f"r{rater}", "forced_choice", SPACE.options[k])


def _verdicts(table):
    """Yield the sets of a judge, and choices: T where its set holds it."""
    for item, counts in zip(table.items, table.response_set, strict=True):
        for sample, v in enumerate(np.repeat(np.arange(3), counts)):
            answers = {"forced_choice": SPACE.sets[v][0], "response_set": SPACE.sets[v]}
            for elicitation, value in answers.items():
                yield verdict_from(
                    item=item,
                    judge=table.name,
                    elicitation=elicitation,
                    outcome="answered",
                    sample=sample,
                    value=value,
                )
