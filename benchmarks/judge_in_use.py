"""How often a judge in use is shown to be worse than a constant answer or a human rater, simulated.

    python benchmarks/judge_in_use.py [--schedules 1000] [--changed 200] [--write]

See `claim_rows`. This takes about ten minutes of one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.stats.drift.score_change import ItemScores, log_e_below

try:
    from benchmarks.claim_rows import Table, main
    from benchmarks.drift import ALPHA, N_LOOKS, START
except ModuleNotFoundError:  # it is run as a script
    from claim_rows import Table, main
    from drift import ALPHA, N_LOOKS, START

if TYPE_CHECKING:
    from collections.abc import Iterator

BETA = (0.6, 0.4)  # distribution over the items of the chance that a rater says no
N_RATERS = 3
MARGIN = 0.05
N_LARGE = 1_000_000  # items, for the boundary
FIRST_LOOK = 21  # of a change


class Items(NamedTuple):
    """Items of two options.

    Attributes
    ----------
    says_no : (n,) array
        Chance that a rater says no.
    coins : (2, n) array
        Uniform numbers that fix the judge's usual answer.
    off : (n,) array
        Chance that it is not given.
    """

    says_no: np.ndarray
    coins: np.ndarray
    off: np.ndarray

    @classmethod
    def draw(cls, n: int, noise: float, rng: np.random.Generator) -> Items:
        """Draw items."""
        off = np.minimum(rng.exponential(noise, n), 0.5)
        return cls(rng.beta(*BETA, n), rng.random((2, n)), off)

    def chance_of_no(self, right: float) -> np.ndarray:
        """Return the chance that the judge says no.

        With a chance of ``right`` its usual answer is that of most raters, or of fewest if it is
        negative, and else that of a fair coin.
        """
        most_say_no = self.says_no >= 0.5
        by_raters = most_say_no if right > 0 else ~most_say_no
        usual = np.where(self.coins[0] < abs(right), by_raters, self.coins[1] < 0.5)
        return np.where(usual, 1.0 - self.off, self.off)


@dataclass(frozen=True)
class InUseSchedule:
    """A judge in use, asked once about each item in each of 100 rounds.

    Attributes
    ----------
    what : str
        How good it is.
    rival : {"a constant answer", "human rater"}
        What it is compared with.
    right, later : float or None
        See `Items.chance_of_no`; until round 20 and from then on. None for a judge that is just as
        good as it may be at least.
    """

    what: str
    rival: str
    right: float | None = None
    later: float | None = None
    n: int = 150
    noise: float = 0.1

    @property
    def since(self) -> float:
        """The look from which on it is worse; inf if it never is."""
        return inf if self.later is None else FIRST_LOOK

    @property
    def cells(self) -> tuple[str, ...]:
        """What its row begins with."""
        return f"{self.n} items; {self.what}", self.rival

    def said_at(self, rng: np.random.Generator) -> float:
        """Return the first look at which it is shown to be worse; inf if it never is."""
        right = boundary(self.rival, self.noise) if self.right is None else self.right
        items = Items.draw(self.n, self.noise, rng)
        of_no, references = scores(rng.binomial(N_RATERS, items.says_no), self.rival)
        margin = MARGIN if self.rival == "human rater" else 0.0
        n_replies, sums = np.full((N_LOOKS + 1, self.n), 1), np.zeros((N_LOOKS + 1, self.n))
        log_e = -inf
        for look in range(1, N_LOOKS + 1):
            share = right if self.later is None or look < FIRST_LOOK else self.later
            says_no = rng.random(self.n) < items.chance_of_no(share)
            sums[look] = np.where(says_no, of_no, 1.0 - of_no)
            shown = ItemScores(sums[: look + 1], n_replies[: look + 1])
            log_e = float(np.logaddexp(log_e, log_e_below(shown, references, margin=margin)))
            if log_e >= log(2 / ALPHA):
                return look
        return inf


def scores(n_no: np.ndarray, rival: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return what the reply no scores on each item, and what the references do."""
    m, n_yes = N_RATERS, N_RATERS - n_no
    if rival == "a constant answer":
        return n_no / m, [n_no / m, n_yes / m]
    of_no = (n_no * (n_no - 1) + n_yes * n_no) / (m * (m - 1))
    return of_no, [(n_no * (n_no - 1) + n_yes * (n_yes - 1)) / (m * (m - 1))]


@cache
def boundary(rival: str, noise: float) -> float:
    """Return how often a judge is right that is just as good as it may be at least."""
    items = Items.draw(N_LARGE, noise, np.random.default_rng(0))
    no = items.says_no
    human = float((no**2 + (1 - no) ** 2).mean()) - MARGIN
    least = human if rival == "human rater" else max(no.mean(), 1 - no.mean())
    low, high = -1.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        chance = items.chance_of_no(middle)
        is_worse = (chance * no + (1 - chance) * (1 - no)).mean() < least
        low, high = (middle, high) if is_worse else (low, middle)
    return high


def schedules() -> Iterator[InUseSchedule]:
    """List unchanged judges at the boundary, then judges that become worse."""
    for rival, name in (("a constant answer", "the best one"), ("human rater", "a rater less 5%")):
        for n, noise in ((150, 0.0), (150, 0.1), (300, 0.1)):
            what = f"unchanged, as good as {name}, {noise:.0%} noise"
            yield InUseSchedule(what, rival, n=n, noise=noise)
    for rival, later in (
        ("a constant answer", -0.5),
        ("a constant answer", 0.0),
        ("human rater", 0.0),
        ("human rater", 0.5),
    ):
        what = f"with most raters on 98% of the items, from round 21 on {50 * (1 + later):.0f}%"
        yield InUseSchedule(what, rival, right=0.95, later=later)


TABLE = Table(
    mark="<!-- benchmarks/judge_in_use.py writes what follows, up to the next mark -->",
    until=START,
    head="""\
## The judge in use

The table has the share of schedules of 100 rounds in which the judge in use is significantly
worse than a constant answer, or worse than a human rater by more than 5% of the range. Each
comparison has half of alpha. `--fail-on decision` fails only if the judge has also changed
significantly. Each schedule has new items with three raters each. An unchanged judge is exactly
as good as required over all items, so it can be worse on the items of one schedule. A reply's
score is the share of raters who give the same answer.

| judge | compared with | worse | by the second round | by the fourth | ever | schedules |
| --- | --- | --- | --: | --: | --: | --: |
""",
    soon=(2, 4),
)


if __name__ == "__main__":
    main(schedules(), TABLE)
