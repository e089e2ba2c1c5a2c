"""Raters and judges in a simulated population with known properties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.planning.sample_size import AgreementMoments

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

LEAST_SHARE = 1e-4  # of an option, so that none is impossible
N_ITEMS = 200_000  # items whose mean approximates the expectation
EXACT = 1e-9  # rates this close are equal


@dataclass(frozen=True)
class PlantedRaters:
    """Raters who choose each option with probabilities that depend on the item.

    The probabilities vary between items with a Dirichlet distribution, whose concentration makes
    two raters agree at the planted rate. Raters choose independently.

    Attributes
    ----------
    shares : (K,) tuple of float
        Share of all ratings for each option.
    agreement : float
        Probability that two raters agree on an item, from the sum of squared shares (chance) to 1.

    Raises
    ------
    ValueError
        If shares do not sum to 1 or the agreement is out of reach.
    """

    shares: tuple[float, ...]
    agreement: float

    @classmethod
    def of_counts(cls, counts: IntArray) -> PlantedRaters | None:
        """Build raters who agree as often as in (n, K) counts, or None without repeated ratings.

        Agreement below chance is raised to chance.
        """
        total = counts.sum(axis=1)
        pairs = float((total * (total - 1)).sum())
        if pairs == 0:
            return None
        shares = tuple((counts.sum(axis=0) / counts.sum()).tolist())
        agreement = float((counts * (counts - 1)).sum()) / pairs
        return cls(shares, min(max(agreement, sum(share**2 for share in shares)), 1.0))

    def __post_init__(self) -> None:
        if min(self.shares) < 0 or abs(sum(self.shares) - 1.0) > EXACT:
            raise ValueError(f"shares {self.shares} must be above 0 and sum to 1")
        if not self.by_chance - EXACT <= self.agreement <= 1.0:
            raise ValueError(
                f"two raters' agreement can't be {self.agreement:.3f}; with these option shares, "
                f"it must be from {self.by_chance:.3f} to 1"
            )

    @property
    def by_chance(self) -> float:
        """Agreement of two raters whose answers do not depend on the item."""
        return float(np.square(self.shares).sum())

    @cached_property
    def certainty(self) -> float:
        """Mean over items of the highest probability, the maximum agreement a judge can reach."""
        return float(self.many_chances.max(axis=1).mean())

    @cached_property
    def many_chances(self) -> FloatArray:
        """A fixed sample of (n, K) item probabilities, used to compute expectations."""
        return self.chances(N_ITEMS, np.random.default_rng(0))

    def chances(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw (n, K) option probabilities for n items."""
        shares = np.maximum(self.shares, LEAST_SHARE)
        shares /= shares.sum()
        excess = self.agreement - self.by_chance
        if excess <= EXACT:
            return np.tile(shares, (n, 1))
        if self.agreement >= 1.0 - EXACT:
            return np.asarray(np.eye(len(shares))[rng.choice(len(shares), n, p=shares)])
        return rng.dirichlet((1.0 - self.agreement) / excess * shares, n)

    def choose(self, chances: FloatArray, rng: np.random.Generator) -> IntArray:
        """Draw an option for each row of (n, K) probabilities."""
        passed = rng.random(len(chances))[:, None] > chances.cumsum(axis=1)
        return np.asarray(np.minimum(passed.sum(axis=1), chances.shape[1] - 1), dtype=np.int64)


@dataclass(frozen=True)
class PlantedJudge:
    """A judge that often finds the answer that most raters would choose.

    With some probability, its usual reply to an item is the likeliest option; otherwise it is drawn
    from the shares of the options. Each reply can independently depart from the usual one, and is
    then drawn from the shares of the options. Judges are independent of each other on an item.

    Attributes
    ----------
    insight : float in [0, 1]
        Probability that the usual reply depends on the item.
    fidelity : float in [0, 1]
        Probability that a reply is the usual one.
    abstention : float in [0, 1]
        Probability that there is no answer.
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
        """Build a judge that agrees at the given rates with a rater and with itself.

        Raises
        ------
        ValueError
            If there is no such judge; the message states the possible range.
        """
        chance = raters.by_chance
        room = 1.0 - chance
        fidelity = sqrt(max(self_consistency - chance, 0.0) / room) if room > EXACT else 1.0
        most = fidelity * (raters.certainty - chance)
        if not -EXACT <= agreement - chance <= most + EXACT:
            raise ValueError(
                f"a judge's agreement with a rater can't be {agreement:.3f}; with these raters and "
                f"this self-consistency, it must be from {chance:.3f} to {chance + most:.3f}"
            )
        insight = (agreement - chance) / most if most > EXACT else 0.0
        return cls(float(np.clip(insight, 0.0, 1.0)), fidelity, abstention)

    def replies(
        self, chances: FloatArray, shares: FloatArray, n_replies: int, rng: np.random.Generator
    ) -> IntArray:
        """Draw (n, s) replies as option indices. -1 means no answer."""
        n, K = chances.shape
        knows = rng.random(n) < self.insight
        usual = np.where(knows, chances.argmax(axis=1), rng.choice(K, n, p=shares))
        departs = rng.random((n, n_replies)) >= self.fidelity
        others = rng.choice(K, (n, n_replies), p=shares)
        replies = np.where(departs, others, usual[:, None])
        replies[rng.random((n, n_replies)) < self.abstention] = -1
        return replies

    def usual(self, chances: FloatArray, shares: FloatArray) -> FloatArray:
        """Return (n, K) probabilities that each option is the judge's usual reply."""
        likeliest = np.eye(chances.shape[1])[chances.argmax(axis=1)]
        return np.asarray(self.insight * likeliest + (1.0 - self.insight) * shares)


def planted_moments(
    raters: PlantedRaters, judge: PlantedJudge, other: PlantedJudge | None = None
) -> AgreementMoments:
    """Return moments of a judge's agreement with a rater, or of the difference between judges.

    They are means over 200,000 items of exact values per item, with an error below 0.001. Judges
    that abstain are treated as if they answered.
    """
    p, q = raters.many_chances, np.array(raters.shares)
    agreed, of_replies, mean = [], [], 0.0
    for sign, each in zip((1.0, -1.0), (judge, other), strict=True):
        if each is None:
            continue
        f, usual = each.fidelity, each.usual(p, q)
        reply = f * usual + (1.0 - f) * q
        by_item = (p * reply).sum(axis=1)
        aside = 2.0 * f * (1.0 - f) * usual * q + (1.0 - f) ** 2 * q**2
        twice = f**2 * usual + aside  # probability that two replies are both the option
        both = f**2 * (p**2 * usual).sum(axis=1)
        both += 2.0 * f * (1.0 - f) * (p * usual).sum(axis=1) * (p @ q)
        both += (1.0 - f) ** 2 * (p @ q) ** 2
        of_replies.append((reply, by_item))
        agreed.append((by_item, (p**2 * reply).sum(axis=1), (p * twice).sum(axis=1), both))
        mean += sign * float(by_item.mean())
    same, other_rater, other_reply, other_both = (
        float(sum(part.mean() for part in parts)) for parts in zip(*agreed, strict=True)
    )
    alike = cross = 0.0  # two judges: one rating equals both replies; two ratings, one reply each
    if other is not None:
        (first, by_first), (second, by_second) = of_replies
        alike = 2.0 * float((p * first * second).sum(axis=1).mean())
        cross = 2.0 * float((by_first * by_second).mean())
    return AgreementMoments(
        mean=mean,
        same=same - alike,
        other_rater=other_rater - cross,
        other_reply=other_reply - alike,
        other_both=other_both - cross,
    )
