"""Options and response sets in their one fixed order, and which option is in which set."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MAX_POWERSET_OPTIONS = 10


@dataclass(frozen=True, slots=True)
class OptionSpace:
    """The only place that orders options and response sets.

    Attributes
    ----------
    options : tuple of str
        The K option names.
    sets : tuple of tuple of str
        The V admissible response sets; within a set, options keep the order of ``options``.
    membership : (K, V) bool array
        Lambda of Guerdan et al. 2025: whether option ``k`` is in set ``v``.
    """

    options: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    membership: NDArray[np.bool_] = field(init=False, compare=False, repr=False)
