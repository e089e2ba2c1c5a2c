"""How often series of validations end in a wrong recommendation, and how often in a right one.

    python benchmarks/series.py [--replicates 1000] [--only WORD] [--write]

Prints Markdown tables; ``--write`` puts them into docs/coverage.md. Levels and standings
are those of the program (`harness.runs.ledger`, `TriedJudges.level_of`), and so are tests and
comparisons. What a validation spends is worked out when a later one may recommend a judge: none
does with a p-value above alpha.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

try:
    from benchmarks.decision import ALPHA, EPS, MARGIN, human_differences, raters_of
except ModuleNotFoundError:  # it is run as a script
    from decision import ALPHA, EPS, MARGIN, human_differences, raters_of

from harness.runs.ledger import LedgerLine, as_before, standing_of
from harness.runs.used_items import DIGEST, KEY, Contents, ItemDigests, encoded
from harness.stats.alt_test.deciding_test import DecidingTest, deciding_test, panel_test
from harness.stats.inference.alpha_spending import FIRST, SCREENING, share_of_validation
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.non_inferiority import least_items, non_inferiority_p, student_p
from harness.stats.selection.rank_sets import better_than, rank_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START, END = (f"<!-- benchmarks/series.py writes what {which} -->" for which in ("follows", "ends"))
N_LOOKS = 20
RATER, JUDGE = 0.85, 0.9  # accuracy
N_RESAMPLES = 2000
LEAST_GAIN = 1.5  # standard errors of a difference: below any critical value
HOLDOUT = 0.3
ALIKE = 0.8  # correlation of a judge's fresh replies to an item
Test: TypeAlias = "Callable[[str, int, int], float]"  # judge, items from and to -> p-value


# Series


@dataclass
class Series:
    """Validations of judges on the first n of some items, one after the other.

    Attributes
    ----------
    replies : dict of str to (n,) array
        Of each judge.
    p_value : callable
        Of a judge on the items from one to another.
    least : callable or None
        Items that a test at a level takes; None for any number.
    """

    replies: dict[str, np.ndarray]
    p_value: Test
    least: Callable[[float], int] | None = None
    lines: list[LedgerLine] = field(default_factory=list)
    history: tuple[tuple[str, int], ...] = ()
    n_counted: int = 0  # of the history, in the ledger

    def validate(self, judge: str, n: int, *, is_fixed: bool = True) -> bool:
        """Validate a judge on the first n items; return whether it passes.

        If the order of the validations is fixed, levels don't depend on the data.
        """
        self.history = (*self.history, (judge, n))
        p = self.p_value(judge, 0, n)
        if p > ALPHA:
            return False
        level = LEVELS.get(self.history) if is_fixed else None
        if level is None:
            level = LEVELS[self.history] = self._last_level()
        enough = self.least is None or n >= self.least(level)
        return enough and p <= level

    def _last_level(self) -> float:
        """Count the validations that are not in the ledger; return the level of the last."""
        start, self.n_counted = self.n_counted, len(self.history)
        return [self._level(judge, n) for judge, n in self.history[start:]][-1]

    def _level(self, judge: str, n: int) -> float:
        """Return the level of a validation, and write it into the ledger."""
        contents = contents_of(n, {judge: self.replies[judge][:n]})
        judges = as_before(self.lines, contents.sample, {judge.split("#", maxsplit=1)[0]: judge})
        standing = standing_of(self.lines, contents, judges)
        n_contenders = standing.n_now + standing.n_contending
        level = standing.level_of(judge, alpha=ALPHA, n_contenders=n_contenders)
        at = f"{len(self.lines):06}"
        self.lines += [
            LedgerLine(
                at=at,
                validation=contents.digest,
                sample=contents.sample,
                standing=standing,
                judges=judges,
            ),
            LedgerLine(at=at, validation=contents.digest, levels={judge: level}),
        ]
        return level


LEVELS: dict[tuple[tuple[str, int], ...], float] = {}  # by judge and items of all validations


@lru_cache
def _keys(n: int) -> np.ndarray:
    return np.arange(1, n + 1, dtype=np.uint64)


def contents_of(n: int, replies: dict[str, np.ndarray]) -> Contents:
    """Return what a validation of the first n items uses; replies are small numbers."""
    sample = ItemDigests(
        n=n,
        items=encoded(_keys(n), KEY),
        ratings=encoded(np.ones(n, np.uint16), DIGEST),
        replies={name: encoded(row + 1, DIGEST) for name, row in replies.items()},
    )
    return Contents("toxic", _keys(n), sample)


# Tests: a series of judges at the margin, on items of which the first n are used


def one_human_series(
    rng: np.random.Generator,
    n: int,
    n_judges: int,
    *,
    agreement: float,
    accuracy: float | None = None,
    repeats: bool = False,
) -> Series:
    """Draw judges that are worse than one of three raters by the margin, unless of an accuracy.

    ``agreement`` is that of two raters. With ``repeats``, all are fresh replies of one judge, which
    are wrong on an item with a chance of its own.
    """
    wrong_rater = 1.0 - (1.0 + sqrt(2.0 * agreement - 1.0)) / 2.0
    table = human_differences()
    of_right, of_wrong = binom.pmf(np.arange(4), 3, wrong_rater) @ table
    p_wrong = (MARGIN.value - of_right) / (of_wrong - of_right)
    if accuracy is not None:
        p_wrong = 1.0 - accuracy
    n_wrong = rng.binomial(3, wrong_rater, n)
    chance = rng.beta(p_wrong / 2.0, (1.0 - p_wrong) / 2.0, n) if repeats else np.full(n, p_wrong)
    name = "j#{}" if repeats else "j{}"
    replies = {name.format(j): (rng.random(n) < chance).astype(int) for j in range(n_judges)}

    def p_value(judge: str, start: int, end: int) -> float:
        difference = table[n_wrong[start:end], replies[judge][start:end]]
        items = np.arange(len(difference))
        estimate = cluster_mean(difference, items)
        p = student_p(estimate, len(items), MARGIN)  # never above the p-value of the whole test
        if p is not None and p <= ALPHA:
            p = non_inferiority_p(difference, items, estimate, MARGIN)
        return 1.0 if p is None else p

    return Series(replies, p_value, lambda level: least_items(level, MARGIN.value))


@lru_cache(None)
def test_of_counts(n: int, n_won: int, n_lost: int) -> DecidingTest:
    """Test a judge against a rater, by the items that it wins and loses."""
    return deciding_test(np.repeat([-1.0, 1.0, 0.0], [n_won, n_lost, n - n_won - n_lost]), EPS)


def panel_p(outcomes: np.ndarray, m: int) -> float:
    """Test a judge against m raters; outcomes, (n, raters), are -1 where the judge wins.

    Raters without outcomes are beaten on every item.
    """
    n = len(outcomes)
    beaten = [DecidingTest(0.0, "exact", n, n, 0)] * (m - outcomes.shape[1])
    counts = ((outcomes == sign).sum(axis=0).tolist() for sign in (-1, 1))
    p = panel_test([*beaten, *map(partial(test_of_counts, n), *counts)], m, 0.5).p
    return 1.0 if p is None else p


def annotator_series(
    rng: np.random.Generator, n: int, n_judges: int, *, m: int = 3, repeats: bool = False
) -> Series:
    """Draw judges that lose to just as many of m raters as allowed, by exactly the margin.

    With ``repeats``, all are fresh replies of one judge.
    """
    n_null = m - ceil(m / 2) + 1
    spread = np.full((n_null, n_null), 0.5) + 0.5 * np.eye(n_null)
    p_win, center, alike = float(rng.choice([0.02, 0.2])), np.zeros(n_null), ALIKE * repeats
    common = rng.multivariate_normal(center, spread, n, method="eigh")
    own = rng.multivariate_normal(center, spread, (n_judges, n), method="eigh")
    latent = ndtr(sqrt(alike) * common + sqrt(1.0 - alike) * own)
    outcomes = np.where(latent < p_win, -1, (latent > 1.0 - p_win - EPS).astype(int))
    return _of_outcomes(outcomes, m, repeats=repeats)


def good_series(
    rng: np.random.Generator, n: int, n_judges: int, *, m: int = 3, repeats: bool = False
) -> Series:
    """Draw judges that are better than each rater.

    With ``repeats``, all are fresh replies of one judge.
    """
    truth = rng.integers(2, size=n)
    ratings = raters_of(truth, m, RATER, rng)
    labels = raters_of(truth, n_judges, JUDGE, rng)
    if repeats:
        ease = sqrt(ALIKE) * rng.standard_normal((n, 1))
        ease = ease + sqrt(1.0 - ALIKE) * rng.standard_normal((n, n_judges))
        labels = np.where(ndtr(ease) < JUDGE, truth[:, None], 1 - truth[:, None])
    others = np.stack([np.delete(ratings, rater, axis=1) for rater in range(m)], axis=1)
    of_raters = (others == ratings[:, :, None]).mean(axis=2)
    of_judges = (others[None] == labels.T[:, :, None, None]).mean(axis=3)
    return _of_outcomes(np.sign(of_raters - of_judges).astype(int), m, repeats=repeats)


def _of_outcomes(outcomes: np.ndarray, m: int, *, repeats: bool = False) -> Series:
    name = "j#{}" if repeats else "j{}"
    rows = {name.format(j): row for j, row in enumerate(outcomes)}
    replies = {judge: (row + 1) @ 3 ** np.arange(row.shape[1]) for judge, row in rows.items()}
    return Series(replies, lambda judge, start, end: panel_p(rows[judge][start:end], m))


Draw: TypeAlias = "Callable[[np.random.Generator, int, int], Series]"


# Ways of using the product in series: each says of every validation whether it recommends a judge


def prompts(rng: np.random.Generator, draw: Draw, n: int) -> Iterator[bool]:
    """Try twenty prompts, with one more item before each."""
    series = draw(rng, n + N_LOOKS, N_LOOKS)
    return (series.validate(judge, n + k) for k, judge in enumerate(series.replies))


def until_use(rng: np.random.Generator, draw: Draw, n: int, *, growth: float) -> Iterator[bool]:
    """Validate one judge with more items, twenty times."""
    sizes = [round(n * growth**k) if growth > 1 else n + k for k in range(N_LOOKS)]
    series = draw(rng, sizes[-1], 1)
    [judge] = series.replies
    return (series.validate(judge, size) for size in sizes)


def repeated(rng: np.random.Generator, draw: Draw, n: int) -> Iterator[bool]:
    """Validate one judge on the same items twenty times, with fresh replies."""
    series = draw(rng, n, N_LOOKS, repeats=True)  # type: ignore[call-arg]
    return (series.validate(judge, n) for judge in series.replies)


def mixed(rng: np.random.Generator, draw: Draw, n: int) -> Iterator[bool]:
    """Try a new judge, or the best so far again with more items, twenty times."""
    size, series = n, draw(rng, 3 * n, N_LOOKS)
    names, tried = iter(series.replies), list[str]()
    for _ in range(N_LOOKS):
        if not tried or rng.random() < 0.5:
            judge = next(names)
            tried.append(judge)
        else:
            judge = min(tried, key=lambda name: series.p_value(name, 0, size))
            size += int(rng.integers(1, n // 10))
        yield series.validate(judge, size, is_fixed=False)


WAYS = {
    "20 prompts, one more item before each": prompts,
    "one judge, 1 item more, 20 times": partial(until_use, growth=1.0),
    "one judge, 10 % more items, 20 times": partial(until_use, growth=1.1),
    "one judge, 20 repeats with fresh replies": repeated,
    "new judges and the best so far with more items, in turn": mixed,
}
# Judges at the margin, and good ones
DRAWS: dict[str, tuple[Draw, Draw]] = {
    "annotator test, 3 raters": (annotator_series, good_series),
    "annotator test, 5 raters": (partial(annotator_series, m=5), partial(good_series, m=5)),
    **{
        f"human rater, raters agree in {agreement:.0%}".replace("%", " %"): (
            partial(one_human_series, agreement=agreement),
            partial(one_human_series, agreement=agreement, accuracy=accuracy),
        )
        for agreement, accuracy in ((0.8, JUDGE), (0.97, 0.985))
    },
}


def size_rows(only: str, n_replicates: int) -> Iterator[str]:
    """Simulate series of judges at the margin, and of good ones."""
    for (way, run), (test, draws) in product(WAYS.items(), DRAWS.items()):
        name = f"{way}; {test}"
        if only in name:
            wrong, right = (
                np.mean(
                    [first_and_any(run(rng, draw, 150)) for rng in rngs_of(name, n_replicates)], 0
                )
                for draw in draws
            )
            rates = (
                with_error(float(rate), n_replicates) for rate in (wrong[1], right[1], right[0])
            )
            yield f"| {name} | {' | '.join(rates)} |"


def first_and_any(recommends: Iterator[bool]) -> tuple[bool, bool]:
    """Return whether the first validation recommends, and whether any does, up to the first."""
    first = next(recommends)
    return first, first or any(recommends)


def rngs_of(name: str, n_replicates: int) -> Iterator[np.random.Generator]:
    """Yield a generator per data set, seeded by a name."""
    seed = crc32(name.encode())
    return (np.random.default_rng([seed, i]) for i in range(n_replicates))


def share(name: str, simulate: Callable[[np.random.Generator], bool], n_replicates: int) -> str:
    """Return the share of data sets in which something happens, with its standard error."""
    happened = [simulate(rng) for rng in rngs_of(name, n_replicates)]
    return with_error(float(np.mean(happened)), n_replicates)


def with_error(rate: float, n: int) -> str:
    """Write a share with its standard error, in percent."""
    return f"{100 * rate:.1f} % ({100 * sqrt(rate * (1 - rate) / n):.1f})"


# Power in series


def is_recommended(
    rng: np.random.Generator, draw: Draw, sizes: Iterable[int], judges: Iterable[int]
) -> bool:
    """Say whether the last of some validations recommends its judge."""
    sizes, judges = tuple(sizes), tuple(judges)
    series = draw(rng, max(sizes), max(judges) + 1)
    names = list(series.replies)
    return [series.validate(names[j], n) for j, n in zip(judges, sizes, strict=True)][-1]


SERIES = {
    "the first judge": ((150,), (0,)),
    "the second judge": ((150,) * 2, range(2)),
    "the fifth judge": ((150,) * 5, range(5)),
    "the twentieth judge": ((150,) * 20, range(20)),
    "the first judge, one item later": ((150, 151), (0, 0)),
    "the first judge, 15 items later": ((150, 165), (0, 0)),
    "the first judge, with twice as many items": ((150, 300), (0, 0)),
}
GOOD: dict[str, Draw] = {
    "annotator test, 3 raters": good_series,
    "annotator test, 5 raters": partial(good_series, m=5),
    "human rater": partial(one_human_series, agreement=RATER**2 + (1 - RATER) ** 2, accuracy=JUDGE),
}


def power_rows(only: str, n_replicates: int) -> Iterator[str]:
    """Simulate judges that are right in 90 % where raters are in 85 %."""
    for name, (sizes, judges) in SERIES.items():
        if only in name:
            cells = (
                share(
                    f"{name} {test}",
                    partial(is_recommended, draw=draw, sizes=sizes, judges=judges),
                    n_replicates,
                )
                for test, draw in GOOD.items()
            )
            yield f"| {name} | {' | '.join(cells)} |"


# Contenders: several judges in one validation, compared with one of three raters


@dataclass(frozen=True)
class Pool:
    """Judges that are tested at once.

    Attributes
    ----------
    accuracy : tuple of float or None
        How often each is right; None for the margin to a human rater.
    alike : float
        Correlation of two judges' errors on an item.
    """

    accuracy: tuple[float | None, ...]
    alike: float = 0.0


RATERS_AGREE = RATER**2 + (1 - RATER) ** 2


def contest(rng: np.random.Generator, pool: Pool, n: int) -> tuple[bool, bool, bool]:
    """Say whether the first of a pool passes: with contenders, with all, and alone.

    Alone, the first judge is tested at alpha, as if no other had been tried.
    """
    table, items, n_judges = human_differences(), np.arange(n), len(pool.accuracy)
    of_right, of_wrong = binom.pmf(np.arange(4), 3, 1 - RATER) @ table
    at_margin = (MARGIN.value - of_right) / (of_wrong - of_right)
    p_wrong = [at_margin if a is None else 1 - a for a in pool.accuracy]
    n_wrong = rng.binomial(3, 1 - RATER, n)
    latent = sqrt(pool.alike) * rng.standard_normal(n)
    latent = latent + sqrt(1 - pool.alike) * rng.standard_normal((n_judges, n))
    wrong = (ndtr(latent) < np.array(p_wrong)[:, None]).astype(int)
    losses = table[n_wrong, wrong]
    first = int(losses.mean(axis=1).argmin())
    p = non_inferiority_p(losses[first], items, cluster_mean(losses[first], items), MARGIN)
    levels = [ALPHA * FIRST / n_judges, ALPHA / n_judges, ALPHA]
    passed = [p is not None and p <= a and n >= least_items(a, MARGIN.value) for a in levels]
    if not passed[0] and p is not None and p <= ALPHA * FIRST:  # the screen can matter
        level = ALPHA * FIRST / (n_judges - n_screened(losses, first, rng))
        passed[0] = p <= level and n >= least_items(level, MARGIN.value)
    return passed[0], passed[1], passed[2]


def n_screened(losses: np.ndarray, first: int, rng: np.random.Generator) -> int:
    """Count the judges whose (J, n) losses are shown to be larger than the first one's."""
    n = losses.shape[1]
    times = rng.multinomial(n, np.full(n, 1 / n), N_RESAMPLES)
    sets = rank_sets(
        losses.mean(axis=1),
        (losses @ times.T) / n,
        level=1 - SCREENING * ALPHA,
        n_units=n,
        n_discordant=(losses[:, None] != losses[None]).sum(axis=2),
    )
    return int(sets.better[first].sum())


def pools(n_judges: int) -> dict[str, tuple[Pool, Pool]]:
    """Return pools whose best judges are at the margin, and the same with a good judge first.

    A judge at the margin is right on 77.9 % of the items.
    """
    spread = tuple(np.linspace(0.76, 0.5, n_judges - 1).tolist())
    near = tuple(np.linspace(0.775, 0.68, n_judges - 1).tolist())
    pairs: dict[str, tuple[tuple[float | None, ...], float]] = {
        "all alike": ((None,) * (n_judges - 1), 0.0),
        "all alike, errors correlated .8": ((None,) * (n_judges - 1), 0.8),
        "the others fair coins": ((0.5,) * (n_judges - 1), 0.0),
        "the others worse by steps": (spread, 0.0),
        "the others a little worse by steps": (near, 0.0),
        "the others a little worse by steps, errors correlated .8": (near, 0.8),
    }
    return {
        name: (Pool((None, *others), alike), Pool((JUDGE, *others), alike))
        for name, (others, alike) in pairs.items()
    }


def contender_rows(only: str, n_replicates: int) -> Iterator[str]:
    """Simulate the best of 5 and 20 judges."""
    for n_judges, n in product((5, 20), (150,)):
        for name, (null, good) in pools(n_judges).items():
            title = f"{n_judges} judges, {n} items: {name}"
            if only not in title:
                continue
            cells = []
            for pool in (null, good):
                rngs = rngs_of(title, n_replicates)
                rates = np.mean([contest(rng, pool, n) for rng in rngs], axis=0).tolist()
                shown = rates if pool is good else rates[:1]
                cells += [with_error(rate, n_replicates) for rate in shown]
            yield f"| {title} | {' | '.join(cells)} |"


# Comparisons with baselines


def compared_series(rng: np.random.Generator, *, n: int, n_looks: int, n_judges: int) -> bool:
    """Say whether any of many new judges is called better than a baseline that is as good.

    Judges and baseline err on half of the items, independently. Each validation has new judges and
    one more item than the last. Without such a judge, none is `best_not_proven`.
    """
    rival = rng.random(n + n_looks) < 0.5
    for look in range(1, n_looks + 1):
        size = n + look
        losses = (rng.random((size, n_judges)) < 0.5).astype(float)
        gains = rival[:size].mean() - losses.mean(axis=0)
        if gains.max() < LEAST_GAIN / sqrt(2.0 * size):
            continue  # no critical value is as low
        patterns = np.column_stack([losses, rival[:size]])
        kinds, times = np.unique(patterns, axis=0, return_counts=True)
        drawn = rng.multinomial(size, times / size, N_RESAMPLES) / size @ kinds
        values, replicates = patterns.mean(axis=0), drawn.T
        better = better_than(
            values[:-1],
            replicates[:-1],
            values[-1:],
            replicates[-1:],
            level=1.0 - ALPHA * share_of_validation(look),
            n_units=size,
            freedom=np.full((n_judges, 1), size - 1.0),
        )
        if better.any():
            return True
    return False


def comparison_rows(only: str, n_replicates: int) -> Iterator[str]:
    """Simulate 100 judges that are as good as a baseline, in turn or five at a time."""
    for n, (n_looks, n_judges) in product((50, 150), ((100, 1), (20, 5))):
        name = f"{n_looks} validations with new judges, {n_judges} at a time, {n} items"
        if only in name:
            held = [
                compared_series(rng, n=n, n_looks=n_looks, n_judges=n_judges)
                for rng in rngs_of(name, n_replicates)
            ]
            yield f"| {name} | {with_error(float(np.mean(held)), n_replicates)} |"


# Holdouts


def holdout_rows(only: str, n_replicates: int) -> Iterator[str]:
    """Simulate the best of twenty judges on held-out items, beside one judge."""
    draws = {"judges at the margin": annotator_series, "good judges": good_series}
    for (what, draw), n, m in product(draws.items(), (150, 500), (3, 5)):
        name = f"{what}: {round(HOLDOUT * n)} of {n} items held out, {m} raters"
        if only in name:
            rngs = (np.random.default_rng([19, i]) for i in range(n_replicates))
            passed = np.array([_confirmed(draw(rng, n, N_LOOKS, m=m), n) for rng in rngs])
            cells = (with_error(rate, n_replicates) for rate in passed.mean(axis=0).tolist())
            yield f"| {name} | {' | '.join(cells)} |"


def _confirmed(series: Series, n: int) -> tuple[bool, bool]:
    """Say whether the best judge on other items passes on those held out, and whether the first."""
    n_tried = n - round(HOLDOUT * n)
    best = min(series.replies, key=lambda judge: series.p_value(judge, 0, n_tried))
    chosen, first = (series.p_value(judge, n_tried, n) for judge in (best, "j0"))
    return chosen <= ALPHA * FIRST, first <= ALPHA * FIRST


def sections(only: str, n_replicates: int) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield f"Each row has {n_replicates:,} series of {N_LOOKS} validations. A recommendation is"
    yield "wrong if every judge is at the margin. It's right if every judge is good: right on 90%"
    yield "of items, or 98.5% if raters agree on 97%. The last column is for the first validation"
    yield "of a good judge:"
    yield ""
    yield "| series, from 150 items | any, wrong | any, right | the first, right |"
    yield "| --- | --- | --- | --- |"
    yield from size_rows(only, n_replicates)
    yield ""
    yield "The next table is for the comparison with baselines, which decides on `best_not_proven`."
    yield "You try 100 judges, each as good as the baseline:"
    yield ""
    yield from ("| series | any is called better |", "| --- | --- |")
    yield from comparison_rows(only, n_replicates)
    yield ""
    yield "Judges are right on 90% of the items, and raters on 85%. The table shows how often the"
    yield "last validation of a series recommends its judge:"
    yield ""
    yield f"| | {' | '.join(GOOD)} |"
    yield f"|{' --- |' * (1 + len(GOOD))}"
    yield from power_rows(only, n_replicates)
    yield ""
    yield "Several judges are compared with a human rater. The first judge is at the margin, or"
    yield "right on 90% of items if raters are right on 85%. The row describes the other judges,"
    yield "which are at the margin or worse:"
    yield ""
    yield "| | wrong | right | right, alpha / J | right, alone at alpha |"
    yield "| --- | --- | --- | --- | --- |"
    yield from contender_rows(only, n_replicates)
    yield ""
    yield "You try twenty judges on 70% of the items, and confirm the best one on the rest:"
    yield ""
    yield "| | confirmed, the best of 20 | the first judge, on the same items |"
    yield "| --- | --- | --- |"
    yield from holdout_rows(only, n_replicates)


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--only", default="", help="rows whose name has this word")
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    options = parser.parse_args()
    lines = []
    for line in sections(options.only, options.replicates):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        before, rest = PAGE.read_text("utf-8").split(START)
        after = rest.split(END)[1]
        text = "\n".join(lines)
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
