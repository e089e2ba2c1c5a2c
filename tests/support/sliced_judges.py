"""Judges that are planted to fail in a slice of the items."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from support.analysis_inputs import source_of, task_of

from harness.analysis import validate

RATERS = ("ann", "ben", "cem")


def planted_source(
    n=300,
    *,
    careful=0.93,
    slipping=0.5,
    raters_slip=False,
    fields=True,
    n_rare=0,
    seed=3,
):
    """Make a judge that slips on German items; raters slip there too if told.

    Two other languages have ``n_rare`` items each.
    """
    rng = np.random.default_rng(seed)
    language = np.array(["de", "en", "fr", "en"])[np.arange(n) % 4]
    language[n - 2 * n_rare :] = np.repeat(["x", "y"], n_rare)
    truth = rng.random(n) < 0.4

    def answers(right):
        return np.where(rng.random(n) < right, truth, ~truth)

    by_language = np.where(language == "de", slipping, careful)
    rater = np.where(language == "de", 0.75, 0.95) if raters_slip else np.full(n, 0.95)
    ratings = {
        name: {f"i{i}": "A" if a else "B" for i, a in enumerate(answers(rater))} for name in RATERS
    }
    of_items = {f"i{i}": language[i] for i in range(n)}
    task = task_of(ratings)
    items = tuple(
        replace(item, fields=item.fields | {"language": str(of_items[item.id])}) if fields else item
        for item in task.items
    )
    task = task.model_copy(update={"items": items})
    judges = {
        "planted": {f"i{i}": "A" if a else "B" for i, a in enumerate(answers(by_language))},
    }
    return source_of(task, judges)


@cache
def planted(*args, **choices):
    """Validate what `planted_source` makes, once."""
    return validate(planted_source(*args, **choices))


def planted_task(**choices):
    """Return the task alone."""
    return planted_source(**choices).task
