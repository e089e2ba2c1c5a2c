"""How often "better" and "recovered" are said of judges, on simulated schedules of 100 looks.

    python benchmarks/watch_claims.py [--schedules 1000] [--changed 200] [--write]

See `claim_rows`. This takes about ten minutes of one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.drift.score_change import ItemScores, is_better, rise_after, shown_fall

try:
    from benchmarks.claim_rows import Table, main
    from benchmarks.drift import ALPHA, N_LOOKS, START
except ModuleNotFoundError:  # it is run as a script
    from claim_rows import Table, main
    from drift import ALPHA, N_LOOKS, START

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class ClaimSchedule:
    """Scores of one judge on n items, in a baseline of s0 replies and 100 looks of one each.

    Attributes
    ----------
    what : str
        How the judge changes.
    stretches : tuple of (look, share, share)
        From which looks on which share of the items is right that was right at the baseline, and
        which share that was wrong.
    claim : {"better", "recovered"}
        What may be said.
    is_true : bool
        Whether it is true from the last stretch on.
    right : float
        Share of the items that are right at the baseline.
    noise : float
        As in `drift.Schedule`.
    """

    what: str
    stretches: tuple[tuple[int, float, float], ...]
    claim: str
    is_true: bool
    right: float = 0.6
    n: int = 150
    s0: int = 5
    noise: float = 0.1

    @property
    def since(self) -> float:
        """The look from which on the claim is true; inf if it never is."""
        return self.stretches[-1][0] if self.is_true else inf

    @property
    def cells(self) -> tuple[str, ...]:
        """What its row begins with."""
        return f"{self.n} items, {self.right:.0%} right; {self.what}", self.claim

    def draw(self, rng: np.random.Generator) -> ItemScores:
        """Draw the scores."""
        order = np.arange(self.n) / self.n
        usual = np.tile(order < self.right, (N_LOOKS + 1, 1))
        for look, kept, gained in self.stretches:
            among_right, among_wrong = order / self.right, (order - self.right) / (1 - self.right)
            usual[look:] = np.where(order < self.right, among_right < kept, among_wrong < gained)
        off = np.minimum(self.noise * rng.exponential(1.0, self.n), 0.5)
        n_replies = np.full((N_LOOKS + 1, self.n), 1)
        n_replies[0] = self.s0
        return ItemScores(rng.binomial(n_replies, np.where(usual, 1.0 - off, off)), n_replies)

    def said_at(self, rng: np.random.Generator) -> float:
        """Return the first look at which the claim is made; inf if it never is."""
        scores, looks = self.draw(rng), range(1, N_LOOKS + 1)
        if self.claim == "better":
            return next((t for t in looks if is_better(_up_to(scores, t), ALPHA)), inf)
        fall = shown_fall(scores, ALPHA)
        later = range(fall[0] + 1, N_LOOKS + 1) if fall else ()
        return next((t for t in later if fall and rise_after(_up_to(scores, t), fall, ALPHA)), inf)


def _up_to(scores: ItemScores, look: int) -> ItemScores:
    return ItemScores(scores.sums[: look + 1], scores.n_replies[: look + 1])


def schedules() -> Iterator[ClaimSchedule]:
    """List changes that are no rise, rises, falls that stay, and falls that end."""
    for n in (150, 300):
        for look in (1, 21):
            what = f"30% of the answers change and none gets better on average, from look {look}"
            yield ClaimSchedule(what, ((look, 0.75, 0.375),), "better", is_true=False, n=n)
    for gained in (0.6, 0.3, 0.15):
        what = f"{0.4 * gained:.0%} become right at look 21"
        yield ClaimSchedule(what, ((21, 1.0, gained),), "better", is_true=True)
    for look in (1, 21):
        for lost in (0.1, 0.15, 0.3):
            what = f"{0.8 * lost:.0%} become wrong at look {look} and stay so"
            stretches = ((look, 1 - lost, 0.0),)
            yield ClaimSchedule(what, stretches, "recovered", is_true=False, right=0.8)
    for lost, until in ((0.3, 23), (0.3, 31), (0.15, 31)):
        what = f"{0.8 * lost:.0%} become wrong at look 21 and right again at look {until}"
        stretches = ((21, 1 - lost, 0.0), (until, 1.0, 0.0))
        yield ClaimSchedule(what, stretches, "recovered", is_true=True, right=0.8)


TABLE = Table(
    mark="<!-- benchmarks/watch_claims.py writes what follows, up to the next mark -->",
    until=START,
    head="""\
## Better and recovered

Share of schedules in which a judge that is the only one and known to have changed is
called better, or recovered after it was worse: by the second look from when that is
true, and at any of 100 looks. Each item has five baseline replies; noise is 10%.

| baseline, change | claim | true | by the second look | ever | schedules |
| --- | --- | --- | --: | --: | --: |
""",
    soon=(2,),
)


if __name__ == "__main__":
    main(schedules(), TABLE)
