"""Raters and judges as the alternative annotator test compares them: one value per item each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from harness.analysis.option_scale import Scale, drawn_modes
from harness.judging.parsing.verdict import CANNOT_ASSESS
from harness.stats.alt_test.panel import Panel
from harness.stats.alt_test.procedure import annotator_tests
from harness.stats.data.labels import medians

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    import numpy as np

    from harness.analysis.estimates import Prepared
    from harness.stats.alt_test.outcome import AltTest
    from harness.stats.alt_test.procedure import AltTestDesign
    from harness.stats.data.rating_table import RatingTable


@dataclass(frozen=True, slots=True, repr=False)
class Annotators:
    """The single choices of the raters, and one verdict of each judge per item.

    Attributes
    ----------
    p : Prepared
        Where they come from.
    scale : Scale
        Numbers on an ordered scale, else option keys.
    panel : Panel
        The raters.
    verdicts : mapping of judge to mapping of item to value
        The median of a judge's samples, or their mode, ties drawn; None where there is none.
    n_tied : mapping of judge to int
        Items on which a mode was drawn.
    """

    p: Prepared
    scale: Scale
    panel: Panel
    verdicts: Mapping[str, Mapping[str, Hashable]]
    n_tied: Mapping[str, int]

    @classmethod
    def of(cls, p: Prepared, scale: Scale) -> Self:
        """Collect them on a scale."""
        rng, items = p.rng(), p.human.items
        verdicts, n_tied = {}, {}
        for table in p.judges:
            values, n_tied[table.name] = _verdicts(scale, table, rng)
            verdicts[table.name] = dict(zip(items, values, strict=True))
        return cls(p, scale, _panel(p, scale, items), verdicts, n_tied)

    def __repr__(self) -> str:
        return f"Annotators({self.panel!r}, {len(self.verdicts)} judges)"

    def tests(
        self, design: AltTestDesign, *, among: Collection[str] | None = None
    ) -> dict[str, AltTest]:
        """Test all judges on the same resamples.

        ``among`` names the items to keep; by default all.
        """
        panel, groups = self.panel, self.p.groups
        if among is not None:
            kept = [i for i, item in enumerate(panel.items) if item in among]
            panel = _panel(self.p, self.scale, tuple(panel.items[i] for i in kept))
            groups = None if groups is None else [groups[i] for i in kept]
        return annotator_tests(
            panel, self.verdicts, design, resampling=self.p.resampling(groups=groups)
        )


def values_of(scale: Scale) -> dict[str, str | float]:
    """Return what each option stands for: a number on an ordered scale, else its key."""
    if scale.numbers is None:
        return {option: option for option in scale.options}
    return dict(zip(scale.options, scale.numbers.tolist(), strict=True))


def _panel(p: Prepared, scale: Scale, items: Sequence[str]) -> Panel:
    value, here = values_of(scale), set(items)
    return Panel.of(
        (
            (one.item, one.rater, value[one.value])
            for one in p.task.ratings
            if one.item in here and isinstance(one.value, str) and one.value != CANNOT_ASSESS
        ),
        items=items,
        rater_ids=p.task.rater_ids,
    )


def _verdicts(
    scale: Scale, table: RatingTable, rng: np.random.Generator
) -> tuple[list[str | float | None], int]:
    counts = scale.counts(table)
    if scale.numbers is not None:
        middle = medians(counts, scale.numbers).tolist()
        return [None if math.isnan(one) else one for one in middle], 0
    place, n_tied = drawn_modes(counts, rng)
    return [None if math.isnan(k) else scale.options[int(k)] for k in place.tolist()], n_tied
