"""Weights of the members of an ensemble, and the votes that they decide."""

from __future__ import annotations

from math import log

import pytest
from support.task_folders import make_task_folder

from harness.errors import JudgeError
from harness.judging.computed_verdicts import computed_verdicts, fitted_in_run
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.judge_registry import resolve
from harness.judging.parsing.verdict import PairValue, Verdict
from harness.judging.strategies.ensembles import MIN_RATED_IN_HALF, half_of
from harness.judging.strategies.voting import Ballot, majority
from harness.stats import OptionSpace
from harness.tasks import Rating, load_task

N = 80
MEMBERS = ("good", "bad", "worse")
AB = OptionSpace.powerset(("A", "B"))


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", N, response_sets=False)))


def specs():
    asked = [new_judge(name=name, kind="random", model="uniform") for name in MEMBERS]
    panel = new_judge(name="panel", kind="ensemble", members=MEMBERS, strategy="weighted")
    return [*asked, panel]


def majority_of(i):
    return "A" if i % 4 >= 2 else "B"


def members(task):
    """One agrees with most raters, the others with few."""
    other = {"A": "B", "B": "A"}
    answers = {
        "good": majority_of,
        "bad": lambda i: other[majority_of(i)] if i % 5 else majority_of(i),
        "worse": lambda i: other[majority_of(i)],
    }
    return {
        name: [
            Verdict(
                item=item.id,
                judge=name,
                elicitation="forced_choice",
                outcome="answered",
                value=answer(i),
            )
            for i, item in enumerate(task.items)
        ]
        for name, answer in answers.items()
    }


def test_a_weight_is_the_log_odds_of_agreeing_in_the_other_half(task):
    """By hand, from the ratings; a member that agrees less than chance weighs nothing."""
    weights = fitted_in_run(specs(), members(task), task)["panel"]
    for half in (0, 1):
        others = [i for i, item in enumerate(task.items) if half_of(item) != half]
        agree = sum(max(i % 4, 3 - i % 4) / 3 for i in others)
        expected = log((agree + 0.5) / (len(others) - agree + 0.5))
        expected_of = dict(zip(MEMBERS, (expected, 0.0, 0.0), strict=True))
        assert weights[f"forced_choice {half}"] == pytest.approx(expected_of)


def test_the_weighted_majority_follows_the_better_member(task):
    """Two poor members outvote it without weights, and not with them."""
    voted = computed_verdicts(specs(), members(task), task)["panel"]
    assert [v.value for v in voted] == [majority_of(i) for i in range(N)]
    plain = [*specs()[:3], specs()[3].model_copy(update={"strategy": "majority"})]
    outvoted = computed_verdicts(plain, members(task), task)["panel"]
    assert [v.value for v in outvoted] != [v.value for v in voted]


def test_no_verdict_depends_on_the_ratings_of_its_own_half(task):
    """Whatever the raters of one half say, the verdicts on it stay."""
    half = {item.id: half_of(item) for item in task.items}
    before = computed_verdicts(specs(), members(task), task)["panel"]
    swapped = tuple(
        Rating(r.item, r.rater, r.elicitation, "A" if r.value == "B" else "B")
        if half[r.item] == 0
        else r
        for r in task.ratings
    )
    after = computed_verdicts(specs(), members(task), task.model_copy(update={"ratings": swapped}))[
        "panel"
    ]
    for old, new in zip(before, after, strict=True):
        assert (old.value == new.value) or half[old.item] == 1
    assert any(old.value != new.value for old, new in zip(before, after, strict=True))


def test_few_items_make_equal_weights(task):
    """A half with fewer than ten rated items decides nothing."""
    few = {name: own[: MIN_RATED_IN_HALF // 2] for name, own in members(task).items()}
    weights = fitted_in_run(specs(), few, task)["panel"]
    assert list(weights.values()) == [dict.fromkeys(MEMBERS, 1.0)] * 4


@pytest.mark.parametrize(
    ("values", "elicitation", "expected"),
    [
        (["A", "B", "B"], "forced_choice", "A"),
        ([("A", "B"), ("B",), ("B",)], "response_set", ("A", "B")),
        (
            [PairValue(set=("A",), choice="A"), *[PairValue(set=("B",), choice="B")] * 2],
            "paired",
            PairValue(set=("A",), choice="A"),
        ),
    ],
)
def test_more_than_half_of_the_weight_decides(values, elicitation, expected):
    """In choices, sets and pairs."""
    votes = [
        Verdict(item="i", judge=name, elicitation=elicitation, outcome="answered", value=value)
        for name, value in zip(MEMBERS, values, strict=True)
    ]
    weights = {"good": 2.5, "bad": 1.0, "worse": 1.0}
    verdict = majority(Ballot("panel", "i", elicitation, 0), votes, AB, weights)
    assert verdict.value == expected


def test_a_weighted_ensemble_is_named_in_judges_yaml(task, tmp_path):
    """`+` joins by plain majority; an unknown strategy is refused."""
    path = tmp_path / "judges.yaml"
    entry = "{kind: ensemble, members: [gpt, claude], strategy: weighted}"
    path.write_text(f"judges:\n  panel: {entry}\n")
    resolved = resolve(["panel", "gpt+claude"], task, load_judges(path)).specs
    assert {spec.name: spec.strategy for spec in resolved if spec.members} == {
        "panel": "weighted",
        "gpt+claude": "majority",
    }
    path.write_text(f"judges:\n  panel: {entry.replace('weighted', 'best')}\n")
    with pytest.raises(JudgeError, match=r"judges\.panel\.strategy"):
        load_judges(path)
