from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, evaluate_judges, split_options

from harness import stats
from harness.stats.data.arrays import Rows
from harness.stats.inference import bootstrap
from harness.stats.inference.bootstrap import Resamples, Units
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import ItemSums
from harness.stats.inference.interval_methods import percentile_ends
from harness.stats.inference.metric import Metric, mean

MEAN = Metric(name="mean", value=mean, reason=lambda _: "no_items")


def weighted(values):
    """Contributions of a mean."""
    values = np.asarray(values, float)
    return np.stack([values, np.ones(len(values))], axis=1)


def run(contributions, **options):
    """Bootstrap a mean, seeded."""
    resampling, _ = split_options(options)
    return stats.bootstrap(contributions, mean, resampling=resampling)


def test_bootstrap_against_theory():
    """The interval of a mean is about +-1.96 standard errors."""
    values = np.random.default_rng(1).normal(size=400)
    result = run(weighted(values), n_resamples=4000)
    half = 1.96 * values.std() / 20
    assert result.value == pytest.approx(values.mean())
    assert result.interval.low == pytest.approx(values.mean() - half, abs=0.006)
    assert result.interval.high == pytest.approx(values.mean() + half, abs=0.006)


def test_bootstrap_draws_with_replacement():
    """Every resample has as many items as the data, and some items more than once."""
    weights = np.concatenate(list(Resamples(50, 300, 7).weights()))
    assert weights.shape == (300, 50)
    assert (weights.sum(axis=1) == 50).all()
    assert weights.max() > 1
    assert weights.mean(axis=0) == pytest.approx(np.ones(50), abs=0.3)


def test_the_second_stage_draws_the_items_of_each_group_that_was_drawn():
    """A group drawn twice gives twice its size, of its own items; a group of one gives that one."""
    groups = ["a", "b", "a", "c", "b", "a"]
    resampling = stats.Resampling(rng=np.random.default_rng(2), groups=groups, second_stage=True)
    units = resampling.units(6)
    weights = np.concatenate(list(Resamples.draw(units, 4000, resampling.rng).weights()))
    sizes = np.array([3, 2, 1])
    of_group = np.stack([weights[:, units.of_item == u].sum(axis=1) for u in range(3)], axis=1)
    assert (of_group % sizes == 0).all()
    assert ((of_group / sizes).sum(axis=1) == 3).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(6), abs=0.1)
    assert (weights[:, 0] != weights[:, 2]).any()


def test_two_stages_vary_as_the_formula_says():
    """Groups of equal size: the variance of the first stage, and that within groups once more."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    between = values.mean(axis=1).var() / 60
    within = values.var(axis=1).mean() / (60 * 4)
    groups = [str(u) for u in np.repeat(np.arange(60), 4)]
    widths = {}
    for second_stage in (False, True):
        resampling = stats.Resampling(
            rng=np.random.default_rng(3), groups=groups, n_resamples=6000, second_stage=second_stage
        )
        engine = Engine.draw(resampling.units(240), resampling)
        sums = ItemSums(contributions=weighted(values.ravel()), metrics=(MEAN,))
        widths[second_stage] = float(engine.of_sums([sums])[0][0].replicates.var())
    assert widths[False] == pytest.approx(between, rel=0.06)
    assert widths[True] == pytest.approx(between + within, rel=0.06)


def test_a_second_stage_without_groups_is_refused():
    """There is nothing to draw within an item."""
    with pytest.raises(ValueError, match="groups is None"):
        stats.Resampling(rng=np.random.default_rng(0), second_stage=True)


def test_weights_do_not_depend_on_the_size_of_chunks(monkeypatch):
    """Memory is a matter of the machine, the replicates are not."""
    resamples = Resamples(37, 20, 5)
    whole = np.concatenate(list(resamples.weights()))
    monkeypatch.setattr(bootstrap, "CHUNK_CELLS", 100)
    monkeypatch.setattr(bootstrap, "DRAWN_CELLS", 40)
    chunks = list(resamples.weights())
    assert len(chunks) == 10
    np.testing.assert_array_equal(np.concatenate(chunks), whole)


def alike(n_each):
    """Contributions of a mean in which each of four rows occurs n_each times."""
    return np.repeat(weighted([0.0, 1.0, 2.5, 0.25]), n_each, axis=0)


def totals(n, n_resamples, seed, *parts):
    """Sums of contributions in resamples of n items, those of all parts in a row."""
    _, drawn = bootstrap.Resamples(n, n_resamples, seed).sums(parts, bootstrap.Units.of(n, None))
    return np.concatenate([block.copy() for block in drawn])


def test_units_that_contribute_alike_are_drawn_together():
    """What is resampled once may draw rows instead of units: totals vary as if units were drawn."""
    sums = alike(100)
    rows = totals(400, 20_000, 3, sums)
    units = totals(400, 20_000, 4, sums)
    assert (rows[:, 1] == 400).all()
    assert rows.mean(axis=0) == pytest.approx(sums.sum(axis=0), rel=0.002)
    assert rows.std(axis=0) == pytest.approx(units.std(axis=0), rel=0.03)
    theory = 20.0 * sums[:, 0].std()
    assert rows[:, 0].std() == pytest.approx(theory, rel=0.03)


def test_statistics_of_one_walk_stay_paired():
    """Statistics that are one number by definition have one number in every replicate."""
    sums = alike(100)
    both = totals(400, 500, 3, sums, 2.0 * sums)
    np.testing.assert_allclose(both[:, 2:], 2.0 * both[:, :2], rtol=1e-12)


def test_units_that_differ_are_drawn_one_by_one():
    """With nothing to draw together, the draws are those that everybody else sees."""
    sums = weighted(np.random.default_rng(0).normal(size=60))
    once = totals(60, 30, 3, sums)
    np.testing.assert_array_equal(once, totals(60, 30, 3, sums))


@pytest.fixture
def many(monkeypatch):
    """Let 100 units be many, in blocks of 64."""
    monkeypatch.setattr(bootstrap, "MANY", 100)
    monkeypatch.setattr(bootstrap, "BLOCK", 64)
    monkeypatch.setattr("harness.stats.data.arrays.BLOCK", 64)


def rows_of(values):
    """Contributions that are made when they are asked for."""
    return Rows(lambda some: np.stack([some, np.ones_like(some)], axis=1), (values,))


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("n_resamples", [0, 4000])
def test_many_units_are_drawn_block_by_block(n_resamples):
    """Every resample has as many units as the data, and sums vary as if each were drawn alone."""
    values = np.random.default_rng(0).normal(size=400)
    walk, units = bootstrap.Resamples(400, n_resamples, 3), bootstrap.Units.of(400, None)
    parts = [rows_of(values), weighted(values)]
    totals, [result] = walk.sums(parts, units)
    np.testing.assert_allclose(totals, [values.sum(), 400.0] * 2)
    assert result.shape == (n_resamples, 4)
    np.testing.assert_array_equal(result[:, :2], result[:, 2:])
    assert (result[:, 1] == 400).all()
    if n_resamples:
        theory = 20.0 * values.std()
        assert result[:, 0].mean() == pytest.approx(values.sum(), abs=4.0 * theory / 60.0)
        assert result[:, 0].std() == pytest.approx(theory, rel=0.05)


@pytest.mark.usefixtures("many")
def test_replicates_of_many_units_do_not_depend_on_memory(monkeypatch):
    """They are the same however many are held at once."""
    values = np.random.default_rng(0).normal(size=400)
    units = bootstrap.Units.of(400, None)
    _, whole = bootstrap.Resamples(400, 7, 3).sums([rows_of(values)], units)
    monkeypatch.setattr(bootstrap, "CHUNK_CELLS", 150)
    monkeypatch.setattr(bootstrap, "DRAWN_CELLS", 64)
    _, chunks = bootstrap.Resamples(400, 7, 3).sums([rows_of(values)], units)
    np.testing.assert_allclose(chunks, whole, rtol=1e-12)


def test_order_of_units_is_nothing_where_they_are_drawn_together():
    """The same rows in another order give the same replicates."""
    sums = alike(100)
    again = sums[np.random.default_rng(1).permutation(400)]
    ordered, reordered = (totals(400, 50, 3, each) for each in (sums, again))
    np.testing.assert_array_equal(ordered, reordered)


def test_same_seed_gives_the_same_interval():
    """Randomness comes from rng alone."""
    values = weighted(np.arange(30.0))
    assert run(values) == run(values)


def test_groups_are_resampled_as_a_whole():
    """Items of a group travel together: with constant groups the interval is as wide as theirs."""
    by_group = np.random.default_rng(2).normal(size=40)
    groups = [f"g{i}" for i in range(40) for _ in range(5)]
    result = run(weighted(np.repeat(by_group, 5)), groups=groups)
    alone = run(weighted(by_group))
    assert result.interval.unit == "group"
    assert alone.interval.unit == "item"
    assert result.interval.low == pytest.approx(alone.interval.low)
    naive = run(weighted(np.repeat(by_group, 5)))
    assert naive.interval.high - naive.interval.low < result.interval.high - result.interval.low


def test_item_without_a_group_is_a_group_of_its_own():
    """None never joins items together."""
    units = Units.of(5, ["a", None, "a", None, "b"])
    assert units.of_item.tolist() == [0, 1, 0, 2, 3]
    assert repr(units) == "Units(5 items in 4 groups)"
    with pytest.raises(ValueError, match="groups has 2 entries for 5 items"):
        Units.of(5, ["a", "b"])


def test_undefined_bootstrap_replicates_are_dropped():
    """Their share is reported: the interval is conditional on being defined."""
    contributions = np.zeros((10, 2))
    contributions[:2] = 1.0
    result = run(contributions)
    assert result.undefined_share == pytest.approx(0.8**10, abs=0.03)
    assert (result.interval, result.interval_reason) == (None, "too_few_items")
    assert (result.n_used, result.n_excluded, result.n_resamples) == (2, 8, 2000)


def test_undefined_value_is_na_with_a_reason():
    """No interval stands beside a value that does not exist."""
    result = run(np.zeros((3, 2)))
    assert (result.value, result.reason, result.interval) == (None, "no_items", None)
    assert result.undefined_share == 1.0
    zero_weight = np.array([[1.0, 0.0]])
    assert run(zero_weight).reason == "undefined"


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_units_have_no_interval(n):
    """One item resampled is the same item again, which says nothing about spread."""
    result = run(weighted(np.ones(n)))
    assert result.interval is None
    assert result.undefined_share == 0.0
    assert result.n_resamples == 0


@pytest.mark.parametrize("groups", [None, ["a", "a", "b", "c"]])
def test_one_item_that_enters_among_others_has_no_interval_either(groups):
    """Resamples that draw it agree, so its interval had no width: [1.250, 1.250] on 1 item."""
    contributions = np.zeros((4, 2))
    contributions[: 1 if groups is None else 2] = (1.25, 1.0)
    result = run(contributions, groups=groups)
    assert (result.value, result.interval) == (1.25, None)
    assert result.undefined_share > 0.2


def test_no_resamples_no_interval():
    """Point estimates alone can be asked for."""
    result = run(weighted([1.0, 2.0]), n_resamples=0)
    assert (result.value, result.interval) == (1.5, None)


def test_bad_arguments_are_refused():
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match="level is 95"):
        run(weighted([1.0, 2.0]), level=95)
    with pytest.raises(ValueError, match="n_resamples is -1"):
        run(weighted([1.0, 2.0]), n_resamples=-1)
    with pytest.raises(ValueError, match="contributions has shape"):
        run(np.ones(3))
    with pytest.raises(ValueError, match="finite"):
        run(weighted([np.nan, 1.0]))


def test_interval_is_read_as_covering_the_population_value():
    """Each interval names its estimand, the design value, and how many ratings it depends on.

    Humans and judge share one distribution per item, so the population MSE is 0. With 3 ratings per
    item the design value is sum_k 2 p_k (1 - p_k) / 3 = 1/3 at p = 1/2: that is covered, 0 is not.
    """
    rng = np.random.default_rng(3)
    answers = [
        [("toxic",) if toxic else ("fine",) for toxic in row] for row in rng.random((300, 6)) < 0.5
    ]
    human = count_table("human", sets=[row[:3] for row in answers])
    judge = count_table("z", sets=[row[3:] for row in answers])
    estimates = evaluate_judges(human, judge).estimates["z"]["mse(srs/srs)"]
    assert estimates.interval.estimand == "design value"
    assert estimates.ratings_per_item == 3.0
    assert estimates.interval.low > 0.0
    assert estimates.interval.low < 1 / 3 < estimates.interval.high


def test_reprs_fit_a_line():
    """One glance."""
    assert repr(Resamples(5, 20, 1)) == "Resamples(20 of 5 units, seed 1)"
    assert repr(rows_of(np.arange(5.0))) == "Rows(5, 2)"


@pytest.mark.parametrize("n", [1, 2, 7, 2000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_percentiles_are_numpys(n, level):
    """Ends lie between two replicates where numpy's quantiles do; nan is left out."""
    replicates = np.random.default_rng(n).normal(size=n)
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = percentile_ends(np.append(replicates, np.nan), level)
    assert ends == pytest.approx(np.quantile(replicates, tails), abs=1e-14)
