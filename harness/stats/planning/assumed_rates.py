"""A population of items, raters and judges with assumed rates of agreement."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.panel import Panel
from harness.stats.planning.agreement_variance import AgreementMoments

if TYPE_CHECKING:
    from harness.stats.data.arrays import IntArray


@dataclass(frozen=True, slots=True)
class AssumedRates:
    """Items with two options, of which most raters prefer the same share of times.

    Each item has a preferred option, either with a chance of one half; raters choose it
    independently with the same probability on every item. A judge has a usual reply per item, from
    which each reply departs independently. Judges' usual replies are independent on an item.

    Attributes
    ----------
    rater_agreement : float in [0.5, 1]
        Chance that two raters agree on an item.
    self_consistency : float in [0.5, 1], optional
        Chance that two replies of a judge to an item agree.
    """

    rater_agreement: float
    self_consistency: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rater_agreement", "self_consistency"):
            rate = getattr(self, name)
            if not 0.5 <= rate <= 1.0:  # noqa: PLR2004 -- chance, with two options
                raise ValueError(f"{name} is {rate}; with two options it is from 0.5 to 1")

    @property
    def preference(self) -> float:
        """Chance that a rater chooses the preferred option."""
        return (1.0 + sqrt(2.0 * self.rater_agreement - 1.0)) / 2.0

    @property
    def fidelity(self) -> float:
        """Chance that a reply is the judge's usual reply to the item."""
        return (1.0 + sqrt(2.0 * self.self_consistency - 1.0)) / 2.0

    def usual_accuracy(self, agreement: float) -> float:
        """Return the chance that a judge's usual reply is the preferred option.

        Raises
        ------
        ValueError
            If no judge with this self-consistency reaches the agreement with a rater.
        """
        slope = (2.0 * self.preference - 1.0) * (2.0 * self.fidelity - 1.0)
        most = 0.5 + slope / 2.0
        if not 1.0 - most - 1e-12 <= agreement <= most + 1e-12:
            raise ValueError(
                f"agreement {agreement} with a rater is out of reach: raters who agree with each "
                f"other {self.rater_agreement} of the time, and replies {self.self_consistency} "
                f"of it, allow {1.0 - most:.3f} to {most:.3f}"
            )
        return 0.5 if slope == 0 else 0.5 + (agreement - 0.5) / slope

    def moments(self, agreement: float, other: float | None = None) -> AgreementMoments:
        """Return the moments of a judge's agreement, or of the difference of two.

        Parameters
        ----------
        agreement, other : float
            Chance that a reply of the judge, and of a second one, equals a rating.

        Raises
        ------
        ValueError
            As `usual_accuracy`.
        """
        # An agreement is 1/2 + b u / 2 with b, u = +1 for the preferred option and -1 for the other
        gamma = 2.0 * self.preference - 1.0
        agreements = [agreement] if other is None else [agreement, other]
        signs = (1.0, -1.0)
        means = [
            sign * (2.0 * self.usual_accuracy(share) - 1.0) * (2.0 * self.fidelity - 1.0)
            for sign, share in zip(signs, agreements, strict=False)
        ]
        repeated = (2.0 * self.fidelity - 1.0) ** 2  # E u u' of two replies of a judge
        cross = 0.0 if other is None else 2.0 * means[0] * means[1]
        same, different = len(means) + cross, len(means) * repeated + cross
        constant, first = (0.5, gamma * means[0] / 2.0) if other is None else (0.0, 0.0)
        offset = constant**2 + constant * 2.0 * first
        return AgreementMoments(
            mean=constant + gamma * sum(means) / 2.0,
            same=offset + same / 4.0,
            other_rater=offset + gamma**2 * same / 4.0,
            other_reply=offset + different / 4.0,
            other_both=offset + gamma**2 * different / 4.0,
        )

    def preferred(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw the preferred option, 0 or 1, of n items: (n,)."""
        return rng.integers(0, 2, n)

    def ratings(self, preferred: IntArray, n_raters: int, rng: np.random.Generator) -> IntArray:
        """Draw the choices of raters: (n, m) of 0 and 1."""
        departs = rng.random((len(preferred), n_raters)) >= self.preference
        return preferred[:, None] ^ departs.astype(np.int64)

    def replies(
        self, preferred: IntArray, agreement: float, n_replies: int, rng: np.random.Generator
    ) -> IntArray:
        """Draw the replies of a judge with this agreement: (n, s) of 0 and 1."""
        n = len(preferred)
        usual = preferred ^ (rng.random(n) >= self.usual_accuracy(agreement)).astype(np.int64)
        departs = rng.random((n, n_replies)) >= self.fidelity
        return usual[:, None] ^ departs.astype(np.int64)

    def panel(
        self, n: int, n_raters: int, agreement: float, rng: np.random.Generator
    ) -> tuple[Panel, dict[str, int]]:
        """Draw the ratings of n items by all raters, and one reply of a judge to each item."""
        preferred = self.preferred(n, rng)
        items, raters = tuple(map(str, range(n))), tuple(f"r{j:03}" for j in range(n_raters))
        panel = Panel(
            items=items,
            raters=raters,
            labels=(0, 1),
            of_item=np.repeat(np.arange(n), n_raters),
            of_rater=np.tile(np.arange(n_raters), n),
            code=self.ratings(preferred, n_raters, rng).ravel(),
        )
        replies = self.replies(preferred, agreement, 1, rng)[:, 0]
        return panel, dict(zip(items, replies.tolist(), strict=True))
