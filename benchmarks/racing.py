"""How many calls a race of judges makes, and how often it errs.

    python benchmarks/racing.py [--orders 300] [--null 4000] [--tied 300] [--winners 2000] [--write]

Replays the judges of the data sets with known answers (HARNESS_TRUTH) in seeded random orders,
races judges that are worse than the best by exactly the margin, and judges that are tied, and
counts how often the interval of the returned judge holds. Prints Markdown tables and exits with 1
if a bound is missed; ``--write`` puts the tables into docs/racing.md. With the numbers above it
takes fifteen minutes of one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from zlib import crc32

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.known_answers import load_dataset

from harness.stats.racing.betting import Draws, draw_order
from harness.stats.racing.losses import loss_table
from harness.stats.racing.race import RaceDesign, advance, start
from harness.stats.selection.rank_sets import winner_interval

PAGE = ROOT / "docs" / "racing.md"
MARK = "<!-- benchmarks/racing.py writes what follows -->"
DATA_SETS = ("wax", "mtbench", "framing", "cebab_aspects", "summeval", "10k_prompts")
ALPHA = 0.05
DELTA = 0.05
LARGEST_SHARE = {0.05: 0.12, 0.02: 0.26, 0.0: 0.50}  # median over data sets, by margin
TIED_SHARE = 0.18
N_OPTIONS = 4
ACCURACY = 0.85  # of the best judge
LEAST_COVERAGE = 0.93  # of the interval of the judge that a race returned
N_RESAMPLES = 1000
MODE_SHARE = sum(1.0 / k for k in range(1, N_OPTIONS + 1)) / N_OPTIONS  # mean, of Dirichlet shares


@dataclass(frozen=True)
class Pool:
    """Judges' losses, (J, n), on items whose losses have these ranges; groups are drawn whole."""

    losses: np.ndarray
    ranges: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of_items(cls, losses: np.ndarray, ranges: np.ndarray) -> Pool:
        return cls(losses, ranges, np.ones(len(ranges)))

    def by_group(self, groups: list[str]) -> Pool:
        """Add up the items of each group."""
        _, place = np.unique(groups, return_inverse=True)

        def add(values: np.ndarray) -> np.ndarray:
            return np.bincount(place, weights=values)

        return Pool(np.array([add(row) for row in self.losses]), add(self.ranges), add(self.sizes))

    @property
    def means(self) -> np.ndarray:
        return self.losses.sum(axis=1) / self.sizes.sum()


@dataclass(frozen=True)
class Outcome:
    """What one race cost, as a share of all calls, and whether it erred."""

    share: float
    regret: float
    suspended_best: bool
    ending: str
    returned: int


def data_set_pool(name: str, *, grouped: bool = False) -> Pool:
    """Read the judges' losses against a random rater, in the order of the judges' names."""
    data = load_dataset(name)
    labels = {row["value"] for row in (*data.ratings, *data.verdicts)}
    column = {label: k for k, label in enumerate(sorted(labels))}
    row_of = {item["id"]: i for i, item in enumerate(data.items)}
    counts = np.zeros((len(row_of), len(column)))
    for row in data.ratings:
        counts[row_of[row["item"]], column[row["value"]]] += 1
    table = loss_table("random_rater", counts)
    judges = {name: j for j, name in enumerate(sorted({row["judge"] for row in data.verdicts}))}
    losses = np.ones((len(judges), len(row_of)))  # an item without a verdict is lost
    for row in data.verdicts:
        i = row_of[row["item"]]
        losses[judges[row["judge"]], i] = table.values[i, column[row["value"]]]
    pool = Pool.of_items(losses, table.ranges)
    return pool.by_group([item["group"] for item in data.items]) if grouped else pool


def race(pool: Pool, within: float, rng: np.random.Generator) -> Outcome:
    """Race all judges of a pool in a random order."""
    order = draw_order(pool.ranges, rng)
    draws = Draws(pool.ranges[order], pool.sizes[order])
    losses = pool.losses[:, order]
    design = RaceDesign(draws, len(losses), within=within, alpha=ALPHA)
    regrets = pool.means - pool.means.min()
    best = int(np.argmin(pool.means))
    standing, suspended_best = start(design), False
    while standing.ending is None:
        standing = advance(design, standing, losses)
        # In a race within a margin, the best may be suspended rightly: another is as good.
        wrong = regrets[standing.leader] >= within - 1e-12
        suspended_best |= bool(standing.suspended[best]) and wrong
    asked = np.concatenate([[0.0], np.cumsum(draws.sizes)])[standing.n_asked]
    share = asked.sum() / (len(losses) * draws.sizes.sum())
    regret = float(regrets[standing.leader])
    return Outcome(share, regret, suspended_best, str(standing.ending), standing.leader)


def boundary_pool(n: int, n_judges: int, within: float, rng: np.random.Generator) -> Pool:
    """Draw judges of which all but the last are worse than it by exactly the margin.

    Losses are 0 or 1, and judges agree on most items, so that little else than the margin differs.
    """
    n_worse = round(within * n)
    best = (rng.random(n) < 0.3).astype(float)
    losses = np.tile(best, (n_judges, 1))
    for row in losses[:-1]:
        # As many items swap their loss either way, and n_worse more are lost.
        right, wrong = np.flatnonzero(best == 0), np.flatnonzero(best == 1)
        n_swapped = int(0.05 * n)
        row[rng.choice(wrong, n_swapped, replace=False)] = 0.0
        row[rng.choice(right, n_swapped + n_worse, replace=False)] = 1.0
    return Pool.of_items(losses, np.ones(n))


def tied_pool(
    n: int,
    n_judges: int,
    accuracy: float,
    rng: np.random.Generator,
    *,
    correlated: bool,
    raters_agree: bool = False,
) -> Pool:
    """Draw equally good judges of items whose raters' shares are Dirichlet over four options.

    A judge gives the raters' most common option with the same chance; correlated judges err on
    the same items more often than by chance, as their errors share the item's difficulty. Where
    all raters of an item agree, losses are 0 or 1.
    """
    shares = rng.dirichlet(np.ones(N_OPTIONS), size=n)
    if raters_agree:
        shares = (shares == shares.max(axis=1, keepdims=True)).astype(float)
    table = 1.0 - shares
    ranges = np.maximum(shares.max(axis=1), 0.05)
    mode = shares.argmax(axis=1)
    # Half of what decides about an error belongs to the item where judges are correlated.
    common = rng.standard_normal(n) if correlated else np.zeros(n)
    weight = np.sqrt(0.5) if correlated else 0.0
    own = rng.standard_normal((n_judges, n))
    z = weight * common + np.sqrt(1.0 - weight**2) * own
    is_right = z < np.quantile(z, accuracy, axis=1, keepdims=True)
    other = (mode + rng.integers(1, N_OPTIONS, size=(n_judges, n))) % N_OPTIONS
    answers = np.where(is_right, mode, other)
    return Pool.of_items(np.take_along_axis(table.T, answers, axis=0), ranges)


def drawn_losses(n: int, accuracies: np.ndarray, rng: np.random.Generator) -> Pool:
    """Draw items, and judges that give the raters' most common option with these chances.

    Half of what decides about an error belongs to the item.
    """
    shares = rng.dirichlet(np.ones(N_OPTIONS), size=n)
    mode = shares.argmax(axis=1)
    own = rng.standard_normal((len(accuracies), n))
    z = (rng.standard_normal(n) + own) / np.sqrt(2.0)
    limits = np.array([NormalDist().inv_cdf(accuracy) for accuracy in accuracies])
    other = (mode + rng.integers(1, N_OPTIONS, size=z.shape)) % N_OPTIONS
    answers = np.where(z < limits[:, None], mode, other)
    losses = np.take_along_axis(1.0 - shares.T, answers, axis=0)
    return Pool.of_items(losses, np.maximum(shares.max(axis=1), 0.05))


@dataclass(frozen=True)
class Winner:
    """How often intervals of the returned judge's loss hold, with the correction and without."""

    coverage: float
    uncorrected: float
    width: float  # median, over that without correction


def winner_coverage(n: int, n_judges: int, gap: float, n_pools: int) -> Winner:
    """Race judges on drawn items, ask the one returned about the rest, and estimate its loss."""
    accuracies = ACCURACY - gap * np.arange(n_judges)
    other = (1.0 - MODE_SHARE) / (N_OPTIONS - 1)
    truths = 1.0 - accuracies * MODE_SHARE - (1.0 - accuracies) * other
    rng = seeded("winner", n, n_judges, gap)
    weights = rng.multinomial(n, np.full(n, 1.0 / n), size=N_RESAMPLES) / n
    covered, widths = np.empty((2, n_pools), dtype=bool), np.empty((2, n_pools))
    for i in range(n_pools):
        pool = drawn_losses(n, accuracies, rng)
        returned = race(pool, DELTA, rng).returned
        losses, truth = pool.losses[returned], truths[returned]
        for row, tried in enumerate((n_judges, 1)):
            found = winner_interval(
                np.array([losses.mean()]),
                (weights @ losses)[None],
                n_judges=tried,
                n_units=n,
                bounds=(0.0, 1.0),
            )
            covered[row, i] = found.low <= truth <= found.high
            widths[row, i] = found.high - found.low
    medians = np.median(widths, axis=1)
    return Winner(*covered.mean(axis=1).tolist(), float(medians[0] / medians[1]))


def seeded(*parts: object) -> np.random.Generator:
    return np.random.default_rng(crc32("\0".join(map(str, parts)).encode()))


def replayed(name: str, within: float, n_orders: int, *, grouped: bool = False) -> list[Outcome]:
    pool = data_set_pool(name, grouped=grouped)
    return [race(pool, within, seeded(name, within, grouped, seed)) for seed in range(n_orders)]


def median_share(outcomes: list[Outcome]) -> float:
    return float(np.median([outcome.share for outcome in outcomes]))


def error_shares(outcomes: list[Outcome], within: float) -> tuple[float, float]:
    """Return how often the regret reached the margin, and how often the best was put out."""
    least = within - 1e-12 if within > 0.0 else 1e-12  # in a strict race, any regret is an error
    return (
        float(np.mean([outcome.regret >= least for outcome in outcomes])),
        float(np.mean([outcome.suspended_best for outcome in outcomes])),
    )


def null_rate(n: int, n_judges: int, within: float, n_orders: int) -> float:
    """Return how often a judge that is worse by the margin is returned before the pool ends."""
    pool = boundary_pool(n, n_judges, within, seeded("null", n, n_judges, within))
    outcomes = (race(pool, within, seeded("null", n, n_judges, seed)) for seed in range(n_orders))
    return float(np.mean([outcome.suspended_best for outcome in outcomes]))


def tied_share(accuracy: float, n_pools: int, *, correlated: bool, raters_agree: bool) -> float:
    rng = seeded("tied", accuracy, correlated, raters_agree)
    kind = {"correlated": correlated, "raters_agree": raters_agree}
    pools = (tied_pool(2000, 6, accuracy, rng, **kind) for _ in range(n_pools))
    return median_share([race(pool, DELTA, rng) for pool in pools])


def replay_table(n_orders: int) -> tuple[list[str], bool]:
    """Return the rows of the replayed data sets, and whether all bounds hold."""
    rows = [
        "| data | items | within 0.05 | p10 to p90 | within 0.02 | one best | wrong, at most |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    holds = True
    medians: dict[float, list[float]] = {within: [] for within in LARGEST_SHARE}
    variants = [(name, False) for name in DATA_SETS] + [("summeval", True), ("framing", True)]
    for name, grouped in variants:
        races = {within: replayed(name, within, n_orders, grouped=grouped) for within in medians}
        wrong = max(max(error_shares(races[within], within)) for within in medians)
        holds &= wrong <= ALPHA
        if not grouped:
            for within, outcomes in races.items():
                medians[within].append(median_share(outcomes))
        low, high = np.quantile([outcome.share for outcome in races[0.05]], [0.1, 0.9])
        shares = {within: f"{median_share(outcomes):.1%}" for within, outcomes in races.items()}
        label = f"{name}, by group" if grouped else name
        n_items = int(data_set_pool(name).sizes.sum())
        rows.append(
            f"| {label} | {n_items:,} | {shares[0.05]} | {low:.1%} to {high:.1%} "
            f"| {shares[0.02]} | {shares[0.0]} | {wrong:.1%} |"
        )
    middle = {within: float(np.median(values)) for within, values in medians.items()}
    holds &= all(middle[within] <= bound for within, bound in LARGEST_SHARE.items())
    rows.append(
        f"| median of the data sets | | {middle[0.05]:.1%} | | {middle[0.02]:.1%} "
        f"| {middle[0.0]:.1%} | |"
    )
    return rows, holds


def null_table(n_orders: int) -> tuple[list[str], bool]:
    """Return the rows of pools at the limit, and whether the error rate holds in each."""
    rows = ["| items | judges | within | wrong judge returned |", "| --: | --: | --: | --: |"]
    bound = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / n_orders)
    holds = True
    for n in (250, 1000):
        for n_judges, within in ((2, 0.05), (6, 0.05), (6, 0.02)):
            rate = null_rate(n, n_judges, within, n_orders)
            holds &= rate <= bound
            rows.append(f"| {n:,} | {n_judges} | {within:g} | {rate:.2%} |")
    return rows, holds


def tied_table(n_pools: int) -> tuple[list[str], bool]:
    """Return the rows of tied judges, and whether the bound on calls holds."""
    rows = [
        "| accuracy | judges' errors | raters' shares are Dirichlet | all raters agree |",
        "| --: | --- | --: | --: |",
    ]
    holds = True
    for accuracy in (0.85, 0.75):
        for correlated in (True, False):
            shares = [
                tied_share(accuracy, n_pools, correlated=correlated, raters_agree=agree)
                for agree in (False, True)
            ]
            if correlated and accuracy == 0.85:  # the cell that has a bound
                holds &= shares[0] <= TIED_SHARE
            kind = "on the same items" if correlated else "independent"
            rows.append(f"| {accuracy:g} | {kind} | {shares[0]:.1%} | {shares[1]:.1%} |")
    return rows, holds


def winner_table(n_pools: int) -> tuple[list[str], bool]:
    """Return the rows of intervals of the returned judge, and whether all hold often enough."""
    rows = [
        "| items | judges | accuracies apart | covered | without the allowance | width |",
        "| --: | --: | --: | --: | --: | --: |",
    ]
    holds = True
    for n in (50, 100, 300):
        for n_judges in (2, 6, 12):
            for gap in (0.0, 0.02):
                found = winner_coverage(n, n_judges, gap, n_pools)
                holds &= found.coverage >= LEAST_COVERAGE
                rows.append(
                    f"| {n} | {n_judges} | {gap:g} | {found.coverage:.1%} "
                    f"| {found.uncorrected:.1%} | {found.width:.2f} |"
                )
    return rows, holds


def _lines(rows: list[str]) -> str:
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=300)
    parser.add_argument("--null", type=int, default=4000)
    parser.add_argument("--tied", type=int, default=300)
    parser.add_argument("--winners", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    replay, replay_holds = replay_table(arguments.orders)
    null, null_holds = null_table(arguments.null)
    tied, tied_holds = tied_table(arguments.tied)
    winners, winners_hold = winner_table(arguments.winners)
    sections = {
        "Calls as a share of running all six judges on all items. Medians over "
        f"{arguments.orders} random orders of stored answers, with an error rate of 5%:": replay,
        "How often a race returns a wrong judge if judges are worse than the best by exactly the "
        f"margin, in {arguments.null:,} orders of one pool per row:": null,
        "Share of calls with six tied judges, 2,000 items and a margin of 0.05, as medians over "
        f"{arguments.tied} pools:": tied,
        "How often the 95% interval contains the returned judge's loss, after this judge ran on "
        f"all items, in {arguments.winners:,} pools drawn from a population. Races have a margin "
        f"of {DELTA:g}. The width is relative to an interval that ignores the selection:": winners,
    }
    text = "\n\n".join(f"{title}\n\n{_lines(rows)}" for title, rows in sections.items())
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(f"{page[: page.index(MARK) + len(MARK)]}\n\n{text}\n", encoding="utf-8")
    return 0 if replay_holds and null_holds and tied_holds and winners_hold else 1


if __name__ == "__main__":
    raise SystemExit(main())
