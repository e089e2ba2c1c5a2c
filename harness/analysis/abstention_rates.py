"""Test whether a judge's abstention rate or unreadable rate differs between groups of items.

Rao and Callison-Burch 2026, section 8: by difficulty, criterion and way of asking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.analysis.item_slices import certainty_field, criterion_field
from harness.analysis.sliced_fields import SlicedField, length_field
from harness.stats import Estimate, Interval
from harness.stats.data.rating_table import ELICITATIONS, OUTCOMES
from harness.stats.inference.bootstrap import ResampledUnit
from harness.stats.inference.estimate import TOO_FEW
from harness.stats.inference.metric import SHARE
from harness.stats.subsets.permutation import permutation_p
from harness.stats.subsets.slices import SliceMeans, slice_means

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import RatingTable
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.inference.bootstrap import Units

ABSTAINED, UNREADABLE = OUTCOMES.index("abstained"), OUTCOMES.index("invalid")
ELICITATION = "elicitation"  # the factor whose values share the same items
RECEIVED = [i for i, outcome in enumerate(OUTCOMES) if outcome != "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRow:
    """Abstention and unreadable rates of a judge on the items with one value of a factor.

    Attributes
    ----------
    factor, value : str
        The factor (``raters who agree``, ``criterion``, ``elicitation`` or ``words``) and its
        value.
    n_items : int
        Items with a reply.
    abstained, unreadable : Estimate
        Share of replies, with equal weight for each item. At the run's confidence, the intervals
        cover all values in the judge's table at once.
    """

    factor: str
    value: str
    n_items: int
    abstained: Estimate
    unreadable: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTest:
    """Permutation tests of whether abstention and unreadable rates depend on a factor.

    Attributes
    ----------
    abstained, unreadable : float or None
        p-values; None if there is nothing to permute.
    """

    factor: str
    abstained: float | None
    unreadable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRates:
    """Rates and tests for a judge that has abstentions or unreadable replies."""

    judge: str
    rows: tuple[RateRow, ...]
    tests: tuple[RateTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionRates:
    """Abstention and unreadable rates by factor, for judges with such replies.

    Attributes
    ----------
    unit : str
        The independent unit: items, or groups of items.
    """

    unit: ResampledUnit
    judges: tuple[JudgeRates, ...]


def section(p: Prepared, lost: Sequence[RatingTable]) -> AbstentionRates | None:
    """Compare the rates of judges that abstained or had unreadable replies.

    Return None if no factor divides the items.
    """
    units = p.resampling(groups=p.groups).units(len(p.source.items))
    fields = [
        field
        for field in (
            certainty_field(p.human),
            criterion_field(p.source.items),
            length_field(p.task, p.source.items),
        )
        if field is not None
    ]
    judges = [rates for table in lost if (rates := _judge_rates(p, table, fields, units)).rows]
    return AbstentionRates(unit=units.kind, judges=tuple(judges)) if judges else None


class _Factor(NamedTuple):
    """Factor with its name, its values, and the value's index per row of replies (-1 for none)."""

    name: str
    values: tuple[str, ...]
    of_row: IntArray


class _Replies(NamedTuple):
    """Shares of abstentions and unreadable replies, with a row per item and elicitation."""

    item: IntArray
    elicitation: IntArray
    abstained: FloatArray
    unreadable: FloatArray

    @classmethod
    def of(cls, table: RatingTable) -> _Replies:
        received = table.outcomes[:, :, RECEIVED].sum(axis=2)
        item, elicitation = np.nonzero(received)
        lost = table.outcomes[item, elicitation] / received[item, elicitation, None]
        return cls(item, elicitation, lost[:, ABSTAINED], lost[:, UNREADABLE])

    def factors(self, fields: Sequence[SlicedField]) -> Iterator[_Factor]:
        """Yield the factors of the items, and the elicitations if there are several."""
        for field in fields:
            yield _Factor(field.name, field.values, field.of_item[self.item])
        used, place = np.unique(self.elicitation, return_inverse=True)
        if len(used) > 1:
            names = tuple(ELICITATIONS[k].replace("_", " ") for k in used.tolist())
            yield _Factor(ELICITATION, names, place)


def _judge_rates(
    p: Prepared, table: RatingTable, fields: Sequence[SlicedField], units: Units
) -> JudgeRates:
    replies = _Replies.of(table)
    factors = list(replies.factors(fields))
    shares = (replies.abstained, replies.unreadable)
    if not factors:
        return JudgeRates(judge=table.name, rows=(), tests=())
    members = np.vstack([f.of_row == np.arange(len(f.values))[:, None] for f in factors])
    abstained, unreadable = (
        slice_means(
            values,
            members,
            units=units.of_item[replies.item],
            level=p.settings.confidence,
            bounds=SHARE,
            rng=p.rng(),
        )
        for values in shares
    )
    names = [(factor.name, value) for factor in factors for value in factor.values]
    rows = tuple(
        RateRow(
            factor=name,
            value=value,
            n_items=len(np.unique(replies.item[members[k]])),
            abstained=_estimate(p, abstained, k, units),
            unreadable=_estimate(p, unreadable, k, units),
        )
        for k, (name, value) in enumerate(names)
    )
    tests = tuple(_test(p, factor, replies, units) for factor in factors)
    return JudgeRates(judge=table.name, rows=rows, tests=tests)


def _test(p: Prepared, factor: _Factor, replies: _Replies, units: Units) -> RateTest:
    """Test whether the rates depend on a factor.

    Permute elicitations within items. Permute other labels between items, or between groups of
    items.
    """
    abstained, unreadable, labels = replies.abstained, replies.unreadable, factor.of_row
    blocks = replies.item
    if factor.name != ELICITATION:
        items, first, place = np.unique(replies.item, return_index=True, return_inverse=True)
        rows = np.bincount(place)
        abstained, unreadable = (
            np.bincount(place, weights=of_row) / rows for of_row in (abstained, unreadable)
        )
        labels = labels[first]
        blocks = units.of_item[items] if units.kind == "group" else np.zeros_like(items)
    return RateTest(
        factor=factor.name,
        abstained=permutation_p(abstained, labels, blocks, p.rng()),
        unreadable=permutation_p(unreadable, labels, blocks, p.rng()),
    )


def _estimate(p: Prepared, means: SliceMeans, k: int, units: Units) -> Estimate:
    n, value = int(means.n_items[k]), float(means.mean[k])
    ends = float(means.low[k]), float(means.high[k])
    if np.isnan(value):
        return Estimate(value=None, reason="no_items", n_used=n)
    if np.isnan(ends).any():
        return Estimate(value=value, interval_reason=TOO_FEW[units.kind], n_used=n)
    interval = Interval(*ends, p.settings.confidence, "simultaneous", units.kind)
    return Estimate(value=value, interval=interval, n_used=n)
