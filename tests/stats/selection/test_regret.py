from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import evaluate_judges, random_table

from harness.stats import regret_matrix
from harness.stats.selection.ranking import regret_of

NONE = np.empty((3, 0))


def cell(by, goal, by_replicates=NONE, goal_replicates=NONE, n_units=30):
    """One cell for judges a, b and c."""
    return regret_of(
        ("metric", "goal"),
        "abc",
        (np.array(by), by_replicates),
        (np.array(goal), goal_replicates),
        level=0.95,
        unit="item",
        n_units=n_units,
    )


def test_regret_is_the_loss_of_the_selected_less_the_least():
    """The metric picks a; b is best downstream: 0.5 - 0.1, and one pair of three is inverted."""
    regret = cell([0.1, 0.2, 0.9], [0.5, 0.1, 0.8])
    assert regret.value == pytest.approx(0.4)
    assert (regret.selected, regret.best) == (("a",), ("b",))
    assert (regret.inversions, regret.n_pairs) == (1, 3)
    assert regret.interval is None


def test_choosing_the_best_costs_nothing():
    """Exactly 0, also where several are the best."""
    assert cell([0.1, 0.2, 0.9], [0.1, 0.1, 0.8]).value == 0.0


def test_ties_of_the_metric_cost_their_mean():
    """a and b are chosen from at random."""
    regret = cell([0.1, 0.1, 0.9], [0.5, 0.1, 0.8])
    assert regret.value == pytest.approx(0.2)
    assert regret.selected == ("a", "b")
    assert (regret.inversions, regret.n_pairs) == (0, 2)


def test_undefined_regret_is_na_with_its_reason():
    """Never 0."""
    nan = np.nan
    assert cell([nan] * 3, [0.1, 0.2, 0.3]).reason == "no_metric"
    assert cell([0.1, 0.2, 0.3], [nan] * 3).reason == "no_goal"
    regret = cell([0.1, 0.2, 0.3], [nan, 0.2, 0.3])
    assert (regret.value, regret.reason) == (None, "selected_undefined")
    assert cell([nan, 0.2, 0.3], [0.1, 0.4, 0.3]).value == pytest.approx(0.3)


def test_interval_selects_anew_in_every_replicate():
    """Half the replicates select a, at a cost of 0.4, the others b, at none."""
    by = np.array([[0.1, 0.3] * 50, [0.2] * 100, [0.9] * 100])
    goal = np.repeat([[0.5], [0.1], [0.8]], 100, axis=1)
    regret = cell([0.1, 0.2, 0.9], [0.5, 0.1, 0.8], by, goal)
    assert regret.interval.low == 0.0
    assert regret.interval.high == pytest.approx(0.4)
    assert regret.undefined_share == 0.0
    assert cell([0.1, 0.2, 0.9], [0.5, 0.1, 0.8], by, goal, n_units=29).interval is None


def test_matrix_reads_directions_and_absolute_bias():
    """Rows are all metrics, columns the downstream goals; choosing by a goal costs it nothing."""
    human = random_table("human", 0)
    evaluation = evaluate_judges(
        human, *(random_table(name, seed) for seed, name in enumerate("abc", start=1))
    )
    matrix = regret_matrix(evaluation)
    assert list(matrix) == [row.name for row in evaluation.metrics]
    for goal in ("decision_consistency", "prevalence_bias"):
        assert matrix[goal][goal].value == 0.0
        assert matrix[goal][goal].inversions == 0
        assert all(row[goal].value is None or row[goal].value >= 0 for row in matrix.values())
    worst = {j: abs(evaluation.estimates[j]["prevalence_bias"].value) for j in "abc"}
    [selected] = matrix["mse(srs/srs)"]["prevalence_bias"].selected
    cost = matrix["mse(srs/srs)"]["prevalence_bias"].value
    assert cost == pytest.approx(worst[selected] - min(worst.values()))
    only = regret_matrix(evaluation, metrics=["mse(srs/srs)"], goals=["decision_consistency"])
    assert only == {
        "mse(srs/srs)": {"decision_consistency": matrix["mse(srs/srs)"]["decision_consistency"]}
    }
    with pytest.raises(ValueError, match="no metric is named"):
        regret_matrix(evaluation, metrics=["nonsense"])
