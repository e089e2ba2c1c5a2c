"""What every row of the metric table keeps; a new row cannot escape."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from harness import stats
from harness.stats import agreement, downstream
from harness.stats.binary import binary_rows
from harness.stats.ranking import loss
from harness.stats.weighted import ORDINAL_METRICS

CUT = {"tau": 0.6, "positive": ("toxic",)}
OPTIONS = ("toxic", "rude", "fine")
BINARY_ROWS = binary_rows(stats.OptionSpace.powerset(OPTIONS), ("toxic",))
ROWS = (*stats.METRICS, *ORDINAL_METRICS, *BINARY_ROWS)
every_metric = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def forms(row, human, judge):
    """Aggregate two tables into the forms that a row compares."""
    return (
        stats.aggregate(stats.Distributions.of(human), row.human_form, **CUT),
        stats.aggregate(stats.Distributions.of(judge), row.judge_form, **CUT),
    )


def value(row, human, judge):
    """Evaluate a row on two tables."""
    return float(row.value(row.contributions(*forms(row, human, judge)).sum(axis=0)))


def full(table, name, seed, **options):
    """Make a table in which no share is 0, so that every row is defined."""
    made = table(name, seed, **options)
    fields = {field: getattr(made, field) for field in made.__slots__}
    fields["forced_choice"] = made.forced_choice + 1
    return stats.RatingTable(**fields)


@every_metric
def test_perfect_agreement_is_best(row, table):
    """No judge beats one that answers as the humans did (labels without ties)."""
    human = full(table, "human", 0)
    twin = value(row, human, human)
    others = [value(row, human, full(table, "z", seed)) for seed in range(1, 20)]
    if row.human_form == row.judge_form:
        assert (loss(twin, row.better) <= loss(np.array(others), row.better) + 1e-12).all()
        best = {"higher": row.bounds[1], "lower": row.bounds[0], "zero": 0.0}[row.better]
        assert twin == pytest.approx(best)
    else:
        # The forms differ, so a twin need not be best: a mode may be endorsed by fewer than tau.
        assert row.name == "coverage(h/hrs)"


@every_metric
def test_order_of_items_is_nothing(row, table):
    """Shuffled items give the same sums."""
    y, z = forms(row, full(table, "human", 0), full(table, "z", 1))
    order = np.random.default_rng(0).permutation(len(y))
    sums = row.contributions(y, z).sum(axis=0)
    np.testing.assert_allclose(row.contributions(y[order], z[order]).sum(axis=0), sums)


@every_metric
def test_order_of_options_is_nothing(row, table):
    """The same ratings over permuted options give the same value."""
    human, judge = full(table, "human", 0), full(table, "z", 1)
    ordered = row in ORDINAL_METRICS  # such a scale may only be turned round
    options = OPTIONS[::-1] if ordered else ("fine", "toxic", "rude")
    permuted = [permute(one, options) for one in (human, judge)]
    again = row
    if row in BINARY_ROWS:  # these hold the place of the positive option
        again = binary_rows(permuted[0].space, ("toxic",))[BINARY_ROWS.index(row)]
    assert value(again, *permuted) == pytest.approx(value(row, human, judge), abs=1e-12)


def permute(table, options):
    """Rewrite a table for the same options in another order."""
    space = stats.OptionSpace.powerset(options)
    choices = [table.space.option_index(option) for option in options]
    sets = [table.space.set_index(one) for one in space.sets]
    return stats.RatingTable(
        space=space,
        name=table.name,
        items=table.items,
        forced_choice=table.forced_choice[:, choices],
        response_set=table.response_set[:, sets],
        joint=None,
        outcomes=table.outcomes,
    )


@every_metric
def test_two_shards_sum_to_the_whole(row, table):
    """Sums computed on different machines add up."""
    y, z = forms(row, full(table, "human", 0), full(table, "z", 1))
    whole = row.contributions(y, z).sum(axis=0)
    shards = [
        row.contributions(y[part], z[part]).sum(axis=0) for part in (slice(9), slice(9, None))
    ]
    np.testing.assert_allclose(sum(shards), whole)


@every_metric
def test_symmetry_is_as_declared(row, table):
    """Swapping human and judge vectors changes the value exactly where the row says so."""
    y, z = forms(row, full(table, "human", 0), full(table, "z", 1))
    forward = row.value(row.contributions(y, z).sum(axis=0))
    back = row.value(row.contributions(z, y).sum(axis=0))
    if row.human_form == row.judge_form:
        assert np.isclose(forward, back, atol=1e-12) == row.symmetric
    else:
        assert not row.symmetric


@every_metric
def test_values_lie_within_bounds(row, table):
    """Bounds hold with ties, few ratings and perfect agreement alike."""
    tables = [table(str(s), s, n_raters=1 + s % 4, tied=True, n=5) for s in range(12)]
    values = np.array([value(row, human, judge) for human in tables for judge in tables])
    defined = values[~np.isnan(values)]
    assert defined.size
    assert (defined >= row.bounds[0] - 1e-12).all()
    assert (defined <= row.bounds[1] + 1e-12).all()


@every_metric
def test_items_without_one_side_add_nothing(row, table):
    """A nan row contributes zeros, its weight included."""
    y, z = (one.copy() for one in forms(row, full(table, "human", 0), full(table, "z", 1)))
    kept = row.contributions(y[4:], z[4:]).sum(axis=0)
    y[:2], z[1:4] = np.nan, np.nan
    np.testing.assert_allclose(row.contributions(y, z)[:4], 0.0)
    np.testing.assert_allclose(row.contributions(y, z).sum(axis=0), kept)


@every_metric
def test_no_items_is_undefined_with_its_reason(row, table):
    """Zero sums have no value, and the row says why."""
    y, z = forms(row, full(table, "human", 0), full(table, "z", 1))
    totals = row.contributions(y[:0], z[:0]).sum(axis=0)
    assert np.isnan(row.value(totals))
    assert row.why(totals) == "no_items"


@every_metric
def test_values_of_many_sums_come_at_once(row, table):
    """``value`` takes sums of any leading shape."""
    y, z = forms(row, full(table, "human", 0), full(table, "z", 1))
    sums = np.random.default_rng(0).multinomial(40, np.full(40, 1 / 40), (3, 2)) @ (
        row.contributions(y, z)
    )
    one_by_one = [[float(row.value(each)) for each in pair] for pair in sums]
    np.testing.assert_allclose(row.value(sums), one_by_one)


@every_metric
def test_vectors_of_different_shape_are_refused(row, table):
    """Both sides have the same items and options."""
    y, z = forms(row, full(table, "human", 0), full(table, "z", 1))
    with pytest.raises(ValueError, match=r"human has shape|broadcast"):
        row.contributions(y, z[:-1])


@every_metric
def test_name_shows_the_forms_as_judge_then_human(row):
    """As the papers print them."""
    forms_of = {"smoothed": "s"}
    judge, human = (forms_of.get(form, form) for form in (row.judge_form, row.human_form))
    if row.human_form != "decision":
        assert f"({judge}/{human}" in row.name
    assert row.name in repr(row)
    assert row.paper


def test_names_are_unique():
    """A name finds one row."""
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert stats.find_metric("mse(s/s)", stats.METRICS).human_form == "s"
    with pytest.raises(ValueError, match="no metric is named 'kappa'"):
        stats.find_metric("kappa", stats.METRICS)


@pytest.mark.parametrize("module", [agreement, downstream])
def test_every_public_metric_is_in_the_table(module):
    """A function that stands in no row would escape this contract."""
    public = {
        function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    assert public <= {row.contributions for row in stats.METRICS}
