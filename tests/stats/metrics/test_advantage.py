"""The advantage probability as a metric: the annotator test's rho, with an interval over items."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.analysis_inputs import source_of, task_of
from support.paired_differences import difference_of

from harness import stats
from harness.analysis import validate
from harness.errors import TaskError
from harness.report import render
from harness.stats.alt_test.rater_comparisons import option_wins
from harness.stats.metrics.advantage import ADVANTAGE

KEYS = ("1", "2", "3")
COVERAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"
LABEL_SHARES = (0.6, 0.3, 0.1)
RIGHT = (0.9, 0.75, 0.85, 0.7, 0.8)  # of each rater, on an item of middling difficulty
JUDGES = {"better": 0.85, "worse": 0.7}
N_ITEMS, N_SETS = 100, 2_000


def table_of(name, items, values):
    """Count a value per item, or several."""
    choices = [(item, value) for item, of_item in values.items() for value in of_item]
    space = stats.OptionSpace.singletons(KEYS)
    return stats.RatingTable.count(space, name, items, forced_choice=choices)


def raters_table(items, ratings, score="accuracy"):
    """Count (item, rater, value) ratings, with which options win against each rater."""
    design = stats.AltTestDesign(score=score, eps=0.1)
    panel = stats.Panel.of(ratings, items=items)
    of_item = {item: [v for i, _, v in ratings if i == item] for item in items}
    table = table_of("human", items, of_item)
    return replace(table, wins=option_wins(panel, design, KEYS)), panel, design


def evaluated(human, judges, *, n_resamples=0, seed=0):
    """Evaluate the advantage of some judges."""
    resampling = stats.Resampling(rng=np.random.default_rng(seed), n_resamples=n_resamples)
    return stats.evaluate(
        human, judges, tau=0.5, positive=(), resampling=resampling, metrics=[ADVANTAGE]
    )


ratings_of_items = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcde"), st.sampled_from(KEYS), max_size=5),
              st.sampled_from(KEYS)),
    min_size=1,
    max_size=12,
)  # fmt: skip


@pytest.mark.slow
@given(rows=ratings_of_items, score=st.sampled_from(["accuracy", "neg_rmse"]))
@settings(max_examples=80, deadline=None)
def test_it_is_the_rho_of_the_annotator_test(rows, score):
    """For any ratings and verdicts, also on ordered scales, and NA where that is NA."""
    items = [f"i{i}" for i in range(len(rows))]
    ratings = [
        (item, rater, value)
        for item, (of_item, _) in zip(items, rows, strict=True)
        for rater, value in of_item.items()
    ]
    human, panel, design = raters_table(items, ratings, score)
    verdicts = {item: value for item, (_, value) in zip(items, rows, strict=True)}
    judge = table_of("z", items, {item: [value] for item, value in verdicts.items()})
    estimate = evaluated(human, [judge]).estimates["z"]["advantage"]
    expected = stats.annotator_test(panel, verdicts, design).advantage
    assert (estimate.value is None) == (expected.value is None)
    if expected.value is not None:
        assert estimate.value == pytest.approx(expected.value)
        assert estimate.n_used == expected.n_used


@given(rows=ratings_of_items, seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_order_of_items_and_shards_are_nothing(rows, seed):
    """Sums over parts of the items, in any order, add up to the whole."""
    items = [f"i{i}" for i in range(len(rows))]
    pairs = zip(items, rows, strict=True)
    ratings = [(item, rater, v) for item, (of_item, _) in pairs for rater, v in of_item.items()]
    human, *_ = raters_table(items, ratings)
    cut = {"tau": 0.5, "positive": ()}
    y = stats.aggregate(stats.Distributions.of(human), "raters", **cut)
    z = np.eye(3)[[KEYS.index(value) for _, value in rows]]
    order = np.random.default_rng(seed).permutation(len(rows))
    half = len(rows) // 2
    shards = [ADVANTAGE.contributions(y[at], z[at]) for at in (order[:half], order[half:])]
    whole = ADVANTAGE.contributions(y, z).sum(axis=0)
    np.testing.assert_allclose(sum(shard.sum(axis=0) for shard in shards), whole)
    value = ADVANTAGE.value(whole)
    assert np.isnan(value) or 0.0 <= value <= 1.0


def test_several_replies_count_by_their_mode():
    """Ties of the mode are split evenly, as an expectation over an even draw among them."""
    items = [f"i{i}" for i in range(6)]
    ratings = [(item, rater, "1") for item in items for rater in "abc"]
    human, *_ = raters_table(items, ratings)
    tied = table_of("z", items, {item: ["1", "2"] for item in items})
    assert evaluated(human, [tied]).estimates["z"]["advantage"].value == 0.5


def ratings_and_judges(n_raters=3, n_items=40, seed=0):
    """Return the choices of raters, and of judges that are right in 85 and 70 of 100 cases."""
    rng = np.random.default_rng(seed)
    codes, judges = drawn(rng, n_items, n_raters)
    items = [f"i{i}" for i in range(n_items)]
    ratings = {f"r{j}": dict(zip(items, map(KEYS.__getitem__, c), strict=True))
               for j, c in enumerate(codes.T.tolist())}  # fmt: skip
    verdicts = {name: dict(zip(items, map(KEYS.__getitem__, c.tolist()), strict=True))
                for name, c in zip(JUDGES, judges, strict=True)}  # fmt: skip
    return ratings, verdicts


def test_validate_ranks_by_it_with_intervals_and_paired_differences():
    """`--metric advantage` orders the judges by rho, and the other metrics stand as before."""
    ratings, verdicts = ratings_and_judges()
    task = task_of(ratings, options=KEYS)
    result = validate(source_of(task, verdicts, metric="advantage"))
    first, second = result.evidence.judges
    assert (first.judge, second.judge) == ("better", "worse")
    published = {row.judge: row.test.advantage.value for row in result.replacement.judges}
    for row in (first, second):
        assert row.value == pytest.approx(published[row.judge])
        assert row.estimate.interval.low < row.value < row.estimate.interval.high
    assert second.difference.value == pytest.approx(first.value - second.value)
    assert second.difference.interval.low < second.difference.value
    assert result.sampling.fixed_raters_reason == "fewer_than_five_raters"
    plain = validate(source_of(task, verdicts))
    for name in verdicts:
        for metric, estimate in plain.judge(name).metrics.items():
            if metric != plain.ranking_metric:
                assert result.judge(name).metrics[metric].value == estimate.value


def test_without_names_of_raters_it_is_na_with_the_reason():
    """Positions within an item are no people."""
    ratings, verdicts = ratings_and_judges()
    task = task_of(ratings, options=KEYS, rater_ids="positional")
    result = validate(source_of(task, verdicts, metric="advantage"))
    estimate = result.judge("better").metrics["advantage"]
    assert (estimate.value, estimate.reason) == (None, "positional_raters")
    text = " ".join(render(result).split())
    assert "NA for all of them (the ratings don't name their raters)." in text
    assert "Next: Leave out --metric, because other metrics don't need the raters' names." in text


def test_the_advantage_without_choices_is_na_with_a_reason():
    """A judge asked for response sets alone has no advantage."""
    ratings, _ = ratings_and_judges()
    human, *_ = raters_table(
        [*ratings["r0"]], [(i, r, v) for r, of in ratings.items() for i, v in of.items()]
    )
    space = human.space
    sets = [(item, ("1",)) for item in human.items]
    judge = stats.RatingTable.count(space, "z", human.items, response_set=sets)
    estimate = evaluated(human, [judge]).estimates["z"]["advantage"]
    assert (estimate.value, estimate.reason) == (None, "forced_choice_not_asked")


@pytest.mark.parametrize("choices", [{"mode": "third_class"}, {"level": "macro"}])
def test_modes_and_levels_without_an_advantage_are_rejected(choices):
    """It compares single choices as they were given."""
    ratings, verdicts = ratings_and_judges()
    task = task_of(ratings, options=KEYS)
    with pytest.raises(TaskError, match="mode exclude and level micro"):
        validate(source_of(task, verdicts, metric="advantage", **choices))


def drawn(rng, n_items, n_raters):
    """Draw the codes of raters, (n, m), and of two judges whose errors are correlated."""
    truth = rng.choice(3, n_items, p=LABEL_SHARES)
    ease = rng.normal(0.0, 0.8, n_items)[:, None]  # of the item, for all

    def answers(right):
        logits = np.log(np.array(right) / (1.0 - np.array(right)))
        is_right = rng.random((n_items, len(right))) < 1.0 / (1.0 + np.exp(-(logits + ease)))
        wrong = (truth[:, None] + rng.integers(1, 3, (n_items, len(right)))) % 3
        return np.where(is_right, truth[:, None], wrong)

    return answers(RIGHT[:n_raters]), answers(list(JUDGES.values())).T


def sums_of(codes, judges):
    """Return the (n, 2 m) contributions of each judge."""
    n, m = codes.shape
    items = [str(i) for i in range(n)]
    names = [str(j) for j in range(m)]
    ratings = [(i, r, KEYS[c]) for i, row in zip(items, codes.tolist(), strict=True)
               for r, c in zip(names, row, strict=True)]  # fmt: skip
    design = stats.AltTestDesign(score="accuracy", eps=0.1)
    wins = option_wins(stats.Panel.of(ratings, items=items), design, KEYS)
    vectors = wins.reshape(n, -1).astype(float)
    return [ADVANTAGE.contributions(vectors, np.eye(3)[judge]) for judge in judges]


def shares_held(n_raters):
    """Return how often intervals of rho, and of the difference of two judges, hold the truth."""
    rng = np.random.default_rng(n_raters)
    truth = [float(ADVANTAGE.value(s.sum(axis=0))) for s in sums_of(*drawn(rng, 200_000, n_raters))]
    held = np.zeros(2)
    for seed in range(N_SETS):
        rng = np.random.default_rng([n_raters, seed])
        codes, judges = drawn(rng, N_ITEMS, n_raters)
        items = [str(i) for i in range(N_ITEMS)]
        ratings = [(items[i], str(j), KEYS[c]) for (i, j), c in np.ndenumerate(codes)]
        human, *_ = raters_table(items, ratings)
        tables = [
            table_of(
                name, items, {i: [KEYS[c]] for i, c in zip(items, judge.tolist(), strict=True)}
            )
            for name, judge in zip(JUDGES, judges, strict=True)
        ]
        result = evaluated(human, tables, n_resamples=500, seed=seed)
        interval = result.estimates["better"]["advantage"].interval
        difference = difference_of(result, "advantage").interval  # worse less better, as losses
        held += (
            interval.low <= truth[0] <= interval.high,
            difference.low <= truth[0] - truth[1] <= difference.high,
        )
    return held / N_SETS


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n_raters", [3, 5])
def test_intervals_hold_the_advantage_as_often_as_the_docs_say(n_raters):
    """At least 92 % of them at 100 items, of a judge and of the difference of two."""
    held = shares_held(n_raters)
    assert held.min() >= 0.92
    row = rf"advantage, {N_ITEMS} items, {n_raters} raters \| ([\d.]+) % \| ([\d.]+) % \|"
    documented = [float(x) for x in re.search(row, COVERAGE.read_text(encoding="utf-8")).groups()]
    np.testing.assert_allclose(held * 100, documented, atol=0.05)
