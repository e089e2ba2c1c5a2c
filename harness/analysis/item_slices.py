"""Compare a judge's agreement with the raters between a slice of items and the other items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from harness.analysis.estimates import compares_sets, is_identified
from harness.analysis.option_scale import OptionScale
from harness.analysis.sliced_fields import FieldKind, SlicedField, by_value
from harness.stats import Estimate, Interval, default_strata, find_metric
from harness.stats.data.arrays import ratio, row_shares
from harness.stats.data.forms import ELICITATION_OF, Cut
from harness.stats.inference.bootstrap import ResampledUnit
from harness.stats.inference.estimate import TOO_FEW
from harness.stats.inference.interval_methods import MIN_UNITS
from harness.stats.inference.metric import SHARE
from harness.stats.reasons import Reason
from harness.stats.selection.judge_scoring import Scoring
from harness.stats.selection.replies import counts_of, replies_of
from harness.stats.selection.share_agreeing import SHARE_AGREEING
from harness.stats.subsets.slices import SliceMeans, slice_means, worst_slice
from harness.stats.subsets.strata import members_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.analysis.inputs import Source
    from harness.analysis.prepared import Prepared
    from harness.stats import Metric, RatingTable, Resampling
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.inference.bootstrap import Units
    from harness.stats.selection.replies import CommonItems
    from harness.tasks import Item, Task

SlicedMeasure: TypeAlias = Literal[
    "agreement",
    "distance",
    "similarity",
    "disagreement",
    "consistency",
    "answered_fraction",
    "signed_error",
]
ComparedMeasure: TypeAlias = Literal["agreement", "distance", "similarity"]

BY_CONSTRUCTION: tuple[FieldKind, ...] = ("certainty", "criterion", "position")
CERTAINTIES = {  # names of slices, by stratum
    "PA = 1": "all",
    "0.8 <= PA < 1": "80% to all",
    "0.6 <= PA < 0.8": "60% to 80%",
    "PA < 0.6": "below 60%",
}
MATCHES = ("decision_consistency", "hit_rate(h/h)")  # the first defined one is `consistency`


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOfSlices:
    """A field that divides the items into slices.

    Attributes
    ----------
    name : str
        Name of the field.
    kind : str
        Kind of the field, as in `SlicedField`.
    n_values : int
        Slices of the field.
    n_pooled : int
        Rare values that the last slice pools.
    n_without : int
        Items without a value.
    """

    name: str
    kind: FieldKind
    n_values: int
    n_pooled: int
    n_without: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceMeasure:
    """One measure in a slice and on the other items.

    Attributes
    ----------
    value : Estimate
        Value in the slice.
    rest : float or None
        Value on the other items.
    difference : Estimate
        Value minus rest.
    """

    value: Estimate
    rest: float | None
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSlice:
    """One judge's results in one slice.

    Attributes
    ----------
    field, value : str
        Field and value that the slice's items share.
    n_items : int
        Items in the slice, with or without an answer.
    measures : dict of str to SliceMeasure
        ``agreement`` with a different rater's answer. On a scale of numbers, the ``distance`` from
        the mean of all raters but one. On a scale of texts, the ``similarity`` to the raters'
        texts. ``disagreement`` by the metric that ranks, ``consistency`` (share of decisions or
        answers that match the raters'), ``answered_fraction``, and ``signed_error`` (mean answer
        minus the raters', or share of positive answers minus theirs).
    human : SliceMeasure or None
        The same measure for one rater, on the same items.
    beyond_human : Estimate or None
        The judge's difference between slice and rest, minus a rater's.
    """

    field: str
    value: str
    n_items: int
    measures: dict[SlicedMeasure, SliceMeasure]
    human: SliceMeasure | None
    beyond_human: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicedJudge:
    """One judge's results in every slice.

    Attributes
    ----------
    rows : tuple of JudgeSlice
        Slices in the order of the fields and their values.
    worst : int or None
        Index of the slice where the judge is shown to agree less (or be further from the raters)
        than on the other items, and by more than raters do. If there are several, the one with the
        largest difference. Slices by certainty, criterion and position don't count, because they
        are worse by construction.
    """

    judge: str
    rows: tuple[JudgeSlice, ...]
    worst: int | None

    @property
    def worst_row(self) -> JudgeSlice | None:
        """The slice in which the judge does worst, or None."""
        return None if self.worst is None else self.rows[self.worst]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Results of ranked judges in every slice, on the items that the ranking compares.

    Attributes
    ----------
    fields : tuple of FieldOfSlices
        Fields that the slices come from.
    n_slices : int
        Slices that are examined together. For each measure, at the run's confidence, the intervals
        of the values cover all slices' values at once, and the intervals of the differences cover
        all differences.
    unit : str
        The independent unit: items, or groups of items. Intervals are for these raters.
    compared : {"agreement", "distance", "similarity"}
        The measure by which a judge is compared with raters.
    """

    fields: tuple[FieldOfSlices, ...]
    n_slices: int
    unit: ResampledUnit
    judges: tuple[SlicedJudge, ...]
    compared: ComparedMeasure = "agreement"

    def of(self, judge: str) -> SlicedJudge | None:
        """Return a judge's results by slice, or None if the judge is not ranked."""
        return next((row for row in self.judges if row.judge == judge), None)


def section(p: Prepared, fields: Sequence[SlicedField]) -> Slices | None:
    """Compare ranked judges between each slice and the other items.

    Return None without ranked judges. ``fields`` are the items' fields.
    """
    is_ranked = p.footing is not None and bool(p.footing.judges)
    if not is_ranked or p.settings.level == "item":  # at level item, items are groups
        return None
    assert p.footing is not None, "judges are ranked"
    slices = slices_of_items(fields, p.task, p.source.items, p.human)
    slicing = Slicing.of(slices, p.source, p.resampling(groups=p.groups))
    measured = _OptionMeasures(p)
    return slicing.slices(
        (table.name, measured.sides(table), dict(measured.others(table)))
        for table in p.compared.judges
        if table.name in p.footing.judges
    )


def slices_of_items(
    fields: Sequence[SlicedField], task: Task, items: Sequence[Item], human: RatingTable
) -> tuple[SlicedField, ...]:
    """Return the items' fields and the fields whose slices can differ by construction."""
    others = certainty_field(human), criterion_field(items), _position(task, human)
    return (*fields, *(field for field in others if field is not None))


def certainty_field(human: RatingTable) -> SlicedField | None:
    """Divide items by the share of raters who gave the most common answer."""
    strata = [s for s in default_strata(1, ordinal=False) if s.name in CERTAINTIES]
    inside = members_of(strata, human.forced_choice)
    names = np.array(["", *(CERTAINTIES[stratum.name] for stratum in strata)])
    place = (np.array(inside) * np.arange(1, len(strata) + 1)[:, None]).sum(axis=0)
    return by_value("raters who agree", "certainty", names[place].tolist())


def criterion_field(items: Sequence[Item]) -> SlicedField | None:
    """Divide items by criterion."""
    return by_value("criterion", "criterion", [item.criterion or "" for item in items])


def _position(task: Task, human: RatingTable) -> SlicedField | None:
    """Divide pairs of answers by the answer that most raters prefer."""
    if task.pairwise is None:
        return None
    options, pair = task.space.options, task.pairwise
    columns = [options.index(pair.first), options.index(pair.second)]
    first, second = human.forced_choice[:, columns].T
    names = np.select(
        [first > second, first < second], ["first answer", "second answer"], "neither"
    )
    rated = human.forced_choice.any(axis=1)
    return by_value("preferred by raters", "position", np.where(rated, names, "").tolist())


def _field_facts(field: SlicedField) -> FieldOfSlices:
    return FieldOfSlices(
        name=field.name,
        kind=field.kind,
        n_values=len(field.values),
        n_pooled=field.n_pooled,
        n_without=int((field.of_item < 0).sum()),
    )


class ItemValues(NamedTuple):
    """Values of a measure per item. An item that does not count has nan."""

    values: FloatArray
    bounds: tuple[float, float]
    weights: FloatArray | None

    @property
    def is_defined(self) -> bool:
        """Whether at least one item counts."""
        return not bool(np.isnan(self.values).all())


class Sides(NamedTuple):
    """Values of the compared measure for a judge and for one rater, and their difference."""

    judge: ItemValues
    human: ItemValues
    beyond: ItemValues


class Slicing(NamedTuple):
    """Slices and resampling settings shared by all judges."""

    fields: tuple[SlicedField, ...]
    members: BoolArray  # (F, n)
    units: Units
    level: float
    seed: int
    compared: ComparedMeasure

    @classmethod
    def of(
        cls,
        fields: tuple[SlicedField, ...],
        source: Source,
        resampling: Resampling,
        compared: ComparedMeasure = "agreement",
    ) -> Self:
        """Build slices from a source's items."""
        members = np.vstack([field.members for field in fields])
        units, settings = resampling.units(len(source.items)), source.settings
        return cls(fields, members, units, settings.confidence, settings.seed, compared)

    def slices(
        self, judges: Iterable[tuple[str, Sides | None, dict[SlicedMeasure, ItemValues]]]
    ) -> Slices:
        """Compare the given judges between each slice and the other items.

        A judge is a name, its values of the compared measure, and its values of other measures.
        """
        return Slices(
            fields=tuple(map(_field_facts, self.fields)),
            n_slices=len(self.members),
            unit=self.units.kind,
            judges=tuple(self.judge(*judge) for judge in judges),
            compared=self.compared,
        )

    def judge(
        self, name: str, sides: Sides | None, others: dict[SlicedMeasure, ItemValues]
    ) -> SlicedJudge:
        """Return one judge's results in every slice."""
        means: dict[SlicedMeasure, SliceMeans] = {}
        human = beyond = None
        if sides is not None:
            means[self.compared], human, beyond = map(self.means, sides)
        means |= {measure: self.means(of_items) for measure, of_items in others.items()}
        rows = tuple(self.rows(means, human, beyond))
        eligible = np.repeat(
            [field.kind not in BY_CONSTRUCTION for field in self.fields],
            [len(field.values) for field in self.fields],
        )
        worst = None
        if beyond is not None:
            worst = worst_slice(
                means[self.compared], beyond, eligible, less_is_worse=self.compared != "distance"
            )
        return SlicedJudge(judge=name, rows=rows, worst=worst)

    def rows(
        self,
        means: dict[SlicedMeasure, SliceMeans],
        human: SliceMeans | None,
        beyond: SliceMeans | None,
    ) -> Iterator[JudgeSlice]:
        """Yield a judge's results in each slice."""
        names = [(field.name, value) for field in self.fields for value in field.values]
        n_items = self.members.sum(axis=1).tolist()
        for f, (field, value) in enumerate(names):
            yield JudgeSlice(
                field=field,
                value=value,
                n_items=n_items[f],
                measures={name: self.measure(of, f) for name, of in means.items()},
                human=None if human is None else self.measure(human, f),
                beyond_human=None if beyond is None else self.measure(beyond, f).difference,
            )

    def means(self, of_items: ItemValues) -> SliceMeans:
        """Return a measure's means in all slices."""
        return slice_means(
            of_items.values,
            self.members,
            units=self.units.of_item,
            level=self.level,
            bounds=of_items.bounds,
            rng=np.random.default_rng(self.seed),
            weights=of_items.weights,
        )

    def measure(self, means: SliceMeans, f: int) -> SliceMeasure:
        """Return one measure's results in one slice."""
        n = int(means.n_items[f])
        value, gap = float(means.mean[f]), float(means.gap[f])
        return SliceMeasure(
            value=self.estimate(value, (means.low[f], means.high[f]), n),
            rest=None if np.isnan(means.rest[f]) else float(means.rest[f]),
            difference=self.estimate(gap, (means.gap_low[f], means.gap_high[f]), n),
        )

    def estimate(self, value: float, ends: tuple[float, float], n: int) -> Estimate:
        """Return a number with its interval, or with the reason that it has none."""
        if np.isnan(value):
            return Estimate(value=None, reason="no_items" if not n else "no_overlap", n_used=n)
        if np.isnan(ends).any():
            few: Reason = TOO_FEW[self.units.kind] if n < MIN_UNITS else "no_variance"
            return Estimate(value=value, interval_reason=few, n_used=n)
        level, unit = self.level, self.units.kind
        interval = Interval(float(ends[0]), float(ends[1]), level, "simultaneous", unit)
        return Estimate(value=value, interval=interval, n_used=n)


class _OptionMeasures(NamedTuple):
    """Measures per item for judges that choose among options."""

    p: Prepared

    def others(self, table: RatingTable) -> Iterator[tuple[SlicedMeasure, ItemValues]]:
        """Yield the defined measures with their values per item."""
        assert self.p.footing is not None
        if (ranks := self.of_metric(self.p.footing.metric, table)) is not None:
            yield "disagreement", ranks
        if (matches := self.matches(table)) is not None:
            yield "consistency", matches
        yield "answered_fraction", self.answered(table)
        if (errors := self.signed_errors(table)) is not None:
            yield "signed_error", errors

    def sides(self, table: RatingTable) -> Sides | None:
        """Return the agreement with a different rater, for the judge and for one rater.

        Include the difference. Return None for a judge that is not compared.
        """
        common = self.p.common.get("forced_choice")
        if common is None or table.name not in common.judges:
            return None
        scoring = self.scoring(SHARE_AGREEING, common)
        replies = replies_of(table, SHARE_AGREEING.judge_form)
        sides = scoring.one_human_by_kind(replies, common.shared & replies.answered(1.0))
        if not sides.used.any():
            return None
        judge, human = (
            np.where(sides.used, side[:, 0], np.nan) for side in (sides.judge, sides.human)
        )
        return Sides(
            ItemValues(judge, SHARE, scoring.weights),
            ItemValues(human, SHARE, scoring.weights),
            ItemValues(judge - human, (-1.0, 1.0), scoring.weights),
        )

    def of_metric(self, metric: Metric, table: RatingTable) -> ItemValues | None:
        """Return a metric's value per item, or None if it is not a mean over compared items."""
        common = self.p.common.get(ELICITATION_OF[metric.judge_form])
        if common is None or table.name not in common.judges or not metric.is_item_mean:
            return None
        scoring = self.scoring(metric, common)
        replies = replies_of(table, metric.judge_form)
        totals = scoring.sums(replies, common.shared, common.n_replies)
        return ItemValues(ratio(totals[:, 0], totals[:, 1]), metric.bounds, scoring.weights)

    def scoring(self, metric: Metric, common: CommonItems) -> Scoring:
        """Bind a metric to the ratings for scoring replies, as in the comparison of judges."""
        compared = self.p.compared
        scoring = Scoring.of(
            compared.human,
            metric,
            Cut(self.p.tau, compared.positive),
            implied=self.p.implied if compares_sets(metric) else None,
            weights=compared.weights,
        )
        if compared.criteria is None:
            return scoring
        return scoring.counting_criteria_alike(compared.criteria, common.shared)

    def matches(self, table: RatingTable) -> ItemValues | None:
        """Return whether each decision matches the raters'. Without decisions, compare answers."""
        metrics = (find_metric(name, self.p.compared.rows) for name in self.matching)
        of_items = (self.of_metric(metric, table) for metric in metrics)
        return next((values for values in of_items if values and values.is_defined), None)

    @property
    def matching(self) -> list[str]:
        """Return metrics for a judge's agreement with the raters, in order of preference."""
        rows = (row for row in self.p.compared.rows if is_identified(row, self.p.sets))
        names = {row.name for row in rows}
        return [name for name in MATCHES if name in names]

    def answered(self, table: RatingTable) -> ItemValues:
        """Return for each rated item whether the judge gave enough answers to be compared."""
        footing, common = self.p.footing, self.p.compared
        assert footing is not None
        metric = footing.metric
        replies = replies_of(table, metric.judge_form)
        rated = counts_of(common.human, metric.human_form).any(axis=1)
        answered = replies.answered(footing.n_replies).astype(np.float64)
        return ItemValues(np.where(rated, answered, np.nan), SHARE, common.weights)

    def signed_errors(self, table: RatingTable) -> ItemValues | None:
        """Return the judge's mean answer minus the raters', as numbers or positive shares."""
        common = self.p.common.get("forced_choice")
        numbers = self.numbers()
        if numbers is None or common is None or table.name not in common.judges:
            return None
        human, judge = (
            row_shares(np.asarray(side.forced_choice, dtype=np.float64)) @ numbers
            for side in (self.p.compared.human, table)
        )
        width = float(numbers.max() - numbers.min())
        errors = np.where(common.shared, judge - human, np.nan)
        return ItemValues(errors, (-width, width), self.p.compared.weights)

    def numbers(self) -> FloatArray | None:
        """Return the options' numbers on ordinal scales, and 1 (positive) or 0 on other scales."""
        options, task = self.p.compared.human.space.options, self.p.task
        if self.p.settings.mode != "third_class" and task.scale == "ordinal":
            scale = OptionScale.of(task)
            assert scale.numbers is not None, "an ordinal scale has numbers"
            of_option = dict(zip(scale.options, scale.numbers.tolist(), strict=True))
            return np.array([of_option[option] for option in options])
        positive = self.p.compared.positive
        return np.array([float(option in positive) for option in options]) if positive else None
