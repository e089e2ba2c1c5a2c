"""How often a search for a better way of asking claims a gain, and how many calls it makes.

    python benchmarks/improve.py [--searches 2000] [--only WORD] [--write]

Searches draw items, five raters, a judge and candidates, race them in rounds of four as the program
does (`harness.stats.racing`), and test the best on held-out items (`paired_gain`). A search counts
if the judge wasn't shown to be better than guessing on the development items. Prints a Markdown
table and exits with 1 if a bound is missed; ``--write`` puts it into docs/coverage.md and into the
CSV file beside this script.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
from scipy.stats import binom

try:
    from benchmarks.csv_rows import write_beside
    from benchmarks.decision import MARGIN, compare, evidence_of, human_differences
    from benchmarks.racing import DATA_SETS, data_set_pool
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside
    from decision import MARGIN, compare, evidence_of, human_differences
    from racing import DATA_SETS, data_set_pool

from harness.analysis.decision import verdict_of
from harness.options.concerns import WITHIN
from harness.stats.inference.alpha_spending import FIRST, share_after_gain
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.non_inferiority import non_inferiority_p
from harness.stats.racing.betting import Draws, draw_order
from harness.stats.racing.race import RaceDesign, advance, start
from harness.stats.selection.paired_gain import items_for_gain, paired_gain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stats.selection.paired_gain import PairedGain

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START, END = (
    f"<!-- benchmarks/improve.py writes what {which} -->" for which in ("follows", "ends")
)
ALPHA = 0.05
A_ROUND = 4
N_DEVELOPMENT, N_HELD_OUT, N_RATERS = 200, 100, 5
CANDIDATES = (4, 16, 64)
CHANGED = (0.3, 0.5, 0.8)  # share of the answers that a candidate changes
GAIN = 0.10
LEAST_POWER = 0.70
REPORTED = {(0.7, 0.3), (0.7, 0.5), (0.8, 0.3)}  # where it is claimed: raters agree, changed
WORTH, PLANNED_POWER = 0.05, 0.80  # on as many items as a pilot on development items asks for
MOST_CALLS = 0.35  # of all candidates on all development items
RATER = 0.85  # share of the items on which one of three raters is right, for `use`
FAIR, WEAK = 0.55, 0.45  # share of the items on which a judge gives the raters' answer


@dataclass(frozen=True)
class Design:
    """Items of two options, and candidates that change the judge's answers.

    Attributes
    ----------
    agreeing : float
        Chance that a rater gives the item's answer.
    right : float
        Chance that the judge does.
    changed : float
        Share of the judge's answers that each candidate changes.
    n_candidates : int
        All are as good as the judge, but for the last if there is a ``gain``.
    gain : float
        Of the last candidate, in rater shares.
    """

    agreeing: float
    right: float
    changed: float
    n_candidates: int
    gain: float = 0.0

    def losses(self, rng: np.random.Generator, n: int = N_DEVELOPMENT + N_HELD_OUT) -> np.ndarray:
        """Draw (1 + candidates, n) losses: the share of an item's raters who answer otherwise."""
        shares = rng.binomial(N_RATERS, self.agreeing, n) / N_RATERS
        is_right = rng.random(n) < self.right
        gains = np.zeros(self.n_candidates)
        gains[-1] = self.gain / (2.0 * self.agreeing - 1.0)  # in right answers
        to_right = (self.changed + gains)[:, None] / 2.0 / (1.0 - self.right)
        to_wrong = (self.changed - gains)[:, None] / 2.0 / self.right
        assert max(to_right.max(), to_wrong.max()) <= 1.0, "no such candidate"
        changes = rng.random((self.n_candidates, n)) < np.where(is_right, to_wrong, to_right)
        answers = np.vstack([is_right, is_right ^ changes])
        return np.where(answers, 1.0 - shares, shares)


class Searched(NamedTuple):
    """The best candidate of a search, 0 for the judge itself, and the share of calls."""

    best: int
    share: float


def search(losses: np.ndarray, ranges: np.ndarray, rng: np.random.Generator) -> Searched:
    """Race candidates in rounds, each with the judge and the best so far; (J, n) losses."""
    order = draw_order(ranges, rng)
    draws = Draws(ranges[order], np.ones(len(order)))
    drawn = losses[:, order]
    n_asked, best = np.zeros(len(losses), dtype=int), 0
    for first in range(1, len(losses), A_ROUND):
        rows = list(dict.fromkeys([0, best, *range(first, min(first + A_ROUND, len(losses)))]))
        design = RaceDesign(draws, len(rows), within=WITHIN, alpha=ALPHA)
        standing = start(design)
        while standing.ending is None:
            standing = advance(design, standing, drawn[rows])
        best = rows[standing.leader]
        n_asked[rows] = np.maximum(n_asked[rows], standing.n_asked)
    return Searched(best, float(n_asked.sum() / losses.size))


def is_used(losses: np.ndarray) -> bool:
    """Whether the judge is shown to be better than guessing, so that nobody searches."""
    return paired_gain(np.full(len(losses), 0.5), losses, np.arange(len(losses))).is_shown


def claimed(design: Design, rng: np.random.Generator) -> tuple[Searched, PairedGain | None]:
    """Search once, and test the best on held-out items."""
    while is_used((losses := design.losses(rng))[0, :N_DEVELOPMENT]):
        pass
    development, held_out = np.split(losses, [N_DEVELOPMENT], axis=1)
    found = search(development, np.ones(N_DEVELOPMENT), rng)
    if not found.best:
        return found, None
    return found, paired_gain(held_out[0], held_out[found.best], np.arange(N_HELD_OUT))


@dataclass(frozen=True)
class Row:
    """A row of the table, with its bound."""

    kind: str
    case: str
    share: float
    n: int
    bound: str
    calls: float

    @property
    def error(self) -> float:
        """Standard error of the share."""
        return sqrt(self.share * (1.0 - self.share) / self.n)

    @property
    def holds(self) -> bool:
        """Whether the share is within its bound by two standard errors."""
        if not self.bound:
            return True
        sign, limit = self.bound[0], float(self.bound[1:])
        spread = 2.0 * sqrt(limit * (1.0 - limit) / self.n)
        return self.share <= limit + spread if sign == "<" else self.share >= limit - spread

    def cells(self) -> dict[str, object]:
        bound = ""
        if self.bound:
            word = "at most" if self.bound[0] == "<" else "at least"
            bound = f"{word} {100 * float(self.bound[1:]):.0f}"
        return {
            "what": self.kind,
            "case": self.case,
            "%": f"{100 * self.share:.1f}",
            "standard error": f"{100 * self.error:.1f}",
            "searches": self.n,
            "bound": bound,
            "calls, %": f"{100 * self.calls:.0f}",
        }


def seeded(*parts: object) -> np.random.Generator:
    return np.random.default_rng(crc32("\0".join(map(str, parts)).encode()))


def equal_rows(n: int, candidates: tuple[int, ...] = CANDIDATES) -> Iterator[Row]:
    """Candidates as good as the judge: a gain that is reported is an error."""
    for n_candidates in candidates:
        for agreeing, raters in ((0.7, "agree in 70 %"), (1.0, "all agree")):
            for changed in CHANGED[::2]:
                design = Design(agreeing, FAIR, changed, n_candidates)
                rng = seeded(design)
                results = [claimed_wrongly(design, rng) for _ in range(n)]
                wrong = np.mean([is_wrong for is_wrong, _ in results])
                calls = float(np.median([found.share for _, found in results if found]))
                case = f"{n_candidates} candidates, {100 * changed:.0f} % changed, raters {raters}"
                yield Row("equal, and reported as better", case, float(wrong), n, "<0.05", calls)


def claimed_wrongly(design: Design, rng: np.random.Generator) -> tuple[bool, Searched | None]:
    """Return whether a search among equal candidates claims a gain, and how it went if it matters.

    All candidates being equal, which one the development items choose says nothing of the held-out
    ones. So these are drawn first, and the race is run only if the gain on them is significant.
    """
    before, after = replace(design, n_candidates=1).losses(rng, N_HELD_OUT)
    if not paired_gain(before, after, np.arange(N_HELD_OUT)).is_shown:
        return False, None
    while is_used((losses := design.losses(rng, N_DEVELOPMENT))[0]):
        pass
    found = search(losses, np.ones(N_DEVELOPMENT), rng)
    return found.best > 0, found


def power_rows(n: int) -> Iterator[Row]:
    """One of 16 candidates is better by 0.10."""
    for agreeing in (0.7, 0.8):
        for changed in CHANGED:
            design = Design(agreeing, WEAK, changed, 16, GAIN)
            rng = seeded(design)
            results = [claimed(design, rng) for _ in range(n)]
            best = np.array([found.best == design.n_candidates for found, _ in results])
            shown = np.array([gain is not None and gain.is_shown for _, gain in results])
            calls = float(np.median([found.share for found, _ in results]))
            case = f"raters agree in {100 * agreeing:.0f} %, {100 * changed:.0f} % changed"
            bound = f">{LEAST_POWER}" if (agreeing, changed) in REPORTED else ""
            yield Row("better by 0.10, found", case, float(best.mean()), n, "", calls)
            yield Row(
                "better by 0.10, found and reported",
                case,
                float((best & shown).mean()),
                n,
                bound,
                calls,
            )


def ends_in_use(ratings: np.ndarray, labels: np.ndarray, share: float, seed: int) -> bool:
    """Whether a judge with (n,) labels is recommended, at its share of the error probability.

    By the whole decision, where the test against one human passes, without which it can't be. The
    right answer of every item is 0, so that of half of them is changed to 1.
    """
    rng = np.random.default_rng(seed)
    n_wrong = (ratings != 0).sum(axis=1)
    differences = human_differences()[n_wrong, labels]
    groups = np.arange(len(labels))
    p = non_inferiority_p(differences, groups, cluster_mean(differences, groups), MARGIN)
    if p is None or p > ALPHA * FIRST * share:
        return False
    truth = rng.integers(2, size=len(labels))
    ratings, judges = ratings ^ truth[:, None], [(labels ^ truth)[:, None]]
    evidence = evidence_of(ratings, judges, compare(ratings, judges, rng), share=share)
    return verdict_of(evidence)[0] == "use"


def planned_rows(n: int) -> Iterator[Row]:
    """A gain of 0.05 on as many new items as are said to show it, from a pilot."""
    for changed in CHANGED[:2]:
        design = Design(0.7, WEAK, changed, 1, WORTH)
        rng = seeded("planned", design)
        shown, n_items = [], []
        for _ in range(n):
            before, after = design.losses(rng, N_DEVELOPMENT)
            n_items.append(items_for_gain(before - after, WORTH) or 0)
            before, after = design.losses(rng, n_items[-1])
            shown.append(paired_gain(before, after, np.arange(n_items[-1])).is_shown)
        case = f"{np.median(n_items):.0f} items (median), {100 * changed:.0f} % changed"
        bound = f">{PLANNED_POWER}"
        yield Row(
            "better by 0.05, on the items planned", case, float(np.mean(shown)), n, bound, 1.0
        )


JUDGES = {"none better than the judge": 0.0, "all better by 0.25": 0.25}  # more wrong answers


def use_rows(n: int, candidates: tuple[int, ...] = CANDIDATES) -> Iterator[Row]:
    """Candidates worse than one human by exactly the margin, so that "use" is an error."""
    for n_candidates in candidates:
        for name, worse in JUDGES.items():
            rng = seeded("use", n_candidates, worse)
            ends = [not_good_enough(n_candidates, worse, rng, seed) for seed in range(n)]
            used, shown = (np.array(side) for side in zip(*(end[:2] for end in ends), strict=True))
            case = f"{n_candidates} candidates, {name}"
            calls = float(np.median([end[2].share for end in ends if end[2]] or [np.nan]))
            errors = {"ends in `use`": used} | ({} if worse else {"a gain or `use`": used | shown})
            for what, wrong in errors.items():
                kind = f"not good enough: {what}"
                yield Row(kind, case, float(np.mean(wrong)), n, "<0.05", calls)


def not_good_enough(
    n_candidates: int, worse: float, rng: np.random.Generator, seed: int
) -> tuple[bool, bool, Searched | None]:
    """Search once; return whether it ends in "use", whether it shows a gain, and how it went.

    As in `claimed_wrongly`, the race is run only if one of both would be an error.
    """
    right, wrong = binom.pmf(np.arange(4), 3, 1.0 - RATER) @ human_differences()
    p_wrong = np.full(n_candidates + 1, (MARGIN.value - right) / (wrong - right))
    p_wrong[0] += worse
    ratings, answers, losses = answered(p_wrong[:2], N_HELD_OUT, rng)
    is_gain = paired_gain(*losses, np.arange(N_HELD_OUT)).is_shown
    is_used = ends_in_use(ratings, answers[1], share_after_gain(is_shown=is_gain), seed)
    if not is_used and (worse or not is_gain):
        return False, False, None
    losses = answered(p_wrong, N_DEVELOPMENT, rng)[2]
    found = search(losses, np.ones(N_DEVELOPMENT), rng)
    return is_used and found.best > 0, is_gain and found.best > 0, found


def answered(
    p_wrong: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw (n, 3) ratings, (J, n) answers and losses of judges; the right answer is 0."""
    ratings = (rng.random((n, 3)) > RATER).astype(int)
    answers = (rng.random((len(p_wrong), n)) < p_wrong[:, None]).astype(int)
    return ratings, answers, (ratings[None] != answers[:, :, None]).mean(axis=2)


def call_shares(n: int) -> dict[str, float]:
    """Return the median share of calls of searches among the judges of each data set."""
    shares = {}
    for name in DATA_SETS:
        pool = data_set_pool(name)
        found = []
        for seed in range(n):
            rng = seeded("calls", name, seed)
            judges = rng.permutation(len(pool.losses))
            items = rng.permutation(len(pool.ranges))[: round(0.7 * len(pool.ranges))]
            losses = pool.losses[np.ix_(judges, items)]
            found.append(search(losses, pool.ranges[items], rng).share)
        shares[name] = float(np.median(found))
    return shares


def call_rows(n: int) -> Iterator[Row]:
    shares = call_shares(n)
    for name, share in shares.items():
        yield Row("calls", f"{name}: judges of a data set as candidates", share, n, "", share)
    middle = float(np.median(list(shares.values())))
    row = Row("calls", "median of the data sets", middle, n, f"<{MOST_CALLS}", middle)
    yield row


def table(rows: list[Row]) -> list[str]:
    cells = [row.cells() for row in rows]
    heads = list(cells[0])
    lines = ["| " + " | ".join(heads) + " |", "| --- | --- |" + " --: |" * (len(heads) - 2)]
    return lines + ["| " + " | ".join(map(str, row.values())) + " |" for row in cells]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    n = options.searches
    parts = {
        "power": lambda: power_rows(n),
        "planned": lambda: planned_rows(n),
        "calls": lambda: call_rows(min(n, 300)),
        "use": lambda: use_rows(n),
        "equal": lambda: equal_rows(n),
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if options.only in name:
            for row in part():
                print(row.cells(), "" if row.holds else "MISSED", flush=True)
                rows.append(row)
    lines = table(rows)
    print("\n".join(lines))
    if options.write:
        before, _, rest = PAGE.read_text("utf-8").partition(START)
        _, _, after = rest.partition(END)
        PAGE.write_text("\n".join([f"{before}{START}", *lines, f"{END}{after}"]), "utf-8")
        write_beside(__file__, [row.cells() for row in rows])
    if not all(row.holds for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
