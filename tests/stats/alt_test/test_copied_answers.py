"""Judges that copy raters, and honest ones that agree with a rater."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.copies import MOST, Design, designs, simulate
from harness.stats import Panel
from harness.stats.alt_test.copied_answers import copy_test, reasonable_sets

N_FEW = 200


def panel_of(labels, names=None, *, present=None):
    """Return a panel of (n, m) labels and its raters' names."""
    names = names or [f"r{j}" for j in range(labels.shape[1])]
    return Panel.of(
        (f"i{i}", names[j], str(label))
        for (i, j), label in np.ndenumerate(labels)
        if present is None or present[i, j]
    )


def copying_of(labels, names=None, **settings):
    """Test (n, m + 1) labels, those of the judge last."""
    panel = panel_of(labels[:, :-1], names, **settings)
    return copy_test(panel, panel.coded({f"i{i}": str(k) for i, k in enumerate(labels[:, -1])}))


def drawn(seed=1, **design):
    return Design(**design).draw(1, np.random.default_rng(seed))[0]


@pytest.mark.parametrize("m", [3, 5])
def test_an_exact_copy_is_recognised_with_the_rater_it_copies(m):
    test = copying_of(drawn(n=150, m=m))
    assert test.copies
    assert (test.raters, test.n_items) == (("r0",), 150)
    assert test.shares == pytest.approx([1.0], abs=0.01)


@pytest.mark.parametrize(("m", "right"), [(3, 0.97), (5, 0.99)])
def test_copies_of_careful_raters_are_recognised_or_undecided(m, right):
    """Exact copies of a rater passed in 10 to 53 % if the rater made no error on 60 items."""
    design = Design(n=60, m=m, first=right, others=right)
    labels = design.draw(20, np.random.default_rng(2))
    tests = [copying_of(of_set) for of_set in labels]
    assert all(test.copies or test.undecided for test in tests)
    assert any(test.undecided for test in tests)


def test_judge_without_errors_beside_raters_with_many_is_no_copy():
    labels = drawn(n=150, m=5)
    labels[:, -1] = (labels[:, :-1].mean(axis=1) > 0.5).astype(int)
    test = copying_of(labels)
    assert not test.copies
    assert not test.undecided


def test_copies_of_two_raters_in_turn_name_both():
    test = copying_of(drawn(n=300, m=5, in_turn=2, noise=0.02))
    assert test.copies
    assert set(test.raters) == {"r0", "r1"}
    assert sum(test.shares) == pytest.approx(0.96, abs=0.06)


@pytest.mark.parametrize("hard", [0.0, 1 / 3])
def test_a_judge_that_is_better_than_all_raters_is_no_copy_of_a_careful_one(hard):
    """It agrees with the careful rater in 94 %, and with the others in 83 %."""
    labels = drawn(n=400, m=5, first=0.97, judge=0.97, hard=hard)
    assert not copying_of(labels).copies


def test_a_copy_on_the_items_that_a_rater_rated_is_recognised():
    """The judge answers the other items by itself, and better than the rater."""
    rng = np.random.default_rng(3)
    labels = drawn(n=600, m=5, judge=0.9)
    present = rng.random((600, 5)) < 0.5
    labels[present[:, 0], -1] = labels[present[:, 0], 0]
    test = copying_of(labels, present=present)
    assert test.copies
    assert test.raters[0] == "r0"
    assert test.n_items < 600


def test_a_copy_on_an_ordered_scale_is_recognised_and_an_honest_judge_is_not():
    """Raters miss the truth by a point or so, so that neighbours are often confused."""
    rng = np.random.default_rng(4)
    truth = rng.normal(3.0, 1.2, 300)[:, None]
    labels = np.clip(np.rint(truth + rng.normal(0.0, 0.6, (300, 6))), 1, 5).astype(int)

    def test_of(judge):
        panel = Panel.of(
            (f"i{i}", f"r{j}", float(x)) for (i, j), x in np.ndenumerate(labels[:, :5])
        )
        coded = panel.coded({f"i{i}": float(x) for i, x in enumerate(judge)})
        return copy_test(panel, coded, ordered=True)

    assert not test_of(labels[:, 5]).copies
    copied = np.where(rng.random(300) < 0.1, labels[:, 5], labels[:, 2])
    assert test_of(copied).copies
    assert test_of(copied).raters == ("r2",)


def test_nothing_is_tested_with_two_raters_or_with_many_labels():
    labels = drawn(n=100, m=3)
    assert copying_of(labels[:, 1:]) is None
    assert copying_of(np.arange(400).reshape(100, 4)) is None


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.permutations(range(4)))
@settings(max_examples=15, deadline=None)
def test_names_of_raters_and_options_change_nothing(seed, order):
    """The ratio is that of the same answers under other names."""
    labels = drawn(seed, n=60, m=4, judge=0.85)
    names = [f"q{k}" for k in order]
    here, there = copying_of(labels), copying_of(1 - labels, names)
    assert here.log_ratio == pytest.approx(there.log_ratio, abs=1e-2)
    assert here.copies == there.copies


def test_sets_are_of_one_option_two_or_all():
    assert reasonable_sets(2).tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert len(reasonable_sets(4, ordered=True)) == 4 + 3 + 1
    assert len(reasonable_sets(4)) == 4 + 6 + 1
    assert reasonable_sets(4).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.slow
def test_copies_pass_rarely_and_honest_judges_often():
    """200 data sets of every row with 150 items, to two standard errors."""
    for design in designs():
        if design.n != 150:
            continue
        row = simulate(design, N_FEW)
        used = row.n_used / N_FEW
        if design.is_copy:
            assert used <= MOST + 2.0 * (MOST * (1.0 - MOST) / N_FEW) ** 0.5, row
        elif design.m == 5 and design.first == 0.85:
            lost = row.n_passing / N_FEW - used
            assert lost <= 0.06 + 2.0 * (0.06 * 0.94 / N_FEW) ** 0.5, row
