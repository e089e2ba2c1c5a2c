"""What every section of a validation reads: the tables, and what was estimated from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.distributions import RatingTable
    from harness.stats.evaluation import Evaluation
    from harness.task import Task
    from harness.validate.source import Source


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Prepared:
    """Ratings and verdicts as counts, evaluated.

    Attributes
    ----------
    source : Source
        What the user gave.
    human : RatingTable
        What the raters answered; its items are those of ``source``, in their order.
    judges : tuple of RatingTable
        What each judge answered, in the order of ``source.judges``.
    evaluation : Evaluation
        Every metric of every judge, and the bootstrap they share.
    metric : str
        What ranks.
    groups : list of str or None, or None
        The cluster of each item; None where items are resampled one by one.
    """

    source: Source
    human: RatingTable
    judges: tuple[RatingTable, ...]
    evaluation: Evaluation
    metric: str
    groups: list[str | None] | None

    def __repr__(self) -> str:
        return f"Prepared({self.human!r}, {len(self.judges)} judges)"

    @property
    def task(self) -> Task:
        """The task that was rated."""
        return self.source.task

    @property
    def tau(self) -> float:
        """The cut-off."""
        return self.evaluation.tau

    @property
    def baselines(self) -> frozenset[str]:
        """Names of the judges that are there to be beaten."""
        return frozenset(judge.name for judge in self.source.judges if judge.baseline)

    def rng(self) -> np.random.Generator:
        """Return a generator that starts from the run's seed, the same for whoever asks."""
        return np.random.default_rng(self.source.seed)
