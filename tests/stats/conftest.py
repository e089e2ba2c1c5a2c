"""Rating tables to test with."""

from __future__ import annotations

import numpy as np
import pytest
from support.resampling import split_options

from harness import stats

OPTIONS = ("toxic", "rude", "fine")


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
            rng.multinomial(n_pairs, (weights * one).ravel() / one.sum()).reshape(weights.shape)
            for one in theta
        ]
    )
    outcomes = np.zeros((n, 3, 5), dtype=np.int64)
    for e, counts in enumerate((choices, sets, joint.sum(axis=1))):
        outcomes[:, e, 0] = counts.sum(axis=1)
    return stats.RatingTable(
        space=space,
        name=name,
        items=tuple(f"item {i}" for i in range(n)),
        forced_choice=choices,
        response_set=sets,
        joint=joint,
        outcomes=outcomes,
    )


@pytest.fixture
def table():
    """Make a seeded rating table."""
    return random_table


@pytest.fixture
def evaluate():
    """Compare judges with humans at tau 0.5 on the option "toxic", seeded."""

    def run(human, *judges, **options):
        defaults = {"tau": 0.5, "positive": ("toxic",), "n_resamples": 200}
        resampling, chosen = split_options(options, **defaults)
        return stats.evaluate(human, judges, resampling=resampling, **chosen)

    return run


@pytest.fixture
def counted():
    """Make a table over toxic/fine from choices and sets per item."""
    space = stats.OptionSpace.powerset(("toxic", "fine"))

    def count(name, choices=(), sets=(), pairs=(), space=space):
        n = max(len(choices), len(sets), len(pairs))
        items = [f"i{i}" for i in range(n)]
        return stats.RatingTable.count(
            space,
            name,
            items,
            forced_choice=[(items[i], o) for i, given in enumerate(choices) for o in given],
            response_set=[(items[i], s) for i, given in enumerate(sets) for s in given],
            pairs=[(items[i], s, o) for i, given in enumerate(pairs) for s, o in given],
        )

    return count
