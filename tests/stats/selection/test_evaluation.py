from __future__ import annotations

import doctest
import sys
from importlib import import_module
from subprocess import run

import numpy as np
import pytest
from support.paired_differences import difference_of
from support.rating_tables import count_table, evaluate_judges, random_table

from harness import stats


def test_every_metric_of_every_judge_is_estimated():
    """A row is never dropped: it has a value with interval, or a reason."""
    evaluation = evaluate_judges(
        random_table("human", 0), random_table("x", 1), random_table("y", 2)
    )
    assert evaluation.judges == ("x", "y")
    for judge in evaluation.judges:
        assert list(evaluation.estimates[judge]) == [row.name for row in stats.METRICS]
        for estimate in evaluation.estimates[judge].values():
            assert (estimate.value is None) == bool(estimate.reason) == (estimate.interval is None)
            assert estimate.n_used + estimate.n_excluded == 40
    assert repr(evaluation) == (
        f"Evaluation(2 judges, {len(stats.METRICS)} metrics, Units(40 items in 40 items))"
    )


def test_point_estimates_do_not_depend_on_who_else_is_compared():
    """Nor do the replicates: all come from the same weights."""
    human, x, y = random_table("human", 0), random_table("x", 1), random_table("y", 2)
    together, alone = (
        evaluate_judges(human, x, y),
        evaluate_judges(human, y, metrics=["mse(srs/srs)"]),
    )
    estimate, other = (result.estimates["y"]["mse(srs/srs)"] for result in (together, alone))
    assert estimate.value == other.value
    assert estimate.interval.low == pytest.approx(other.interval.low, abs=1e-12)
    np.testing.assert_allclose(
        together.replicates["mse(srs/srs)"][1], alone.replicates["mse(srs/srs)"][0]
    )


def test_replicates_of_metrics_see_the_same_items():
    """Replicate b of two metrics is one draw: 2-option mse(s/s) is a function of nothing else."""
    evaluation = evaluate_judges(
        random_table("human", 0), random_table("x", 1), random_table("y", 1)
    )
    for name in ("mse(s/s)", "cohen_kappa(h/h)"):
        np.testing.assert_allclose(*evaluation.replicates[name])
        interval = difference_of(evaluation, name).interval
        assert interval is None or interval.low <= 0 <= interval.high


def test_an_item_of_weight_two_counts_as_two_items():
    """On 640 items of four kinds: values with weights 1 and 2 are those of the longer table."""
    choices = [[["toxic"], ["fine"]][i % 2] for i in range(640)]
    verdicts = [[["toxic"], ["fine"]][i // 2 % 2] for i in range(640)]
    weights = np.where(np.arange(640) % 3, 1.0, 2.0)
    times = np.repeat(np.arange(640), weights.astype(int))
    human, judge = count_table("human", choices), count_table("judge", verdicts)
    longer = [
        count_table(name, [rows[i] for i in times])
        for name, rows in (("human", choices), ("judge", verdicts))
    ]
    names = ["hit_rate(h/h)", "js_divergence(s/s)"]
    weighted = evaluate_judges(human, judge, metrics=names, weights=weights)
    repeated = evaluate_judges(*longer, metrics=names)
    for name in names:
        value = repeated.estimates["judge"][name].value
        assert weighted.estimates["judge"][name].value == pytest.approx(value, abs=1e-12)


def test_items_without_one_of_both_calls_are_counted_apart():
    """The beta of independent calls needs a choice and a set: one item has only the set."""
    both = [["toxic"], ["fine"]], [[["toxic"]], [["fine", "toxic"]]]
    judge = count_table("judge", [*both[0], []], [*both[1], [["fine"]]])
    evaluation = evaluate_judges(count_table("human", [["fine"]] * 3), judge)
    beta = evaluation.translations["judge"].cross_call_beta
    assert (beta.value, beta.n_used) == (1.0, 1)
    excluded = {part.reason: part.n_items for part in beta.excluded}
    assert excluded == {"no_calls": 1, "no_negative_choice": 1}


def test_groups_are_resampled_for_every_metric():
    """One cluster per two items: the unit of every interval is the group."""
    groups = [f"doc {i // 2}" for i in range(40)]
    evaluation = evaluate_judges(random_table("human", 0), random_table("x", 1), groups=groups)
    assert evaluation.units.n_units == 20
    units = {
        estimate.interval.unit
        for estimate in evaluation.estimates["x"].values()
        if estimate.interval
    }
    assert units == {"group"}


@pytest.mark.parametrize(
    "options",
    [{}, {"groups": list("abcd") * 10}, {"criteria": list("abcd") * 10}],
    ids=str,
)
def test_very_many_items_say_what_few_do(monkeypatch, options):
    """What items add is made a block at a time then: values and counts stay, intervals nearly."""
    tables = random_table("human", 0), random_table("x", 1)
    few = evaluate_judges(*tables, **options).estimates["x"]
    for module in ("data.arrays", "inference.bootstrap"):
        monkeypatch.setattr(f"harness.stats.{module}.MANY", 30)
        monkeypatch.setattr(f"harness.stats.{module}.BLOCK", 16)
    for name, result in evaluate_judges(*tables, **options).estimates["x"].items():
        wanted = few[name]
        assert (result.n_used, result.excluded) == (wanted.n_used, wanted.excluded)
        assert result.counts == pytest.approx(wanted.counts)
        assert (result.value, result.reason) == (pytest.approx(wanted.value), wanted.reason)
        if wanted.interval:
            wide = wanted.interval.high - wanted.interval.low
            same = 0.0 if options else 0.4 * wide
            assert result.interval.low == pytest.approx(wanted.interval.low, abs=same + 1e-9)
            assert result.interval.high == pytest.approx(wanted.interval.high, abs=same + 1e-9)


def test_the_difference_of_two_judges_is_one_of_losses():
    """The one with the lower hit rate has the greater loss."""
    human, y = random_table("human", 0), random_table("y", 2)
    difference = difference_of(evaluate_judges(human, random_table("x", 0), y), "hit_rate(h/h)")
    assert (difference.judge, difference.reference) == ("y", "x")
    assert 0 < difference.interval.low < difference.value


def test_a_judge_without_response_sets_is_na_only_in_set_metrics():
    """The reason is what is missing, and forced-choice metrics stand."""
    human = count_table("human", [["toxic"], ["fine"]], [[("toxic",)], [("fine",)]])
    estimates = evaluate_judges(human, count_table("z", [["toxic"], ["fine"]])).estimates["z"]
    assert estimates["mse(srs/srs)"].reason == "response_set_not_asked"
    assert estimates["decision_consistency"].reason == "response_set_not_asked"
    assert estimates["hit_rate(h/h)"].value == 1.0
    back = evaluate_judges(count_table("human", [["toxic"], ["fine"]]), human).estimates["human"]
    assert back["coverage(h/hrs)"].reason == "no_response_sets"
    silent = evaluate_judges(human, count_table("z", [[], []], [[("toxic",)], []])).estimates["z"]
    assert silent["hit_rate(h/h)"].reason == "forced_choice_not_asked"


def test_reasons_tell_abstention_from_absence():
    """Everything abstained, no common item and no item at all are different answers."""
    human = count_table("human", [["toxic"], []])
    judge = count_table("z", [[], ["fine"]])
    estimate = evaluate_judges(human, judge).estimates["z"]["hit_rate(h/h)"]
    assert estimate.reason == "no_overlap"
    assert {exclusion.reason: exclusion.n_items for exclusion in estimate.excluded} == {
        "human_not_asked": 1,
        "judge_not_asked": 1,
    }
    silent = count_table("z", [[], []])
    outcomes = silent.outcomes.copy()
    outcomes[:, 0, 1] = 2
    abstaining = replace(silent, outcomes=outcomes)
    estimate = evaluate_judges(human, abstaining).estimates["z"]["hit_rate(h/h)"]
    assert estimate.reason == "all_abstained"
    nothing = count_table("human")
    assert (
        evaluate_judges(nothing, count_table("z")).estimates["z"]["mse(s/s)"].reason == "no_items"
    )


def replace(table, **fields):
    """Copy a table with some fields changed."""
    return stats.RatingTable(**{f: getattr(table, f) for f in table.__slots__} | fields)


def test_exclusions_name_the_outcome():
    """Refused, invalid and mixed outcomes are told apart, and add up."""
    human = count_table("human", [["toxic"]] * 4)
    judge = count_table("z", [["toxic"], [], [], []])
    outcomes = judge.outcomes.copy()
    outcomes[1, 0, 2] = outcomes[2, 0, 3] = outcomes[3, 0, 1] = outcomes[3, 0, 3] = 1
    estimate = evaluate_judges(human, replace(judge, outcomes=outcomes)).estimates["z"][
        "hit_rate(h/h)"
    ]
    assert {exclusion.reason: exclusion.n_items for exclusion in estimate.excluded} == {
        "judge_refused": 1,
        "judge_invalid": 1,
        "judge_mixed_outcomes": 1,
    }
    assert estimate.n_excluded == 3


def test_fully_specified_task_needs_no_response_sets():
    """Every metric is defined from forced choices; silence there is named as such."""
    space = stats.OptionSpace.singletons(("toxic", "fine"))
    items = ["a", "b", "c"]
    human = stats.RatingTable.count(space, "h", items, forced_choice=[(i, "toxic") for i in items])
    judge = stats.RatingTable.count(
        space, "z", items, forced_choice=[("a", "toxic"), ("b", "fine")]
    )
    outcomes = judge.outcomes.copy()
    outcomes[2, 0, 2] = 1
    estimates = evaluate_judges(human, replace(judge, outcomes=outcomes)).estimates["z"]
    assert estimates["mse(srs/srs)"].value == estimates["mse(s/s)"].value == 1.0
    assert estimates["decision_consistency"].value == 0.5
    assert estimates["mse(srs/srs)"].excluded == (stats.Exclusion("judge_refused", 1),)


def test_metric_that_ranks_follows_from_the_elicitation():
    """By response sets mse(srs/srs); by forced choices a metric that knows the order, if any."""
    assert stats.primary_metric("forced_choice") == "js_divergence(s/s)"
    assert stats.primary_metric("forced_choice", ordinal=True) == "ranked_probability_score(s/s)"
    assert stats.primary_metric("response_set") == "mse(srs/srs)"
    assert stats.primary_metric("response_set", ordinal=True) == "mse(srs/srs)"
    names = [row.name for row in stats.METRICS]
    assert {"js_divergence(s/s)", "mse(srs/srs)"} <= set(names)


def test_users_own_row_is_evaluated_like_any_other():
    """A metric is a row, given as such."""
    base = stats.find_metric("mse(s/s)", stats.METRICS)
    fields = {field: getattr(base, field) for field in base.__slots__} | {"name": "mine(s/s)"}
    evaluation = evaluate_judges(
        random_table("human", 0), random_table("x", 1), metrics=[stats.Metric(**fields), base]
    )
    assert evaluation.estimates["x"]["mine(s/s)"] == evaluation.estimates["x"]["mse(s/s)"]


def test_tables_that_do_not_belong_together_are_refused():
    """The message names the judge and the argument."""
    human = random_table("human", 0)
    with pytest.raises(ValueError, match="'z' has a different option space"):
        evaluate_judges(human, count_table("z", [["toxic"]] * 40))
    with pytest.raises(ValueError, match="'z' has different items"):
        evaluate_judges(human, random_table("z", 1, n=39))
    with pytest.raises(ValueError, match="repeated"):
        evaluate_judges(human, random_table("z", 1), random_table("z", 2))
    with pytest.raises(ValueError, match="no metric is named"):
        evaluate_judges(human, random_table("z", 1), metrics=["kappa"])
    with pytest.raises(ValueError, match="'nice'"):
        evaluate_judges(human, positive=("nice",))
    with pytest.raises(ValueError, match="tau is 0"):
        evaluate_judges(human, tau=0)
    with pytest.raises(ValueError, match="level is 2"):
        evaluate_judges(human, level=2)


def test_exported_members_are_importable():
    """``__all__`` equals what can be asked for."""
    assert all(getattr(stats, name) is not None for name in stats.__all__)
    assert dir(stats) == sorted(stats.__all__)
    assert len(stats.__all__) <= 60
    with pytest.raises(AttributeError, match="no attribute 'kappa'"):
        _ = stats.kappa


@pytest.mark.parametrize("name", ["data.option_space", "data.rating_table", "inference.estimate"])
def test_examples_in_docstrings_run(name):
    """What a docstring shows is what happens."""
    outcome = doctest.testmod(import_module(f"harness.stats.{name}"))
    assert outcome.attempted
    assert not outcome.failed


def test_importing_stats_imports_neither_numpy_nor_scipy():
    """They come when a name is first asked for; scipy.stats never does."""
    code = (
        "import sys; from harness import stats\n"
        "assert not {'numpy', 'scipy'} & sys.modules.keys()\n"
        "[getattr(stats, name) for name in stats.__all__]\n"
        "assert 'scipy.stats' not in sys.modules\n"
    )
    assert run([sys.executable, "-c", code], check=False).returncode == 0
