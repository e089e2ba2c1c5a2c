"""Stratified samples of a task's items, with each item's inclusion probability."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.analysis.ratings import human_table
from harness.errors import TaskError
from harness.tasks.changelog import record_change
from harness.tasks.model import INCLUSION_PROBABILITY, SOURCE_ITEM
from harness.tasks.write import write_version

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from harness.curation.curation_options import SampledBy
    from harness.tasks import Item, Rating, Task

LEVELS = (10, 20, 30, 40, 50)  # per cent positive: Guerdan et al. 2025, appendix E
STEP = 10
MIN_RATINGS = 2
ID_DIGITS = 12
PARTS = ("calibration", "validation")


@dataclass(frozen=True, slots=True)
class ItemStratum:
    """A stratum, with the numbers of its items in the task and in the sample."""

    name: str
    n_items: int
    n_sampled: int


@dataclass(frozen=True, slots=True)
class ItemSample:
    """A sample of items.

    Attributes
    ----------
    strata : tuple of ItemStratum
        Strata, ordered by name.
    probabilities : dict of str to float
        Inclusion probability of each sampled item, in the order of the task.
    n_outside : int
        Number of items outside all strata. These items can't be drawn.
    """

    strata: tuple[ItemStratum, ...]
    probabilities: Mapping[str, float]
    n_outside: int


def draw_sample(
    task: Task,
    by: SampledBy | None,
    n_items: int,
    *,
    rng: np.random.Generator,
    levels: Sequence[int] = LEVELS,
) -> ItemSample:
    """Draw the same number of items from each stratum, or a simple random sample of all items.

    Parameters
    ----------
    by : {"disagreement", "criterion", "group"}, optional
        Definition of a stratum. Default: one stratum. By disagreement, the percentage of forced
        choices that are positive, rounded to the nearest ten and halves up, for items with two
        ratings or more.
    n_items : int
        Size of the sample. A stratum with too few items is used whole, and the other strata
        share the rest; unequal numbers differ by 1.
    levels : sequence of int, optional
        Percentages to sample by disagreement.

    Raises
    ------
    TaskError
        If the task lacks the data for the strata, or has too few items in them.

    References
    ----------
    Guerdan et al. 2025, appendix E.
    """
    if task.rubric:
        raise TaskError(
            f"task {task.name}: a sample would split the outputs of its rubric. Sample from a "
            "copy of the task without 'rubric'."
        )
    strata: dict[Hashable, list[str]] = defaultdict(list)
    for item, key in zip(task.items, _keys(task, by), strict=True):
        if key is not None and (by != "disagreement" or key in levels):
            strata[key].append(item.id)
    available = sum(map(len, strata.values()))
    if available < n_items:
        how = f" by {by}" if by else ""
        raise TaskError(
            f"task {task.name}: {available} of {len(task.items)} items can be sampled{how}. "
            f"Request at most {available}."
        )
    names = sorted(strata, key=lambda key: (isinstance(key, str), key))
    sizes = _equal_sizes([len(strata[name]) for name in names], n_items, rng)
    probabilities = {}
    for name, size in zip(names, sizes, strict=True):
        members = strata[name]
        for i in rng.choice(len(members), size, replace=False):
            probabilities[members[i]] = size / len(members)
    order = [item.id for item in task.items if item.id in probabilities]
    unit = " % positive" if by == "disagreement" else ""
    return ItemSample(
        strata=tuple(
            ItemStratum(f"{name}{unit}", len(strata[name]), size)
            for name, size in zip(names, sizes, strict=True)
        ),
        probabilities={item: probabilities[item] for item in order},
        n_outside=len(task.items) - available,
    )


def _keys(task: Task, by: SampledBy | None) -> list[int | str | None]:
    """Return each item's stratum, or None for items outside all strata."""
    if by is None:
        return ["all"] * len(task.items)
    if by == "criterion":
        keys: list[int | str | None] = [item.criterion for item in task.items]
    elif by == "group":
        keys = [item.group for item in task.items]
    else:
        task.require_options("a sample by disagreement")
        keys = _percents(task)
    if not any(key is not None for key in keys):
        needed = "positive options and two ratings per item" if by == "disagreement" else by
        raise TaskError(f"task {task.name}: no item has the data that strata need ({needed}).")
    return keys


def _percents(task: Task) -> list[int | str | None]:
    counts = human_table(task, task.items).forced_choice
    positive = counts[:, task.space.option_mask(task.positive)].sum(axis=1).tolist()
    n_ratings = counts.sum(axis=1).tolist()
    if not task.positive:
        return [None] * len(n_ratings)
    parts = 100 // STEP
    return [
        STEP * ((2 * parts * k + n) // (2 * n)) if n >= MIN_RATINGS else None
        for k, n in zip(positive, n_ratings, strict=True)
    ]


def _equal_sizes(available: Sequence[int], total: int, rng: np.random.Generator) -> list[int]:
    """Divide ``total`` among strata as equally as their sizes allow.

    Strata that get one more item are drawn at random.
    """
    sizes = [0] * len(available)
    while total:
        free = [i for i, n in enumerate(available) if sizes[i] < n]
        part = total // len(free)
        if not part:
            for i in rng.choice(free, total, replace=False):
                sizes[i] += 1
            break
        for i in free:
            added = min(part, available[i] - sizes[i])
            sizes[i] += added
            total -= added
    return sizes


def split_by_group(
    task: Task, sample: ItemSample, share: float, *, rng: np.random.Generator
) -> tuple[ItemSample, ItemSample]:
    """Split a sample into two parts without dividing a group.

    Parameters
    ----------
    share : float in (0, 1)
        Share of the groups in the first part; items without a group count as separate groups.

    Returns
    -------
    calibration, validation : ItemSample
        The two parts; probabilities are the sample's times the part's share of groups.

    Raises
    ------
    TaskError
        If a part would be empty.
    """
    unit_of = {item: task.by_id[item].unit for item in sample.probabilities}
    groups = list(dict.fromkeys(unit_of.values()))
    n_first = round(share * len(groups))
    if not 0 < n_first < len(groups):
        raise TaskError(
            f"task {task.name}: {len(groups)} groups can't be split at {share:g}. Draw a larger "
            f"sample."
        )
    first = {groups[i] for i in rng.permutation(len(groups))[:n_first]}
    parts = []
    for n, is_first in ((n_first, True), (len(groups) - n_first, False)):
        probabilities = {
            item: probability * n / len(groups)
            for item, probability in sample.probabilities.items()
            if (unit_of[item] in first) == is_first
        }
        parts.append(ItemSample(sample.strata, probabilities, sample.n_outside))
    return parts[0], parts[1]


def write_sample(task: Task, sample: ItemSample, folder: Path, by: SampledBy | None) -> Task:
    """Write sampled items and their ratings as a new task.

    An item's id depends on its content and on how often this content came before in the task, so
    the same text has the same id in every sample. An item's fields contain its id in the task and
    its inclusion probability. The folder must be new.

    Returns
    -------
    Task
        The written task. Its notice states what its results describe.
    """
    ids = content_ids(task.items)
    items = tuple(
        replace(
            task.by_id[item],
            id=ids[item],
            fields=task.by_id[item].fields
            | {SOURCE_ITEM: item, INCLUSION_PROBABILITY: repr(probability)},
        )
        for item, probability in sample.probabilities.items()
    )
    drawn = f"{len(items)} of {len(task.items)} items of {task.name}"
    notice = f"a random sample of {drawn}"
    if by is not None:
        notice = (
            f"{drawn}, sampled by {by}, from {len(task.items) - sample.n_outside} eligible items; "
            f"numbers that are not weighted by 1/{INCLUSION_PROBABILITY} describe the sample"
        )
    written = task.model_copy(
        update={
            "name": folder.name,
            "notice": f"{task.notice}; {notice}" if task.notice else notice,
            "items": items,
            "ratings": _renamed(task.ratings, ids, sample),
            "ignored": _renamed(task.ignored, ids, sample),
        }
    )
    write_version(written, task, folder)
    change = f"sample of {drawn}, {f'by {by}' if by else 'at random'}"
    record_change(folder, change, before=task.content_hash)
    return written


def content_ids(items: Sequence[Item]) -> dict[str, str]:
    """Compute each item's id from its fields, criterion and occurrence number."""
    occurrences: Counter[str] = Counter()
    ids = {}
    for item in items:
        content = json.dumps([item.fields or item.id, item.criterion], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:ID_DIGITS]
        occurrences[digest] += 1
        ids[item.id] = f"{digest}-{occurrences[digest]}"
    return ids


def _renamed(
    ratings: Sequence[Rating], ids: Mapping[str, str], sample: ItemSample
) -> tuple[Rating, ...]:
    return tuple(
        replace(rating, item=ids[rating.item])
        for rating in ratings
        if rating.item in sample.probabilities
    )
