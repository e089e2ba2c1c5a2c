"""Rating tables to compute with, and seeded resampling of them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from harness import stats
from harness.stats import ItemSums, Resampling, estimate_sums

RESAMPLING_FIELDS = tuple(field.name for field in fields(Resampling))
OPTIONS = ("toxic", "rude", "fine")
YES_NO = stats.OptionSpace.powerset(("yes", "no"))


def seeded(seed=0, **options):
    """Return a `Resampling` with a generator of its own."""
    return Resampling(rng=np.random.default_rng(seed), **options)


def split_options(options, seed=0, **defaults):
    """Return a seeded `Resampling` of the options that belong to it, and the other options."""
    chosen = {"rng": np.random.default_rng(seed)} | defaults | options
    resampling = Resampling(
        **{name: chosen.pop(name) for name in RESAMPLING_FIELDS if name in chosen}
    )
    return resampling, chosen


def estimates_of(contributions, metrics, resampling):
    """Evaluate metrics of the same contributions on one bootstrap: by metric name."""
    sums = ItemSums(contributions=contributions, metrics=tuple(metrics))
    return estimate_sums({"": sums}, resampling=resampling)[""]


def table_of_counts(name, choices=None, sets=None, joint=None, *, space=YES_NO):
    """Make a table of (n, K), (n, V) and (n, K, V) counts; every rating was answered."""
    n_options, n_sets = space.membership.shape
    n = len(next(counts for counts in (choices, sets, joint) if counts is not None))
    choices = np.zeros((n, n_options), dtype=int) if choices is None else np.asarray(choices)
    sets = np.zeros((n, n_sets), dtype=int) if sets is None else np.asarray(sets)
    outcomes = np.zeros((n, 3, 5), dtype=int)
    for e, counts in enumerate((choices, sets, joint)):
        if counts is not None:
            outcomes[:, e, 0] = counts.reshape(n, -1).sum(axis=1)
    return stats.RatingTable(
        space=space,
        name=name,
        items=tuple(f"i{i}" for i in range(n)),
        forced_choice=choices,
        response_set=sets,
        joint=joint,
        outcomes=outcomes,
    )


def random_table(name, seed, *, n=40, n_raters=7, n_pairs=3, space=None, tied=False):
    """Count seeded ratings of n items; without ``tied``, no mode is tied."""
    rng = np.random.default_rng(seed)
    space = space or stats.OptionSpace.powerset(OPTIONS)
    n_options, n_sets = space.membership.shape
    sets = rng.multinomial(n_raters, rng.dirichlet(np.ones(n_sets), n))
    choices = rng.multinomial(n_raters, rng.dirichlet(np.ones(n_options), n))
    if not tied:
        choices[np.arange(n), choices.argmax(axis=1)] += 1
    weights = space.membership / space.membership.sum(axis=0)
    theta = rng.dirichlet(np.ones(n_sets), n)
    joint = np.stack(
        [
            rng.multinomial(n_pairs, (weights * shares).ravel() / shares.sum()).reshape(
                weights.shape
            )
            for shares in theta
        ]
    )
    return table_of_counts(name, choices, sets, joint, space=space)


def count_table(name, choices=(), sets=(), pairs=(), space=None):
    """Make a table, over toxic and fine by default, from the ratings of each item."""
    space = space or stats.OptionSpace.powerset(("toxic", "fine"))
    n = max(len(choices), len(sets), len(pairs))
    items = [f"i{i}" for i in range(n)]
    return stats.RatingTable.count(
        space,
        name,
        items,
        forced_choice=[(items[i], option) for i, row in enumerate(choices) for option in row],
        response_set=[(items[i], endorsed) for i, row in enumerate(sets) for endorsed in row],
        pairs=[
            (items[i], endorsed, option) for i, row in enumerate(pairs) for endorsed, option in row
        ],
    )


def evaluate_judges(human, *judges, **options):
    """Compare judges with humans at tau 0.5 on the option "toxic", seeded."""
    defaults = {"tau": 0.5, "positive": ("toxic",), "n_resamples": 200}
    resampling, chosen = split_options(options, **defaults)
    return stats.evaluate(human, judges, resampling=resampling, **chosen)


def panel_by_rater(ratings, items=None):
    """Make a panel from each rater's value per item."""
    return stats.Panel.of(
        ((item, rater, value) for rater, rated in ratings.items() for item, value in rated.items()),
        items=items,
    )
