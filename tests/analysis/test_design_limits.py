"""Any design goes through a validation: every number is a value, or NA with its reason."""

from __future__ import annotations

import json
import random
import time
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verdicts import verdict_from

from harness.analysis import JudgeFacts, Settings, Source, validate
from harness.judging.parsing.verdict import PairValue
from harness.report.text import render
from harness.tasks import Item, Option, Rating, Task

N_ITEMS, RATERS = 12, ("ann", "bob", "eve")
MAX_S = 90.0  # of one validation, on a busy machine; 4 s on an idle one
MOST = {"binary": 2, "pairwise": 3, "nominal": 100, "ordinal": 100, "continuous": 0, "text": 0}
LEAST = {"continuous": 0, "text": 0}
DESIGNS = [
    ("nominal", 6, 10, "forced_choice"),
    ("nominal", 4, 50, "response_set"),
    ("continuous", 0, 50, "forced_choice"),
    ("text", 0, 10, "forced_choice"),
]
ENDS = [
    ("ordinal", 7, 10, "forced_choice"),
    ("nominal", 100, 50, "forced_choice"),
    ("nominal", 10, 3, "paired"),
    ("pairwise", 3, 50, "forced_choice"),
]


@st.composite
def designs(draw):
    """Scale, number of options, replies per item and elicitation."""
    scale = draw(st.sampled_from(sorted(MOST)))
    n_options = draw(st.integers(LEAST.get(scale, 2), MOST[scale]))
    n_replies = draw(st.integers(1, 50))
    kinds = task_of(scale, n_options, random.Random(0), with_sets=False).elicitations
    return scale, n_options, n_replies, draw(st.sampled_from(kinds))


def answer_to(task, rng):
    """Return an answer; two raters of three say the first option."""
    if task.scale == "continuous":
        return str(rng.randint(0, 9))
    if task.scale == "text":
        return rng.choice(["a cat", "a dog", "no idea"])
    keys = [option.key for option in task.options]
    return rng.choice([keys[0], *keys])


def set_with(task, choice, rng):
    """Return a response set that contains a choice."""
    other = rng.choice(task.options).key
    return tuple(o.key for o in task.options if o.key in {choice, other})


def task_of(scale, n_options, rng, *, with_sets):
    """Make a task of twelve items with three raters."""
    items = tuple(Item(f"i{i}", {"text": f"text {i}"}) for i in range(N_ITEMS))
    fields = {"options": tuple(Option(key=f"k{k}") for k in range(n_options))}
    fields |= {"pairwise": None} if scale != "pairwise" else {}
    bare = Task(
        name="t",
        property="p",
        scale=scale,
        items=items,
        ratings=(),
        ranks_by="response_set" if with_sets else "forced_choice",
        **{name: value for name, value in fields.items() if value},
    )
    ratings = []
    for item in items:
        for rater in RATERS:
            choice = answer_to(bare, rng)
            ratings.append(Rating(item.id, rater, "forced_choice", choice))
            if with_sets:
                endorsed = set_with(bare, choice, rng)
                ratings.append(Rating(item.id, rater, "response_set", endorsed))
    return bare.model_copy(update={"ratings": tuple(ratings)})


def value_of(task, elicitation, rng):
    choice = answer_to(task, rng)
    if elicitation == "forced_choice":
        return choice
    endorsed = set_with(task, choice, rng)
    return endorsed if elicitation == "response_set" else PairValue(set=endorsed, choice=choice)


def validated(scale, n_options, n_replies, elicitation):
    """Validate two judges of such a design."""
    rng = random.Random(f"{scale} {n_options} {n_replies} {elicitation}")
    task = task_of(scale, n_options, rng, with_sets=elicitation != "forced_choice")
    verdicts = {
        judge: [
            verdict_from(
                item=item.id,
                judge=judge,
                elicitation=elicitation,
                outcome="answered",
                sample=sample,
                value=value_of(task, elicitation, rng),
            )
            for item in task.items
            for sample in range(n_replies)
        ]
        for judge in ("one", "two")
    }
    source = Source(
        task=task,
        items=task.items,
        judges=tuple(JudgeFacts(name=judge) for judge in verdicts),
        verdicts=verdicts,
        planned={judge: {elicitation: N_ITEMS * n_replies} for judge in verdicts},
        settings=Settings(n_resamples=100),
    )
    started = time.monotonic()
    validation = validate(source)
    assert time.monotonic() - started < MAX_S
    return validation


def check(design):
    validation = validated(*design)
    for judge in validation.judges:
        for name, estimate in judge.metrics.items():
            if estimate.value is None:
                assert estimate.reason, name
            else:
                assert isfinite(estimate.value), name
    for row in validation.evidence.baselines if validation.evidence else ():
        assert row.value is None or isfinite(row.value)
    assert render(validation)
    json.loads(validation.to_json(), parse_constant=pytest.fail)  # of NaN and Infinity


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: "-".join(map(str, design)))
def test_design_has_a_value_or_a_reason_for_every_number(design):
    """Six options at ten replies ended with an exception, after the replies were paid for."""
    check(design)


@pytest.mark.slow
@pytest.mark.parametrize("design", ENDS, ids=lambda design: "-".join(map(str, design)))
def test_design_at_an_end_has_a_value_or_a_reason_for_every_number(design):
    """The most options and replies, and pairs of the most options whose sets are known."""
    check(design)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(max_examples=150, deadline=None)
@given(designs())
def test_every_design_has_a_value_or_a_reason_for_every_number(design):
    """All scales, 2 to 100 options, 1 to 50 replies per item, and all elicitations."""
    check(design)
