"""Which options would win against each rater in the alternative annotator test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.rater_comparisons import TIED, ScoredPanel

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.procedure import AltTestDesign
    from harness.stats.data.arrays import IntArray


def option_wins(panel: Panel, design: AltTestDesign, options: Sequence[Hashable]) -> IntArray:
    """Return, per item and rater, whether a rating counts and which options are as good.

    Parameters
    ----------
    panel : Panel
        The ratings, with the names of those who gave them.
    design : AltTestDesign
        How values align with those of the other raters.
    options : K values
        What a judge may answer, in the order of the columns.

    Returns
    -------
    (n, m, 1 + K) int8 array
        1 or 0: first whether the rating enters the test, then for each option whether a judge that
        gives it is at least as close to the other raters as the rater (W^f of Calderon et al. 2025,
        section 3.1). Zeros where the rater did not rate the item; m is 1 without raters.

    Raises
    ------
    ValueError
        If the rater names are positional, or an argument does not fit the panel.
    """
    scored = ScoredPanel.of(panel, design)
    shape = len(panel.items), max(len(panel.raters), 1), 1 + len(options)
    wins = np.zeros(shape, dtype=np.int8)
    for k, option in enumerate(options, start=1):
        always = scored.coded(dict.fromkeys(panel.items, option))
        against = scored.against(always)
        wins[against.item, against.rater, 0] = 1
        wins[against.item, against.rater, k] = against.outcome <= TIED
    return wins
