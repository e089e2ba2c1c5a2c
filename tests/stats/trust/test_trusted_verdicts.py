"""Verdicts that can stand: tests of a bound, thresholds in sequence, combined confidences."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.trust import ALPHA, Design, simulate
from harness.stats import OptionSpace, RatingTable
from harness.stats.trust.combined_confidence import CombinedConfidence
from harness.stats.trust.fixed_sequence import ThresholdTests, candidate_thresholds
from harness.stats.trust.risk_tests import BETS, RiskTest, betting_p, binomial_p
from harness.stats.trust.trusted_verdicts import ALIKE, COMBINED, trust_verdicts
from harness.stats.trust.verdict_errors import raters_errors, single_answers, verdict_errors


def rng(seed=0):
    return np.random.default_rng(seed)


def thresholds_of(errors, confidence):
    test = RiskTest.of(np.asarray(errors, dtype=float), np.arange(len(errors)), 0.1)
    return ThresholdTests(confidence, candidate_thresholds(confidence), test)


def test_twenty_nine_items_without_an_error_show_a_bound_of_a_tenth():
    """0.9^29 is the first power below 0.05, and 0.9^28 is not."""
    assert binomial_p(0, 29, 0.1) == pytest.approx(0.9**29)
    assert binomial_p(0, 29, 0.1) < 0.05 < binomial_p(0, 28, 0.1)
    confidence = np.linspace(1.0, 0.0, 100)
    first = thresholds_of(np.zeros(100), confidence).first_testable(0.05)
    assert (confidence >= candidate_thresholds(confidence)[first]).sum() == 30


def test_bets_on_two_items_follow_the_definition():
    """Capital after each item, averaged over the bets; the p-value is one over its maximum."""
    largest = 1.0 - 0.2
    first = np.mean([1 - b * (0.0 - 0.2) / largest for b in BETS])
    both = np.mean(
        [(1 - b * (0.0 - 0.2) / largest) * (1 - b * (0.5 - 0.2) / largest) for b in BETS]
    )
    expected = 1.0 / max(first, both)
    assert betting_p(np.array([0.0, 0.5]), np.array([0, 1]), 0.2) == pytest.approx(expected)


def test_bets_on_groups_are_about_items():
    """A group of three with one error has an excess of 1 less three times the bound."""
    errors, units = np.array([1.0, 0.0, 0.0, 0.0]), np.array([1, 1, 1, 0])
    steps = [(0.0 - 0.25) / (3 * 0.75), (1.0 - 3 * 0.25) / (3 * 0.75)]
    capital = np.mean(
        [[1 - b * steps[0], (1 - b * steps[0]) * (1 - b * steps[1])] for b in BETS], 0
    )
    assert betting_p(errors, units, 0.25) == pytest.approx(1.0 / capital.max())


@given(st.lists(st.sampled_from([0.0, 1 / 3, 1.0]), min_size=1, max_size=40), st.floats(0.02, 0.9))
def test_p_values_lie_between_that_without_errors_and_one(errors, bound):
    """And an error more never makes the bound more plausible."""
    test = RiskTest.of(np.array(errors), np.arange(len(errors)), bound)
    everything = np.ones(len(errors), dtype=bool)
    p = test.p_value(everything)
    assert test.least_p_value(everything) - 1e-12 <= p <= 1.0
    worse = RiskTest(np.ones(len(errors)), test.units, bound, test.method)
    assert worse.p_value(everything) >= p - 1e-12


def test_few_ties_are_rounded_up_for_the_exact_test():
    """Two in a hundred cost less than bets do; many would cost more."""
    units = np.arange(100)
    few, many = np.zeros(100), np.zeros(100)
    few[:2], many[:30] = 0.5, 0.5
    test = RiskTest.of(few, units, 0.1)
    assert test.method == "binomial"
    assert test.p_value(np.ones(100, dtype=bool)) == pytest.approx(binomial_p(2, 100, 0.1))
    assert RiskTest.of(many, units, 0.1).method == "betting"
    assert RiskTest.of(few, units // 2, 0.1).method == "betting"


def test_a_sequence_ends_at_the_first_threshold_that_is_not_significant():
    """Later ones are not tried, though the last would be significant on its own."""
    confidence = np.linspace(1.0, 0.0, 400)
    errors = np.zeros(400)
    errors[60:80] = 1.0
    tests = thresholds_of(errors, confidence)
    assert tests.test.p_value(tests.accepted(19)) < 0.05
    place = tests.loosest({1: 0.05})
    assert place == 2  # 60 items without an error; the next threshold has 20 errors in 80
    assert tests.loosest({}) is None
    assert tests.loosest({3: 0.05}) is None


def test_a_start_passes_its_alpha_on():
    """What isn't significant at either start's alpha is so at that of both."""
    confidence = np.repeat([3.0, 2.0, 1.0], [40, 20, 10])
    errors = np.zeros(70)
    errors[40:42] = 1.0
    test = RiskTest.of(errors, np.arange(70), 0.1)
    tests = ThresholdTests(confidence, np.array([3.0, 2.0]), test)
    p = test.p_value(tests.accepted(1))
    assert 0.03 < p < 0.06
    assert tests.loosest({0: 0.03, 1: p - 0.031}) == 0
    assert tests.loosest({0: 0.03, 1: p - 0.029}) == 1
    assert tests.loosest({1: p - 0.001}) is None


def test_without_a_confidence_all_verdicts_stand_or_none():
    """A judge asked once has none; 3 errors in 100 show a bound of a tenth, 8 do not."""
    for n_errors, accepted in ((3, 100), (8, 0)):
        errors = np.zeros(100)
        errors[:n_errors] = 1.0
        result = trust_verdicts({}, errors, bound=0.1, rng=rng())
        assert (result.signal, int(result.accepted.sum())) == (ALIKE, accepted)
        assert result.confidence_of({}, 2).tolist() == [0.0, 0.0]


def test_too_few_items_accept_nothing_and_say_so():
    result = trust_verdicts({"a": np.arange(20.0)}, np.zeros(20), bound=0.1, rng=rng())
    assert (result.reason, result.threshold, result.accepted.any()) == (
        "too_few_items",
        None,
        False,
    )
    empty = trust_verdicts({"a": np.zeros(3)}, np.full(3, np.nan), bound=0.1, rng=rng())
    assert (empty.reason, empty.error, empty.n_tested) == ("too_few_items", None, 0)


def test_verdicts_without_a_confidence_are_never_accepted():
    confidence = np.where(np.arange(200) % 4 == 0, np.nan, 1.0)
    result = trust_verdicts({"a": confidence}, np.zeros(200), bound=0.1, rng=rng())
    assert result.accepted.tolist() == (~np.isnan(confidence)).tolist()


@pytest.mark.parametrize("grouped", [False, True])
def test_the_better_of_two_confidences_decides(grouped):
    """It is chosen on half of the items, in whole groups, and tested on the others."""
    draw = rng(3)
    good, bad = draw.random(2000), draw.random(2000)
    errors = (draw.random(2000) < np.where(good > 0.4, 0.02, 0.4)).astype(float)
    groups = np.arange(2000) // 2 if grouped else None
    result = trust_verdicts({"bad": bad, "good": good}, errors, groups, bound=0.1, rng=rng())
    assert result.signal in {"good", COMBINED}
    assert result.chosen_on == result.n_tested == 1000
    assert good[result.accepted].min() > 0.2
    again = result.accepts(result.confidence_of({"bad": bad, "good": good}, 2000))
    assert again.tolist() == result.accepted.tolist()
    assert not result.accepts(result.confidence_of({}, 4)).any()


@pytest.mark.parametrize(("errors", "bound"), [([0.0, 1.5], 0.1), ([0.0, 1.0], 1.0)])
def test_arguments_out_of_range_are_rejected(errors, bound):
    with pytest.raises(ValueError, match=r"outside|between"):
        trust_verdicts({}, np.array(errors), bound=bound, rng=rng())


@given(st.integers(0, 10_000))
def test_a_combination_never_falls_as_a_confidence_grows(seed):
    draw = rng(seed)
    signals = {"a": draw.normal(size=40), "b": draw.normal(size=40)}
    fitted = CombinedConfidence.fit(signals, draw.random(40))
    low, high = np.sort(draw.normal(size=2))
    values = {"a": np.array([low, high, np.nan]), "b": np.array([0.0, 0.0, np.nan])}
    first, second, missing = fitted.of(values)
    assert first <= second
    assert np.isnan(missing)


def by_hand(pairs, kind):
    """Compare each rater's choice with the choices or sets of the others, one by one."""
    errors = []
    for i, (choice, _) in enumerate(pairs):
        others = [pair for j, pair in enumerate(pairs) if j != i]
        if kind == "set":
            errors += [float(choice not in endorsed) for _, endorsed in others]
        elif kind == "rater":
            errors.append(np.mean([choice != other for other, _ in others]))
        else:
            counts = {o: sum(other == o for other, _ in others) for o in "abc"}
            modes = [o for o, n in counts.items() if n == max(counts.values())]
            errors.append(1.0 - (choice in modes) / len(modes))
    return float(np.mean(errors))


@pytest.mark.parametrize("kind", ["majority", "rater", "set"])
def test_errors_of_verdicts_and_raters_follow_the_definitions(kind):
    """Items are rated by two to five raters, who give a choice and a set each."""
    space, draw = OptionSpace.powerset(("a", "b", "c")), rng(1)
    n, pairs_of = 30, []
    forced, sets = np.zeros((n, 3), int), np.zeros((n, len(space.sets)), int)
    joint = np.zeros((n, 3, len(space.sets)), int)
    for i in range(n):
        pairs = []
        for _ in range(draw.integers(2, 6)):
            v = int(draw.integers(len(space.sets)))
            endorsed = space.sets[v]
            choice = str(draw.choice(sorted(endorsed)))
            k = "abc".index(choice)
            forced[i, k] += 1
            sets[i, v] += 1
            joint[i, k, v] += 1
            pairs.append((choice, endorsed))
        pairs_of.append(pairs)
    human = RatingTable(
        space=space,
        name="humans",
        items=tuple(map(str, range(n))),
        forced_choice=forced,
        response_set=sets,
        joint=joint,
        outcomes=np.zeros((n, 3, 5), int),
    )
    expected = [by_hand(pairs, kind) for pairs in pairs_of]
    assert raters_errors(human, kind).tolist() == pytest.approx(expected)
    answers = np.arange(n) % 4 - 1
    errors = verdict_errors(human, answers, kind)
    for i, answer in enumerate(answers.tolist()):
        if answer < 0:
            assert np.isnan(errors[i])
        elif kind == "set":
            outside = np.mean(["abc"[answer] not in endorsed for _, endorsed in pairs_of[i]])
            assert errors[i] == pytest.approx(outside)
        elif kind == "rater":
            assert errors[i] == pytest.approx(np.mean([c != "abc"[answer] for c, _ in pairs_of[i]]))


def test_replies_that_tie_give_no_single_answer():
    choices = np.array([[2, 1], [1, 1], [0, 0], [0.2, 0.8]])
    assert single_answers(choices).tolist() == [0, -1, -1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design("informative", 300),
        Design("misleading", 300),
        Design("just above", 300, "0 or 1", False, 2),
        Design("just above", 100, "shares"),
        Design("just above", 300, "0 or 1", True),
    ],
    ids=repr,
)
def test_the_bound_is_exceeded_as_rarely_as_is_said(design):
    """At 5 % plus two standard errors; and half of the items are accepted where they should be."""
    row = simulate(design, 300)
    assert float(row["exceeded"]) <= ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / 300)
    if design.kind == "informative":
        assert float(row["half_accepted"]) >= 0.65
