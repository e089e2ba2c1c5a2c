"""What is counted in a shard, and added up over shards.

A shard is a folder with ``ratings.parquet`` (columns item, rater, value, optionally group) and
``verdicts.parquet`` (item, judge, value, optionally sample and outcome), or the same as ``.arrow``.
All rows of an item stand in one shard. Each is read in a process of its own with bounded memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.annotator_variants import values_of, values_of_verdicts
from harness.analysis.option_scale import Scale
from harness.analysis.rater_replacement import design_of
from harness.errors import VerdictError
from harness.shards.shard_tables import Columns
from harness.stats.alt_test.panel import UNANSWERED, Coded, Panel
from harness.stats.alt_test.rater_comparisons import RaterComparisons, ScoredPanel
from harness.stats.data.arrays import TOLERANCE, Kinds
from harness.stats.data.rating_table import OUTCOMES
from harness.stats.selection.block_footing import PairCounts
from harness.stats.selection.block_sums import N_BLOCKS, BlockCounts, Choices
from harness.stats.selection.replies import MIN_ANSWERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.tasks import Task

MEMORY_BYTES = 2 << 30  # of a worker, beside what it has when it starts
MOST_CROSSED = 100  # raters up to which their choices are counted by kind of item


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which judges are ranked, on the items that each of them answered so often.

    Attributes
    ----------
    judges : frozenset of str
        Those that answered enough items.
    n_replies : int
        Replies per item, at which they are compared.
    """

    judges: frozenset[str]
    n_replies: int = 1


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ShardCounts:
    """What is added up over shards.

    Attributes
    ----------
    n_items : int
        Items with ratings.
    n_foreign : int
        Verdicts on other items, which are left out.
    is_grouped : bool
        Whether any item is in a group.
    raters : tuple of str
        Those who chose an option, sorted.
    others : frozenset of str
        Raters who only abstained.
    outcomes : dict of str to (5,) int array
        Verdicts of each judge by `OUTCOMES`.
    samples : dict of str to frozenset of str
        The samples of each judge.
    judges : dict of str to BlockCounts
        Over the items with ratings.
    comparison : Comparison
        What ``shared`` was counted for.
    shared : dict of str to BlockCounts
        Of ranked judges, over the items on which they are compared.
    pairs : dict of (str, str) to PairCounts
        Of any two of them, over the same items.
    against : dict of str to RaterComparisons
        Each judge against each rater, by blocks of items; empty where raters are not named.
    n_tied : dict of str to int
        Items on which the value of a judge was drawn among several modes.
    """

    n_items: int
    n_foreign: int
    is_grouped: bool
    raters: tuple[str, ...]
    others: frozenset[str]
    outcomes: dict[str, IntArray]
    samples: dict[str, frozenset[str]]
    judges: dict[str, BlockCounts]
    comparison: Comparison
    shared: dict[str, BlockCounts]
    pairs: dict[tuple[str, str], PairCounts]
    against: dict[str, RaterComparisons]
    n_tied: dict[str, int]

    def __repr__(self) -> str:
        return f"ShardCounts({self.n_items} items, {len(self.judges)} judges)"

    @classmethod
    def merged(cls, parts: Sequence[ShardCounts]) -> ShardCounts:
        """Add up shards, in any order.

        Raises
        ------
        VerdictError
            If they do not hold the same judges.
        """
        names = sorted({name for part in parts for name in part.outcomes})
        if any(sorted(part.outcomes) != names for part in parts):
            raise VerdictError("--shards: not every shard has verdicts of every judge; add them.")
        raters = tuple(sorted({rater for part in parts for rater in part.raters}))
        parts = [part.with_raters(raters) for part in parts]
        judges = {name: BlockCounts.merged([part.judges[name] for part in parts]) for name in names}
        shared = {
            name: BlockCounts.merged([part.shared[name] for part in parts])
            for name in parts[0].shared
        }
        return cls(
            n_items=sum(part.n_items for part in parts),
            n_foreign=sum(part.n_foreign for part in parts),
            is_grouped=any(part.is_grouped for part in parts),
            raters=raters,
            others=frozenset().union(*(part.others for part in parts)) - set(raters),
            outcomes={
                name: np.sum([part.outcomes[name] for part in parts], axis=0) for name in names
            },
            samples={
                name: frozenset().union(*(part.samples[name] for part in parts)) for name in names
            },
            judges={name: counts for name, (counts, _) in judges.items()},
            comparison=parts[0].comparison,
            shared={name: counts for name, (counts, _) in shared.items()},
            pairs={
                (first, second): PairCounts.merged(
                    [part.pairs[first, second] for part in parts],
                    (shared[first][1], shared[second][1]),
                )
                for first, second in combinations(shared, 2)
            },
            against={
                name: RaterComparisons.merged([part.against[name] for part in parts])
                for name in parts[0].against
            },
            n_tied={name: sum(part.n_tied[name] for part in parts) for name in parts[0].n_tied},
        )

    def with_raters(self, raters: tuple[str, ...]) -> ShardCounts:
        """Return the same counts of a longer list of raters."""
        if raters == self.raters:
            return self
        place = np.searchsorted(raters, self.raters)
        return replace(
            self,
            raters=raters,
            judges={name: c.with_raters(place, _kept(raters)) for name, c in self.judges.items()},
            shared={name: c.with_raters(place, _kept(raters)) for name, c in self.shared.items()},
            against={
                name: replace(compared, rater=place[compared.rater])
                for name, compared in self.against.items()
            },
        )

    @property
    def answered_fraction(self) -> dict[str, float]:
        """Share of the rated items that each judge answered; nan where none was rated."""
        n_replies = self.comparison.n_replies
        return {name: counts.answered_fraction(n_replies) for name, counts in self.judges.items()}

    @property
    def wanted(self) -> Comparison:
        """The judges that answered enough, and the replies that all of them gave."""
        samples = [counts.samples_per_item for counts in self.judges.values()]
        n_replies = int(min(samples, default=1))
        ranked = {
            name
            for name, counts in self.judges.items()
            if counts.answered_fraction(n_replies) >= MIN_ANSWERED - TOLERANCE
        }
        return Comparison(frozenset(ranked), n_replies)


def _kept(raters: Sequence[str]) -> int | None:
    """Return how many raters there are; None where they are too many to count by kind."""
    return len(raters) if len(raters) <= MOST_CROSSED else None


def count_shard(
    folder: Path, task: Task, seed: int = 0, comparison: Comparison | None = None
) -> ShardCounts:
    """Count how the items of a shard were rated.

    Parameters
    ----------
    folder : Path
        The shard.
    task : Task
        Its fields; items and ratings are those of the shard.
    seed : int
        Of the draws among several modes.
    comparison : Comparison, optional
        Of which judges, at how many replies. Default: of all, at one.

    Raises
    ------
    VerdictError
        If a file is missing, lacks a column or cannot be read, a rating is no option, a rating or
        verdict stands twice, or the shard takes more than `MEMORY_BYTES`.
    """
    try:
        shard = _Shard.read(folder, task)
        return _counted(shard, task, seed, comparison or Comparison(frozenset(shard.judges)))
    except MemoryError:
        problem = f"takes more than {MEMORY_BYTES >> 20} MiB of memory"
        raise VerdictError(f"{folder}: {problem}; split the shard.") from None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class _Shard:
    """Ratings and verdicts of n items, as counts (n, K + 5) of options and outcomes."""

    items: list[str]
    blocks: IntArray
    is_grouped: bool
    human: IntArray
    choices: Choices
    raters: tuple[str, ...]
    others: frozenset[str]
    judges: dict[str, IntArray]
    samples: dict[str, frozenset[str]]
    n_foreign: int

    @classmethod
    def read(cls, folder: Path, task: Task) -> _Shard:
        options = tuple(option.key for option in task.options)
        ratings = Columns.read(folder, "ratings", ("item", "rater", "value"))
        verdicts = Columns.read(folder, "verdicts", ("item", "judge", "value"))
        ratings.check_once(folder / "ratings", ("item", "rater"))
        verdicts.check_once(folder / "verdicts", ("item", "judge", "sample"))
        items, of_rating = ratings.codes("item")
        answers = ratings.answers(options)
        human = _answers(of_rating, answers, len(items), len(options))
        if human[:, len(options) + OUTCOMES.index("invalid")].any():
            raise VerdictError(f"{folder}/ratings: a value is no option of the task; correct it.")
        groups = ratings.groups(items, of_rating)
        names, of_rater = ratings.codes("rater")
        chosen = answers < len(options)
        raters = sorted(names[code] for code in np.unique(of_rater[chosen]))
        place = np.searchsorted(raters, names) if raters else np.zeros(len(names), dtype=np.int64)
        return cls(
            items=items,
            blocks=_blocks(groups),
            is_grouped=groups is not items,
            human=human,
            choices=Choices(
                of_rating[chosen], place[of_rater[chosen]], answers[chosen], len(raters)
            ),
            raters=tuple(raters),
            others=frozenset(names) - set(raters),
            **_verdicts(verdicts, items, options),
        )


def _verdicts(verdicts: Columns, items: Sequence[str], options: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of `_Shard` about judges."""
    place = {item: i for i, item in enumerate(items)}
    own, of_verdict = verdicts.codes("item")
    rows = np.array([place.get(item, -1) for item in own], dtype=np.int64)[of_verdict]
    names, of_judge = verdicts.codes("judge")
    answers = verdicts.answers(options)
    judges, samples = {}, {}
    for code in np.argsort(names).tolist():
        selected = (of_judge == code) & (rows >= 0)
        judges[names[code]] = _answers(rows[selected], answers[selected], len(items), len(options))
        samples[names[code]] = verdicts.different("sample", selected)
    return {"judges": judges, "samples": samples, "n_foreign": int((rows < 0).sum())}


def _counted(shard: _Shard, task: Task, seed: int, comparison: Comparison) -> ShardCounts:
    n_options, named = len(task.options), task.rater_ids == "real"
    compared = shard.human[:, n_options] > 0
    for name in comparison.judges:
        compared &= shard.judges[name][:, n_options] >= comparison.n_replies
    every = _counts_of(shard, np.ones(len(compared), dtype=np.bool_), shard.judges, named=named)
    ranked = [name for name in shard.judges if name in comparison.judges]
    shared = _counts_of(shard, compared, ranked, named=named)
    against, n_tied = _against_raters(shard, task, seed) if named else ({}, {})
    return ShardCounts(
        n_items=len(shard.items),
        n_foreign=shard.n_foreign,
        is_grouped=shard.is_grouped,
        raters=shard.raters,
        others=shard.others,
        outcomes={
            name: answers[:, n_options:].sum(axis=0) for name, answers in shard.judges.items()
        },
        samples=shard.samples,
        judges={name: counts for name, (counts, _) in every.items()},
        comparison=comparison,
        shared={name: counts for name, (counts, _) in shared.items()},
        pairs={
            (first, second): PairCounts.of(shared[first][1], shared[second][1])
            for first, second in combinations(ranked, 2)
        },
        against=against,
        n_tied=n_tied,
    )


def _counts_of(
    shard: _Shard, items: BoolArray, judges: Iterable[str], *, named: bool
) -> dict[str, tuple[BlockCounts, IntArray]]:
    """Count some of the (n,) items for some judges, and return the kind of each item."""
    few = named and _kept(shard.raters) is not None
    choices = shard.choices.among(items) if few else None
    human, blocks, counts = shard.human[items], shard.blocks[items], {}
    for name in judges:
        judge = shard.judges[name][items]
        kinds = Kinds.of(human, judge)
        counts[name] = BlockCounts.of(human, judge, blocks, choices, kinds), kinds.of_item
    return counts


def _against_raters(
    shard: _Shard, task: Task, seed: int
) -> tuple[dict[str, RaterComparisons], dict[str, int]]:
    """Compare each judge with each rater, counted by blocks; and count drawn values."""
    scale = Scale.of(task)
    design = design_of(task, scale)
    panel = _panel(shard, task, scale)
    scored, against, n_tied = ScoredPanel.of(panel, design), {}, {}
    for name, answers in shard.judges.items():
        counts = answers[:, : len(task.options)][:, scale.order].astype(np.float64)
        values, n_tied[name] = values_of_verdicts(scale, counts, shard.items, judge=name, seed=seed)
        compared = scored.against(_coded(values, panel, scale))
        against[name] = replace(compared, item=shard.blocks[compared.item]).counted()
    return against, n_tied


def _panel(shard: _Shard, task: Task, scale: Scale) -> Panel:
    choices, value_of = shard.choices, values_of(scale)
    order = np.lexsort((choices.rater, choices.item))
    return Panel(
        items=tuple(shard.items),
        raters=shard.raters,
        labels=tuple(value_of[option.key] for option in task.options),
        of_item=choices.item[order],
        of_rater=choices.rater[order],
        code=choices.option[order],
    )


def _coded(values: FloatArray, panel: Panel, scale: Scale) -> Coded:
    """Code the values of verdicts: places of options, or numbers on an ordered scale."""
    code, present = np.full(len(values), UNANSWERED), ~np.isnan(values)
    if scale.numbers is None:
        code[present] = values[present]
        return Coded(panel.labels, code)
    between = set(np.unique(values[present]).tolist()) - set(panel.labels)  # of two medians
    labels = (*panel.labels, *sorted(between))
    order = np.argsort(np.array(labels, dtype=np.float64))
    ordered = np.array(labels, dtype=np.float64)[order]
    code[present] = order[np.searchsorted(ordered, values[present])]
    return Coded(labels, code)


def _answers(items: IntArray, answers: IntArray, n_items: int, n_options: int) -> IntArray:
    """Return (n, K + 5): how often each option was chosen, and each outcome occurred."""
    width = n_options + len(OUTCOMES)
    cells = np.bincount(items * width + answers, minlength=n_items * width)
    table = cells.reshape(n_items, width).astype(np.int32)
    table[:, n_options] = table[:, :n_options].sum(axis=1)  # answered
    return table


def _blocks(keys: Sequence[str]) -> IntArray:
    """Return the block of each item: a hash of its id, or of its group."""
    digests = b"".join(blake2b(key.encode(), digest_size=4).digest() for key in keys)
    return np.frombuffer(digests, dtype=">u4").astype(np.int64) % N_BLOCKS
