from __future__ import annotations

import numpy as np
import pytest
from support.each_case import fast_first
from support.rating_tables import random_table, seeded, table_of_counts

from harness.stats import beta_sweep
from harness.stats.data.forms import Cut
from harness.stats.indeterminacy.values_at_betas import values_at_betas
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.replies import CommonItems

BETAS = (0.0, 0.3, 1.0)
ADDS = {"fine": ("toxic",)}


def copied(table, rows):
    """Make a table of some rows of another, which may repeat."""
    counts = (table.forced_choice[rows], table.response_set[rows], table.joint[rows])
    return table_of_counts(table.name, *counts, space=table.space)


@pytest.mark.parametrize(  # copies: items as they are, or one item of each kind
    ("copies", "n_replies"), fast_first(2, [(1, None), (40, 1.0), (1, 1.0), (40, None)])
)
def test_values_are_those_of_the_sweep(copies, n_replies):
    """Every metric at every beta, NA ones too, is that of `beta_sweep`, to the last bit."""
    rows = np.tile(np.arange(12), copies)
    human, *judges = (copied(random_table(name, i), rows) for i, name in enumerate("hxyz"))
    common = {}
    if n_replies:
        shared = rows % 5 > 0
        common = {
            name: CommonItems(n_replies, frozenset("xy"), shared)
            for name in ("forced_choice", "response_set")
        }
    values = values_at_betas(
        human, judges, METRICS, betas=BETAS, adds=ADDS, cut=Cut(0.5, ("toxic",)), common=common
    )
    points = beta_sweep(
        human,
        judges,
        betas=BETAS,
        adds=ADDS,
        tau=0.5,
        positive=("toxic",),
        resampling=seeded(n_resamples=0),
        common=common,
    )
    n_defined = 0
    for b, point in enumerate(points):
        for row in METRICS:
            wanted = [point.estimates[name][row.name].value for name in point.judges]
            wanted = [np.nan if value is None else value for value in wanted]
            np.testing.assert_array_equal(values[row.name][b], wanted, err_msg=row.name)
            n_defined += np.isfinite(wanted).sum()
    assert n_defined > 100
