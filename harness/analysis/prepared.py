"""What all estimates of a source share: tables, common items, resamples and groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.inputs import Settings, Source
from harness.analysis.judge_costs import cost_of
from harness.stats import Metric, Resampling, find_metric
from harness.stats.selection.replies import CommonItems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.analysis.inputs import HumanSets
    from harness.stats import Distributions, Estimate, Evaluation, RatingTable
    from harness.stats.data.arrays import FloatArray
    from harness.stats.indeterminacy.modelled import ModelledDecisions
    from harness.stats.selection.footing import Footing
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.tasks import Task


EQUAL_DIGITS = 12  # losses that agree to so many decimals are equal
REPEATED_CELLS = 8_000_000  # items times judges times resamples that repeat an estimation


REPEATED_RESAMPLES = (100, 400)  # at least and at most


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Compared:
    """Tables that the metrics compare: as counted, with mode and level applied.

    Attributes
    ----------
    human : RatingTable
        The raters.
    judges : tuple of RatingTable
        Over the same items.
    positive : tuple of str
        The positive options of these tables.
    rows : tuple of Metric
        The metrics.
    groups : list of str or None, or None
        The cluster of each item; None where items are resampled one by one.
    criteria : list of str or None
        The criterion of each item where metrics are averages over criteria.
    weights : (n,) array or None
        How often each item counts, where items were sampled with unequal probabilities.
    """

    human: RatingTable
    judges: tuple[RatingTable, ...]
    positive: tuple[str, ...]
    rows: tuple[Metric, ...]
    groups: list[str | None] | None
    criteria: list[str] | None
    weights: FloatArray | None

    def __repr__(self) -> str:
        return f"Compared({self.human!r}, {len(self.judges)} judges, {len(self.rows)} metrics)"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Prepared:
    """Ratings and verdicts as counts, evaluated.

    Attributes
    ----------
    source : Source
        Task, verdicts and settings.
    human : RatingTable
        What the raters answered; its items are those of ``source``, in their order.
    judges : tuple of RatingTable
        What each judge answered, in the order of ``source.judges``.
    compared : Compared
        What the evaluation compares in their place.
    metric : str
        The metric that ranks.
    footing : Footing or None
        The judges compared by it; None without judges.
    order : tuple of str
        The ranked judges, best first; none where they are not compared with one another.
    common : dict of str to CommonItems
        By elicitation, the items and the replies per item at which judges are compared.
    evaluation : Evaluation
        Every metric of the ranked judges there, and the bootstrap they share.
    estimates : dict of str to dict of str to Estimate
        Every metric of every judge there, by judge and metric. The one that ranks is that of the
        footing, if judges are compared with one another.
    own : Evaluation
        The metric that ranks, of each judge on its own items and at its own replies; beta and F;
        the raters' agreement.
    groups : list of str or None, or None
        The cluster of each item; None where items are resampled one by one.
    sets : HumanSets
        Where the response sets of the raters come from.
    implied : Distributions or None
        What they are supposed to be, where they are reconstructed or beta is assumed.
    panel : RaterPanel or None
        Who gave which rating; None where raters are not named, and where abstentions are recoded,
        criteria averaged, or items weighted.
    modelled : ModelledDecisions or None
        Decisions at the cut-off by a model of the raters' sets, where that is asked for.
    """

    source: Source
    human: RatingTable
    judges: tuple[RatingTable, ...]
    compared: Compared
    metric: str
    footing: Footing | None
    order: tuple[str, ...]
    common: dict[str, CommonItems]
    evaluation: Evaluation
    estimates: Mapping[str, Mapping[str, Estimate]]
    own: Evaluation
    groups: list[str | None] | None
    sets: HumanSets
    implied: Distributions | None
    panel: RaterPanel | None
    modelled: ModelledDecisions | None = None

    def __repr__(self) -> str:
        return f"Prepared({self.human!r}, {len(self.judges)} judges)"

    @property
    def task(self) -> Task:
        """The task that was rated."""
        return self.source.task

    @property
    def settings(self) -> Settings:
        """The settings of the source."""
        return self.source.settings

    @property
    def tau(self) -> float:
        """The cut-off."""
        return self.source.cutoff

    @property
    def row(self) -> Metric:
        """The metric that ranks."""
        return find_metric(self.metric, self.compared.rows)

    def on_common_items(self, tables: Iterable[RatingTable]) -> tuple[RatingTable, ...]:
        """Leave in tables of judges, over the items of the source, what judges are compared by.

        One that is not compared keeps nothing.
        """
        common = self.common
        if self.source.settings.level == "item":
            place = {item: i for i, item in enumerate(self.compared.human.items)}
            rows = [place[item.group or ""] for item in self.source.items]
            common = {
                name: replace(items, shared=items.shared[rows]) for name, items in common.items()
            }
        return tuple(on_common_items(table, common) for table in tables)

    def ranked_tables(self) -> tuple[RatingTable, ...]:
        """Return the tables of the ranked judges, on the items on which they are compared."""
        ranked = self.footing.judges if self.footing else ()
        tables = (table for table in self.compared.judges if table.name in ranked)
        return tuple(on_common_items(table, self.common) for table in tables)

    def rng(self) -> np.random.Generator:
        """Return a new generator with the run's seed."""
        return np.random.default_rng(self.source.settings.seed)

    def resampling(self, *, groups: Sequence[str | None] | None = None) -> Resampling:
        """Return how intervals are made, of groups where there are any, from the run's seed."""
        return resampling_of(self.source, groups)

    def affordable_resampling(self) -> Resampling:
        """Return fewer resamples than asked for where each repeats a whole estimation."""
        return affordable_resampling(self.source, self.compared)


def order_of(source: Source, footing: Footing) -> tuple[str, ...]:
    """Order ranked judges by the metric; equal ones by what they answered, then by their price."""
    losses = dict(zip(footing.judges, footing.metric.losses(footing.values).tolist(), strict=True))
    fractions = footing.items.answered_fraction.tolist()
    answered = dict(zip((judge.name for judge in source.judges), fractions, strict=True))
    verdicts, replies = source.verdicts, source.replies_voted_on

    def price(name: str) -> float:
        usd = cost_of(verdicts[name], replies.get(name)).usd_per_answered
        return inf if usd is None else usd

    keys = {
        name: (
            not isfinite(loss),
            round(loss, EQUAL_DIGITS) if isfinite(loss) else 0.0,
            -answered[name],
        )
        for name, loss in losses.items()
    }
    times = Counter(keys.values())
    prices = {name: price(name) if times[key] > 1 else 0.0 for name, key in keys.items()}
    return tuple(sorted(footing.judges, key=lambda name: (keys[name], prices[name])))


def affordable_resampling(source: Source, compared: Compared) -> Resampling:
    """Return fewer resamples than asked for where each repeats a whole estimation."""
    cells = max(len(compared.human.items) * len(compared.judges), 1)
    most = int(np.clip(REPEATED_CELLS // cells, *REPEATED_RESAMPLES))
    resampling = resampling_of(source, groups_of(source))
    return replace(resampling, n_resamples=min(source.settings.n_resamples, most))


def resampling_of(source: Source, groups: Sequence[str | None] | None) -> Resampling:
    """Return how intervals are made, from the seed of a run."""
    return Resampling(
        rng=np.random.default_rng(source.settings.seed),
        groups=groups,
        n_resamples=source.settings.n_resamples,
        level=source.settings.confidence,
    )


def on_common_items(table: RatingTable, common: Mapping[str, CommonItems]) -> RatingTable:
    """Leave out a judge's response sets and choices on items on which it is not compared."""
    kept = {name: items.items_of(table.name)[:, None] for name, items in common.items()}
    return replace(
        table,
        forced_choice=table.forced_choice * kept.get("forced_choice", True),
        response_set=table.response_set * kept.get("response_set", True),
    )


def groups_of(source: Source) -> list[str | None] | None:
    """Return the group of each item; None where there is none."""
    groups = [item.group for item in source.items]
    return groups if any(group is not None for group in groups) else None
