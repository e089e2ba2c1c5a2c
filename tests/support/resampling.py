"""Options of a test's helper, split into how intervals are made and the rest."""

from dataclasses import fields

import numpy as np

from harness.stats import ItemSums, Resampling, estimate_sums

FIELDS = tuple(field.name for field in fields(Resampling))


def split_options(options, seed=0, **defaults):
    """Return a seeded `Resampling` of the options that belong to it, and the other options."""
    chosen = {"rng": np.random.default_rng(seed)} | defaults | options
    resampling = Resampling(**{name: chosen.pop(name) for name in FIELDS if name in chosen})
    return resampling, chosen


def seeded(seed=0, **options):
    """Return a `Resampling` with a generator of its own."""
    return Resampling(rng=np.random.default_rng(seed), **options)


def estimates_of(contributions, metrics, resampling):
    """Evaluate metrics of the same contributions on one bootstrap: by metric name."""
    sums = ItemSums(contributions=contributions, metrics=tuple(metrics))
    return estimate_sums({"": sums}, resampling=resampling)[""]
