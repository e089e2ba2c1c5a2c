from __future__ import annotations

import time

import numpy as np
import pytest

from harness import stats
from harness.extras.experiments.judge_selection import (
    QUANTITIES,
    judge_values,
    run_cell,
    selection_experiment,
    spearman,
    standard_scenarios,
)
from harness.extras.experiments.rater_effects import (
    error_experiment,
    prevalence_experiment,
    sampling_experiment,
)
from harness.extras.experiments.simulation import Scenario, draw_population, selection_matrix
from harness.stats import METRICS, OptionSpace
from harness.stats.indeterminacy.rater_error import selection_effect

OPTIONS = ("toxic", "rude", "fine")
THREE, FULL = OptionSpace.powerset(OPTIONS), OptionSpace.singletons(OPTIONS)
SCENARIOS = standard_scenarios(THREE, FULL)
FEW = [
    stats.find_metric(n, METRICS) for n in ("hit_rate(h/h)", "js_divergence(s/s)", "mse(srs/srs)")
]


def one_by_one(human, judges, rows, tau, positive):
    """Evaluate metrics judge by judge and item by item."""
    n = len(human.O)
    values = []
    for row in rows:
        of_judges = stats.aggregate(judges, row.judge_form, tau=tau, positive=positive)
        of_human = stats.aggregate(human, row.human_form, tau=tau, positive=positive)
        sums = [
            sum(row.contributions(of_human[[i]], of_judges[[j * n + i]])[0] for i in range(n))
            for j in range(len(judges.O) // n)
        ]
        values.append([float(row.value(totals)) for totals in sums])
    return np.array(values)


def test_all_judges_at_once_equal_each_judge_separately():
    """Stacked judges give what a loop over judges and items gives."""
    population = draw_population(
        Scenario(space=THREE, n_items=8, n_judges=3), np.random.default_rng(0)
    )
    options = {"tau": 0.4, "positive": ("toxic",)}
    result = judge_values(population.human, population.judges, METRICS, **options)
    alone = one_by_one(population.human, population.judges, METRICS, 0.4, ("toxic",))
    np.testing.assert_allclose(result, alone, atol=1e-12)


def test_cell_does_not_loop_over_judges_and_items():
    """50 judges x 100 items x every metric x 3 cut-offs: 100 times quicker than a loop.

    A tenth of the judges at one cut-off stands for the loop.
    """
    population = draw_population(SCENARIOS["asymmetric"], np.random.default_rng(0))
    small = draw_population(Scenario(space=THREE, n_judges=2), np.random.default_rng(0))
    quick = []
    for _ in range(3):
        start = time.process_time()
        run_cell(population, None, np.random.default_rng(0))
        quick.append(time.process_time() - start)
    start = time.process_time()
    one_by_one(small.human, small.judges, METRICS, 0.5, ("toxic",))
    slow = (time.process_time() - start) * 25 * 3
    assert slow > 100 * np.median(quick)


def test_cell_of_the_population_knows_the_truth():
    """Consistency of a judge that is the raters is 1, its bias 0, whatever is chosen."""
    scenario = Scenario(space=THREE, n_judges=2, sigma=(0.0, 0.0))
    population = draw_population(scenario, np.random.default_rng(0))
    cell = run_cell(population, None, np.random.default_rng(0), taus=(0.5,))
    np.testing.assert_allclose(cell.consistency, 1.0)
    np.testing.assert_allclose(cell.bias, 0.0)
    assert repr(cell) == f"Cell({len(METRICS)} metrics, 2 judges, 1 cut-offs)"


def by(table, **wanted):
    """The one line with these values."""
    [result] = [r for r in table if all(getattr(r, k) == v for k, v in wanted.items())]
    return result


def test_shape_of_the_selection_experiment():
    """Hit rate misleads where selection effects are asymmetric; response sets do not.

    On fully specified tasks and with symmetric effects the metrics choose alike.
    """
    chosen = {name: SCENARIOS[name] for name in ("fully specified", "symmetric", "asymmetric")}
    table = selection_experiment(chosen, [None], seed=0, n_populations=8, taus=(0.5,), rows=FEW)
    assert len(table) == 3 * len(FEW) * len(QUANTITIES)
    reached = {(r.scenario, r.metric): r.value for r in table if r.quantity == "consistency"}
    assert reached["asymmetric", "mse(srs/srs)"] > 0.9
    assert reached["asymmetric", "hit_rate(h/h)"] < reached["asymmetric", "mse(srs/srs)"] - 0.1
    for scenario in ("fully specified", "symmetric"):
        gap = reached[scenario, "hit_rate(h/h)"] - reached[scenario, "mse(srs/srs)"]
        assert abs(gap) < 0.03
    line = by(
        table,
        quantity="consistency_spearman",
        scenario="asymmetric",
        metric="hit_rate(h/h)",
    )
    assert line.value < 0.5
    assert 0 < line.standard_error < 0.2
    assert line.n_populations == 8


def test_standard_scenarios_have_the_published_selection_effects():
    """Raters choose the first option twice, judges half as often as chance."""
    scenario = SCENARIOS["asymmetric"]
    effects = [
        selection_effect(selection_matrix(THREE, gamma), THREE, option="toxic")
        for gamma in (scenario.gamma_human, scenario.gamma_judge)
    ]
    assert effects == pytest.approx([2.0, 0.5], abs=1e-4)


def test_more_ratings_choose_better_judges():
    """On a fully specified task, ten ratings per item beat one."""
    table = selection_experiment(
        {"full": SCENARIOS["fully specified"]}, [1, 10], seed=1, taus=(0.5,), rows=FEW
    )
    for quantity in ("consistency", "consistency_spearman"):
        one_rating, ten_ratings = (
            by(table, quantity=quantity, n_ratings=m, metric="hit_rate(h/h)") for m in (1, 10)
        )
        assert ten_ratings.value > one_rating.value


def test_metrics_that_never_choose_are_na():
    """KL is infinite for every judge that never says an option: no judge, no number."""
    rows = [stats.find_metric("kl(s/s, human->judge)", METRICS)]
    table = selection_experiment(
        {"x": SCENARIOS["symmetric"]}, [1], seed=0, n_populations=2, taus=(0.5,), rows=rows
    )
    assert {(row.value, row.n_populations) for row in table} == {(None, 0)}
    assert selection_experiment({}, [1], seed=0) == []


def test_seed_determines_the_tables():
    """The same seed, the same numbers; a further scenario changes no other."""
    chosen = {"one": SCENARIOS["symmetric"]}
    options = {"seed": 3, "n_populations": 2, "taus": (0.5,), "rows": FEW}
    first = selection_experiment(chosen, [3], **options)
    longer = selection_experiment({**chosen, "two": SCENARIOS["asymmetric"]}, [3], **options)
    assert longer[: len(first)] == first
    assert selection_experiment(chosen, [3], **(options | {"seed": 4})) != first


def test_one_rating_decides_a_quarter_of_the_items_otherwise():
    """Decisions from one rating per item disagree with the population on 20 to 40 % of items."""
    table = sampling_experiment(
        {"full": SCENARIOS["fully specified"]}, [1, 30], seed=0, n_populations=10, taus=(0.3,)
    )
    one_rating, thirty_ratings = (by(table, quantity="consistency", n_ratings=m) for m in (1, 30))
    assert 0.6 < one_rating.value < 0.85
    assert thirty_ratings.value > 0.88
    assert one_rating.standard_error < 0.02
    assert by(table, quantity="prevalence_difference", n_ratings=30).n_populations == 10


def test_samples_that_decide_nothing_are_na():
    """A single calibration pair leaves theta of every item unknown that lacks its option."""
    space = OptionSpace.powerset(tuple("abcdef"))
    scenario = Scenario(space=space, n_items=1, n_judges=1)
    result = []
    for seed in range(12):
        result += sampling_experiment({"x": scenario}, [1], seed=seed, n_populations=1, taus=(0.5,))
    assert all(row.value is None or -1 <= row.value <= 1 for row in result)


def test_forced_choices_underestimate_prevalence():
    """Unless the task is fully specified: what is accepted beside the choice is not seen."""
    table = prevalence_experiment(SCENARIOS, seed=0, n_populations=5, taus=(0.5,))
    assert by(table, scenario="fully specified").value == 0.0
    chance = prevalence_experiment({"x": Scenario(space=THREE)}, seed=0, taus=(0.5,))
    assert by(chance, scenario="x").value < -0.1
    skewed = {str(eta): Scenario(space=THREE, epsilon=0.4, eta=eta) for eta in (-2.0, 0.0, 2.0)}
    values = [row.value for row in prevalence_experiment(skewed, seed=0, taus=(0.5,))]
    assert values == sorted(values)


def test_rater_error_hardly_moves_rankings_by_response_sets():
    """Hit rate ranks judges otherwise once raters err with skew; MSE between sets hardly."""
    table = error_experiment(
        {"x": SCENARIOS["additive error"]}, seed=0, n_populations=5, taus=(0.5,), rows=FEW
    )
    assert by(table, metric="mse(srs/srs)").value > 0.9
    assert by(table, metric="hit_rate(h/h)").value < by(table, metric="mse(srs/srs)").value


def test_spearman_against_scipy():
    """scipy.stats.spearmanr([1, 2, 2, 4, 0], [3, 1, 2, 5, 0]) is 0.6668859288553503."""
    result = spearman(np.array([1, 2, 2, 4, 0.0]), np.array([3, 1, 2, 5, 0.0]))
    assert result == pytest.approx(0.6668859288553503)
    assert np.isnan(spearman(np.ones(3), np.arange(3.0)))
    assert spearman(np.array([1, np.nan, 3.0]), np.array([1, 2, 3.0])) == pytest.approx(1.0)
