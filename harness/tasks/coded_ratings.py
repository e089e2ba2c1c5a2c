"""Compact storage for many ratings: integer codes for item, rater and answer."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

from harness.tasks.item import HumanElicitation, Rating

if TYPE_CHECKING:
    from collections.abc import Iterator

    Provenance: TypeAlias = tuple[tuple[str, str], ...]

HumanAnswer: TypeAlias = tuple[HumanElicitation, str | tuple[str, ...]]


class CodedRatings(Sequence[Rating]):
    """Sequence of R ratings, stored as integer codes. Indexing it creates the `Rating`.

    Parameters
    ----------
    items, raters : sequence of str
        Names, which may include some without ratings.

    Attributes
    ----------
    items, raters : sequence of str
        The names.
    answers : list of (elicitation, value)
        The different answers, in the order of first occurrence.
    item, rater, answer : (R,) arrays of int
        Indices of each rating's item, rater and answer.
    """

    def __init__(self, items: Sequence[str], raters: Sequence[str]) -> None:
        self.items = items
        self.raters = raters
        self.answers: list[HumanAnswer] = []
        self.item, self.rater, self.answer = array("i"), array("i"), array("i")
        self._codes: dict[HumanAnswer, int] = {}
        self._provenance: dict[int, Provenance] = {}

    def add(self, item: int, rater: int, answer: HumanAnswer, provenance: Provenance = ()) -> None:
        """Add a rating, by the indices of its item and its rater."""
        code = self._codes.setdefault(answer, len(self.answers))
        if code == len(self.answers):
            self.answers.append(answer)
        if provenance:
            self._provenance[len(self.item)] = provenance
        self.item.append(item)
        self.rater.append(rater)
        self.answer.append(code)

    def __len__(self) -> int:
        return len(self.item)

    @overload
    def __getitem__(self, at: int) -> Rating: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Rating, ...]: ...

    def __getitem__(self, at: int | slice) -> Rating | tuple[Rating, ...]:
        """Return the rating at an index, or the ratings in a slice."""
        if isinstance(at, slice):
            return tuple(map(self._made, range(len(self))[at]))
        return self._made(range(len(self))[at])

    def _made(self, i: int) -> Rating:
        elicitation, value = self.answers[self.answer[i]]
        names = self.items[self.item[i]], self.raters[self.rater[i]]
        return Rating(*names, elicitation, value, self._provenance.get(i, ()))

    def __iter__(self) -> Iterator[Rating]:
        return map(self._made, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CodedRatings | tuple):
            return len(self) == len(other) and all(map(Rating.__eq__, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"CodedRatings({len(self)} ratings by {len(self.raters)} raters)"

    def rows(self) -> Iterator[tuple[str, str, HumanElicitation, str | tuple[str, ...]]]:
        """Yield the item, rater, elicitation and value of each rating."""
        for item, rater, answer in zip(self.item, self.rater, self.answer, strict=True):
            yield self.items[item], self.raters[rater], *self.answers[answer]
