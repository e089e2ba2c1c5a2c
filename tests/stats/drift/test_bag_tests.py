"""E-values have expectation 1 given the bags, and p-values are exact."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from harness.stats.drift.bag_tests import (
    CONCENTRATIONS,
    MAX_LOG_E,
    RATIOS,
    _Rows,
    exact_p,
    item_log_e,
    window_evidence,
)


def rows_for(n):
    """Every number of replies in the category and in the window, for n replies."""
    category, inside = (axis.ravel() for axis in np.indices((n + 1, n + 1)))
    return _Rows.of(np.full(len(category), n), category, inside)


@pytest.mark.parametrize("n", range(1, 40))
def test_the_expectation_of_an_item_e_value_is_1(n):
    """Sum over y of P(y) e(y) is 1 to 1e-12 for every bag and window, and P sums to 1."""
    rows = rows_for(n)
    p = np.exp(rows.log_p)
    assert abs(p.sum(axis=1) - 1).max() < 1e-12
    tables = [rows.log_e(c) for c in CONCENTRATIONS] + [rows.log_shift(s) for s in RATIOS]
    for log_e in tables:
        assert log_e.max() < MAX_LOG_E  # so that the cap does not enter here
        assert abs((p * np.exp(log_e)).sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("n", [1, 5, 12])
def test_the_law_of_a_count_is_hypergeometric(n):
    """P(y) = C(m, y) C(n - m, a - y) / C(n, a)."""
    rows = rows_for(n)
    for m, a, log_p in zip(rows.n_category, rows.n_inside, rows.log_p, strict=True):
        law = [
            comb(m, y) * comb(n - m, a - y) / comb(n, a) if y <= a else 0.0
            for y in range(len(log_p))
        ]
        assert np.exp(log_p) == pytest.approx(law, abs=1e-13)


def enumerate_windows(bags, n_inside):
    """Every way to put ``n_inside`` replies of each bag into the window, with its chance."""
    ways = []
    for bag, size in zip(bags, n_inside, strict=True):
        inside = [x for x in product(*(range(k + 1) for k in bag)) if sum(x) == size]
        chances = [np.prod([comb(n, k) for n, k in zip(bag, x, strict=True)]) for x in inside]
        total = comb(sum(bag), size)
        ways.append([(x, chance / total) for x, chance in zip(inside, chances, strict=True)])
    for combination in product(*ways):
        x, chances = zip(*combination, strict=True)
        yield np.array(x), float(np.prod(chances))


BAGS = [
    (np.array([[4, 2, 0], [2, 2, 1], [1, 3, 1]]), (3, 2, 1)),
    (np.array([[3, 1, 0], [1, 1, 0], [0, 4, 2]]), (1, 1, 4)),  # not the same number of replies
    (np.array([[5, 0, 0], [2, 3, 0], [1, 1, 1]]), (2, 0, 3)),  # none inside, none before
]


@pytest.mark.parametrize(("bags", "n_inside"), BAGS)
def test_all_e_values_average_to_1_over_every_window(bags, n_inside):
    """The e-value of a window and all that it is made of have expectation 1 given the bags."""
    results = [
        (chance, window_evidence(bags[None], x[None], np.array([False, False, True])))
        for x, chance in enumerate_windows(bags, n_inside)
    ]
    occurs = np.isfinite(results[0][1].log_shifts[0])
    expected_shifts = sum(chance * np.exp(result.log_shifts[0]) for chance, result in results)
    assert expected_shifts[occurs] == pytest.approx(1.0, abs=1e-12)
    assert sum(c * np.exp(r.log_few[0]) for c, r in results) == pytest.approx(1.0, abs=1e-12)
    assert sum(c * np.exp(r.log_e[0]) for c, r in results) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("bags", "n_inside"), BAGS)
def test_p_equals_an_enumeration(bags, n_inside):
    """P equals the chance of a score at least as large, for three items and every window."""
    windows = list(enumerate_windows(bags, n_inside))
    scores = np.array([sum_of_scores(bags, x) for x, _ in windows])
    chances = np.array([chance for _, chance in windows])
    for (x, _), score in zip(windows, scores, strict=True):
        expected = chances[scores >= score].sum()
        assert exact_p(bags[None], x[None])[0] == pytest.approx(expected, abs=2e-12)


def sum_of_scores(bags, x):
    """Scores by their definition, with scipy's beta function and hypergeometric law."""
    from scipy.special import betaln
    from scipy.stats import hypergeom

    total = 0
    for bag, inside in zip(bags, x, strict=True):
        n, a, k = bag.sum(), inside.sum(), int(np.argmax(bag))
        m, c = bag[k], 0.15
        y = np.arange(max(0, a - n + m), min(m, a) + 1)
        h = np.exp(betaln(y + c, a - y + c) + betaln(m - y + c, n - a - m + y + c))
        e = h / (hypergeom.pmf(y, n, m, a) * h).sum()
        total += max(0, round(np.log(0.75 + 0.25 * e[y == inside[k]][0]) / 0.25))
    return total


def test_an_item_with_one_category_says_nothing():
    """A bag of equal replies has e = 1 and does not move p."""
    bags, x = np.array([[[7, 0]]]), np.array([[[3, 0]]])
    assert item_log_e(bags, x)[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert exact_p(bags, x)[0] == 1.0


def test_one_baseline_reply_and_one_new_say_nothing_of_an_item():
    """Of two replies that differ either may be the odd one: e = 1."""
    assert item_log_e(np.array([[[1, 1]]]), np.array([[[0, 1]]]))[0, 0] == pytest.approx(0.0)


def test_many_items_make_the_transform_longer():
    """Where sums of scores are large the p-value is still uniform in distribution."""
    rng = np.random.default_rng(0)
    n_streams, n = 40, 4000
    replies = rng.random((n_streams, n, 8)) < 0.4
    bags = np.stack([8 - replies.sum(axis=2), replies.sum(axis=2)], axis=2)
    late = replies[..., 4:].sum(axis=2)
    p = exact_p(bags, np.stack([4 - late, late], axis=2))
    assert 0.3 < p.mean() < 0.7
    assert p.min() > 1e-4


def test_streams_of_a_stack_do_not_meet():
    """Several streams at once give what each gives alone."""
    rng = np.random.default_rng(1)
    inside = rng.integers(0, 3, (4, 30, 3))
    bags = inside + rng.integers(0, 4, (4, 30, 3))
    is_outcome = np.array([False, True, True])
    together = window_evidence(bags, inside, is_outcome)
    for s in range(4):
        alone = window_evidence(bags[s : s + 1], inside[s : s + 1], is_outcome)
        assert together.log_e[s] == pytest.approx(alone.log_e[0], abs=1e-12)
        assert together.p[s] == pytest.approx(alone.p[0], abs=2e-12)
