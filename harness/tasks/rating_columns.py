"""Human ratings as arrays of integer codes for item, rater and answer."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from harness.stats.data.arrays import by_occurrence
from harness.tasks.coded_ratings import CodedRatings
from harness.tasks.options import CANNOT_ASSESS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from harness.tasks.coded_ratings import HumanAnswer
    from harness.tasks.item import HumanElicitation, Rating

T = TypeVar("T", bound="Hashable")


@dataclass(frozen=True, slots=True, repr=False)
class RatingColumns:
    """R ratings as arrays, in their original order.

    Attributes
    ----------
    items, raters : tuple of str
        Names, in the order of first occurrence.
    answers : tuple of (elicitation, value)
        Answers, in the order of first occurrence.
    item, rater, answer : (R,) int arrays
        Indices of each rating's item, rater and answer.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    answers: tuple[HumanAnswer, ...]
    item: NDArray[np.integer[Any]]
    rater: NDArray[np.integer[Any]]
    answer: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, ratings: Sequence[Rating]) -> Self:
        """Convert ratings to arrays."""
        if isinstance(ratings, CodedRatings):
            return cls._of_codes(ratings)
        n = len(ratings)
        items, item = _coded((rating.item for rating in ratings), n)
        raters, rater = _coded((rating.rater for rating in ratings), n)
        answers, answer = _coded(((rating.elicitation, rating.value) for rating in ratings), n)
        return cls(items, raters, answers, item, rater, answer)

    @classmethod
    def _of_codes(cls, ratings: CodedRatings) -> Self:
        items, item = _in_order(ratings.items, ratings.item)
        raters, rater = _in_order(ratings.raters, ratings.rater)
        answers, answer = _in_order(ratings.answers, ratings.answer)
        return cls(items, raters, answers, item, rater, answer)

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        return f"RatingColumns({len(self)} ratings by {len(self.raters)} raters)"

    def rows_of(self, items: Iterable[str]) -> NDArray[np.int64]:
        """Return an (R,) array with each rating's index in ``items``, or -1 for other items."""
        return np.asarray(places(self.items, tuple(items))[self.item], dtype=np.int64)

    def of_answers(
        self, is_wanted: Callable[[HumanElicitation, str | tuple[str, ...]], bool]
    ) -> NDArray[np.bool_]:
        """Return an (R,) Boolean mask of the ratings with a wanted answer."""
        wanted = np.array([is_wanted(*answer) for answer in self.answers], dtype=np.bool_)
        return np.asarray(wanted[self.answer], dtype=np.bool_)

    def n_by_rater(self) -> dict[str, int]:
        """Return the number of ratings of each rater."""
        counts = np.bincount(self.rater, minlength=len(self.raters))
        return dict(zip(self.raters, counts.tolist(), strict=True))


def places(names: tuple[str, ...], among: tuple[str, ...]) -> NDArray[np.int64]:
    """Return each name's index in ``among``, or -1 if ``among`` doesn't contain the name."""
    if names == among:  # as a rule, and quick: they are the same objects
        return np.arange(len(names))
    place = {name: i for i, name in enumerate(among)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int64)


def is_choice(_: HumanElicitation, value: str | tuple[str, ...]) -> bool:
    """Return whether an answer is a forced choice and not an abstention."""
    return isinstance(value, str) and value != CANNOT_ASSESS


def is_set(_: HumanElicitation, value: str | tuple[str, ...]) -> bool:
    """Return whether an answer is a response set."""
    return not isinstance(value, str)


def _in_order(names: Sequence[T], codes: array[int]) -> tuple[tuple[T, ...], NDArray[np.int32]]:
    """Renumber codes by occurrence, and return the names in use and the new codes."""
    code = np.frombuffer(codes, dtype=np.int32) if codes else np.empty(0, dtype=np.int32)
    used, place = by_occurrence(code, len(names))
    if np.array_equal(used, np.arange(len(names))):
        return tuple(names), code
    return tuple(names[k] for k in used.tolist()), place.astype(np.int32)[code]


def _coded(values: Iterable[T], n: int) -> tuple[tuple[T, ...], NDArray[np.int64]]:
    """Return the distinct values in order of occurrence, and an (n,) array of indices."""
    place: defaultdict[T, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=n)
    return tuple(place), codes
