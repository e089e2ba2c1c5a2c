"""Makes a small task whose raters often find both answers reasonable, and judges of three kinds."""

from __future__ import annotations

import numpy as np

from harness.analysis import JudgeFacts, Source
from harness.judging.parsing.verdict import Verdict
from harness.tasks import Item, Option, Rating, Task

BOTH = ("A", "B")


def make_task(n=60, raters=7, *, paired=0, seed=0, **more):
    """Make a yes-or-no task; on the first ``paired`` items raters give their response set too.

    A rater endorses A with the item's own chance, B otherwise, and half of the B's hide an A.
    """
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.7, 1.2, n)
    ratings = []
    for i in range(n):
        for j in range(raters):
            choice = "A" if rng.random() < chance[i] else "B"
            endorsed = BOTH if choice == "B" and rng.random() < 0.5 else (choice,)
            ratings.append(Rating(f"i{i}", f"r{j}", "forced_choice", choice))
            if i < paired:
                ratings.append(Rating(f"i{i}", f"r{j}", "response_set", endorsed))
    said = {
        "name": "small",
        "property": "whether it is toxic",
        "scale": "binary",
        "options": [Option(key="A", label="Toxic"), Option(key="B", label="Fine")],
        "positive": ("A",),
        "abstain": True,
        "sensitivity": {"B": ("A",)},
        **more,
    }
    places = [{"group": f"d{i // 2}", "criterion": "ab"[i % 2]} for i in range(n)]
    items = tuple(Item(f"i{i}", {"text": "words"}, **place) for i, place in enumerate(places))
    return Task(**said, items=items, ratings=tuple(ratings))


def make_source(task, *, judges=("strict", "lenient", "random"), baselines=("random",), **choices):
    """Let judges answer: strict as most raters chose, lenient whenever some did, random at random.

    strict abstains on every ninth item.
    """
    rng = np.random.default_rng(1)
    chosen = {}
    for rating in task.ratings:
        if rating.elicitation == "forced_choice":
            chosen.setdefault(rating.item, []).append(rating.value == "A")
    verdicts = {name: [] for name in judges}
    for i, (item, votes) in enumerate(chosen.items()):
        share = float(np.mean(votes))
        for name in judges:
            cut = {"strict": 0.5, "lenient": 0.15}.get(name, rng.random())
            says = "A" if share >= cut else "B"
            sets = (says,) if name != "lenient" or says == "B" else BOTH
            silent = name == "strict" and i % 9 == 0
            verdicts[name] += _both(name, item, says, sets, silent=silent)
    return Source(
        task=task,
        items=task.items,
        judges=tuple(JudgeFacts(name=name, baseline=name in baselines) for name in judges),
        verdicts=verdicts,
        planned={
            name: {"forced_choice": len(chosen), "response_set": len(chosen)} for name in judges
        },
        **{"n_resamples": 300} | choices,
    )


def _both(judge, item, choice, endorsed, *, silent):
    outcome = "abstained" if silent else "answered"
    values = {"forced_choice": choice, "response_set": endorsed}
    return [
        Verdict(
            item=item,
            judge=judge,
            elicitation=elicitation,
            outcome=outcome,
            sample=0,
            value=None if silent else value,
        )
        for elicitation, value in values.items()
    ]
