"""False alarms and delay of the tests of drift, on simulated schedules of 100 rounds.

    python benchmarks/drift.py [--schedules 1000] [--changed 1000] [--only WORD]
        [--rows FILE] [--write]

Prints a row per kind of schedule, and exits with 1 if unchanged judges alarm in more than alpha
plus three standard errors; ``--write`` puts the tables into docs/drift.md. This takes about an hour
of one core; what is done is kept in ``--rows FILE`` and not repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import astuple, dataclass, field, replace
from itertools import product
from math import inf, pi, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from harness.stats.drift.reply_counts import Window
from harness.stats.drift.score_change import ItemScores, score_change, worse_path
from harness.stats.drift.stream_path import anytime_p_values, stacked_paths
from harness.stats.inference.interval_methods import t_quantile
from harness.stats.inference.special_functions import bdtr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).resolve().parents[1] / "docs" / "drift.md"
START = "<!-- benchmarks/drift.py writes what follows -->"
ALPHA = 0.05
N_LOOKS = 100
BLOCK = 50  # schedules simulated at once
YES, NO, INVALID = range(3)
NOISE = (0.0, 0.02, 0.1, 0.3)
SHARES = (0.01, 0.05, 0.2)
STARTS = (1, 10, 50)
BASE_RATES = (0.0, 0.01, 0.02, 0.05, 0.1)  # of invalid replies, before 5 points more
PROCEDURES = {
    "chosen": "harness",
    "e-values": "e-values alone",
    "p-values": "p-values alone",
    "naive": "McNemar at each round",
    "spent": "McNemar, alpha spent",
}


@dataclass(frozen=True)
class Schedule:
    """Replies of one judge to n items, in a baseline and rounds of one reply each.

    Attributes
    ----------
    n, s0, n_looks : int
        Items, baseline replies to each, and rounds.
    noise : float
        An item's replies are off its usual answer with a chance that is exponentially distributed
        over the items, with this mean, and cut at .5.
    n_judges : int
        Judges that share alpha. Where the first changes the others are left out.
    start : int or None
        From which round on the first judge is another one; None if it never is.
    share : float
        Of the items, whose usual answer is another one then.
    more_each_look : float
        Of the items, whose usual answer changes at every round.
    noise_factor : float
        By which the chance of another answer grows.
    invalid : (float, float)
        Chance of an invalid reply before and after.
    missing : float
        Chance that a reply never arrives.
    copied : float
        Chance that a baseline reply after the first is a copy of the first.
    day_sd : float
        Of the log of a factor that the noise of all items has on the day of a baseline or round.
    """

    n: int = 300
    s0: int = 2
    n_looks: int = N_LOOKS
    noise: float = 0.1
    n_judges: int = 1
    start: int | None = None
    share: float = 0.0
    more_each_look: float = 0.0
    noise_factor: float = 1.0
    invalid: tuple[float, float] = (0.0, 0.0)
    missing: float = 0.0
    copied: float = 0.0
    day_sd: float = 0.0

    @property
    def as_assumed(self) -> bool:
        """Whether replies are independent and the noise is that of the baseline."""
        return self.copied == 0.0 and self.day_sd == 0.0

    @property
    def is_short(self) -> bool:
        """Whether it ends ten rounds after the change, since only its first rounds are shown."""
        return self.n_looks < N_LOOKS

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts, (looks + 1, n, 3), or (looks + 1, n, 2) if no reply is invalid."""
        usual, off = rng.integers(2, size=self.n), self.noise * rng.exponential(1.0, self.n)
        order = rng.permutation(self.n)
        rows = []
        for look in range(self.n_looks + 1):
            changed = np.zeros(self.n, bool)
            changed[order[: self.n_changed(look)]] = True
            after = self.start is not None and look >= self.start
            factor = self.noise_factor if after else 1.0
            if self.day_sd:
                factor *= np.exp(rng.normal(0.0, self.day_sd))
            chance = np.minimum(off * factor, 0.5)
            answers = np.where(changed, 1 - usual, usual)
            rows.append(self._replies(answers, chance, self.invalid[after], look, rng))
        return np.array(rows, dtype=np.int32)

    def n_changed(self, look: int) -> int:
        """Count the items whose usual answer is another one in a round."""
        if self.start is None or look < self.start:
            return 0
        drifted = (look - self.start + 1) * self.more_each_look
        return min(self.n, round(self.n * (self.share + drifted)))

    def _replies(
        self,
        answers: np.ndarray,
        chance: np.ndarray,
        invalid: float,
        look: int,
        rng: np.random.Generator,
    ) -> np.ndarray:
        size = (self.n, 1 if look else self.s0)
        replies = np.where(
            rng.random(size) < chance[:, None], 1 - answers[:, None], answers[:, None]
        )
        replies = np.where(rng.random(size) < invalid, INVALID, replies)
        if self.copied:
            replies = np.where(rng.random(size) < self.copied, replies[:, :1], replies)
        arrived = rng.random(size) >= self.missing
        categories = range(INVALID + any(self.invalid))
        return np.stack([((replies == k) & arrived).sum(axis=1) for k in categories], axis=1)


@dataclass
class Row:
    """What a kind of schedule led to.

    Attributes
    ----------
    name : str
        The kind.
    schedule : Schedule
        How it is drawn.
    first_alarms : dict of str to list of (look or inf)
        Per procedure, of every schedule simulated.
    """

    name: str
    schedule: Schedule
    first_alarms: dict[str, list[float]] = field(default_factory=dict)

    @property
    def n_schedules(self) -> int:
        """Return how many were simulated."""
        return len(self.first_alarms["chosen"])

    def share(self, procedure: str) -> float:
        """Return the share of the schedules with an alarm."""
        return float(np.isfinite(self.first_alarms[procedure]).mean())

    def share_by(self, n_looks: int) -> float:
        """Return the share with an alarm within so many rounds, the changed round being 1."""
        start = self.schedule.start or 1
        return float((np.array(self.first_alarms["chosen"]) - start < n_looks).mean())

    def early_share(self) -> float:
        """Return the share with an alarm before the change."""
        start = self.schedule.start or self.schedule.n_looks + 1
        return float((np.array(self.first_alarms["chosen"]) < start).mean())

    def delay(self) -> str:
        """Return the median number of rounds to the alarm, the changed round being 1."""
        start = self.schedule.start or 1
        delays = np.array(self.first_alarms["chosen"]) - start + 1
        delays = delays[np.isfinite(delays) & (delays >= 1)]
        return f"{np.median(delays):.0f}" if len(delays) else "-"

    @property
    def too_often(self) -> bool:
        """Whether an unchanged judge alarms in more than alpha plus three standard errors."""
        guarded = self.schedule.start is None and self.schedule.as_assumed
        return guarded and self.share("chosen") > highest(self.n_schedules)


def simulate(row: Row, n_schedules: int) -> Row:
    """Fill a row, with seeds made of its name."""
    schedule, name = row.schedule, crc32(row.name.encode())
    for first in range(0, n_schedules, BLOCK):
        replicates = range(first, min(first + BLOCK, n_schedules))
        rngs = [np.random.default_rng([name, replicate]) for replicate in replicates]
        n_followed = schedule.n_judges if schedule.start is None else 1
        alpha = ALPHA / schedule.n_judges
        alarms = [block_alarms(schedule, rngs, alpha) for _ in range(n_followed)]
        for procedure in alarms[0]:
            first_alarm = np.min([judge[procedure] for judge in alarms], axis=0)
            row.first_alarms.setdefault(procedure, []).extend(first_alarm.tolist())
    return row


def block_alarms(
    schedule: Schedule, rngs: list[np.random.Generator], alpha: float
) -> dict[str, np.ndarray]:
    """Return the first alarm of each procedure in some schedules: (S,), inf without any."""
    counts = np.array([schedule.draw(rng) for rng in rngs])
    stop_at = 0.0 if schedule.start is None else alpha
    is_outcome = np.arange(counts.shape[3]) == INVALID
    log_e_sums, p_bounds = stacked_paths(counts, is_outcome, stop_at=stop_at)
    p = mcnemar_p_values(counts, INVALID if any(schedule.invalid) else YES)
    looks = np.arange(1, schedule.n_looks + 1)
    return {
        "chosen": first(anytime_p_values(log_e_sums, p_bounds) <= alpha),
        "e-values": first(log_e_sums >= -np.log(alpha)),
        "p-values": first(p_bounds <= alpha),
        "naive": first(p <= alpha),
        "spent": first(p <= 6 * alpha / (pi * looks) ** 2),
    }


def first(alarms: np.ndarray) -> np.ndarray:
    """Return the first round with an alarm: (S,) from (S, looks), inf without any."""
    return np.where(alarms.any(axis=1), alarms.argmax(axis=1) + 1.0, inf)


def mcnemar_p_values(counts: np.ndarray, category: int) -> np.ndarray:
    """Compare each round with the first baseline reply by the exact McNemar test: (S, looks).

    The first of the baseline replies, whose order is exchangeable, is drawn by its position.
    """
    baseline, looks = counts[:, 0], counts[:, 1:]
    position = np.random.default_rng(0).random(baseline.shape[:2])
    size = np.maximum(baseline.sum(axis=2), 1)
    before = (position * size < baseline[..., category])[:, None]
    after, arrived = looks[..., category] > 0, looks.sum(axis=3) > 0
    gained = (after & ~before & arrived).sum(axis=2)
    lost = (~after & before & arrived).sum(axis=2)
    tail = bdtr(np.minimum(gained, lost), gained + lost, 0.5)
    return np.minimum(1.0, 2.0 * tail)


# Worse


@dataclass(frozen=True)
class WorseSchedule:
    """Scores of one judge on n items, in a baseline and 100 rounds of one reply each.

    Attributes
    ----------
    n, s0 : int
        Items, and baseline replies to each.
    noise : float
        As in `Schedule`.
    right : float
        Of the items, whose usual answer is right at first.
    drop : float
        Of the items, whose usual answer is right before and wrong after.
    gain : float
        Of the items, whose usual answer is wrong before and right after.
    start : int
        From which round on.
    margin : float
        The fall of the mean score that is tolerated.
    """

    n: int = 300
    s0: int = 2
    noise: float = 0.1
    right: float = 0.85
    drop: float = 0.0
    gain: float = 0.0
    start: int = 1
    margin: float = 0.0

    @property
    def is_worse(self) -> bool:
        """Whether the mean falls by more than the margin."""
        return self.drop > self.gain and self.margin < AT_MARGIN["margin"]

    def draw(self, rng: np.random.Generator) -> ItemScores:
        """Draw the scores. Noise also rights answers: their mean falls by less than ``drop``."""
        chance, n_replies = self.chances(rng), np.full((N_LOOKS + 1, self.n), 1)
        n_replies[0] = self.s0
        return ItemScores(rng.binomial(n_replies, chance), n_replies)

    def chances(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the chance that an item is right, (looks + 1, n)."""
        right = np.arange(self.n) < self.right * self.n
        off = np.minimum(self.noise * rng.exponential(1.0, self.n), 0.5)
        falls = np.arange(self.n) < round(self.drop * self.n)
        rises = np.arange(self.n) >= self.n - round(self.gain * self.n)
        after = (right & ~falls) | rises
        later = np.arange(N_LOOKS + 1)[:, None] >= self.start
        return np.where(np.where(later, after, right), 1.0 - off, off)


@dataclass(frozen=True)
class WorseRow:
    """In how many schedules of a kind worse would be said of a judge that is known to change."""

    schedule: WorseSchedule
    n_worse: int
    n_by_second_look: int
    n_schedules: int

    @property
    def too_often(self) -> bool:
        """Whether worse is wrong, and said in more than alpha plus three standard errors."""
        return not self.schedule.is_worse and self.n_worse / self.n_schedules > highest(
            self.n_schedules
        )

    def line(self) -> str:
        """Return a row of the fourth table."""
        s = self.schedule
        changes = ["no change"] if not s.drop else [f"{s.drop:.0%} become wrong"]
        changes += [f"{s.gain:.0%} right"] if s.gain else []
        look = f" at round {s.start}" if s.drop else ""
        name = f"{s.n} items, {replies(s.s0)}, {s.right:.0%} right; {', '.join(changes)}{look}"
        is_worse = "yes" if s.is_worse else "no"
        margin = f"{100 * s.margin:.3g} points"
        early, ever = self.n_by_second_look / self.n_schedules, self.n_worse / self.n_schedules
        return (
            f"| {name} | {margin} | {is_worse} | {early:.1%} | {ever:.1%} | {self.n_schedules:,} |"
        )


# Noise, and shares of the items that make a hit rate of .77 fall to .57.
FALLS = ((0.0, 0.77, 0.2), (0.1, 0.838, 0.2495), (0.3, 0.988, 0.39))
AT_MARGIN = {"drop": 0.08, "margin": 0.0642}  # the mean falls by .08 (1 - 2 .0993)


def simulate_worse(schedule: WorseSchedule, n_schedules: int) -> WorseRow:
    """Count the schedules in which worse would be said, with seeds made of their kind."""
    seed = crc32(repr(schedule).encode())
    paths = (
        worse_path(schedule.draw(np.random.default_rng([seed, i])), margin=schedule.margin)
        for i in range(n_schedules)
    )
    looks = [path.first_look_at(ALPHA) or inf for path in paths]
    second = schedule.start + 1
    n_early = sum(look <= second for look in looks)
    return WorseRow(schedule, sum(look < inf for look in looks), n_early, n_schedules)


def worse_schedules() -> Iterator[WorseSchedule]:
    """List falls of at most the margin, where worse is wrong, then larger ones."""
    yield from (WorseSchedule(), WorseSchedule(s0=5), WorseSchedule(**AT_MARGIN))
    for n in (150, 300):  # 30 % of the answers change, and none becomes worse on average
        for start in (1, 21):
            yield WorseSchedule(n=n, s0=5, right=0.6, drop=0.15, gain=0.15, start=start)
    for noise, right, drop in FALLS:
        yield WorseSchedule(n=150, s0=5, noise=noise, right=right, drop=drop, start=21)
    for s0 in (2, 5):
        for start in (1, 10):
            for drop in (0.02, 0.05, 0.1):
                yield WorseSchedule(s0=s0, drop=drop, start=start)
    yield WorseSchedule(drop=0.1, start=10, margin=0.02)


# Confidence sequences


@dataclass(frozen=True)
class SequenceRow:
    """How often intervals of a kind of schedule miss the change of the mean score at any round.

    Attributes
    ----------
    n_missed, n_missed_alone : int
        Schedules in which the confidence sequence misses, and t intervals of each round alone.
    widths : list of float
        Mean distance of the ends at `WIDTHS_AT`, in points.
    """

    schedule: WorseSchedule
    n_missed: int
    n_missed_alone: int
    widths: list[float]
    n_schedules: int

    @property
    def too_often(self) -> bool:
        """Whether the sequence misses in more than alpha plus three standard errors."""
        return self.n_missed / self.n_schedules > highest(self.n_schedules)

    def line(self) -> str:
        """Return a row of the last table."""
        s, n = self.schedule, self.n_schedules
        fall = f"{s.drop:.0%} become wrong at round {s.start}" if s.drop else "no fall"
        misses = f"{self.n_missed / n:.1%} | {self.n_missed_alone / n:.1%}"
        widths = " | ".join(f"{width:.0f}" for width in self.widths)
        return f"| {s.n} items, {replies(s.s0)}, {fall} | {misses} | {widths} | {n:,} |"


WIDTHS_AT = (1, 10, 100)


def sequence_schedules() -> Iterator[WorseSchedule]:
    """List schedules with and without a fall."""
    yield from (WorseSchedule(), WorseSchedule(s0=5), WorseSchedule(n=100))
    yield WorseSchedule(drop=0.1, start=10)


def simulate_sequence(schedule: WorseSchedule, n_schedules: int) -> SequenceRow:
    """Count misses, with seeds made of the kind of schedule."""
    seed = crc32(repr(schedule).encode())
    missed = np.zeros((n_schedules, 2), bool)
    widths = np.zeros((n_schedules, N_LOOKS))
    for i in range(n_schedules):
        truth = schedule.chances(np.random.default_rng([seed, i])).mean(axis=1)
        scores = schedule.draw(np.random.default_rng([seed, i]))
        for look in range(1, N_LOOKS + 1):
            interval = score_change(scores, look, alpha=ALPHA).interval
            assert interval is not None
            change, drawn = truth[look] - truth[0], scores.changes(Window(look, 1))
            missed[i, 0] |= not interval.low <= change <= interval.high
            alone = t_quantile(1 - ALPHA, len(drawn) - 1) * drawn.std(ddof=1) / sqrt(len(drawn))
            missed[i, 1] |= abs(drawn.mean() - change) > alone
            widths[i, look - 1] = interval.high - interval.low
    points = 100 * widths.mean(axis=0)
    return SequenceRow(
        schedule,
        *missed.sum(axis=0).tolist(),
        [float(points[look - 1]) for look in WIDTHS_AT],
        n_schedules,
    )


def highest(n_schedules: int) -> float:
    """Return alpha plus three standard errors."""
    return ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / n_schedules)


# Kinds of schedule


def all_rows() -> Iterator[Row]:
    """List all schedules of the first tables."""
    yield from unchanged_rows()
    yield from unchanged_judges_rows()
    yield from broken_rows()
    yield from outcome_rows()
    yield from changed_rows()


def unchanged_rows() -> Iterator[Row]:
    """List schedules in which nothing changes."""
    for n in (300, 100):
        for noise in NOISE:
            name = f"{n} items, 2 replies, {noise:.0%} noise"
            yield Row(name, Schedule(n=n, noise=noise))
    for s0 in (1, 5):
        yield Row(f"300 items, {replies(s0)}, 10% noise", Schedule(s0=s0))
    yield Row("300 items, 2 replies, 10% noise, 5% invalid", Schedule(invalid=(0.05, 0.05)))
    for rate in (0.01, 0.1):
        schedule = Schedule(n=150, s0=5, invalid=(rate, rate))
        yield Row(f"150 items, 5 replies, 10% noise, {rate:.0%} invalid", schedule)
    for rate in (0.0, 0.01, 0.1):
        schedule = Schedule(n=150, s0=5, n_looks=1000, invalid=(rate, rate))
        yield Row(f"150 items, 5 replies, 10% noise, {rate:.0%} invalid, 1,000 rounds", schedule)
    yield Row("100 items, 2 replies, 10% noise, 5% missing", Schedule(n=100, missing=0.05))


def unchanged_judges_rows() -> Iterator[Row]:
    """List schedules of several judges, none of which changes."""
    for n in (100, 300):
        name = f"{n} items, 2 replies, 10% noise, any of 5 judges"
        yield Row(name, Schedule(n=n, n_judges=5))


def broken_rows() -> Iterator[Row]:
    """List schedules in which nothing changes, but an assumption of the tests does not hold."""
    usual = "300 items, 2 replies, 10% noise"
    for copied in (0.1, 0.5):
        name = f"{usual}, {copied:.0%} of the second replies copied"
        yield Row(name, Schedule(copied=copied))
    for day_sd in (0.1, 0.3):
        name = f"{usual}, noise of the day with log-sd {day_sd:g}"
        yield Row(name, Schedule(day_sd=day_sd))


def changed_rows() -> Iterator[Row]:
    """List schedules in which a judge changes."""
    for start in STARTS:
        for share in SHARES:
            for kind in (
                *(Schedule(noise=noise) for noise in NOISE),
                Schedule(n=100),
                Schedule(s0=1),
                Schedule(s0=5),
                Schedule(n_judges=5),
            ):
                yield changed_row(f"{share:.0%} of items", replace(kind, share=share, start=start))
        yield changed_row("noise doubles", Schedule(noise_factor=2.0, start=start))
        for before in (0.02, 0.05):
            name = f"invalid {before:.0%} to {2 * before:.0%}"
            yield changed_row(name, Schedule(invalid=(before, 2 * before), start=start))
    for noise in (0.1, 0.3):
        schedule = Schedule(noise=noise, more_each_look=0.002, start=1)
        yield changed_row("0.2% of items more at each look", schedule)


def outcome_rows() -> Iterator[Row]:
    """List schedules in which more replies become invalid, among none and from several rates."""
    for s0, start in ((5, 1), (5, 21), (2, 11)):
        for after in (0.08, 0.05, 0.03):
            schedule = Schedule(n=150, s0=s0, n_looks=start + 9, invalid=(0.0, after), start=start)
            yield changed_row(f"invalid 0% to {after:.0%}", schedule)
    for s0, before in product((5, 2), BASE_RATES):
        after = before + 0.05
        schedule = Schedule(n=150, s0=s0, n_looks=10, invalid=(before, after), start=1)
        if before or s0 != 5:  # else it is listed above
            yield changed_row(f"invalid {before:.0%} to {after:.0%}", schedule)


def changed_row(what: str, schedule: Schedule) -> Row:
    """Name what changes, and among what."""
    noise = f"{replies(schedule.s0)}, {schedule.noise:.0%} noise"
    name = f"{what}: {schedule.n} items, {noise}, from round {schedule.start}"
    if schedule.n_judges > 1:
        name += f", one of {schedule.n_judges} judges"
    return Row(name, schedule)


def replies(s0: int) -> str:
    """Return "1 reply" or "2 replies"."""
    return "1 reply" if s0 == 1 else f"{s0} replies"


# Tables


def tables(rows: list[Row], worse: list[WorseRow], sequences: list[SequenceRow]) -> str:
    """Write the tables as Markdown."""
    unchanged = [row for row in rows if row.schedule.start is None and row.schedule.as_assumed]
    broken = [row for row in rows if not row.schedule.as_assumed]
    changed = [row for row in rows if row.schedule.start is not None]
    head = [
        f"| schedule | {' | '.join(PROCEDURES.values())} | schedules |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    parts = [
        "## False alarms",
        "",
        "Nothing changes here. The table has the share of schedules of 100 rounds with an alarm",
        "at any round.",
        "",
        *head,
        *map(unchanged_line, unchanged),
        "",
        "The next table breaks an assumption: some baseline replies are copies of other",
        "replies, or each day has a different noise level.",
        "",
        *head,
        *map(unchanged_line, broken),
        "",
        "## Delay",
        "",
        "The table has the share of schedules with an alarm within 100 rounds, and the median",
        "number of rounds from the change to the alarm. The first changed round is round 1.",
        "",
        "| change | alarm | rounds | alarm before the change | McNemar, alpha spent | schedules |",
        "| --- | --: | --: | --: | --: | --: |",
        *(changed_line(row) for row in changed if not row.schedule.is_short),
        "",
        "## Outcomes that become more frequent",
        "",
        "Replies become unreadable, refused or abstained, either for the first time or 5 points",
        "more often. The table has the share of schedules with an alarm at the first changed",
        "round, by the second and by the third. The more frequent such replies were before, the",
        "later the alarm.",
        "",
        "| change | round 1 | by round 2 | by round 3 | alarm before the change | schedules |",
        "| --- | --: | --: | --: | --: | --: |",
        *(outcome_line(row) for row in changed if row.schedule.is_short),
        "",
        "## Worse",
        "",
        "There's one judge, and it's known to have changed: the usual answer to some items",
        "becomes wrong, or right. The table has the share of schedules in which the test for",
        "*worse* rejects by the second round after the change, and within 100 rounds. Noise is",
        "10%. In rows with a hit rate that falls from 77% to 57%, it's 0%, 10% and 30%.",
        "",
        "| baseline, change | margin | worse by more | by the second round | ever | schedules |",
        "| --- | --: | --- | --: | --: | --: |",
        *(row.line() for row in worse),
        "",
        "## Confidence sequences",
        "",
        "The table has the share of schedules with 10% noise in which an interval for the",
        "change of the mean score misses the change at any of 100 rounds. For comparison, it",
        "has the same share for t intervals of each round. The next columns have the intervals'",
        "mean width in points at rounds 1, 10 and 100.",
        "",
        "| schedule | missed | missed by t | round 1 | round 10 | round 100 | schedules |",
        "| --- | --: | --: | --: | --: | --: | --: |",
        *(row.line() for row in sequences),
    ]
    return "\n".join(parts) + "\n"


def unchanged_line(row: Row) -> str:
    """Return a row of the first table."""
    shares = " | ".join(f"{row.share(procedure):.1%}" for procedure in PROCEDURES)
    return f"| {row.name} | {shares} | {row.n_schedules:,} |"


def changed_line(row: Row) -> str:
    """Return a row of the second table."""
    shares = f"{row.share('chosen'):.0%} | {row.delay()} | {row.early_share():.0%}"
    return f"| {row.name} | {shares} | {row.share('spent'):.0%} | {row.n_schedules:,} |"


def outcome_line(row: Row) -> str:
    """Return a row of the table on outcomes that become more frequent."""
    soon = f"{row.share_by(1):.0%} | {row.share_by(2):.0%} | {row.share_by(3):.0%}"
    return f"| {row.name} | {soon} | {row.early_share():.0%} | {row.n_schedules:,} |"


def write_section(section: str, mark: str = START, until: str = "") -> None:
    """Put a section into the page behind its mark, in place of what stands up to another mark."""
    page, after = PAGE.read_text("utf-8"), ""
    if until:
        page, _, after = page.partition(until)
        after = f"\n{until}{after}"
    PAGE.write_text(f"{page.split(mark)[0].rstrip()}\n\n{mark}\n{section}{after}", "utf-8")


def fill_row(row: Row, n_schedules: int, file: Path | None) -> Row:
    """Simulate a row, or take it from a file of rows."""
    row.first_alarms = kept(
        file, row.name, n_schedules, lambda: simulate(row, n_schedules).first_alarms
    )
    return row


def fill_worse(schedule: WorseSchedule, n_schedules: int, file: Path | None) -> WorseRow:
    """Simulate a row on worse, or take it from a file of rows."""
    result = kept(
        file,
        repr(schedule),
        n_schedules,
        lambda: {"row": astuple(simulate_worse(schedule, n_schedules))[1:3]},
    )
    return WorseRow(schedule, *result["row"], n_schedules)


def fill_sequence(schedule: WorseSchedule, n_schedules: int, file: Path | None) -> SequenceRow:
    """Simulate a row on confidence sequences, or take it from a file of rows."""
    result = kept(
        file,
        f"sequence {schedule}",
        n_schedules,
        lambda: {"row": astuple(simulate_sequence(schedule, n_schedules))[1:]},
    )
    return SequenceRow(schedule, *result["row"])


def kept(
    file: Path | None, name: str, n_schedules: int, result: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return a result that a file holds, a line for each; where it has none, make and add it."""
    lines = file.read_text("utf-8").splitlines() if file and file.exists() else []
    for line in map(json.loads, lines):
        if (line["name"], line["schedules"]) == (name, n_schedules):
            return dict(line["result"])
    new = result()
    if file:
        line = {"name": name, "schedules": n_schedules, "result": new}
        with file.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(line) + "\n")
    return new


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedules", type=int, default=1000, help="of rows on error rates")
    parser.add_argument("--changed", type=int, default=1000, help="of rows on power and delay")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--rows", type=Path, help="file that keeps what is done")
    parser.add_argument("--write", action="store_true", help="renew docs/drift.md")
    options = parser.parse_args()
    rows: list[Row] = []
    worse: list[WorseRow] = []
    sequences: list[SequenceRow] = []
    for row in (
        *unchanged_rows(),
        *unchanged_judges_rows(),
        *broken_rows(),
        *changed_rows(),
        *outcome_rows(),
    ):
        if options.only in row.name:
            is_unchanged = row.schedule.start is None
            n = options.schedules if is_unchanged else options.changed
            n = n * N_LOOKS // max(row.schedule.n_looks, N_LOOKS)  # at most as many rounds
            rows.append(fill_row(row, n, options.rows))
            line = unchanged_line if is_unchanged else changed_line
            print((outcome_line if row.schedule.is_short else line)(row), flush=True)
    for schedule in worse_schedules() if not options.only else ():
        n = options.changed if schedule.is_worse else options.schedules
        worse.append(fill_worse(schedule, n, options.rows))
        print(worse[-1].line(), flush=True)
    for schedule in sequence_schedules() if not options.only else ():
        sequences.append(fill_sequence(schedule, options.schedules, options.rows))
        print(sequences[-1].line(), flush=True)
    if options.write:
        write_section(tables(rows, worse, sequences))
    sys.exit(any(row.too_often for row in (*rows, *worse, *sequences)))


if __name__ == "__main__":
    main()
