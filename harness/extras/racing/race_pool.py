"""Pool of items for a race, and the judges' losses so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.ratings import human_table, judge_table
from harness.errors import RunError, TaskError
from harness.extras.racing.race_options import loss_of
from harness.judging.computed_verdicts import computed_verdicts
from harness.judging.judge_spec import ENSEMBLE
from harness.options.concerns import WITHIN
from harness.runs.asked_items import items_of
from harness.stats.racing.betting import Draws, draw_order
from harness.stats.racing.losses import UNANSWERED, loss_table
from harness.stats.racing.race import RaceDesign, advance, start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from harness.extras.racing.race_options import Loss
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.runs.run_folder import RunConfig
    from harness.stats.data.arrays import FloatArray
    from harness.stats.racing.losses import LossTable
    from harness.stats.racing.race import Standing
    from harness.tasks import Item, Task


@dataclass(frozen=True, slots=True)
class RacePool:
    """Judges and items of a race. The items are in the order in which they are drawn.

    The task, the judges and the run's options determine the pool.

    Attributes
    ----------
    specs : tuple of JudgeSpec
        The J judges, with ensembles after their members.
    items : tuple of Item
        The n rated items in the order of the draws. Items of a group are adjacent.
    ends : (U,) array of int
        Number of items in the first units. A unit is an item, or a group that is drawn whole.
    table : LossTable
        Loss of every answer on each item.
    design : RaceDesign
        Units, margin and error rate.
    n_replies : dict of str to int
        Replies per item for each judge. Ensembles have none.
    n_unrated : int
        Unrated items of the run.
    is_grouped : bool
        Whether units are groups.
    """

    task: Task
    specs: tuple[JudgeSpec, ...]
    items: tuple[Item, ...]
    ends: FloatArray
    loss: Loss
    table: LossTable
    design: RaceDesign
    n_replies: dict[str, int]
    n_unrated: int
    is_grouped: bool

    def n_items(self, n_units: int) -> int:
        """Return the number of items in the first ``n_units`` units."""
        return int(self.ends[n_units - 1]) if n_units else 0

    def n_items_for(self, standing: Standing) -> dict[str, int]:
        """Return, for each judge, the number of leading items that need its replies.

        An ensemble needs its members' replies.
        """
        needed = {
            spec.name: self.n_items(int(n_units))
            for spec, n_units in zip(self.specs, standing.n_asked, strict=True)
        }
        for spec in self.specs:
            for member in spec.members:
                needed[member] = max(needed[member], needed[spec.name])
        return {spec.name: needed[spec.name] for spec in self.specs if spec.kind != ENSEMBLE}

    def losses_on(
        self,
        rows: slice,
        replies: Mapping[str, Sequence[Verdict]],
        dropped: AbstractSet[str] = frozenset(),
    ) -> FloatArray:
        """Return each judge's losses on some items.

        Parameters
        ----------
        rows : slice
            Indices of the items.
        replies : mapping of str to sequence of Verdict
            Verdicts of each judge on these items, and on items that its strategy adds. Other
            verdicts are ignored.
        dropped : set of str
            Judges without more replies. Their missing replies have a loss of 1.

        Returns
        -------
        losses : (J, r) array in [0, 1]
            Mean over the replies to an item. A reply without a usable answer has a loss of 1. nan
            if a reply is missing.
        """
        items = self.items[rows]
        table = self.table.values[rows]
        verdicts = computed_verdicts(self.specs, replies, self.task)
        complete = {name: self._are_complete(name, items, replies[name]) for name in self.n_replies}
        losses = np.empty((len(self.specs), len(items)))
        for j, spec in enumerate(self.specs):
            counted = judge_table(self.task, items, spec.name, verdicts[spec.name])
            sets = self.loss.elicitation == "response_set"
            counts = counted.response_set if sets else counted.forced_choice
            n_answers = np.maximum(counts.sum(axis=1), 1.0)
            lost = (counts * table).sum(axis=1) / n_answers
            share = self._answered(verdicts[spec.name], items)
            known = np.all([complete[name] for name in spec.members or [spec.name]], axis=0)
            is_dropped = not dropped.isdisjoint([spec.name, *spec.members])
            unknown = UNANSWERED if is_dropped else np.nan
            losses[j] = np.where(known, share * lost + (1.0 - share) * UNANSWERED, unknown)
        return losses

    def _are_complete(
        self, name: str, items: Sequence[Item], replies: Sequence[Verdict]
    ) -> list[bool]:
        counts = Counter(verdict.item for verdict in replies)
        return [counts[item.id] == self.n_replies[name] for item in items]

    def _answered(self, verdicts: Sequence[Verdict], items: Sequence[Item]) -> FloatArray:
        """Return the share of a judge's verdicts on each item that are answers."""
        n_verdicts = Counter(verdict.item for verdict in verdicts)
        n_answered = Counter(v.item for v in verdicts if v.outcome == "answered")
        return np.array([n_answered[item.id] / max(n_verdicts[item.id], 1) for item in items])

    def by_unit(self, losses: FloatArray) -> FloatArray:
        """Sum a (J, n) array of losses over each unit's items, and return a (J, U) array."""
        starts = np.concatenate([[0], self.ends[:-1]]).astype(np.int64)
        return np.asarray(np.add.reduceat(losses, starts, axis=1))

    def standings(self, losses: FloatArray, standing: Standing | None = None) -> Iterator[Standing]:
        """Yield the race's state before each decision, and the last known state.

        Parameters
        ----------
        losses : (J, n) array
            Losses on the items, or nan if unknown.
        standing : Standing, optional
            State to begin with. By default, the start of the race.
        """
        standing = standing or start(self.design)
        by_unit = self.by_unit(losses)
        yield standing
        while standing.ending is None:
            counts = enumerate(standing.n_asked)
            if any(np.isnan(by_unit[judge, :count]).any() for judge, count in counts):
                return
            standing = advance(self.design, standing, by_unit)
            yield standing


def pool_of(task: Task, specs: tuple[JudgeSpec, ...], config: RunConfig) -> RacePool:
    """Build the pool of items and judges for a race.

    Raises
    ------
    RunError
        If fewer than two judges race.
    TaskError
        If no item was rated.
    """
    if len(specs) < 2:  # noqa: PLR2004 -- a race has two or more runners
        raise RunError(
            f"a race needs two judges or more, but found {len(specs)}. Pass more judges, or "
            "leave out --race."
        )
    loss = loss_of(task, config.choices)
    of_run = items_of(task, config)
    human = human_table(task, of_run)
    is_set = loss.elicitation == "response_set"
    counts = human.response_set if is_set else human.forced_choice
    rated = np.flatnonzero(counts.sum(axis=1) > 0)
    if not len(rated):
        raise TaskError(
            f"task {task.name}: no item in this run has a rating of the kind {loss.elicitation}, "
            "which this race compares judges with."
        )
    rows = [of_run[i] for i in rated]
    membership = task.space.membership.astype(np.float64) if is_set else None
    by_item = loss_table(loss.name, counts[rated], membership)
    units = _units(rows)
    ranges = np.array([by_item.ranges[unit].sum() for unit in units])
    order = draw_order(ranges, np.random.default_rng(config.seed))
    drawn = np.array(list(chain.from_iterable(units[u] for u in order)))
    sizes = np.array([len(units[u]) for u in order], dtype=np.float64)
    alpha = 0.05 if config.choices.confidence is None else 1.0 - config.choices.confidence
    return RacePool(
        task=task,
        specs=specs,
        items=tuple(rows[i] for i in drawn),
        ends=np.cumsum(sizes),
        loss=loss,
        table=loss_table(loss.name, counts[rated][drawn], membership),
        design=RaceDesign(
            Draws(ranges[order], sizes),
            len(specs),
            within=WITHIN if config.within is None else config.within,
            alpha=alpha,
        ),
        n_replies={
            spec.name: spec.n_samples(config.samples)
            * spec.asking.replies_per_verdict(len(task.options))
            for spec in specs
            if spec.kind != ENSEMBLE
        },
        n_unrated=len(of_run) - len(rated),
        is_grouped=len(units) < len(rows),
    )


def _units(items: Sequence[Item]) -> list[list[int]]:
    """Return the indices of each group's items. An item without a group is a group of one."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, item in enumerate(items):
        key = ("item", item.id) if item.group is None else ("group", item.group)
        groups.setdefault(key, []).append(i)
    return list(groups.values())
