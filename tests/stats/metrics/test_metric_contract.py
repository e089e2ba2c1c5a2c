"""What every row of the metric table keeps; a new row cannot escape."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.each_case import for_each
from support.rating_tables import random_table

from harness import stats
from harness.stats.metrics import distributional, multi_label
from harness.stats.metrics.alpha import alpha_metric, coincidences
from harness.stats.metrics.association import correlation_metrics
from harness.stats.metrics.confusion import BINARY, DIAGNOSTICS, binary_metrics
from harness.stats.metrics.gwet import ac2_of_raters
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT
from harness.stats.metrics.ordinal import ORDINAL_METRICS, ordinal_metrics
from harness.stats.metrics.set_agreement import set_agreement_metrics

CUT = {"tau": 0.6, "positive": ("toxic",)}
OPTIONS = ("toxic", "rude", "fine")
BINARY_ROWS = binary_metrics(stats.OptionSpace.powerset(OPTIONS), ("toxic",))
ROWS = (*stats.METRICS, *ORDINAL_METRICS, *BINARY_ROWS)
every_metric = for_each(ROWS, lambda row: row.name)


def forms(row, human, judge):
    """Aggregate two tables into the forms that a row compares."""
    return (
        stats.aggregate(stats.Distributions.of(human), row.human_form, **CUT),
        stats.aggregate(stats.Distributions.of(judge), row.judge_form, **CUT),
    )


def value(row, human, judge):
    """Evaluate a row on two tables."""
    return float(row.value(row.contributions(*forms(row, human, judge)).sum(axis=0)))


@cache
def full(table, name, seed, **options):
    """Make a table in which no share is 0, so that every row is defined."""
    made = table(name, seed, **options)
    fields = {field: getattr(made, field) for field in made.__slots__}
    fields["forced_choice"] = made.forced_choice + 1
    return stats.RatingTable(**fields)


@every_metric
def test_perfect_agreement_is_best(row):
    """No judge beats one that answers as the humans did (labels without ties)."""
    human = full(random_table, "human", 0)
    twin = value(row, human, human)
    others = [value(row, human, full(random_table, "z", seed)) for seed in range(1, 20)]
    if row.perfect != "other":
        others = np.array(others)[~np.isnan(others)]  # infinite is worse than any
        assert (row.losses(twin) <= row.losses(others) + 1e-12).all()
    if row.perfect == "bound":
        best = {"higher": row.bounds[1], "lower": row.bounds[0], "zero": 0.0}[row.better]
        assert twin == pytest.approx(best)


def test_rows_without_a_best_twin_are_these():
    """Forms that differ, sizes, the judge's own code, and differences of estimates: no others."""
    named = {
        "ce(s/s, judge->human)",  # a judge that always says what humans say most is cheaper
        "ce_dirichlet_0.5(s/s, judge->human)",
        "predictive_efficiency(h/-)",  # 1 for every judge
        "predictive_efficiency(hrs/-)",  # an empty set is the smallest
        "mse_without_rater_noise(s/s)",  # may be negative
        "mse_without_rater_noise(srs/srs)",
    }
    result = {row.name for row in ROWS if row.perfect == "other"}
    assert result == named | {row.name for row in ROWS if row.human_form != row.judge_form}


@every_metric
def test_order_of_items_is_nothing(row):
    """Shuffled items give the same sums."""
    y, z = forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    order = np.random.default_rng(0).permutation(len(y))
    sums = row.contributions(y, z).sum(axis=0)
    np.testing.assert_allclose(row.contributions(y[order], z[order]).sum(axis=0), sums)


@every_metric
def test_order_of_options_is_nothing(row):
    """The same ratings over permuted options give the same value."""
    human, judge = full(random_table, "human", 0), full(random_table, "z", 1)
    ordered = row in ORDINAL_METRICS  # such a scale may only be turned round
    options = OPTIONS[::-1] if ordered else ("fine", "toxic", "rude")
    permuted = [permute(table, options) for table in (human, judge)]
    again = row
    if row in BINARY_ROWS:  # these hold the place of the positive option
        again = binary_metrics(permuted[0].space, ("toxic",))[BINARY_ROWS.index(row)]
    assert value(again, *permuted) == pytest.approx(
        value(row, human, judge), abs=1e-12, nan_ok=True
    )


def permute(table, options):
    """Rewrite a table for the same options in another order."""
    space = stats.OptionSpace.powerset(options)
    choices = [table.space.option_index(option) for option in options]
    sets = [table.space.set_index(response_set) for response_set in space.sets]
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
def test_two_shards_sum_to_the_whole(row):
    """Sums computed on different machines add up."""
    y, z = forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    whole = row.contributions(y, z).sum(axis=0)
    shards = [
        row.contributions(y[part], z[part]).sum(axis=0) for part in (slice(9), slice(9, None))
    ]
    np.testing.assert_allclose(sum(shards), whole)


@every_metric
def test_symmetry_is_as_declared(row):
    """Swapping human and judge vectors changes the value exactly where the row says so."""
    y, z = forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    forward = row.value(row.contributions(y, z).sum(axis=0))
    back = row.value(row.contributions(z, y).sum(axis=0))
    if row.human_form == row.judge_form:
        alike = np.isclose(forward, back, atol=1e-12, equal_nan=True)  # infinite both ways
        assert alike == row.symmetric
    else:
        assert not row.symmetric


@every_metric
def test_values_lie_within_bounds(row):
    """Bounds hold with ties, few ratings and perfect agreement alike."""
    tables = [random_table(str(s), s, n_raters=1 + s % 4, tied=True, n=5) for s in range(8)]
    tables.append(unanimous(tables[0]))  # modes that miss cost infinitely much elsewhere
    values = np.array([value(row, human, judge) for human in tables for judge in tables])
    defined = values[~np.isnan(values)]
    assert defined.size
    assert (defined >= row.bounds[0] - 1e-12).all()
    assert (defined <= row.bounds[1] + 1e-12).all()


def unanimous(table):
    """Let two raters choose and accept the first option of every item, and nothing else."""
    fields = {field: getattr(table, field) for field in table.__slots__}
    for field in ("forced_choice", "response_set"):
        counts = np.zeros_like(fields[field])
        counts[:, 0] = 2
        fields[field] = counts
    return stats.RatingTable(**fields)


@every_metric
def test_items_without_one_side_add_nothing(row):
    """A nan row contributes zeros, its weight included."""
    y, z = (
        form.copy()
        for form in forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    )
    kept = row.contributions(y[4:], z[4:]).sum(axis=0)
    y[:2], z[1:4] = np.nan, np.nan
    np.testing.assert_allclose(row.contributions(y, z)[:4], 0.0)
    np.testing.assert_allclose(row.contributions(y, z).sum(axis=0), kept)


@every_metric
def test_no_items_is_undefined_with_its_reason(row):
    """Zero sums have no value, and the row says why."""
    y, z = forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    totals = row.contributions(y[:0], z[:0]).sum(axis=0)
    assert np.isnan(row.value(totals))
    assert row.reason(totals) == "no_items"


@every_metric
def test_values_of_many_sums_come_at_once(row):
    """``value`` takes sums of any leading shape."""
    y, z = forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    sums = np.random.default_rng(0).multinomial(40, np.full(40, 1 / 40), (3, 2)) @ (
        row.contributions(y, z)
    )
    one_by_one = [[float(row.value(each)) for each in pair] for pair in sums]
    np.testing.assert_allclose(row.value(sums), one_by_one)


@every_metric
def test_vectors_of_different_shape_are_refused(row):
    """Both sides have the same items and options."""
    y, z = forms(row, full(random_table, "human", 0), full(random_table, "z", 1))
    with pytest.raises(ValueError, match=r"human has shape|broadcast"):
        row.contributions(y, z[:-1])


@every_metric
def test_name_shows_the_forms_as_judge_then_human(row):
    """As the papers print them."""
    forms_of = {"smoothed": "s", "noisy_s": "s", "smoothed_srs": "srs", "noisy_srs": "srs"}
    judge, human = (forms_of.get(form, form) for form in (row.judge_form, row.human_form))
    if row.contributions is multi_label.predictive_efficiency:
        human = "-"  # looks at no human rating
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


@pytest.mark.parametrize("module", [distributional, multi_label])
def test_every_public_metric_is_in_the_table(module):
    """A function that stands in no row would escape this contract."""
    public = {
        function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    assert public <= {row.contributions for row in stats.METRICS}


PAIRS = {
    "hit_rate": "h/h",
    "cohen_kappa": "h/h",
    "scott_pi": "h/h",  # and Fleiss' kappa, of two raters the same number
    "krippendorff_alpha_nominal": "h/h",
    "kl": "s/s",
    "ce": "s/s",
    "js_divergence": "s/s",
    "coverage": "h/hrs hrs/h hrs/hrs",
    "multi_label_recall": "h/hrs hrs/hrs",
    "multi_label_precision": "hrs/h hrs/hrs",
    "predictive_efficiency": "h/- hrs/-",
    "gwet_ac1": "h/h",
    "gorodkin_r": "h/h",
    "macro_f1": "h/h hrs/hrs",
    "micro_f1": "hrs/hrs",  # of modes it is the hit rate
    "bce": "h/h s/h hrs/h srs/h h/hrs s/hrs hrs/hrs srs/hrs",
    "mse": " ".join(f"{j}/{h}" for j in ("h", "s", "hrs", "srs") for h in ("h", "s", "hrs", "srs")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_every_admissible_pair_of_aggregations_has_its_row(name):
    """Guerdan et al. 2025, table 1; pairs that give the number of another row are its ``also``."""
    for forms in PAIRS[name].split():
        starts = tuple(f"{name}({forms}{end}" for end in "),")
        result = [row for row in stats.METRICS if row.name.startswith(starts)]
        assert len(result) == (2 if name in {"kl", "ce"} else 1), forms
    also = " ".join(other_name for row in stats.METRICS for other_name in row.also)
    for same in ("coverage, multi-label precision and recall (h/h)", "fleiss_kappa"):
        assert same in also
    for same in ("multi-label precision(h/hrs)", "multi-label recall(hrs/h)"):
        assert same in also


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("coverage(h/hrs)", "multi_label_precision(hrs/hrs)"),
        ("coverage(hrs/h)", "multi_label_recall(hrs/hrs)"),
    ],
)
def test_precision_and_recall_of_one_label_are_coverage(name, same):
    """With the mode on one side, the share is the chance."""
    cover, share = (stats.find_metric(metric_name, stats.METRICS) for metric_name in (name, same))
    y, z = forms(cover, full(random_table, "human", 0), full(random_table, "z", 1))
    a, b = (row.value(row.contributions(y, z).sum(axis=0)) for row in (cover, share))
    assert a == pytest.approx(b)


def test_redundant_coefficients_are_printed_once():
    """With two options, equal numbers stand in one row that names the others."""
    space = stats.OptionSpace.powerset(("yes", "no"))
    rows = stats.metrics_for(space, scale="ordinal", positive=("yes",))
    human, judge = (
        full(random_table, name, seed, space=space) for name, seed in (("h", 0), ("z", 1))
    )
    cut = {"tau": 0.6, "positive": ("yes",)}

    def number(row):
        sides = (
            stats.aggregate(stats.Distributions.of(metric), form, **cut)
            for metric, form in ((human, row.human_form), (judge, row.judge_form))
        )
        return float(row.value(row.contributions(*sides).sum(axis=0)))

    dropped = {
        row.name: row
        for row in (*ordinal_metrics(), *binary_metrics(space, ("yes",)))
        if row.name not in {metric.name for metric in rows}
    }
    assert len(dropped) == 9
    for name, row in dropped.items():
        [first] = [metric for metric in rows if name in metric.also]
        assert number(row) == pytest.approx(number(first)), name
    values = [round(number(row), 9) for row in rows if row.family in {"binary", "categorical"}]
    tied = {"hit_rate(h/h)", "hit_rate_ties_lost(h/h)", "hit_rate_ties_won(h/h)"}  # no ties here
    assert len(values) - len(set(values)) == len(tied) - 1


def test_ratio_alpha_of_two_amounts_is_nominal_alpha():
    """On two options all distances are one."""
    stars = stats.OptionSpace.powerset(("1", "3"))
    rows = stats.metrics_for(stars, scale="ordinal", positive=())
    ratio = stats.find_metric("krippendorff_alpha_ratio(h/h)", ordinal_metrics([1, 3]))
    [nominal] = [metric for metric in rows if ratio.name in metric.also]
    cells = np.array([5.0, 2.0, 1.0, 4.0])
    assert nominal.value(cells) == pytest.approx(float(ratio.value(cells)))


def test_scale_decides_which_rows_are_added():
    """Ordered options add ordinal rows, positive options those of a yes-or-no decision."""
    three = stats.OptionSpace.powerset(OPTIONS)
    plain = stats.metrics_for(three, scale="nominal", positive=())
    assert plain == stats.METRICS
    ordinal = stats.metrics_for(three, scale="ordinal", positive=("toxic",))
    assert {row.family for row in ordinal} - {row.family for row in plain} == {"ordinal", "binary"}
    stars = stats.OptionSpace.powerset(("1", "2", "5"))
    [interval] = [
        row.value(np.array([3.0, 0, 1, 0, 2, 0, 0, 1, 2]))
        for row in stats.metrics_for(stars, scale="ordinal", positive=())
        if row.name == "krippendorff_alpha_interval(h/h)"
    ]
    steps = ordinal_metrics([1.0, 2.0, 5.0])[3].value(np.array([3.0, 0, 1, 0, 2, 0, 0, 1, 2]))
    assert interval == steps


ALPHAS = [
    replace(alpha_metric(level), contributions=coincidences)
    for level in ("ordinal", "interval", "ratio")
]
AC2 = ac2_of_raters(range(3))
OF_SETS = set_agreement_metrics(np.eye(3))  # sets of one option are options
OF_COUNTS = (*HUMAN_AGREEMENT, *ALPHAS, AC2, *OF_SETS)
of_counts = for_each(OF_COUNTS, lambda metric: metric.name)
AXES = np.arange(1.0, 4.0)
OF_CELLS = (*BINARY, *DIAGNOSTICS, *correlation_metrics(AXES, AXES))
of_cells = for_each(OF_CELLS, lambda metric: metric.name)


def rated(metric, seed=0, n=40, n_raters=4):
    """Count labels of n items that differ in their most likely one, all rated equally often."""
    rng = np.random.default_rng(seed)
    m = 2 if metric.max_ratings == 2 else n_raters
    return rng.multinomial(m, rng.dirichlet(np.full(3, 0.5), n))


def of_many(metric, counts):
    """Evaluate a metric of agreement among raters."""
    return float(metric.value(metric.contributions(counts).sum(axis=0)))


@of_counts
def test_raters_who_agree_have_the_best_agreement(metric):
    """Unanimous items of different labels give 1, and nothing gives more."""
    m = 2 if metric.max_ratings == 2 else 4
    assert of_many(metric, m * np.eye(3, dtype=int)[[0, 1, 2, 0]]) == pytest.approx(1.0)
    values = [of_many(metric, rated(metric, seed)) for seed in range(20)]
    assert (np.array(values) >= metric.bounds[0] - 1e-12).all()
    assert (np.array(values) <= metric.bounds[1] + 1e-12).all()


@of_counts
def test_agreement_of_raters_ignores_the_order_of_items_and_options(metric):
    """Items and, but for ordered scales, options may be permuted."""
    counts = rated(metric)
    order = np.random.default_rng(0).permutation(len(counts))
    assert of_many(metric, counts[order]) == pytest.approx(of_many(metric, counts))
    if "ratio" not in metric.name:
        permuted = counts[:, ::-1] if metric in (*ALPHAS, AC2) else counts[:, [2, 0, 1]]
        assert of_many(metric, permuted) == pytest.approx(of_many(metric, counts))


@of_counts
def test_agreement_of_raters_adds_up_over_shards(metric):
    """Sums computed on different machines add up, and many sums are read at once."""
    counts = rated(metric)
    shards = [metric.contributions(part).sum(axis=0) for part in (counts[:9], counts[9:])]
    whole = metric.contributions(counts).sum(axis=0)
    np.testing.assert_allclose(sum(shards), whole)
    sums = np.stack([whole, shards[1]])
    np.testing.assert_allclose(metric.value(sums), [metric.value(each) for each in sums])


@of_counts
def test_agreement_without_ratings_is_undefined_with_a_reason(metric):
    """Zero sums have no value."""
    totals = metric.contributions(np.zeros((2, 3), dtype=int)).sum(axis=0)
    assert np.isnan(metric.value(totals))
    assert metric.reason(totals) in {"no_items", "too_few_raters"}


@of_cells
def test_metrics_of_cells_keep_the_contract(metric):
    """Bounds, symmetry, no items, and many sums at once, on tables of two labels."""
    n_labels = 2 if metric in (*BINARY, *DIAGNOSTICS) else 3
    tables = np.random.default_rng(0).integers(1, 20, (30, n_labels, n_labels)).astype(float)
    cells = tables.reshape(30, n_labels**2)
    values = metric.value(cells)
    assert (values >= metric.bounds[0] - 1e-12).all()
    assert (values <= metric.bounds[1] + 1e-12).all()
    np.testing.assert_allclose(values, [metric.value(each) for each in cells])
    swapped = metric.value(np.swapaxes(tables, 1, 2).reshape(30, n_labels**2))
    assert np.allclose(values, swapped, atol=1e-12) == metric.symmetric
    assert np.isnan(metric.value(np.zeros(n_labels**2)))
    assert metric.reason(np.zeros(n_labels**2)) == "no_items"


@for_each([*ROWS, *OF_COUNTS, *OF_CELLS], lambda metric: metric.name)
def test_display_names_are_words(metric):
    """No underscores, no forms, and not the name itself where that is a symbol."""
    assert metric.display_name
    assert "_" not in metric.display_name
    assert "/" not in metric.display_name
    assert metric.paper
    assert repr(metric) == f"Metric({metric.name!r}, better {metric.better})"


def test_display_names_of_a_task_are_different():
    """Two metrics of one task never look the same to a reader."""
    names = [metric.display_name for metric in ROWS]
    assert len(set(names)) == len(names)
    assert stats.find_metric("mse(srs/srs)", ROWS).display_name == "disagreement with raters"
