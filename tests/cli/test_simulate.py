"""`harness simulate`: the shape of the published figures, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.processes import call_harness

from harness.experiments.paper_figures import FIGURES, Size

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


def test_hit_rate_selects_worse_than_response_sets_under_asymmetric_selection():
    """Guerdan et al. 2025, figure 4, center: a gap that the fully specified task does not show."""
    rows = FIGURES[4].rows(0, SMALL)

    def gap(scenario):
        selected = {"quantity": "consistency", "scenario": scenario, "n_ratings": 30}
        hit, sets = (mean(rows, metric=m, **selected) for m in ("hit_rate(h/h)", "mse(srs/srs)"))
        return sets - hit

    assert gap("asymmetric") > 0.05
    assert gap("asymmetric") > gap("fully specified")


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


def test_rankings_by_response_sets_survive_rater_error():
    """Figure 11: mse(srs/srs) orders judges nearly as without error."""
    rows = FIGURES[11].rows(0, SMALL)
    assert mean(rows, metric="mse(srs/srs)") > mean(rows, metric="hit_rate(h/h)")
    assert mean(rows, metric="mse(srs/srs)") > 0.9


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_gives_values_of_its_quantities(number):
    """Tiny, but whole: each row is a value or None, and the same seed gives the same rows."""
    tiny = Size(n_populations=2, n_items=10, n_judges=4, ratings=(1, 4))
    rows = FIGURES[number].rows(3, tiny)
    assert rows == FIGURES[number].rows(3, tiny)
    assert any(row.value is not None for row in rows)


def test_simulate_prints_tables_and_json(tmp_path):
    """A table per quantity, or every value with its error."""
    shown = call_harness("simulate", "6", "--quick", "--populations", "2", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "Figure 6." in shown.stdout
    assert "consistency, mean over cut-offs" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    arguments = ("simulate", "12", "--quick", "--populations", "2", "--json")
    rows = json.loads(call_harness(*arguments, cwd=tmp_path).stdout)
    assert {"figure", "quantity", "value", "standard_error"} <= set(rows[0])
    wrong = call_harness("simulate", "7", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "none of 4, 5, 6" in wrong.stderr
