"""Abstentions and criteria turned into ordinary ratings, and metrics averaged over criteria."""

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, evaluate_judges

from harness import stats
from harness.stats.data.resolved_tables import one_verdict_per_group, resolve_abstentions
from harness.stats.inference.estimate_sums import average_over_criteria

ABSTAINED = 1


def abstaining(counted, *, pairs=(), asked=(0, 1)):
    """Two items of two ratings; on the first somebody also abstained from what was asked."""
    choices = [["toxic", "fine"], ["fine", "fine"]]
    sets = [[("toxic",), ("fine",)], [("fine",), ("toxic", "fine")]]
    made = counted("z", choices if 0 in asked else (), sets if 1 in asked else (), pairs)
    outcomes = made.outcomes.copy()
    outcomes[0, list(asked), ABSTAINED] = 1
    fields = {field: getattr(made, field) for field in made.__slots__}
    return stats.RatingTable(**fields | {"outcomes": outcomes})


def test_exclude_leaves_the_table_as_it_is():
    """Abstentions stay outcomes."""
    table = abstaining(count_table)
    assert resolve_abstentions(table, "exclude") is table


def test_recode_adds_the_option_to_choices_and_sets():
    """One more choice of fine, one more set of fine alone; the outcome counts as answered."""
    resolved = resolve_abstentions(abstaining(count_table), "recode", option="fine")
    assert resolved.forced_choice.tolist() == [[1, 2], [0, 2]]
    assert resolved.response_set.tolist() == [[1, 2, 0], [0, 1, 1]]
    assert resolved.outcomes[:, :, ABSTAINED].sum() == 0
    assert resolved.outcomes[0, :2, 0].tolist() == [3, 3]


def test_third_class_is_an_option_of_its_own():
    """The old sets keep their counts, wherever the new space puts them."""
    resolved = resolve_abstentions(abstaining(count_table), "third_class", option="CANNOT_ASSESS")
    assert resolved.space.options == ("toxic", "fine", "CANNOT_ASSESS")
    assert resolved.forced_choice.tolist() == [[1, 1, 1], [0, 2, 0]]
    shown = dict(zip(resolved.space.sets, resolved.response_set.T.tolist(), strict=True))
    assert shown == {
        ("toxic",): [1, 0],
        ("fine",): [1, 1],
        ("CANNOT_ASSESS",): [1, 0],
        ("toxic", "fine"): [0, 1],
    }
    with pytest.raises(ValueError, match="'fine' is listed twice"):
        resolve_abstentions(abstaining(count_table), "third_class", option="fine")


@pytest.mark.parametrize("mode", ["recode", "third_class"])
def test_abstention_from_a_pair_counts_jointly(mode):
    """It is one more pair, and one more choice and set where only pairs were asked for."""
    pairs = [[(("toxic", "fine"), "fine")], [(("fine",), "fine")]]
    option = "fine" if mode == "recode" else "none"
    before = abstaining(count_table, pairs=pairs, asked=(2,))
    resolved = resolve_abstentions(before, mode, option=option)
    k, v = resolved.space.option_index(option), resolved.space.set_index((option,))
    assert resolved.joint.sum() == before.joint.sum() + 1
    assert resolved.joint[0, k, v] == 1
    assert resolved.forced_choice.sum() == before.forced_choice.sum() + 1
    assert resolved.response_set.sum() == before.response_set.sum() + 1
    both = resolved.space.set_index(("toxic", "fine"))
    assert resolved.joint[0, resolved.space.option_index("fine"), both] == 1


def test_group_is_met_when_enough_of_its_items_are():
    """All of them by default, half of them on request; an item without a choice leaves it open."""
    table = count_table("z", [["toxic"], ["fine"], ["toxic"], ["toxic"], ["toxic"], []])
    groups = ["a", "a", "b", "b", "c", "c"]
    every = one_verdict_per_group(table, groups, positive=("toxic",))
    assert every.items == ("a", "b", "c")
    assert every.forced_choice.tolist() == [[0, 1], [1, 0], [0, 0]]
    half = one_verdict_per_group(table, groups, positive=("toxic",), threshold=0.5)
    assert half.forced_choice.tolist() == [[1, 0], [1, 0], [0, 0]]
    with pytest.raises(ValueError, match="groups has 1 entries for 6 items"):
        one_verdict_per_group(table, ["a"], positive=("toxic",))


def test_average_over_criteria_is_na_where_one_of_them_is():
    """Kappa of a criterion with constant labels has no value, and the average none either."""
    human = count_table("human", [["toxic"], ["fine"], ["toxic"], ["toxic"]])
    judge = count_table("z", [["toxic"], ["toxic"], ["toxic"], ["toxic"]])
    criteria = ["a", "a", "b", "b"]
    result = evaluate_judges(human, judge, criteria=criteria).estimates["z"]
    assert result["hit_rate(h/h)"].value == pytest.approx(0.75)
    kappa = result["cohen_kappa(h/h)"]
    assert (kappa.value, kappa.reason) == (None, "constant_labels")
    assert kappa.counts == {"criteria": 2.0, "undefined_criteria": 1.0}
    with pytest.raises(ValueError, match="criteria has 1 entries for 4 items"):
        evaluate_judges(human, judge, criteria=["a"])


def test_criteria_of_unequal_size_weigh_the_same():
    """The mean of 1 and 0, though three of four items agree."""
    human = count_table("human", [["toxic"], ["fine"], ["toxic"], ["toxic"]])
    judge = count_table("z", [["toxic"], ["fine"], ["toxic"], ["fine"]])
    result = evaluate_judges(human, judge, criteria=["a", "a", "a", "b"]).estimates["z"][
        "hit_rate(h/h)"
    ]
    assert result.value == 0.5
    assert (result.n_used, result.interval, result.interval_reason) == (2, None, "too_few_criteria")


def test_intervals_of_an_average_over_criteria_resample_criteria():
    """Five criteria have an interval, of criteria."""
    human = count_table("human", [["toxic"]] * 10)
    judge = count_table("z", [["toxic"]] * 9 + [["fine"]])
    estimates = evaluate_judges(human, judge, criteria=list("aabbccddee")).estimates["z"]
    result = estimates["hit_rate(h/h)"]
    assert (result.value, result.n_used) == (0.9, 5)
    assert result.interval.unit == "criterion"


def test_no_statistics_have_no_average():
    """Without jobs there is nothing to average, whatever the criteria are."""
    groups, units = average_over_criteria([[]], ["a", "b", "a"])
    assert groups == [[]]
    assert (units.n_units, units.kind) == (2, "criterion")
    np.testing.assert_array_equal(units.of_item, [0, 1])
