"""Validation of more items than fit into memory, shard by shard.

A shard is a folder with ``ratings.parquet`` (columns item, rater, value, optionally group) and
``verdicts.parquet`` (item, judge, value, optionally sample and outcome), or the same as ``.arrow``.
All rows of an item stand in one shard. Each is read in a process of its own with bounded memory.
"""

from __future__ import annotations

import os
import resource
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial, reduce
from hashlib import blake2b
from math import inf, isfinite, nan
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from harness.errors import TaskError, VerdictError
from harness.stats.data.arrays import TOLERANCE
from harness.stats.data.rating_table import OUTCOMES
from harness.stats.inference.bootstrap import Resampling
from harness.stats.metrics.registry import metrics_for
from harness.stats.selection.block_sums import (
    N_BLOCKS,
    BlockCounts,
    BlockDraws,
    baselines_of_blocks,
    evaluate_blocks,
)
from harness.stats.selection.evaluation import RANKS_ON_ORDERED_SCALES, RANKS_WITHOUT_SETS
from harness.stats.selection.footing import beaten_baselines
from harness.stats.selection.ranking import Ranking, loss, rank
from harness.stats.selection.replies import samples_per_item
from harness.stats.selection.shared_items import MIN_ANSWERED
from harness.tasks import CANNOT_ASSESS, Task, find_task
from harness.tasks.folders import path_inside
from harness.tasks.schema import TASK_FILE, TaskFields, read_task_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.stats.data.arrays import IntArray
    from harness.stats.inference.estimate import Estimate
    from harness.stats.inference.metric import Metric
    from harness.stats.metrics.registry import Scale

MEMORY_BYTES = 2 << 30  # of a worker, beside what it has when it starts
ENDINGS = (".parquet", ".arrow")
NOTHING_RANKED: dict[str, Any] = {
    "ranking": None,
    "compared": {},
    "baselines": {},
    "better_than": {},
    "verdict": "none",
}
NOT_COMPUTED = {
    "decision": "needs_annotator_test",
    "annotator_test": "needs_ratings_by_rater",
    "beta": "needs_response_sets",
    "strata": "needs_all_items",
    "sensitivity": "needs_all_items",
    "errors": "needs_all_items",
}


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


@dataclass(frozen=True, slots=True)
class ShardCounts:
    """What is added up over shards.

    Attributes
    ----------
    n_items : int
        Items with ratings.
    n_foreign : int
        Verdicts on other items, which are left out.
    outcomes : dict of str to (5,) int array
        Verdicts of each judge by `OUTCOMES`.
    judges : dict of str to BlockCounts
        Over the items with ratings.
    comparison : Comparison
        What ``shared`` was counted for.
    shared : dict of str to BlockCounts
        Of ranked judges, over the items on which they are compared.
    """

    n_items: int
    n_foreign: int
    outcomes: dict[str, IntArray]
    judges: dict[str, BlockCounts]
    comparison: Comparison
    shared: dict[str, BlockCounts]

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
        return cls(
            n_items=sum(part.n_items for part in parts),
            n_foreign=sum(part.n_foreign for part in parts),
            outcomes={
                name: np.sum([part.outcomes[name] for part in parts], axis=0) for name in names
            },
            judges=_merged([part.judges for part in parts]),
            comparison=parts[0].comparison,
            shared=_merged([part.shared for part in parts]),
        )

    @property
    def answered_fraction(self) -> dict[str, float]:
        """Share of the rated items that each judge answered; nan where none was rated."""
        return {
            name: float((counts.n_replies > 0).mean()) if counts.n_rated else nan
            for name, counts in self.judges.items()
        }

    @property
    def wanted(self) -> Comparison:
        """The judges that answered enough, and the replies that all of them gave."""
        fractions = self.answered_fraction
        ranked = [name for name in self.judges if fractions[name] >= MIN_ANSWERED - TOLERANCE]
        replies = [samples_per_item(self.judges[name].n_replies.astype(float)) for name in ranked]
        return Comparison(frozenset(ranked), int(min(replies, default=1)))


def _merged(parts: Sequence[dict[str, BlockCounts]]) -> dict[str, BlockCounts]:
    return {name: BlockCounts.merged([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True, slots=True)
class ShardedValidation:
    """Judges against humans on the items of all shards.

    Attributes
    ----------
    n_items, n_compared, n_blocks, n_foreign : int
        Items with ratings; those on which judges are ranked; blocks of items, which are resampled;
        verdicts on items without ratings.
    outcomes : dict of str to dict of str to int
        By judge and outcome.
    answered_fraction : dict of str to float
        Share of the rated items that each judge answered.
    n_replies : int
        Replies per item at which judges are ranked.
    estimates : dict of str to dict of str to Estimate
        By judge and metric, on the items that the judge answered.
    human_agreement : dict of str to Estimate
        By coefficient.
    ranking : Ranking or None
        Of the judges that answered enough items, on those that all of them answered; None without.
    compared : dict of str to Estimate
        By ranked judge, the metric that ranks, on those items.
    baselines : dict of str to float or None
        The metric that ranks, of each computed baseline.
    better_than : dict of str to dict of str to bool
        By ranked judge and baseline, whether it is better by a simultaneous one-sided bound.
    verdict : "none" or None
        "none" where no judge is ranked, or the first is not better than every baseline. Otherwise
        the decision also needs what is not computed here.
    not_computed : dict of str to str
        Parts of a validation that need all items at once, with the reason.
    """

    n_items: int
    n_compared: int
    n_blocks: int
    n_foreign: int
    seed: int
    outcomes: dict[str, dict[str, int]]
    answered_fraction: dict[str, float]
    n_replies: int
    estimates: dict[str, dict[str, Estimate]]
    human_agreement: dict[str, Estimate]
    ranking: Ranking | None
    compared: dict[str, Estimate]
    baselines: dict[str, float | None]
    better_than: dict[str, dict[str, bool]]
    verdict: Literal["none"] | None
    not_computed: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"schema_version": 1} | asdict(self)


def validate_shards(
    task: str, folder: Path, *, seed: int = 0, level: float = 0.95, n_workers: int = 1
) -> ShardedValidation:
    """Validate the verdicts of all shards in a folder.

    Parameters
    ----------
    task : str
        Name or path of a task; only its ``task.yaml`` is read.
    folder : Path
        Holds the shards.
    seed : int
        Of the resampling.
    level : float
        Confidence level.
    n_workers : int
        Shards that are counted at a time.

    Raises
    ------
    TaskError, VerdictError
        If the task or a shard is wrong, or a shard takes too much memory.
    """
    file = read_task_file(path_inside(find_task(task), TASK_FILE, "task.yaml"))
    fields = {name: getattr(file, name) for name in TaskFields.model_fields}
    described = Task.model_construct(**fields, items=(), ratings=())
    shards = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if not shards:
        raise VerdictError(f"{folder}: found no shards; write a folder for each.")
    counts = _count_all(shards, described, n_workers)
    if counts.wanted != counts.comparison:  # rare: the shards are read again
        counts = _count_all(shards, described, n_workers, counts.wanted)
    return validate_counts(described, counts, seed=seed, level=level)


def validate_counts(
    task: Task, counts: ShardCounts, *, seed: int, level: float
) -> ShardedValidation:
    """Validate from what was counted in all shards; see `validate_shards`."""
    if not task.options:
        raise TaskError(f"task {task.name}: shards are for tasks with options; use --verdicts.")
    scale = cast("Scale", task.scale)
    metrics = metrics_for(task.space, scale=scale, positive=task.positive)
    settings: dict[str, Any] = {"space": task.space, "tau": task.tau, "positive": task.positive}
    resampling = Resampling(rng=np.random.default_rng(seed), level=level)
    draws = BlockDraws.of(next(iter(counts.judges.values())), resampling)
    evaluated = evaluate_blocks(
        counts.judges, draws, metrics=metrics, resampling=resampling, **settings
    )
    name = RANKS_ON_ORDERED_SCALES if task.scale == "ordinal" else RANKS_WITHOUT_SETS
    [ranked] = [metric for metric in metrics if metric.name == name]
    shared = counts.shared
    compared = _compared(ranked, counts, draws, resampling, settings) if shared else NOTHING_RANKED
    return ShardedValidation(
        n_items=counts.n_items,
        n_compared=next(iter(shared.values())).n_items if shared else 0,
        n_blocks=draws.resamples.n_units,
        n_foreign=counts.n_foreign,
        seed=seed,
        outcomes={
            judge: dict(zip(OUTCOMES, map(int, numbers), strict=True))
            for judge, numbers in counts.outcomes.items()
        },
        answered_fraction=counts.answered_fraction,
        n_replies=counts.comparison.n_replies,
        estimates={
            judge: {metric: row.estimate for metric, row in of_judge.items()}
            for judge, of_judge in evaluated.judges.items()
        },
        human_agreement=evaluated.human_agreement,
        not_computed=NOT_COMPUTED,
        **compared,
    )


def _compared(
    metric: Metric,
    counts: ShardCounts,
    draws: BlockDraws,
    resampling: Resampling,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Rank the judges and compare them with baselines, on the same items, at the same replies."""
    shared, n_replies = counts.shared, counts.comparison.n_replies
    evaluated = evaluate_blocks(
        shared,
        draws,
        metrics=[metric],
        resampling=resampling,
        n_replies={"forced_choice": n_replies, "response_set": inf},
        **settings,
    )
    names = list(shared)
    estimates = [evaluated.judges[name][metric.name].estimate for name in names]
    replicates = np.array([evaluated.judges[name][metric.name].replicates for name in names])
    any_judge = names[0]
    n_units = int(shared[any_judge].counts.any(axis=0).sum())
    ranking = rank(
        metric,
        names,
        estimates,
        replicates,
        level=resampling.level,
        unit="group",
        n_units=n_units,
    )
    baselines = baselines_of_blocks(
        counts.judges[any_judge],
        shared[any_judge],
        draws,
        metric=metric,
        n_replies=n_replies,
        **settings,
    )
    of_baselines = loss(np.array(list(baselines.values())), metric.better)
    values = np.array([np.nan if e.value is None else e.value for e in estimates])
    beaten = beaten_baselines(
        loss(values, metric.better),
        loss(replicates, metric.better),
        of_baselines[:, 0],
        of_baselines[:, 1:],
        level=resampling.level,
        n_units=n_units,
        freedom=None,
    )
    first = names.index(ranking.rows[0].judge)
    return {
        "ranking": ranking,
        "compared": dict(zip(names, estimates, strict=True)),
        "baselines": {
            name: float(row[0]) if isfinite(row[0]) else None for name, row in baselines.items()
        },
        "better_than": {
            name: dict(zip(baselines, map(bool, row), strict=True))
            for name, row in zip(names, beaten, strict=True)
        },
        "verdict": None if beaten[first].all() else "none",
    }


def _count_all(
    shards: Sequence[Path], task: Task, n_workers: int, comparison: Comparison | None = None
) -> ShardCounts:
    """Count shards, each in a process that ends with it, and add them up one after the other."""
    options = tuple(option.key for option in task.options)
    count = partial(count_shard, options=options, comparison=comparison)
    with ProcessPoolExecutor(
        n_workers, get_context("spawn"), initializer=_bound_memory, max_tasks_per_child=1
    ) as pool:
        try:
            return reduce(lambda *parts: ShardCounts.merged(parts), pool.map(count, shards))
        except BrokenProcessPool:
            raise VerdictError(
                "--shards: a process that read a shard ended; its file is damaged, or too large."
            ) from None


def _bound_memory() -> None:
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others reserve 1 GiB at once
    with suppress(OSError, ValueError):  # a lower limit is set, or the system has none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def count_shard(
    folder: Path, options: tuple[str, ...], comparison: Comparison | None = None
) -> ShardCounts:
    """Count how the items of a shard were rated.

    Parameters
    ----------
    folder : Path
        The shard.
    options : tuple of str
        Keys of the task's options, in order.
    comparison : Comparison, optional
        Of which judges, at how many replies. Default: of all, at one.

    Raises
    ------
    VerdictError
        If a file is missing, lacks a column or cannot be read, a rating is no option, a rating or
        verdict stands twice, or the shard takes more than `MEMORY_BYTES`.
    """
    try:
        ratings = _Columns.read(folder, "ratings", ("item", "rater", "value"))
        verdicts = _Columns.read(folder, "verdicts", ("item", "judge", "value"))
        return _count(folder, options, ratings, verdicts, comparison)
    except MemoryError:
        problem = f"takes more than {MEMORY_BYTES >> 20} MiB of memory"
        raise VerdictError(f"{folder}: {problem}; split the shard.") from None


def _count(
    folder: Path,
    options: tuple[str, ...],
    ratings: _Columns,
    verdicts: _Columns,
    comparison: Comparison | None,
) -> ShardCounts:
    items, of_rating = ratings.codes("item")
    ratings.check_once(folder / "ratings", ("item", "rater"))
    verdicts.check_once(folder / "verdicts", ("item", "judge", "sample"))
    human = _answers(of_rating, ratings.answers(options), len(items), len(options))
    if human[:, len(options) + OUTCOMES.index("invalid")].any():
        raise VerdictError(f"{folder}/ratings: a value is no option of the task; correct it.")
    place = {item: i for i, item in enumerate(items)}
    own, of_verdict = verdicts.codes("item")
    rows = np.array([place.get(item, -1) for item in own], dtype=np.int64)[of_verdict]
    names, of_judge = verdicts.codes("judge")
    answers = verdicts.answers(options)
    counted: dict[str, IntArray] = {}
    for code in np.argsort(names):
        selected = (of_judge == code) & (rows >= 0)
        counted[names[code]] = _answers(rows[selected], answers[selected], len(items), len(options))
    comparison = comparison or Comparison(frozenset(counted))
    compared = human[:, len(options)] > 0
    for name in comparison.judges:
        compared &= counted[name][:, len(options)] >= comparison.n_replies
    blocks = _blocks(ratings.groups(items, of_rating))
    return ShardCounts(
        n_items=len(items),
        n_foreign=int((rows < 0).sum()),
        outcomes={
            name: of_items[:, len(options) :].sum(axis=0) for name, of_items in counted.items()
        },
        judges={
            name: BlockCounts.of(human, of_items, blocks) for name, of_items in counted.items()
        },
        comparison=comparison,
        shared={
            name: BlockCounts.of(human[compared], of_items[compared], blocks[compared])
            for name, of_items in counted.items()
            if name in comparison.judges
        },
    )


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


class _Columns:
    """Columns of a table, as codes and the values that they stand for."""

    def __init__(self, columns: dict[str, tuple[list[Any], IntArray]], n_rows: int) -> None:
        self._columns = columns
        self._n_rows = n_rows

    @classmethod
    def read(cls, folder: Path, name: str, needed: tuple[str, ...]) -> _Columns:
        """Read a table of a shard."""
        paths = [folder / f"{name}{ending}" for ending in ENDINGS]
        path = next((path for path in paths if path.exists()), None)
        if path is None:
            raise VerdictError(f"{folder}: found no {name}.parquet or {name}.arrow; write one.")
        wanted = (*needed, "sample", "outcome", "group")
        try:
            table = _arrow_table(path, wanted)
        except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
            raise VerdictError(f"{path}: cannot be read ({type(error).__name__}).") from None
        if missing := [column for column in needed if column not in table.column_names]:
            raise VerdictError(f"{path}: lacks the column {missing[0]!r}; add it.")
        columns = {}
        for column in table.column_names:
            encoded = table.column(column).combine_chunks().dictionary_encode()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            columns[column] = (encoded.dictionary.to_pylist(), codes.astype(np.int64))
        if any((columns[column][1] < 0).any() for column in needed[:2]):
            raise VerdictError(f"{path}: an {needed[0]} or {needed[1]} is missing; fill it in.")
        return cls(columns, table.num_rows)

    def codes(self, column: str) -> tuple[list[str], IntArray]:
        """Return the values of a column as texts, and which of them each row has."""
        values, codes = self._columns[column]
        return list(map(str, values)), codes

    def answers(self, options: tuple[str, ...]) -> IntArray:
        """Return for each row the place of its option, or K and that of its outcome."""
        places = {option: i for i, option in enumerate(options)}
        places |= {outcome: len(options) + i for i, outcome in enumerate(OUTCOMES)}
        invalid = places["invalid"]
        values, codes = self.codes("value")
        of_value = [
            places["abstained"] if value == CANNOT_ASSESS
            else places[value] if value in options
            else invalid
            for value in values
        ]  # fmt: skip
        answers = np.array([*of_value, invalid], dtype=np.int64)[codes]
        if "outcome" in self._columns:
            outcomes, of_row = self.codes("outcome")
            named = [places.get(outcome, invalid) for outcome in outcomes]
            unvalued = codes < 0
            answers[unvalued] = np.array([*named, invalid], dtype=np.int64)[of_row[unvalued]]
        return answers

    def groups(self, items: Sequence[str], of_row: IntArray) -> Sequence[str]:
        """Return the group of each item, or its id where it has none."""
        if "group" not in self._columns:
            return items
        groups, codes = self.codes("group")
        of_item = np.full(len(items), -1)
        of_item[of_row] = codes
        return [
            groups[code] if code >= 0 else item for item, code in zip(items, of_item, strict=True)
        ]

    def check_once(self, path: Path, key: tuple[str, ...]) -> None:
        """Refuse a second row with the same key."""
        rows: IntArray = np.zeros(self._n_rows, dtype=np.int64)
        for column in key:
            if column in self._columns:
                values, codes = self._columns[column]
                rows = rows * (len(values) + 1) + codes + 1
        if len(np.unique(rows)) < len(rows):
            raise VerdictError(f"{path}: two rows have the same {', '.join(key)}; leave one.")


def _arrow_table(path: Path, columns: tuple[str, ...]) -> Any:  # noqa: ANN401 -- pyarrow is untyped
    """Read the columns of a table that are there."""
    from pyarrow import ipc, parquet  # noqa: PLC0415 -- heavy, and used in workers alone

    if path.suffix == ".arrow":
        with ipc.open_file(path) as file:
            table = file.read_all()
            return table.select([name for name in columns if name in table.column_names])
    file = parquet.ParquetFile(path)
    present = [name for name in columns if name in file.schema_arrow.names]
    return file.read(columns=present, use_threads=False)
