"""Option spaces: the order of options and response sets, and their membership matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import BoolArray, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_POWERSET_OPTIONS = 10


@dataclass(frozen=True, slots=True, repr=False)
class OptionSpace:
    """The options and response sets of a task. This class alone defines their order.

    Parameters
    ----------
    options : iterable of str
        The K distinct option names.
    sets : iterable of iterables of str
        The admissible response sets, in any order. Each option must be in at least one.
    sets_known : bool, optional
        False if raters can have sets in mind that are not listed, for example because a task has
        too many options to list them. Such a space is never fully specified.

    Attributes
    ----------
    options : tuple of str
        The K option names.
    sets : tuple of tuple of str
        The V admissible response sets, sorted by size and then by the order of ``options``, which
        is also the order within a set.
    membership : (K, V) bool array
        Lambda of Guerdan et al. 2025: whether option ``k`` is in set ``v``. Read-only.

    Raises
    ------
    ValueError
        If an option is named twice, a set is empty, repeated or names an unknown option, or an
        option is in no set.

    Examples
    --------
    >>> OptionSpace.powerset(("toxic", "fine")).sets
    (('toxic',), ('fine',), ('toxic', 'fine'))
    """

    options: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    sets_known: bool = True
    membership: BoolArray = field(init=False, compare=False)
    _option_indices: dict[str, int] = field(init=False, compare=False)
    _set_indices: dict[frozenset[str], int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        options = _check_options(self.options)
        index = {option: k for k, option in enumerate(options)}
        sets = _check_sets(self.sets, index)
        membership = np.array(
            [[option in members for members in map(set, sets)] for option in options]
        )
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "sets", sets)
        object.__setattr__(self, "membership", frozen(membership))
        object.__setattr__(self, "_option_indices", index)
        object.__setattr__(self, "_set_indices", {frozenset(s): v for v, s in enumerate(sets)})

    @classmethod
    def powerset(cls, options: Iterable[str]) -> Self:
        """Allow all 2^K - 1 non-empty sets of options.

        Raises
        ------
        ValueError
            If there are more than 10 options.
        """
        names = tuple(options)
        if len(names) > MAX_POWERSET_OPTIONS:
            raise ValueError(
                f"options: {len(names)} options have {2 ** len(names) - 1} response sets; list the "
                f"admissible ones, or use at most {MAX_POWERSET_OPTIONS} options"
            )
        sizes = range(1, len(names) + 1)
        return cls(names, tuple(members for size in sizes for members in combinations(names, size)))

    @classmethod
    def singletons(cls, options: Iterable[str], *, sets_known: bool = True) -> Self:
        """Allow only sets of one option, for a fully specified task or one with unknown sets."""
        names = tuple(options)
        return cls(names, tuple((name,) for name in names), sets_known)

    def __repr__(self) -> str:
        unlisted = "" if self.sets_known else ", sets unknown"
        return f"OptionSpace({len(self.options)} options, {len(self.sets)} response sets{unlisted})"

    @property
    def fully_specified(self) -> bool:
        """Return whether raters have exactly one reasonable option, so that O determines theta."""
        return self.sets_known and len(self.sets) == len(self.options) == int(self.membership.sum())

    def option_index(self, option: str) -> int:
        """Return the index k of an option. Raise ValueError if it is not in this space."""
        try:
            return self._option_indices[option]
        except KeyError:
            raise ValueError(
                f"option {option!r} is not one of {', '.join(map(repr, self.options))}"
            ) from None

    def set_index(self, options: Iterable[str]) -> int:
        """Return the index v of the set with these options. Raise ValueError if it is unknown."""
        members = tuple(options)
        index = self._set_indices.get(frozenset(members))
        if index is None or len(members) != len(self.sets[index]):
            raise ValueError(f"{members!r} is not an admissible response set of {self!r}")
        return index

    def option_mask(self, options: Iterable[str]) -> BoolArray:
        """Return a (K,) mask of these options.

        Raise ValueError if one is unknown or none is passed.
        """
        mask = np.zeros(len(self.options), dtype=np.bool_)
        for option in options:
            mask[self.option_index(option)] = True
        if not mask.any():
            raise ValueError("name at least one option; none was passed")
        return mask

    def meets(self, positive: Iterable[str]) -> BoolArray:
        """Return a (V,) mask of the response sets that contain at least one positive option."""
        return np.asarray(self.membership[self.option_mask(positive)].any(axis=0), dtype=np.bool_)


def _check_options(options: Iterable[str]) -> tuple[str, ...]:
    names = tuple(options)
    if not names:
        raise ValueError("options is empty; a rating task needs at least one option")
    for option in names:
        if not isinstance(option, str) or not option:
            raise ValueError(
                f"options: {option!r} is not a name; options must be non-empty strings"
            )
    if repeated := sorted({option for option in names if names.count(option) > 1}):
        raise ValueError(
            f"options: {repeated[0]!r} is listed twice; each option needs a different name"
        )
    return names


def _check_sets(
    sets: Iterable[Iterable[str]], index: dict[str, int]
) -> tuple[tuple[str, ...], ...]:
    ordered = sorted(
        (_check_set(indices, index) for indices in sets),
        key=lambda indices: (len(indices), indices),
    )
    for indices, following in pairwise(ordered):
        if indices == following:
            raise ValueError(f"sets: {_named(indices, index)} is listed twice")
    if absent := set(index.values()).difference(*ordered):
        raise ValueError(
            f"sets: {', '.join(_named(sorted(absent), index))} is not in any response set; each "
            f"option must be in at least one"
        )
    return tuple(_named(indices, index) for indices in ordered)


def _check_set(options: Iterable[str], index: dict[str, int]) -> tuple[int, ...]:
    names = (options,) if isinstance(options, str) else tuple(options)
    if isinstance(options, str) or not names or len(set(names)) < len(names):
        raise ValueError(
            f"sets: {options!r} is not a response set; list one or more different options"
        )
    if unknown := [name for name in names if name not in index]:
        raise ValueError(f"sets: option {unknown[0]!r} in {names!r} is not one of the options")
    return tuple(sorted(index[name] for name in names))


def _named(indices: Iterable[int], index: dict[str, int]) -> tuple[str, ...]:
    names = tuple(index)
    return tuple(names[k] for k in indices)
