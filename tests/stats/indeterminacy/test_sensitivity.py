from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, evaluate_judges, random_table, split_options

from harness.stats import beta_sweep, break_even, find_metric
from harness.stats.indeterminacy.sensitivity import Flips, winning_regions
from harness.stats.selection.ranking import ranks_of

BOTH = ("toxic", "fine")
ADDS = {"fine": ("toxic",)}
CUT = {"tau": 0.5, "positive": ("toxic",)}


def sweep(human, judges, betas, **options):
    """Sweep at tau 0.5 on the option "toxic", seeded."""
    resampling, chosen = split_options(options, adds=ADDS, n_resamples=50, **CUT)
    return beta_sweep(human, judges, betas=betas, resampling=resampling, **chosen)


def test_sweep_at_beta_zero_takes_choices_for_sets():
    """The implied sets are the singletons of what was chosen."""
    choices = [["toxic", "toxic", "fine"], ["fine"]]
    human = count_table("human", choices)
    same = count_table("human", choices, [[(option,) for option in chosen] for chosen in choices])
    judge = count_table("z", [["toxic"], ["fine"]], [[BOTH], [("fine",)]])
    [point] = sweep(human, [judge], [0.0])
    evaluation = evaluate_judges(same, judge, n_resamples=50)
    for row in point.metrics:
        assert point.estimates["z"][row.name].value == evaluation.estimates["z"][row.name].value, (
            row
        )


def test_sweep_by_hand():
    """At beta 0.5, omega of toxic is O + 0.5 (1 - O): 2/3, 1/2 and 1/4 + ... per item."""
    human = count_table("human", [["toxic", "fine", "fine"], ["fine"], ["fine"] * 3])
    judge = count_table("z", sets=[[BOTH], [BOTH], [("fine",)]])
    start, middle = sweep(human, [judge], [0.0, 0.5])
    assert start.prevalence.value == 0.0
    assert middle.prevalence.value == 1.0
    assert start.estimates["z"]["decision_consistency"].value == pytest.approx(1 / 3)
    assert middle.estimates["z"]["decision_consistency"].value == pytest.approx(2 / 3)
    mse = ((1 / 3) ** 2 + (1 / 3) ** 2 + 0.5**2 + 0.5**2) / 3  # toxic 2/3 and 1/2 against 1, 1, 0
    assert middle.estimates["z"]["mse(srs/srs)"].value == pytest.approx(mse)
    assert middle.prevalence.ratings_per_item == 3


def test_all_betas_share_their_resamples():
    """A metric on choices is the same at every beta, replicate by replicate."""
    human, judges = random_table("human", 0), [random_table("a", 1), random_table("b", 2)]
    points = sweep(human, judges, [0.0, 0.4, 1.0])
    for point in points[1:]:
        for name in ("hit_rate(h/h)", "js_divergence(s/s)"):
            np.testing.assert_array_equal(point.replicates[name], points[0].replicates[name])
    assert repr(points[1]) == "SweepPoint(beta 0.4, 2 judges)"


def test_judges_without_sets_are_na_in_the_sweep():
    """Their decisions are unknown, whatever beta of the humans."""
    human = count_table("human", [["fine"], []])
    [point] = sweep(human, [count_table("z", [["fine"], ["fine"]])], [0.2])
    result = point.estimates["z"]["decision_consistency"]
    assert (result.value, result.reason) == (None, "response_set_not_asked")
    assert point.estimates["z"]["hit_rate(h/h)"].value == 1.0
    assert (point.prevalence.n_used, point.prevalence.n_excluded) == (1, 1)


def test_break_even_by_hand():
    """Toxic on 0 of 2, 1 of 4 choices: items turn positive at beta 1/2 and 1/3.

    The judge that says yes to all wins from where more items are positive than not; in between,
    where one of two is, both are right once.
    """
    human = count_table("human", [["fine"] * 2, ["toxic"] + ["fine"] * 3])
    always = count_table("yes", sets=[[BOTH], [BOTH]])
    never = count_table("no", sets=[[("fine",)], [("fine",)]])
    break_even_points = break_even(human, [always, never], "decision_consistency", adds=ADDS, **CUT)
    np.testing.assert_allclose(break_even_points.betas, [1 / 3, 1 / 2])
    assert [piece.winners for piece in break_even_points.pieces] == [
        ("no",),
        ("yes", "no"),
        ("yes",),
    ]
    assert break_even_points.winners(0.0) == ("no",)
    assert break_even_points.winners(0.5) == break_even_points.winners(1.0) == ("yes",)
    with pytest.raises(ValueError, match=r"beta is 1\.5"):
        break_even_points.winners(1.5)
    assert repr(break_even_points) == "BreakEven('decision_consistency', tau 0.5, 3 pieces)"


def first_of(point, metric):
    values = np.array([point.estimates[judge][metric].value for judge in point.judges])
    ranks = ranks_of(find_metric(metric, point.metrics).losses(values))
    return {judge for judge, rank in zip(point.judges, ranks, strict=True) if rank == 1}


@pytest.mark.parametrize("metric", ["decision_consistency", "prevalence_bias"])
def test_break_even_agrees_with_a_fine_sweep(metric):
    """At every beta of a grid, who wins is who the sweep ranks first."""
    human, judges = (
        random_table("human", 0),
        [random_table(name, i) for i, name in enumerate("abcd", 1)],
    )
    break_even_points = break_even(human, judges, metric, adds=ADDS, **CUT)
    assert break_even_points.betas
    betas = np.linspace(0.0, 1.0, 101)
    for point in sweep(human, judges, betas, metrics=[metric], n_resamples=0):
        assert set(break_even_points.winners(point.beta)) == first_of(point, metric)


def test_nobody_wins_where_the_metric_is_undefined():
    """No winner rather than the first judge; no judge, no piece."""
    human = count_table("human", [["fine"]])
    goal = "decision_consistency"
    break_even_points = break_even(human, [count_table("z", [["fine"]])], goal, adds=ADDS, **CUT)
    assert break_even_points.pieces[0].winners == ()
    assert break_even(human, [], goal, adds=ADDS, **CUT).pieces == ()


def test_regions_are_exact_in_beta_at_every_cut_off():
    """One row per tau, each the break-even at that tau."""
    human, judges = random_table("human", 0), [random_table("a", 1), random_table("b", 2)]
    options = {"adds": ADDS, "positive": ("toxic",)}
    regions = winning_regions(human, judges, "decision_consistency", taus=(0.3, 0.7), **options)
    assert [region.tau for region in regions] == [0.3, 0.7]
    alone = break_even(human, judges, "decision_consistency", tau=0.7, **options)
    assert regions[1].pieces == alone.pieces


def test_shares_that_fall_have_no_flips():
    """Break points are only those of entries that turn positive."""
    with pytest.raises(ValueError, match="a share decreases"):
        Flips.of(np.array([[0.5]]), np.array([[0.4]]), 0.5)
    result = Flips.of(np.array([[0.2], [np.nan]]), np.array([[0.8], [np.nan]]), 0.5)
    assert repr(result) == "Flips(2 items, 1 break points)"
    np.testing.assert_allclose(result.at, [0.5])
