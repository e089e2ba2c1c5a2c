"""`harness lab simulate`: the shape of the published figures, from the command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from support.processes import call_harness, invoke

from harness.extras.experiments.figure_page import figure_charts
from harness.extras.experiments.paper_figures import FIGURES, RatingModel, Size
from harness.extras.experiments.simulation import ExperimentRow

SMALL = Size(n_populations=6, n_items=60, n_judges=20, ratings=(1, 3, 30))


def mean(rows, **wanted):
    """Average the values of the rows that have these fields."""
    values = [
        row.value
        for row in rows
        if row.value is not None and all(getattr(row, k) == v for k, v in wanted.items())
    ]
    assert values, wanted
    return float(np.mean(values))


@pytest.mark.slow
def test_hit_rate_selects_worse_than_response_sets_under_asymmetric_selection():
    """Guerdan et al. 2025, figure 4, center: a gap that the fully specified task does not show."""
    rows = FIGURES[4].rows(0, SMALL)

    def gap(scenario):
        selected = {"quantity": "consistency", "scenario": scenario, "n_ratings": 30}
        hit, sets = (mean(rows, metric=m, **selected) for m in ("hit_rate(h/h)", "mse(srs/srs)"))
        return sets - hit

    assert gap("asymmetric") > 0.05
    assert gap("asymmetric") > gap("fully specified")


@pytest.mark.slow
def test_more_ratings_select_better_judges():
    """Figure 4, finding 1: from one rating per item to thirty."""
    rows = FIGURES[4].rows(0, SMALL)
    one_rating, thirty_ratings = (
        mean(rows, quantity="consistency", metric="mse(srs/srs)", n_ratings=n) for n in (1, 30)
    )
    assert thirty_ratings > one_rating


def test_decisions_from_one_rating_differ_from_those_of_the_population():
    """Figures 6 and 15, left: consistency grows with the ratings, from well below 1."""
    for number in (6, 15):
        rows = FIGURES[number].rows(0, SMALL)
        by_ratings = [mean(rows, quantity="consistency", n_ratings=n) for n in SMALL.ratings]
        assert by_ratings == sorted(by_ratings)
        assert by_ratings[0] < 0.85


def test_forced_choices_understate_prevalence():
    """Figures 6 and 12, right: the less the first option is chosen, the more is missed."""
    for number in (6, 12):
        rows = [r for r in FIGURES[number].rows(0, SMALL) if r.quantity == "prevalence_bias"]
        low, high = (
            np.mean([r.value for r in rows if r.scenario.split(",")[0].endswith(Gamma)])
            for Gamma in (" 0.5", " 2")
        )
        assert low < high
        assert low < -0.1


@pytest.mark.slow
def test_rankings_by_response_sets_survive_rater_error():
    """Figure 11: mse(srs/srs) orders judges nearly as without error."""
    rows = FIGURES[11].rows(0, SMALL)
    assert mean(rows, metric="mse(srs/srs)") > mean(rows, metric="hit_rate(h/h)")
    assert mean(rows, metric="mse(srs/srs)") > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_gives_values_of_its_quantities(number):
    """Tiny, but whole: each row is a value or None, and the same seed gives the same rows."""
    tiny = Size(n_populations=2, n_items=10, n_judges=4, ratings=(1, 4))
    rows = FIGURES[number].rows(3, tiny)
    assert rows == FIGURES[number].rows(3, tiny)
    assert any(row.value is not None for row in rows)


def test_simulate_prints_tables_and_json(tmp_path):
    """A table per quantity, or every value with its error."""
    shown = call_harness("lab", "simulate", "6", "--quick", "--populations", "2", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "Figure 6." in shown.stdout
    assert "consistency, mean over cut-offs" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    arguments = ("lab", "simulate", "12", "--quick", "--populations", "2", "--json")
    rows = json.loads(call_harness(*arguments, cwd=tmp_path).stdout)
    assert {"figure", "quantity", "value", "standard_error"} <= set(rows[0])
    wrong = call_harness("lab", "simulate", "7", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "isn't one of 4, 5, 6" in wrong.stderr


def test_simulate_takes_a_model_of_ones_own(tmp_path):
    """K, sets, Gamma, rater error and cut-offs reach the rows; the paper's stand by default."""
    arguments = ("--options", "3", "--set-size", "2", "--gammas", "0.7,1.3", "--taus", "0.6")
    errors = ("--epsilons", "0,0.1", "--etas", "0.5")
    command = ("lab", "simulate", "12", "--quick", "--populations", "2", *arguments, *errors)
    rows = json.loads(call_harness(*command, "--json", cwd=tmp_path).stdout)
    assert {row["tau"] for row in rows} == {0.6}
    assert {row["scenario"] for row in rows} == {
        f"Gamma {Gamma}, epsilon {error}"
        for Gamma in ("0.7", "1.3")
        for error in ("0, eta 0", "0.1, eta 0.5")
    }
    assert all(row["standard_error"] is not None for row in rows)
    model = RatingModel(n_options=3, set_size=2).space()
    assert (len(model.options), len(model.sets)) == (3, 6)
    shown = call_harness(*command, cwd=tmp_path)
    assert "mean over cut-offs (standard error)" in shown.stdout
    named = RatingModel(n_options=3, sets=("A", "B", "C", "AC")).space()
    assert named.sets == (("A",), ("B",), ("C",), ("A", "C"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("4 --options 2", "Gamma is 2.0, .* allows 0.5 to 1.5. Change --gammas"),
        ("4 --options 3 --gammas 0.5,2.1", "Gamma is 2.1, .* Change --gammas"),
        ("4 --set-size 5", "--set-size 5 is more than 4 options. Raise --options"),
        ("4 --set-size 1 --sets A,B,C,D", "Leave out --set-size"),
        ("4 --sets A,B", "C, D is not in any response set; .* Change --sets or --options"),
        ("4 --sets A,B,C,D,AE", "'E'.* Change --sets or --options"),
        ("12 --epsilons 0 --etas 1", "no effect without rater error. Raise --epsilons"),
        ("6 14 --epsilons 0.1", "--epsilons has no effect on figure 6, 14. Leave out this option"),
        ("4 --taus 0.5,0.5", "--taus: 0.5 is listed twice"),
        ("4 --epsilons 2", "--epsilons.* less than or equal to 1"),
    ],
)
def test_models_that_cannot_be_simulated_are_refused_in_one_line(arguments, message, tmp_path):
    """With exit code 2, and what to change."""
    refused = call_harness("lab", "simulate", "--quick", *arguments.split(), cwd=tmp_path)
    assert refused.returncode == 2
    assert re.search(message, refused.stderr)
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_figures_are_drawn_with_their_standard_errors(tmp_path, monkeypatch):
    """Each of 4 to 6 and 10 to 15 has charts; whiskers and data hold the errors of the rows."""
    monkeypatch.chdir(tmp_path)
    tiny = Size(n_populations=3, n_items=15, n_judges=5, ratings=(1, 5))
    for figure, experiment in FIGURES.items():
        rows = experiment.rows(0, tiny)
        charts = figure_charts(figure, rows)
        assert len({chart.name for chart in charts}) == len(charts)
        drawn = sum(len(chart.rows) for chart in charts)
        lines = {
            (row.quantity, row.scenario, row.metric, row.n_ratings, row.metric or row.tau)
            if row.n_ratings and not row.metric
            else (row.quantity, row.scenario, row.metric, row.n_ratings)
            for row in rows
        }
        assert drawn == len(lines)
        whiskers = [m for chart in charts for m in chart.marks if "whisker" in str(m.attributes)]
        assert bool(whiskers) == (len({row.n_ratings for row in rows}) > 1)
    done = invoke(
        "lab", "simulate", "12", "--quick", "--populations", "2", "--page", "figures.html"
    )
    assert done.exit_code == 0
    assert "Figure 12. Prevalence" in (tmp_path / "figures.html").read_text(encoding="utf-8")


def test_a_bar_is_one_standard_error_to_either_side():
    """In the drawing and in the data, where the mean of cut-offs is drawn."""
    rows = [
        ExperimentRow(
            quantity="consistency", scenario="full", metric="hit_rate(h/h)", n_ratings=n,
            tau=0.5, value=value, standard_error=0.1, n_populations=3,
        )
        for n, value in ((1, 0.4), (3, 0.8))
    ]  # fmt: skip
    [chart] = figure_charts(4, rows)
    assert chart.columns[-2:] == ("low", "high")
    assert [row[1] for row in chart.rows] == ["1", "3"]
    ends = [row[3:] for row in chart.rows]
    assert ends == [pytest.approx(pair) for pair in ((0.3, 0.5), (0.7, 0.9))]
    _, up = chart.frame
    bars = [m.attributes for m in chart.marks if m.attributes["class"].startswith("whisker")]
    ends = [(float(bar["y1"]), float(bar["y2"])) for bar in bars]
    expected = [(up(0.3), up(0.5)), (up(0.7), up(0.9))]
    assert ends == [pytest.approx(pair, abs=0.01) for pair in expected]
