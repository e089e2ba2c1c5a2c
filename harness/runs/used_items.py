"""Contents of a validation: rated items, ratings and judges' replies.

Everything is identified by content. Names of tasks, items and raters do not matter.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from harness.errors import TaskError
from harness.judging.storage.verdict_columns import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.storage.verdict_columns import VerdictKind
    from harness.tasks import Item, Task

    Keys = NDArray[np.uint64]
    Digests = NDArray[np.uint16]

MOST_SAMPLED = 1000  # items in a sample; with fewer items, comparisons are exact
ALIKE = 0.5  # minimum correlation between tests of the same judge
KEY, DIGEST = "<u8", "<u2"
MIXED = np.uint64(0x9E3779B97F4A7C15)  # splitmix64, by Steele, Lea and Flood (2014)
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
NO_REPLY = frozenset({"failed", "not_asked"})


class ItemDigests(msgspec.Struct, frozen=True, kw_only=True):
    """Sample of a validation's items, with digests of the ratings and the judges' replies.

    Attributes
    ----------
    n : int
        Number of items in the validation.
    items : str
        Keys of the items with the smallest keys, ascending, in Base64.
    ratings : str
        Digest of each item's ratings.
    replies : dict of str to str
        Digest of each judge's replies to each item, by name; 0 for none.
    """

    n: int
    items: str
    ratings: str
    replies: dict[str, str] = {}

    @property
    def keys(self) -> Keys:
        """Return the keys of the items."""
        return _sampled(self.items, KEY)

    @property
    def last(self) -> int:
        """Return the highest key up to which the sample is complete."""
        return 2**64 - 1 if self.n <= MOST_SAMPLED else int(self.keys[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Rated items, ratings and judges' replies in a validation.

    Attributes
    ----------
    what : str
        Digest of the rated property.
    keys : (n,) array
        Keys of the rated items, ascending.
    sample : ItemDigests
        Sample of the items.
    """

    what: str
    keys: Keys
    sample: ItemDigests

    @property
    def digest(self) -> str:
        """Return a digest of the sample that does not depend on the judges' names."""
        sample = self.sample
        parts = [self.what, str(sample.n), sample.items, sample.ratings]
        return _hashed("\0".join([*parts, *sorted(sample.replies.values())])).hexdigest()


def contents_of(
    task: Task, items: Sequence[Item], verdicts: Mapping[str, Sequence[Verdict]]
) -> Contents:
    """Summarise a validation's rated items, ratings and replies as keys and digests."""
    rated = task.rating_columns
    key_of = _keys(task, items, frozenset(rated.items))
    keys = np.unique(np.fromiter(key_of.values(), np.uint64, len(key_of)))
    sampled = keys[:MOST_SAMPLED]
    answers = np.array([_number(repr(answer)) for answer in rated.answers], np.uint64)
    ratings = _digests(sampled, rated.items, key_of, rated.item, _mix(answers)[rated.answer])
    replies = {name: _replies(sampled, key_of, rows) for name, rows in verdicts.items()}
    sample = ItemDigests(
        n=len(keys), items=encoded(sampled, KEY), ratings=encoded(ratings, DIGEST), replies=replies
    )
    return Contents(_what(task, items), keys, sample)


def correlation(first: tuple[ItemDigests, str], second: tuple[ItemDigests, str]) -> float:
    """Return a lower bound on the correlation between two tests of a judge.

    It is the share of items that both contain with the same ratings. It counts as 0 if it is small,
    or if any reply to a shared item differs, because new replies are a new try.
    """
    keys, ratings, replies = _answered(*_texts_of(*first))
    others, other_ratings, other_replies = _answered(*_texts_of(*second))
    _, here, there = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    if not here.size or (replies[here] != other_replies[there]).any():
        return 0.0
    last = min(first[0].last, second[0].last)
    n_all = float((keys <= last).sum()) * float((others <= last).sum())
    alike = float((ratings[here] == other_ratings[there]).sum()) / n_all**0.5
    return alike if alike >= ALIKE else 0.0


def rated_alike(first: ItemDigests, second: ItemDigests) -> bool:
    """Return whether at least half of the items in both samples have the same ratings."""
    _, here, there = np.intersect1d(
        first.keys, second.keys, assume_unique=True, return_indices=True
    )
    alike = decoded(first.ratings, DIGEST)[here] == decoded(second.ratings, DIGEST)[there]
    return bool(here.size and 2 * alike.sum() >= here.size)


def overlap(keys: Keys, others: Keys) -> bool:
    """Return whether two ascending arrays of keys have a key in common."""
    few, many = sorted((keys, others), key=len)
    if not few.size:
        return False
    places = np.minimum(np.searchsorted(many, few), many.size - 1)
    return bool((many[places] == few).any())


def encoded(values: NDArray[np.unsignedinteger[Any]], dtype: str) -> str:
    """Encode numbers in Base64."""
    return b64encode(values.astype(dtype).tobytes()).decode()


def decoded(text: str, dtype: str) -> NDArray[Any]:
    """Decode numbers that `encoded` wrote.

    Raises
    ------
    ValueError
        If the text is not Base64 of such numbers.
    """
    return np.frombuffer(b64decode(text, validate=True), dtype=dtype)


@lru_cache(512)
def _sampled(text: str, dtype: str) -> NDArray[Any]:
    """Decode the numbers of a sample, with a cache for repeated comparisons."""
    return decoded(text, dtype)


def _texts_of(sample: ItemDigests, judge: str) -> tuple[str, str, str]:
    return sample.items, sample.ratings, sample.replies[judge]


@lru_cache(512)
def _answered(items: str, ratings: str, replies: str) -> tuple[Keys, Digests, Digests]:
    """Return the keys, ratings and replies of a sample's items that a judge answered."""
    digests = _sampled(replies, DIGEST)
    has = digests != 0
    return _sampled(items, KEY)[has], _sampled(ratings, DIGEST)[has], digests[has]


def _what(task: Task, items: Iterable[Item]) -> str:
    """Return a digest of the rated property, and of the task's name if items lack texts."""
    has_text = any(any(_texts(task, item)) for item in items)
    name = "" if has_text else task.name
    return _hashed(f"{name}\0{_plain(task.property)}").hexdigest()


def _keys(task: Task, items: Iterable[Item], rated: frozenset[str]) -> dict[str, int]:
    """Return each rated item's key, which is a hash of what judges and raters see."""
    images: Mapping[str, str] = {}
    with suppress(TaskError):  # a run folder has no images
        images = {name: image.digest for name, image in task.images.items()}
    keys = {}
    for item in items:
        if item.id in rated:
            texts = _texts(task, item)
            shown = [*map(_plain, texts), images.get(item.id, "")]
            parts = shown if any(shown) else [item.id]
            keys[item.id] = _number("\0".join([item.criterion or "", *parts]))
    return keys


def _texts(task: Task, item: Item) -> list[str]:
    """Return the texts that judges see in an item or, if they are empty, all its texts."""
    shown = [item.fields.get(name, "") for name in task.text]
    return shown if any(shown) else [item.fields[name] for name in sorted(item.fields)]


def _plain(text: str) -> str:
    """Replace each run of whitespace in a text with one space."""
    return " ".join(text.split())


def _replies(sampled: Keys, key_of: Mapping[str, int], verdicts: Sequence[Verdict]) -> str:
    columns = columns_of(verdicts)
    kinds: Keys = np.array([_kind_number(kind) for kind in columns.kinds], np.uint64)
    replied = columns.of_kinds(lambda kind: kind.outcome not in NO_REPLY)
    number = _mix(np.add(kinds[columns.kind], _mix(columns.sample.astype(np.uint64))))
    of_items = _digests(sampled, columns.items, key_of, columns.item[replied], number[replied])
    return encoded(of_items, DIGEST)


def _kind_number(kind: VerdictKind) -> int:
    return _number(repr((kind.elicitation, kind.outcome, kind.value)))


def _digests(
    sampled: Keys,
    names: Sequence[str],
    key_of: Mapping[str, int],
    item: NDArray[np.integer[Any]],
    number: Keys,
) -> Digests:
    """Return a digest of the numbers of each sampled item, or 0 if an item has none."""
    none = len(sampled)
    place_of = dict(zip(sampled.tolist(), range(none), strict=True))
    places = np.array([place_of.get(key_of.get(name, -1), none) for name in names], np.int64)
    sums, place = np.zeros(none + 1, np.uint64), places[item]
    np.add.at(sums, place, number)
    is_any = np.bincount(place, minlength=none + 1)[:none] > 0
    digests = np.maximum(_mix(sums[:none]) >> np.uint64(48), np.uint64(1))
    return np.where(is_any, digests, 0).astype(np.uint16)


def _mix(numbers: Keys) -> Keys:
    """Mix the bits of each number, so that every output bit depends on every input bit."""
    mixed = numbers + MIXED
    for shift, factor in STEPS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)


def _number(text: str) -> int:
    return int.from_bytes(_hashed(text).digest())


def _hashed(text: str) -> hashlib.blake2b:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8)
