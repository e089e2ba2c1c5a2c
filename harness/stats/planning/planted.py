"""Raters and judges of a planted population: what is true of them is set, and data are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

LEAST_SHARE = 1e-4  # of an option: none is impossible
N_FOR_CERTAINTY = 200_000  # items whose mean stands for the expectation
EXACT = 1e-9  # rates this close are equal


@dataclass(frozen=True)
class PlantedRaters:
    """Items of which raters choose each option with probabilities of the item's own.

    The probabilities are Dirichlet over items: as concentrated as makes two raters agree as often
    as is planted. Raters choose independently.

    Attributes
    ----------
    shares : (K,) tuple of float
        Share of all ratings that each option has.
    agreement : float
        Chance that two raters agree on an item: from that of chance, the sum of squared shares, to
        1.

    Raises
    ------
    ValueError
        If shares do not sum to 1 or the agreement is out of reach.
    """

    shares: tuple[float, ...]
    agreement: float

    def __post_init__(self) -> None:
        if min(self.shares) < 0 or abs(sum(self.shares) - 1.0) > EXACT:
            raise ValueError(f"shares {self.shares} are not above 0 with a sum of 1")
        if not self.by_chance - EXACT <= self.agreement <= 1.0:
            raise ValueError(
                f"two raters agree {self.agreement:.3f} of the time; with these shares of options "
                f"it is from {self.by_chance:.3f} to 1"
            )

    @property
    def by_chance(self) -> float:
        """Agreement of two raters whose answers do not depend on the item."""
        return float(np.square(self.shares).sum())

    @cached_property
    def certainty(self) -> float:
        """Mean over items of the greatest probability: the most that a judge can agree."""
        chances = self.chances(N_FOR_CERTAINTY, np.random.default_rng(0))
        return float(chances.max(axis=1).mean())

    def chances(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw the probabilities of n items: (n, K)."""
        shares = np.maximum(self.shares, LEAST_SHARE)
        shares /= shares.sum()
        excess = self.agreement - self.by_chance
        if excess <= EXACT:
            return np.tile(shares, (n, 1))
        if self.agreement >= 1.0 - EXACT:
            return np.asarray(np.eye(len(shares))[rng.choice(len(shares), n, p=shares)])
        return rng.dirichlet((1.0 - self.agreement) / excess * shares, n)

    def choose(self, chances: FloatArray, rng: np.random.Generator) -> IntArray:
        """Draw an option for each row of probabilities: (n, K) to (n,)."""
        passed = rng.random(len(chances))[:, None] > chances.cumsum(axis=1)
        return np.asarray(np.minimum(passed.sum(axis=1), chances.shape[1] - 1), dtype=np.int64)


@dataclass(frozen=True)
class PlantedJudge:
    """A judge that often finds what most raters would choose.

    Its usual reply to an item is the likeliest option with a probability, else drawn from the
    shares of the options; a reply departs from the usual one, to such a draw, independently.
    Judges are independent of each other on an item.

    Attributes
    ----------
    insight : float in [0, 1]
        Chance that the usual reply looks at the item.
    fidelity : float in [0, 1]
        Chance that a reply is the usual one.
    abstention : float in [0, 1]
        Chance that there is no answer.
    """

    insight: float
    fidelity: float = 1.0
    abstention: float = 0.0

    @classmethod
    def that_agrees(
        cls,
        raters: PlantedRaters,
        agreement: float,
        *,
        self_consistency: float = 1.0,
        abstention: float = 0.0,
    ) -> PlantedJudge:
        """Return the judge that agrees so often with a rater, and with itself.

        Raises
        ------
        ValueError
            If no judge does; the message says what is in reach.
        """
        chance = raters.by_chance
        room = 1.0 - chance
        fidelity = sqrt(max(self_consistency - chance, 0.0) / room) if room > EXACT else 1.0
        most = fidelity * (raters.certainty - chance)
        if not -EXACT <= agreement - chance <= most + EXACT:
            raise ValueError(
                f"a judge agrees {agreement:.3f} of the time with a rater; with these raters and "
                f"this self-consistency it is from {chance:.3f} to {chance + most:.3f}"
            )
        insight = (agreement - chance) / most if most > EXACT else 0.0
        return cls(float(np.clip(insight, 0.0, 1.0)), fidelity, abstention)

    def replies(
        self, chances: FloatArray, shares: FloatArray, n_replies: int, rng: np.random.Generator
    ) -> IntArray:
        """Draw replies: (n, s) of options, -1 where there is no answer."""
        n, K = chances.shape
        knows = rng.random(n) < self.insight
        usual = np.where(knows, chances.argmax(axis=1), rng.choice(K, n, p=shares))
        departs = rng.random((n, n_replies)) >= self.fidelity
        others = rng.choice(K, (n, n_replies), p=shares)
        replies = np.where(departs, others, usual[:, None])
        replies[rng.random((n, n_replies)) < self.abstention] = -1
        return replies
