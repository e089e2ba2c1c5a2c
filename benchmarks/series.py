"""How often a judge passes where twenty are tried on the same ratings, one after the other.

    python benchmarks/series.py [--replicates 1000] [--write]

Prints Markdown tables, a column per rule of how strictly the J-th judge is tested; ``--write`` puts
them into docs/coverage.md.
"""

from __future__ import annotations

import argparse
from functools import lru_cache, partial
from itertools import product
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
from decision import ALPHA, EPS, MARGIN, PAGE, human_differences, raters_of
from decision import START as NEXT
from scipy.special import ndtr
from scipy.stats import binom

from harness.stats.alt_test.deciding_test import DecidingTest, deciding_test, panel_test
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.multiple_testing import LATER, share_in_series
from harness.stats.inference.non_inferiority import least_items, non_inferiority_p

if TYPE_CHECKING:
    from collections.abc import Callable

START = "<!-- benchmarks/series.py writes what follows -->"
N_JUDGES = 20
SHOWN = (1, 2, 5, 20)  # judges whose power is shown
RATER, JUDGE = 0.85, 0.9  # accuracy
HOLDOUT = 0.3


def of_weight(weight: float) -> list[float]:
    """Return the shares of judges that come one by one, of a total for all but the first."""
    return [1.0] + [weight / (j * (j - 1)) for j in range(2, N_JUDGES + 1)]


RULES = {
    "1 / J": [1.0 / j for j in range(1, N_JUDGES + 1)],
    "1 / J^2": [1.0 / j**2 for j in range(1, N_JUDGES + 1)],
    "1 / J^3": [1.0 / j**3 for j in range(1, N_JUDGES + 1)],
    "c = 1": of_weight(1.0),
    "c = 1/2": of_weight(0.5),
    f"c = {LATER:g}, as tested": [share_in_series(j, 1) for j in range(1, N_JUDGES + 1)],
}


@lru_cache(None)
def test_of_counts(n: int, n_won: int, n_lost: int) -> DecidingTest:
    """Test a judge against a rater, by the items that it wins and loses."""
    return deciding_test(np.repeat([-1.0, 1.0, 0.0], [n_won, n_lost, n - n_won - n_lost]), EPS)


def panel_p(tests: list[DecidingTest]) -> float:
    """Return the p-value of the whole panel; 1 where it has none."""
    p = panel_test(tests, len(tests), 0.5).p
    return 1.0 if p is None else p


def p_values(outcomes: np.ndarray, m: int) -> list[float]:
    """Test judges against m raters; outcomes, (J, n, raters), are -1 where the judge wins.

    Raters without outcomes are beaten on every item.
    """
    n = outcomes.shape[1]
    beaten = [DecidingTest(0.0, "exact", n, n, 0)] * (m - outcomes.shape[2])
    n_won, n_lost = ((outcomes == sign).sum(axis=1).tolist() for sign in (-1, 1))
    return [
        panel_p([*beaten, *map(partial(test_of_counts, n), *counts)])
        for counts in zip(n_won, n_lost, strict=True)
    ]


def at_annotator_boundary(
    rng: np.random.Generator, *, n: int, m: int, alike: float = 0.0
) -> np.ndarray:
    """Draw judges that lose to just as many of m raters as allowed, by exactly the margin.

    ``alike`` is the correlation of two judges on an item.
    """
    n_null = m - ceil(m / 2) + 1
    correlation = max(float(rng.choice([-0.5, 0.0, 0.5, 0.9])), -1.0 / (n_null - 1.0))
    spread = np.full((n_null, n_null), correlation) + (1.0 - correlation) * np.eye(n_null)
    p_win, center = float(rng.choice([0.02, 0.2])), np.zeros(n_null)
    common = rng.multivariate_normal(center, spread, n, method="eigh")
    own = rng.multivariate_normal(center, spread, (N_JUDGES, n), method="eigh")
    latent = ndtr(sqrt(alike) * common + sqrt(1.0 - alike) * own)
    return np.where(latent < p_win, -1, (latent > 1.0 - p_win - EPS).astype(int))


def tested(
    rng: np.random.Generator, *, draw: Callable[..., np.ndarray], m: int, **design: float
) -> list[float]:
    """Draw judges, and return their p-values."""
    return p_values(draw(rng, m=m, **design), m)


def against_one_human(
    rng: np.random.Generator, *, n: int, agreement: float, accuracy: float | None = None
) -> list[float]:
    """Draw judges, worse than one of three raters by exactly the margin unless of an accuracy.

    ``agreement`` is that of two raters on an item.
    """
    wrong_rater = 1.0 - (1.0 + sqrt(2.0 * agreement - 1.0)) / 2.0
    table, items = human_differences(), np.arange(n)
    of_right, of_wrong = binom.pmf(np.arange(4), 3, wrong_rater) @ table
    p_wrong = (MARGIN.value - of_right) / (of_wrong - of_right)
    if accuracy is not None:
        p_wrong = 1.0 - accuracy
    n_wrong = rng.binomial(3, wrong_rater, n)
    levels = RULES[f"c = {LATER:g}, as tested"]
    p_values = []
    for _ in levels:
        difference = table[n_wrong, (rng.random(n) < p_wrong).astype(int)]
        p = non_inferiority_p(difference, items, cluster_mean(difference, items), MARGIN)
        p_values.append(1.0 if p is None else p)
    return p_values


def good_judges(rng: np.random.Generator, *, n: int, m: int) -> np.ndarray:
    """Draw judges that are better than each rater."""
    truth = rng.integers(2, size=n)
    ratings = raters_of(truth, m, RATER, rng)
    labels = raters_of(truth, N_JUDGES, JUDGE, rng)
    others = np.stack([np.delete(ratings, rater, axis=1) for rater in range(m)], axis=1)
    of_raters = (others == ratings[:, :, None]).mean(axis=2)
    of_judges = (others[None] == labels.T[:, :, None, None]).mean(axis=3)
    return np.sign(of_raters - of_judges).astype(int)


def confirmed(
    rng: np.random.Generator, *, draw: Callable[..., np.ndarray], n: int, m: int
) -> tuple[bool, bool]:
    """Say whether the best of the judges on other items passes on those held out.

    And whether the first judge does, which was not chosen.
    """
    outcomes = draw(rng, n=n, m=m)
    n_tried = n - round(HOLDOUT * n)
    best = int(np.argmin(p_values(outcomes[:, :n_tried], m)))
    chosen, first = p_values(outcomes[[best, 0], n_tried:], m)
    return chosen <= ALPHA, first <= ALPHA


def holdout_rows(n_replicates: int) -> list[str]:
    """Simulate the best of twenty judges on held-out items, beside one judge."""
    rows = []
    for draw, n, m in product((at_annotator_boundary, good_judges), (150, 500), (3, 5)):
        rngs = (np.random.default_rng([19, i]) for i in range(n_replicates))
        passed = np.array([confirmed(rng, draw=draw, n=n, m=m) for rng in rngs])
        name = draw.__name__.replace("_", " ").replace("at annotator", "judges at the")
        cells = (f"{100 * share:.1f} %" for share in passed.mean(axis=0))
        held_out = f"{round(HOLDOUT * n)} of {n} items held out"
        rows.append(f"| {name}: {held_out}, {m} raters | {' | '.join(cells)} |")
    return rows


def passes(
    draw: Callable[[np.random.Generator], list[float]], n_replicates: int, n_items: int | None
) -> dict[str, np.ndarray]:
    """Return which judges of which series pass, (B, J), by rule.

    ``n_items`` are those of a comparison with one human, which may be too few for it.
    """
    p = np.array([draw(np.random.default_rng([17, i])) for i in range(n_replicates)])
    passed = {}
    for rule, shares in RULES.items():
        levels = ALPHA * np.array(shares)
        enough = [n_items is None or n_items >= least_items(a, MARGIN.value) for a in levels]
        passed[rule] = (p <= levels) & enough
    return passed


def size_rows(n_replicates: int) -> list[str]:
    """Simulate how often any judge of a series passes, each at its null boundary."""
    rows = []
    for n, m, alike in product((50, 150), (3, 5), (0.0, 0.5, 0.8)):
        draw = partial(tested, draw=at_annotator_boundary, n=n, m=m, alike=alike)
        name = f"annotator test: {n} items, {m} raters, correlation of the judges {alike:g}"
        rows.append(share_row(name, passes(draw, n_replicates, None)))
    for agreement, n in product((0.8, 0.9, 0.97), (180, 400)):
        draw = partial(against_one_human, n=n, agreement=agreement)
        name = f"one human: {n} items, raters agree in {100 * agreement:g} %"
        rows.append(share_row(name, passes(draw, n_replicates, n)))
    return rows


def share_row(name: str, passed: dict[str, np.ndarray]) -> str:
    """Write the share of series in which any judge passes."""
    cells = (f"{100 * of_rule.any(axis=1).mean():.1f} %" for of_rule in passed.values())
    return f"| {name} | {' | '.join(cells)} |"


def power_rows(n_replicates: int) -> list[str]:
    """Simulate how often the first, second, ... judge passes, all good."""
    n, rows = 150, []
    agreement = RATER**2 + (1.0 - RATER) ** 2
    draws = {}
    for m in (3, 5):
        draws[f"annotator test, {m} raters"] = partial(tested, draw=good_judges, n=n, m=m), None
    human = partial(against_one_human, n=n, agreement=agreement, accuracy=JUDGE)
    draws["one human of three without names"] = human, n
    for name, (draw, n_items) in draws.items():
        passed = passes(draw, n_replicates, n_items)
        for judge in SHOWN:
            cells = (f"{100 * of_rule[:, judge - 1].mean():.0f} %" for of_rule in passed.values())
            rows.append(f"| {name}: judge {judge} | {' | '.join(cells)} |")
    return rows


PAGE_TEXT = """\
## Judges tried one after the other

Twenty judges are tried on the same ratings, one after the other, {n_replicates:,} times. A column
is a rule for the error probability of the J-th test, as a share of 5 %. With *c*, all judges after
the first share c times 5 %: the J-th has c / (J (J - 1)), and k new ones of J in one run have
c / (J (J - k)) each. The program tests with c = {later:g}: of these rules, the most powerful one
that in every row lets a wrong judge pass in at most 5 % of the series, and two standard errors
({most:.1f} %).

Every judge at the boundary at which it must not pass, series in which any does:

{header}
{sizes}

Power: judges that are right in 90 % on {n} items, where raters are in 85 %; how often each passes.
The 20th is compared with one human on {least:,} items at least.

{header}
{powers}

With a [holdout](how-to/ledger.md#hold-items-out), twenty judges are tried on 70 % of the items; the
best of them is confirmed on the other 30 %, as the only judge. The share that passes is that of a
judge that was not chosen:

| | confirmed, the best of 20 | the first judge, on the same items |
| --- | --- | --- |
{confirmed}

Made by `benchmarks/series.py`.
"""


def render(n_replicates: int) -> str:
    """Simulate, and write the section of the page."""
    header = f"| | {' | '.join(RULES)} |\n|{' --- |' * (len(RULES) + 1)}"
    shares = RULES[f"c = {LATER:g}, as tested"]
    return PAGE_TEXT.format(
        confirmed="\n".join(holdout_rows(n_replicates)),
        header=header,
        later=LATER,
        least=least_items(ALPHA * shares[-1], MARGIN.value),
        most=100.0 * (ALPHA + 2.0 * sqrt(ALPHA * (1.0 - ALPHA) / n_replicates)),
        n=150,
        n_replicates=n_replicates,
        powers="\n".join(power_rows(n_replicates)),
        sizes="\n".join(size_rows(n_replicates)),
    )


def main() -> None:
    """Print the section, or put it before that of decisions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    options = parser.parse_args()
    section = render(options.replicates)
    print(section)
    if options.write:
        before, after = PAGE.read_text("utf-8").split(NEXT)
        kept = before.split(START)[0].rstrip()
        PAGE.write_text(f"{kept}\n\n{START}\n{section}\n{NEXT}{after}", "utf-8")


if __name__ == "__main__":
    main()
