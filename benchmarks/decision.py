"""How often the decision is right, and how often intervals hold, on simulated data sets.

    python benchmarks/decision.py [--replicates 1000] [--processes 2] [--only WORD] [--write]

Prints a Markdown table, a row per claim; ``--write`` puts the rows into decision.csv, in the place
of those with the same data sets, and their summary into docs/coverage.md. The page of all rows is
built from the file with the site. A `Scenario` draws a data set from a seed and says of each claim
whether it held; None is NA.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom, multinomial

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.paired_differences import difference_of

from harness import stats
from harness.analysis.decision import verdict_of
from harness.analysis.evidence import (
    baseline_evidence,
    close_to_first,
    footing_facts,
    worse_than_first,
)
from harness.analysis.evidence_rows import Evidence, JudgeEvidence
from harness.stats.alt_test.copied_answers import CopyTest, copy_test
from harness.stats.alt_test.deciding_test import (
    DecidingAnnotatorTest,
    DecidingTest,
    deciding_annotator_test,
    deciding_test,
    panel_test,
)
from harness.stats.alt_test.design import AltTestDesign
from harness.stats.alt_test.panel import Coded, Panel
from harness.stats.indeterminacy.likelihood import F_by_likelihood
from harness.stats.indeterminacy.translation_intervals import F_intervals
from harness.stats.inference.alpha_spending import share_of_validation
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.crossed_raters import CrossedRatings
from harness.stats.inference.estimate import Estimate
from harness.stats.inference.metric import find_metric
from harness.stats.inference.non_inferiority import Margin, least_items, non_inferiority_p
from harness.stats.metrics.ordinal import RANKED_PROBABILITY_SCORE
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.footing import RULES, ComparisonRules, Footing, common_footing
from harness.stats.selection.rater_panel import RaterPanel
from harness.stats.selection.references import one_human

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Claims: TypeAlias = "dict[str, bool | None]"  # whether each claim held; None is NA
Range: TypeAlias = tuple[float, float]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START = "<!-- benchmarks/decision.py writes what follows -->"
END = "<!-- benchmarks/decision.py wrote this -->"
ROWS = Path(__file__).with_suffix(".csv")
COLUMNS = ("data_sets", "claim", "n_held", "n_defined", "n_data_sets", "low", "high")
SECTION = "../coverage.md#decisions-and-intervals-on-few-items"
TABLE_HEAD = """\
| data sets | what holds | share | NA | wanted | how many | |
| --- | --- | --- | --- | --- | --- | --- |"""
SIZE_SCENARIO = "annotator test, 10 to 29 items, by enumeration"
SPACE = stats.OptionSpace.powerset(("yes", "no"))
DISAGREEMENT = find_metric("js_divergence(s/s)", METRICS)
ALPHA = 0.05
RARELY, OFTEN, HOLDS = (0.0, ALPHA), (0.8, 1.0), (0.92, 0.98)
RATERS = {False: "raters", True: "raters, a sample"}
EPS = 0.1
MARGIN = Margin(0.05, 1.0)
N_RESAMPLES = 1000
LARGE = 200_000  # items whose statistic stands for the design value


@dataclass(frozen=True)
class Scenario:
    """Data sets of one kind.

    Attributes
    ----------
    name : str
        What they are, for a reader.
    simulate : callable
        ``rng -> Claims``, of one data set.
    wanted : dict of str to (low, high)
        The share of data sets in which each claim should hold, NA aside.
    """

    name: str
    simulate: Callable[[np.random.Generator], Claims]
    wanted: dict[str, Range]


@dataclass(frozen=True)
class Row:
    """How often a claim held.

    Attributes
    ----------
    scenario, claim : str
        Of which data sets, and what.
    n_held, n_defined, n_replicates : int
        Data sets in which it held, was defined, and all.
    wanted : (low, high)
        The range of the share among those where it was defined.
    """

    scenario: str
    claim: str
    n_held: int
    n_defined: int
    n_replicates: int
    wanted: Range

    @property
    def share(self) -> float:
        """Share of the defined; nan without any."""
        return self.n_held / self.n_defined if self.n_defined else float("nan")

    @property
    def n_errors_off(self) -> float:
        """How many standard errors the share lies outside its range; 0 within, or if NA."""
        if not self.n_defined:
            return 0.0
        low, high = self.wanted
        off = max(low - self.share, self.share - high, 0.0)
        bound = low if self.share < low else high
        return off / sqrt(max(bound * (1.0 - bound), 1e-4) / self.n_defined)

    @property
    def misses(self) -> bool:
        """Whether the share lies outside its range by more than two standard errors."""
        return self.n_errors_off > 2.0


def evaluate_scenario(scenario: Scenario, n_replicates: int) -> list[Row]:
    """Simulate data sets with seeds made of the scenario's name, and count what held."""
    held, defined = Counter[str](), Counter[str]()
    name = crc32(scenario.name.encode())
    for replicate in range(n_replicates):
        for claim, holds in scenario.simulate(np.random.default_rng([name, replicate])).items():
            if holds is not None:
                held[claim] += bool(holds)
                defined[claim] += 1
    return [
        Row(scenario.name, claim, held[claim], defined[claim], n_replicates, wanted)
        for claim, wanted in scenario.wanted.items()
    ]


# Verdicts


def choice_table(
    name: str, counts: np.ndarray, space: stats.OptionSpace = SPACE
) -> stats.RatingTable:
    """Make a table of forced choices from (n, 2) counts."""
    n = len(counts)
    outcomes = np.zeros((n, 3, 5), int)
    outcomes[:, 0, 0] = counts.sum(axis=1)
    return stats.RatingTable(
        space=space,
        name=name,
        items=tuple(f"i{i}" for i in range(n)),
        forced_choice=counts,
        response_set=np.zeros((n, len(space.sets)), int),
        joint=None,
        outcomes=outcomes,
    )


def one_hot(labels: np.ndarray) -> np.ndarray:
    """Count labels 0 and 1: (n, m) to (n, 2). Negative labels are no answer."""
    return np.stack([(labels == 0).sum(axis=1), (labels == 1).sum(axis=1)], axis=1)


def compare(
    ratings: np.ndarray,
    judges: list[np.ndarray],
    rng: np.random.Generator,
    *,
    named: bool = False,
) -> Footing:
    """Put judges, each (n, s) labels, on common footing with (n, m) ratings by named raters."""
    return common_footing(
        choice_table("raters", one_hot(ratings)),
        [choice_table(f"j{k}", one_hot(labels)) for k, labels in enumerate(judges)],
        DISAGREEMENT,
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=rng, n_resamples=N_RESAMPLES),
        panel=panel_of(ratings) if named else None,
        rules=ComparisonRules(margin=MARGIN),
    )


def evidence_of(
    ratings: np.ndarray,
    judges: list[np.ndarray],
    footing: Footing,
    *,
    anonymous: bool = False,
    share: float = 1.0,
) -> Evidence:
    """Gather what the verdict needs, with the annotator test of the first judge alone.

    ``share`` is the part of the error probability that the recommendation has.
    """
    first, close = footing.order[0], close_to_first(footing)
    n_contenders = len(judges) - len(worse_than_first(footing, footing.order))
    alpha = ALPHA * share * share_of_validation(1) / n_contenders
    test = None if anonymous else panel_test_of(ratings, judges[int(first[1:])][:, 0], alpha)
    copying = copying_of(ratings, judges[int(first[1:])][:, 0]) if test and test.passes else None
    fractions = footing.items.answered_fraction
    about = Estimate(value=None, n_used=int(footing.items.shared.sum()))
    estimates = footing.estimates(dict.fromkeys(footing.order, about), footing.order)
    return Evidence(
        metric=footing.metric.name,
        display_name=footing.metric.display_name,
        better=footing.metric.better,
        n_replies=footing.n_replies,
        n_items=int(footing.items.shared.sum()),
        n_rated=footing.n_rated,
        min_answered=RULES.min_answered,
        margin=MARGIN.value,
        annotator_reason="positional_raters" if anonymous else "",
        n_items_for_human=least_items(alpha, MARGIN.value),
        alpha=alpha,
        n_tried=len(judges),
        judges=tuple(
            JudgeEvidence(
                judge=name,
                usable_replies=float(fractions[int(name[1:])]),
                n_planned=footing.n_rated,
                answered_fraction=float(fractions[int(name[1:])]),
                ranked=True,
                estimate=estimates[name],
                annotator_test=test if name == first else None,
                close_to_first=name in close,
                **footing_facts(footing, name),
            )
            for name in footing.order
        ),
        baselines=tuple(baseline_evidence(footing, name) for name in footing.baselines),
        copying=copying,
        untested_copies="no_shared_errors" if copying and copying.undecided else "",
    )


def annotators_of(ratings: np.ndarray, labels: np.ndarray) -> tuple[Panel, Coded]:
    """Return (n, m) ratings and one reply per item, (n,); negative labels are no answer."""
    panel = Panel.of([(f"i{i}", f"r{j}", str(label)) for (i, j), label in np.ndenumerate(ratings)])
    replies = {f"i{i}": str(label) for i, label in enumerate(labels) if label >= 0}
    return panel, panel.coded(replies)


def copying_of(ratings: np.ndarray, labels: np.ndarray) -> CopyTest | None:
    """Test whether a judge copies raters."""
    return copy_test(*annotators_of(ratings, labels))


def panel_test_of(
    ratings: np.ndarray, labels: np.ndarray, alpha: float = ALPHA
) -> DecidingAnnotatorTest:
    """Test one reply per item, (n,), against (n, m) ratings; negative labels are no answer."""
    design = AltTestDesign(score="accuracy", eps=EPS)
    return deciding_annotator_test(*annotators_of(ratings, labels), design, alpha=alpha)


def verdict(
    ratings: np.ndarray,
    judges: list[np.ndarray],
    rng: np.random.Generator,
    *,
    named: bool = False,
    anonymous: bool = False,
) -> Claims:
    """Decide as the program does."""
    footing = compare(ratings, judges, rng, named=named)
    outcome, _, _ = verdict_of(evidence_of(ratings, judges, footing, anonymous=anonymous))
    return {"verdict is use": outcome == "use"}


def raters_of(truth: np.ndarray, m: int, accuracy: float, rng: np.random.Generator) -> np.ndarray:
    """Draw (n, m) labels, each right with the same probability."""
    right = rng.random((len(truth), m)) < accuracy
    return np.where(right, truth[:, None], 1 - truth[:, None])


def all_coins(
    rng: np.random.Generator, *, n: int, m: int, n_judges: int, named: bool = False
) -> Claims:
    """Raters and judges toss coins."""
    judges = [rng.integers(2, size=(n, 1)) for _ in range(n_judges)]
    return verdict(rng.integers(2, size=(n, m)), judges, rng, named=named)


def coin_judges(
    rng: np.random.Generator, *, n: int, m: int, n_judges: int, named: bool = False
) -> Claims:
    """Raters are right in 85 %; judges toss coins."""
    ratings = raters_of(rng.integers(2, size=n), m, 0.85, rng)
    judges = [rng.integers(2, size=(n, 1)) for _ in range(n_judges)]
    return verdict(ratings, judges, rng, named=named)


def marginal_judges(
    rng: np.random.Generator, *, n: int, m: int, n_judges: int, named: bool = False
) -> Claims:
    """Judges draw from what raters answer over all items: 29 % the rarer option."""
    ratings = raters_of((rng.random(n) < 0.2).astype(int), m, 0.85, rng)
    judges = [(rng.random((n, 1)) < 0.29).astype(int) for _ in range(n_judges)]
    return verdict(ratings, judges, rng, named=named)


def good_judges(
    rng: np.random.Generator, *, n: int, m: int, n_judges: int, named: bool = False
) -> Claims:
    """Judges are right in 90 %, raters in 85 %."""
    truth = rng.integers(2, size=n)
    judges = [raters_of(truth, 1, 0.9, rng) for _ in range(n_judges)]
    return verdict(raters_of(truth, m, 0.85, rng), judges, rng, named=named)


# Null boundaries of "use": one condition at its limit, the others met


def at_annotator_boundary(rng: np.random.Generator, *, n: int, m: int, n_judges: int) -> Claims:
    """Judges beat all raters but m - u + 1, against whom they lose by exactly the margin.

    u is half of the raters; the decision's test alone, of the judge with the least p-value.
    """
    n_null = m - ceil(m / 2) + 1
    correlation = float(rng.choice([-0.5, 0.0, 0.5, 0.9]))
    correlation = max(correlation, -1.0 / (n_null - 1.0))
    spread = np.full((n_null, n_null), correlation) + (1.0 - correlation) * np.eye(n_null)
    beaten = [DecidingTest(0.0, "exact", n, n, 0)] * (m - n_null)
    p_win, least = float(rng.choice([0.02, 0.2])), 1.0
    for _ in range(n_judges):
        latent = ndtr(rng.multivariate_normal(np.zeros(n_null), spread, n, method="eigh"))
        difference = np.where(latent < p_win, -1.0, (latent > 1.0 - p_win - EPS) * 1.0)
        tests = [deciding_test(difference[:, k], EPS) for k in range(n_null)]
        p = panel_test([*beaten, *tests], m, 0.5).p
        least = min(least, 1.0 if p is None else p)
    return {"annotator test passes": least <= ALPHA / n_judges}


def at_human_boundary(
    rng: np.random.Generator, *, factor: float, agreement: float, n_judges: int
) -> Claims:
    """Judges are worse than one of three raters by exactly the margin; the test alone.

    Of n items, ``factor`` times the least; the judge with the least p-value.
    """
    alpha = ALPHA / n_judges
    n = ceil(factor * least_items(alpha, MARGIN.value))
    right = (1.0 + sqrt(2.0 * agreement - 1.0)) / 2.0
    table = human_differences()
    chances = binom.pmf(np.arange(4), 3, 1.0 - right)
    by_answer = chances @ table  # expected difference of a right, and of a wrong, answer
    p_wrong = (MARGIN.value - by_answer[0]) / (by_answer[1] - by_answer[0])
    least = 1.0
    for _ in range(n_judges):
        wrong = rng.binomial(3, 1.0 - right, n)
        difference = table[wrong, (rng.random(n) < p_wrong).astype(int)]
        items = np.arange(n)
        p = non_inferiority_p(difference, items, cluster_mean(difference, items), MARGIN)
        least = min(least, 1.0 if p is None else p)
    return {"human rater passes": least <= alpha}


@lru_cache
def human_differences() -> np.ndarray:
    """Return (4, 2): disagreement of a right and a wrong judge less that of one of three raters.

    By the number of raters who are wrong; each is left out in turn.
    """
    ratings = (np.arange(3)[None] < np.arange(4)[:, None]).astype(int)
    sides = [
        one_human(
            DISAGREEMENT.contributions,
            one_hot(ratings),
            np.tile(np.eye(2)[k], (4, 1)),
            human_vectors=np.asarray,
            judge_vectors=np.asarray,
        )
        for k in (0, 1)
    ]
    return np.column_stack([side.difference[:, 0] for side in sides])


def copies_of_a_rater(rng: np.random.Generator, *, n: int, m: int, accuracy: float) -> Claims:
    """The judge copies a rater of some accuracy; the other raters are right in 85 %."""
    truth = rng.integers(2, size=n)
    ratings = raters_of(truth, m, 0.85, rng)
    ratings[:, :1] = raters_of(truth, 1, accuracy, rng)
    return verdict(ratings, [ratings[:, :1].copy()], rng)


def constant_judge(rng: np.random.Generator, *, n: int, n_judges: int) -> Claims:
    """A judge that always answers the median of five ordered options, whose mode is at an end."""
    counts = rng.multinomial(5, [0.32, 0.14, 0.2, 0.14, 0.2], n)
    answers = [rng.multinomial(1, np.eye(5)[2], n)] + [
        rng.multinomial(1, np.full(5, 0.2), n) for _ in range(n_judges - 1)
    ]
    space = stats.OptionSpace.singletons(("1", "2", "3", "4", "5"))
    footing = common_footing(
        choice_table("raters", counts, space),
        [choice_table(f"j{k}", of_judge, space) for k, of_judge in enumerate(answers)],
        RANKED_PROBABILITY_SCORE,
        tau=0.5,
        positive=("1",),
        resampling=stats.Resampling(rng=rng, n_resamples=N_RESAMPLES),
    )
    return {"beats every baseline": bool(footing.beats[0].all())}


def anonymous_judges(rng: np.random.Generator, *, n: int, m: int, n_judges: int) -> Claims:
    """Judges are right in 90 %, raters without names in 85 %."""
    truth = rng.integers(2, size=n)
    judges = [raters_of(truth, 1, 0.9, rng) for _ in range(n_judges)]
    return verdict(raters_of(truth, m, 0.85, rng), judges, rng, anonymous=True)


# Comparisons of judges


@lru_cache
def expected_loss(accuracy: float, m: int) -> float:
    """Return what a judge of this accuracy scores at one reply on a great many items."""
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=LARGE)
    ratings, judge = raters_of(truth, m, 0.8, rng), raters_of(truth, 1, accuracy, rng)
    footing = compare_without_resamples(ratings, judge)
    return float(footing.values[0])


def compare_without_resamples(ratings: np.ndarray, judge: np.ndarray) -> Footing:
    """Evaluate a judge alone."""
    return common_footing(
        choice_table("raters", one_hot(ratings)),
        [choice_table("j0", one_hot(judge))],
        DISAGREEMENT,
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=np.random.default_rng(0), n_resamples=0),
    )


def equal_judges(
    rng: np.random.Generator, *, n: int, m: int, n_judges: int, named: bool = False
) -> Claims:
    """Judges of the same accuracy, independently wrong."""
    truth = rng.integers(2, size=n)
    judges = [raters_of(truth, 1, 0.75, rng) for _ in range(n_judges)]
    footing = compare(raters_of(truth, m, 0.8, rng), judges, rng, named=named)
    target, interval, ranks = expected_loss(0.75, m), footing.winner, footing.ranks
    covered = None
    if interval is not None and interval.low is not None and interval.high is not None:
        covered = interval.low <= target <= interval.high
    everyone = (1, n_judges)
    return {
        "significantly different": len(close_to_first(footing)) < n_judges,
        "rank sets hold": None if ranks is None else all(r == everyone for r in ranks.ranks),
        "the winner's interval holds": covered,
    }


def samples_apart(rng: np.random.Generator, *, n: int, m: int, named: bool = False) -> Claims:
    """One judge, asked once and ten times."""
    chance = rng.beta(0.8, 0.8, n)
    ratings = (rng.random((n, m)) < chance[:, None]).astype(int)
    judges = [(rng.random((n, s)) < 0.8 * chance[:, None] + 0.1).astype(int) for s in (1, 10)]
    footing = compare(ratings, judges, rng, named=named)
    return {"significantly different": len(close_to_first(footing)) < len(judges)}


def abstaining_copy(rng: np.random.Generator, *, n: int, m: int, share: float) -> Claims:
    """Give no answer to some of the items on which raters and judge toss coins."""
    hard_items = rng.random(n) < 0.3
    truth = rng.integers(2, size=n)
    ratings, judge = raters_of(truth, m, 0.85, rng), raters_of(truth, 1, 0.85, rng)
    ratings[hard_items] = rng.integers(2, size=(int(hard_items.sum()), m))
    judge[hard_items] = rng.integers(2, size=(int(hard_items.sum()), 1))
    copy = judge.copy()
    copy[np.flatnonzero(hard_items)[: int(share * n)]] = -1
    footing = compare(ratings, [judge, copy], rng)
    if "j1" not in footing.judges:  # listed, not ranked
        return {"ranked above its copy": False}
    values = dict(zip(footing.judges, footing.values.tolist(), strict=True))
    return {"ranked above its copy": values["j1"] < values["j0"]}


# The annotator test


def largest_size(n: int, eps: float = EPS) -> float:
    """Return the size of the deciding test, the maximum over P(win) by enumeration of tables."""
    won, lost = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    possible = won + lost <= n
    won, lost = won[possible], lost[possible]
    rejected = np.array([_p_of(n, w, k, eps) <= ALPHA for w, k in zip(won, lost, strict=True)])
    won, lost = won[rejected], lost[rejected]
    tables = np.column_stack([lost, won, n - lost - won])
    sizes = [
        multinomial.pmf(tables, n, [p_win + eps, p_win, 1.0 - 2.0 * p_win - eps]).sum()
        for p_win in np.linspace(0.0, (1.0 - eps) / 2.0, 451)
    ]
    return float(max(sizes))


def _p_of(n: int, wins: int, losses: int, eps: float) -> float:
    difference = np.repeat([-1.0, 1.0, 0.0], [wins, losses, n - wins - losses])
    p = deciding_test(difference, eps).p
    return float("nan") if p is None else p


def grouped_test(
    rng: np.random.Generator, *, n_groups: int, size: int, p_win: float, alike: float
) -> Claims:
    """Draw items in groups under E d = eps, with an intraclass correlation."""
    chances = np.maximum([p_win, p_win + EPS, 1.0 - 2.0 * p_win - EPS], 1e-9)
    of_group = rng.dirichlet(chances * (1.0 - alike) / alike, n_groups)
    groups = np.repeat(np.arange(n_groups), size)
    place = rng.random(len(groups))
    edges = np.cumsum(of_group, axis=1)[groups]
    difference = np.select([place < edges[:, 0], place < edges[:, 1]], [-1.0, 1.0], 0.0)
    p = deciding_test(difference, EPS, groups=groups).p
    return {"test rejects at E d = eps": None if p is None else p <= ALPHA}


# Intervals

FORM = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])  # P(choice | response set): beta is .3
STATISTICS = (
    "hit_rate(h/h)",
    "cohen_kappa(h/h)",
    "mse(srs/srs)",
    "js_divergence(s/s)",
    "decision_consistency",
    "prevalence_bias",
)
CONCENTRATION = {"mixed": 1.0, "high": 0.15}  # of the Dirichlet of response sets


@dataclass(frozen=True)
class Design:
    """How much was rated.

    Attributes
    ----------
    n, m, s : int
        Items, raters per item, samples of each judge per item.
    agreement : {"mixed", "high"}
        Whether items are ambiguous or mostly clear.
    group_size : int
        Items that share what raters and judges think of them.
    """

    n: int
    m: int
    s: int
    agreement: str
    group_size: int = 1


def draw_tables(
    design: Design, rng: np.random.Generator
) -> tuple[stats.RatingTable, list[stats.RatingTable]]:
    """Draw raters, and two judges that are near to them and far from them."""
    n_groups = design.n // design.group_size
    concentration = np.full(3, CONCENTRATION[design.agreement])
    theta, other, another = np.repeat(
        rng.dirichlet(concentration, (3, n_groups)), design.group_size, axis=1
    )
    human = _table("raters", theta, design.m, rng, paired=True)
    near, far = 0.8 * theta + 0.2 * other, 0.6 * theta + 0.4 * another
    return human, [_table("near", near, design.s, rng), _table("far", far, design.s, rng)]


def _table(
    name: str, theta: np.ndarray, m: int, rng: np.random.Generator, *, paired: bool = False
) -> stats.RatingTable:
    """Draw m choices and m response sets of each item, and a pair of both."""
    n = len(theta)
    joint = None
    if paired:
        joint = rng.multinomial(1, (FORM[None] * theta[:, None, :]).reshape(n, -1))
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=tuple(map(str, range(n))),
        forced_choice=rng.multinomial(m, theta @ FORM.T),
        response_set=rng.multinomial(m, theta),
        joint=None if joint is None else joint.reshape(n, 2, 3),
        outcomes=np.zeros((n, 3, 5), int),
    )


def estimates(
    design: Design, rng: np.random.Generator
) -> dict[str, stats.Estimate | stats.Difference]:
    """Estimate as a validation does."""
    human, judges = draw_tables(design, rng)
    groups = None
    if design.group_size > 1:
        groups = [f"g{i // design.group_size}" for i in range(design.n)]
    evaluation = stats.evaluate(
        human,
        judges,
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=rng, groups=groups, n_resamples=N_RESAMPLES),
        metrics=STATISTICS,
    )
    by_name = {name: evaluation.estimates["near"][name] for name in STATISTICS}
    by_name["beta"] = evaluation.human_translation.beta
    return by_name | {
        f"difference in {name}": difference_of(evaluation, name) for name in STATISTICS
    }


@lru_cache
def design_values(design: Design) -> dict[str, float]:
    """Return the statistics on a great many items."""
    large, rng = replace(design, n=LARGE, group_size=1), np.random.default_rng(2)
    human, judges = draw_tables(large, rng)
    evaluation = stats.evaluate(
        human,
        judges,
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=rng, n_resamples=0),
        metrics=STATISTICS,
    )
    values = {name: evaluation.estimates["near"][name].value for name in STATISTICS}
    values["beta"] = evaluation.human_translation.beta.value
    return values | {
        f"difference in {name}": difference_of(evaluation, name).value for name in STATISTICS
    }


def interval_holds(rng: np.random.Generator, *, design: Design) -> Claims:
    """Say which intervals hold the design value."""
    targets = design_values(replace(design, n=LARGE, group_size=1))
    holds: Claims = {}
    for name, estimate in estimates(design, rng).items():
        interval = estimate.interval
        holds[name] = None
        if interval is not None:
            holds[name] = interval.low - 1e-9 <= targets[name] <= interval.high + 1e-9
    return holds


# Beta from independent calls

THETA = {"mixed": (1.0, 1.0, 1.0), "similar": (3.0, 3.0, 3.0), "mostly no": (1.0, 2.0, 0.5)}


def beta_by_likelihood(
    rng: np.random.Generator, *, n: int, r: int, beta: float, theta: str
) -> Claims:
    """Say whether the interval of beta holds it, and has a width."""
    sets = np.array(THETA[theta])
    no = beta / (1.0 - beta) * sets[1] / sets[2]  # P(no | both)
    form = np.array([[1.0, 0.0, 1.0 - no], [0.0, 1.0, no]])
    item_theta = rng.dirichlet(sets, n)
    table = stats.RatingTable(
        space=SPACE,
        name="judge",
        items=tuple(map(str, range(n))),
        forced_choice=rng.multinomial(r, item_theta @ form.T),
        response_set=rng.multinomial(r, item_theta),
        joint=None,
        outcomes=np.zeros((n, 3, 5), int),
    )
    resampling = stats.Resampling(rng=rng, n_resamples=0)
    interval = stats.F_and_beta_by_likelihood(table, ("yes",), resampling=resampling)[1].interval
    if interval is None:
        return dict.fromkeys(("interval holds beta", "interval has a width"))
    return {
        "interval holds beta": interval.low <= beta <= interval.high,
        "interval has a width": interval.low < interval.high,
    }


def likelihood_scenarios() -> Iterator[Scenario]:
    """List the betas whose intervals are checked."""
    wanted = {"interval holds beta": (0.92, 1.0), "interval has a width": (1.0, 1.0)}
    for n, theta in ((120, "mixed"), (120, "similar"), (120, "mostly no"), (20, "mixed")):
        for r in (5, 10):
            for beta in (0.009, 0.03, 0.1, 0.2 if theta == "mostly no" else 0.3):
                name = f"beta by likelihood: {n} items, {r} replies, {theta}, beta {beta:g}"
                simulate = partial(beta_by_likelihood, n=n, r=r, beta=beta, theta=theta)
                yield Scenario(name, simulate, wanted)


# F-hat of three options

THREE = stats.OptionSpace.powerset(("a", "b", "c"))
LIKING = np.array([4.0, 2.0, 1.0])  # of the options, where several are reasonable
CELLS = {"a given {a, b}": ("a", "ab"), "b given {b, c}": ("b", "bc"), "c given all": ("c", "abc")}
OF_GROUP = 10.0  # pairs that the F of all is worth beside what a group has of its own


def choice_given_set() -> np.ndarray:
    """Return F, (3, 7): options of a set are chosen by how much they are liked."""
    liked = THREE.membership * LIKING[:, None]
    return liked / liked.sum(axis=0)


def F_of_three(  # noqa: N802 -- the paper's matrix
    rng: np.random.Generator, *, n: int, r: int, group_size: int, paired: bool
) -> Claims:
    """Say which intervals of F hold it: from pairs, or by likelihood from independent calls.

    The items of a group have their sets alike and, of pairs, an F of their own.
    """
    F, n_groups = choice_given_set(), n // group_size  # noqa: N806 -- the paper's matrix
    theta = np.repeat(rng.dirichlet(np.ones(len(THREE.sets)), n_groups), group_size, axis=0)
    joint, of_item = None, np.broadcast_to(F, (n, *F.shape))
    if paired:
        if group_size > 1:
            gamma = rng.gamma(np.broadcast_to(F * OF_GROUP, (n_groups, *F.shape)))
            of_item = np.repeat(gamma / gamma.sum(axis=1, keepdims=True), group_size, axis=0)
        joint = rng.multinomial(r, (of_item * theta[:, None]).reshape(n, -1)).reshape(n, *F.shape)
    table = stats.RatingTable(
        space=THREE,
        name="judge",
        items=tuple(map(str, range(n))),
        forced_choice=rng.multinomial(r, theta @ F.T) if joint is None else joint.sum(axis=2),
        response_set=rng.multinomial(r, theta) if joint is None else joint.sum(axis=1),
        joint=joint,
        outcomes=np.zeros((n, 3, 5), int),
    )
    groups = [f"g{i // group_size}" for i in range(n)] if group_size > 1 else None
    resampling = stats.Resampling(rng=rng, groups=groups, n_resamples=0)
    if paired:
        low, high = F_intervals(table, resampling.units(n), level=resampling.level)
    else:
        fit = F_by_likelihood(table, resampling=resampling)
        low, high = np.array(fit.low), np.array(fit.high)
    holds: Claims = {}
    for name, (option, members) in CELLS.items():
        k, v = THREE.options.index(option), THREE.sets.index(tuple(members))
        ends = low[k, v], high[k, v]
        holds[name] = None if np.isnan(ends).any() else bool(ends[0] <= F[k, v] <= ends[1])
    return holds


def F_scenarios() -> Iterator[Scenario]:  # noqa: N802 -- the paper's matrix
    """List the designs whose intervals of F-hat are checked."""
    wanted = dict.fromkeys(CELLS, (0.92, 1.0))
    for paired, n, r, size in (
        (True, 60, 1, 1),
        (True, 120, 1, 1),
        (True, 120, 3, 1),
        (True, 240, 1, 6),
        (False, 60, 5, 1),
        (False, 120, 5, 1),
        (False, 120, 10, 1),
        (False, 240, 5, 6),
    ):
        kind = f"{counted(r, 'pair')} of each item" if paired else f"by likelihood, {r} replies"
        name = f"F-hat of three options: {n} items, {kind}"
        if size > 1:
            name += f", {n // size} groups"
        simulate = partial(F_of_three, n=n, r=r, group_size=size, paired=paired)
        yield Scenario(name, simulate, wanted)


# Judges that nearly always agree with the raters

AGREEING = ("hit_rate(h/h)", "js_divergence(s/s)", "mse(s/s)")


def agreeing_estimates(
    rng: np.random.Generator,
    *,
    n: int,
    m: int,
    s: int,
    right: tuple[float, float],
    n_resamples: int,
) -> dict[str, stats.Estimate]:
    """Estimate the values of a judge, where raters and judge are right with these chances."""
    truth = rng.random(n) < 0.5
    chances = [np.where(truth, share, 1.0 - share) for share in right]
    human, judge = (
        choice_table(name, np.stack([yes, size - yes], axis=1), CROSSED_SPACE)
        for name, chance, size in zip(("raters", "judge"), chances, (m, s), strict=True)
        for yes in [rng.binomial(size, chance)]
    )
    evaluation = stats.evaluate(
        human,
        [judge],
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=rng, n_resamples=n_resamples),
        metrics=AGREEING,
    )
    return dict(evaluation.estimates["judge"])


@lru_cache
def agreeing_targets(m: int, s: int, right: tuple[float, float]) -> dict[str, float]:
    """Return the values on a great many items."""
    rng = np.random.default_rng(4)
    by_name = agreeing_estimates(rng, n=LARGE, m=m, s=s, right=right, n_resamples=0)
    return {name: by_name[name].value for name in AGREEING}


def agreeing(
    rng: np.random.Generator, *, n: int, m: int, s: int, right: tuple[float, float]
) -> Claims:
    """Say which intervals hold the design value."""
    targets, holds = agreeing_targets(m, s, right), {}
    for name, estimate in agreeing_estimates(
        rng, n=n, m=m, s=s, right=right, n_resamples=N_RESAMPLES
    ).items():
        interval = estimate.interval
        holds[name] = None
        if interval is not None:
            holds[name] = interval.low - 1e-9 <= targets[name] <= interval.high + 1e-9
    return holds


def agreeing_scenarios() -> Iterator[Scenario]:
    """List the designs of high agreement."""
    for (m, *right), s, n in product(
        ((3, 0.9, 0.97), (5, 0.97, 0.9), (5, 0.97, 0.97)), (1, 10), (20, 50, 100)
    ):
        name = (
            f"nearly always right: {n} items, {m} raters in {right[0]:.0%}, a judge in "
            f"{right[1]:.0%}, {s} sample{'s' * (s > 1)}"
        )
        simulate = partial(agreeing, n=n, m=m, s=s, right=tuple(right))
        yield Scenario(name, simulate, dict.fromkeys(AGREEING, (0.92, 1.0)))


# Raters who rated all items

CROSSED_SPACE = stats.OptionSpace.singletons(("yes", "no"))


def draw_crossed(n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Draw (n, m) ratings by raters whose severity has a standard deviation of 1 logit.

    And the (n, 1) answers of a judge that is near to them and of one that is far from them.
    """
    latent, severity = rng.normal(0, 1.5, n), rng.normal(0, 1.0, m)
    chance = 1 / (1 + np.exp(-(latent[:, None] + severity[None])))
    ratings = (rng.random((n, m)) < chance).astype(int)
    judges = [
        (rng.random((n, 1)) < 1 / (1 + np.exp(-slope * latent[:, None]))).astype(int)
        for slope in (1.5, 0.7)
    ]
    return ratings, judges


def panel_of(ratings: np.ndarray) -> RaterPanel:
    """Say who gave which of (n, m) ratings."""
    item, rater = np.indices(ratings.shape)
    shape = (*ratings.shape, 2)
    group = np.arange(len(ratings))
    crossed = CrossedRatings(item.ravel(), rater.ravel(), ratings.ravel(), shape, group)
    return RaterPanel(forced_choice=crossed, response_set=None)


def crossed_estimates(
    n: int, m: int, rng: np.random.Generator, n_resamples: int
) -> dict[str, stats.Estimate | stats.Difference]:
    """Estimate as a validation does, over items and raters."""
    ratings, judges = draw_crossed(n, m, rng)
    human, near, far = (
        choice_table(name, one_hot(1 - labels), CROSSED_SPACE)
        for name, labels in zip(("raters", "near", "far"), (ratings, *judges), strict=True)
    )
    evaluation = stats.evaluate(
        human,
        [near, far],
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=rng, n_resamples=n_resamples),
        metrics=STATISTICS,
        panel=panel_of(1 - ratings) if n_resamples else None,
    )
    by_name = {name: evaluation.estimates["near"][name] for name in STATISTICS}
    return by_name | {
        f"difference in {name}": difference_of(evaluation, name) for name in STATISTICS
    }


@lru_cache
def crossed_targets(n: int, m: int) -> dict[str, float]:
    """Return the expectations over items and raters."""
    rng, values = np.random.default_rng(3), []
    for _ in range(3000):
        by_name = crossed_estimates(n, m, rng, n_resamples=0)
        values.append([estimate.value for estimate in by_name.values()])
    return dict(zip(by_name, np.nanmean(np.array(values, dtype=float), axis=0), strict=True))


def crossed_raters(rng: np.random.Generator, *, n: int, m: int) -> Claims:
    """Say which intervals over items and raters hold the expectation."""
    targets, holds = crossed_targets(n, m), {}
    for name, estimate in crossed_estimates(n, m, rng, N_RESAMPLES).items():
        interval = estimate.interval
        holds[name] = None
        if interval is not None:
            holds[name] = interval.low <= targets[name] <= interval.high
    return holds


# All of it


def counted(n: int, noun: str = "judge") -> str:
    """Return "1 judge" or "5 judges"."""
    return f"{n} {noun}{'s' * (n > 1)}"


def scenarios() -> list[Scenario]:
    """List every kind of data set."""
    use = "verdict is use"
    every = []
    for kind, n, m, n_judges, wanted, named in (
        (all_coins, 100, 5, 5, RARELY, False),
        (all_coins, 100, 5, 5, RARELY, True),
        (all_coins, 30, 3, 5, RARELY, False),
        (coin_judges, 100, 5, 1, RARELY, False),
        (coin_judges, 100, 5, 5, RARELY, False),
        (coin_judges, 100, 5, 20, RARELY, False),
        (coin_judges, 20, 5, 5, RARELY, False),
        (marginal_judges, 100, 5, 1, RARELY, False),
        (marginal_judges, 100, 5, 5, RARELY, False),
        (marginal_judges, 100, 5, 20, RARELY, False),
        (marginal_judges, 100, 5, 5, RARELY, True),
        (marginal_judges, 30, 5, 5, RARELY, False),
        (good_judges, 150, 5, 1, OFTEN, False),
        (good_judges, 150, 5, 1, OFTEN, True),
        (good_judges, 150, 5, 3, OFTEN, False),
        (good_judges, 150, 3, 1, OFTEN, False),
        (good_judges, 150, 3, 5, (0.7, 1.0), False),
        (good_judges, 150, 5, 5, (0.7, 1.0), False),
        (good_judges, 30, 5, 1, (0.0, 1.0), False),
        (good_judges, 100, 5, 1, (0.0, 1.0), False),
    ):
        what = kind.__name__.replace("_", " ")
        name = f"{what}: {counted(n_judges)}, {n} items, {m} {RATERS[named]}"
        simulate = partial(kind, n=n, m=m, n_judges=n_judges, named=named)
        every.append(Scenario(name, simulate, {use: wanted}))
    for n in (30, 100, 300):
        for n_judges in (5, 10):
            wanted = {"significantly different": RARELY, "rank sets hold": (0.92, 1.0)}
            if n_judges == 10:
                wanted["the winner's interval holds"] = (0.92, 0.99)
            for named in (False, True) if n == 30 else (False,):
                name = f"equal judges: {n_judges} judges, {n} items, 5 {RATERS[named]}"
                simulate = partial(equal_judges, n=n, m=5, n_judges=n_judges, named=named)
                every.append(Scenario(name, simulate, wanted))
    every += [
        Scenario(
            f"one judge asked once and ten times: {n} items, 5 {RATERS[named]}",
            partial(samples_apart, n=n, m=5, named=named),
            {"significantly different": RARELY},
        )
        for n, named in ((30, False), (30, True), (100, False))
    ]
    every += [
        Scenario(
            f"a copy that abstains on {100 * share:g} % of the items, "
            "hard ones: 100 items, 5 raters",
            partial(abstaining_copy, n=100, m=5, share=share),
            {"ranked above its copy": (0.0, 0.0)},
        )
        for share in (0.08, 0.25)
    ]
    every += [
        Scenario(
            f"{n_groups} groups of {size} items, P(win) {p_win:g}, "
            f"intraclass correlation {alike:g}",
            partial(grouped_test, n_groups=n_groups, size=size, p_win=p_win, alike=alike),
            {"test rejects at E d = eps": (0.0, 0.07)},
        )
        for n_groups in (5, 10, 40)
        for size, p_win, alike in (
            (2, 0.05, 0.3),
            (6, 0.05, 0.3),
            (6, 0.2, 0.3),
            (6, 0.2, 0.6),
            (20, 0.0, 0.3),
        )
    ]
    every += [*boundary_scenarios(), *interval_scenarios(), *agreeing_scenarios()]
    return [*every, *likelihood_scenarios(), *F_scenarios()]


def boundary_scenarios() -> Iterator[Scenario]:
    """List the null boundaries of "use", and its power."""
    for m, n, n_judges in product((3, 5, 10), (30, 150), (1, 5, 20)):
        yield Scenario(
            f"annotator test at its margin: {counted(n_judges)}, {n} items, {m} raters",
            partial(at_annotator_boundary, n=n, m=m, n_judges=n_judges),
            {"annotator test passes": RARELY},
        )
    for factor, agreement, n_judges in product((1, 1.5, 3), (0.97, 0.98, 0.99), (1, 5, 20)):
        yield Scenario(
            f"human rater at the margin: {counted(n_judges)}, {factor:g} times the least items, "
            f"raters agree in {100 * agreement:g} %",
            partial(at_human_boundary, factor=factor, agreement=agreement, n_judges=n_judges),
            {"human rater passes": RARELY},
        )
    for m, accuracy in product((3, 5), (0.5, 0.6, 0.7)):
        yield Scenario(
            f"a copy of a rater who is right in {100 * accuracy:g} %: 150 items, {m} raters",
            partial(copies_of_a_rater, n=150, m=m, accuracy=accuracy),
            {"verdict is use": RARELY},
        )
    for n, n_judges in ((30, 1), (30, 5), (100, 1), (100, 5), (100, 20), (300, 1), (300, 5)):
        yield Scenario(
            f"always the median: {counted(n_judges)}, {n} items, 5 raters",
            partial(constant_judge, n=n, n_judges=n_judges),
            {"beats every baseline": RARELY},
        )
    for m in (3, 5):
        yield Scenario(
            f"good judges: 1 judge, 150 items, {m} raters without names",
            partial(anonymous_judges, n=150, m=m, n_judges=1),
            {"verdict is use": OFTEN},
        )


def interval_scenarios() -> Iterator[Scenario]:
    """List the designs whose intervals are checked."""
    designs = [
        Design(n, m, s, agreement)
        for n in (20, 30, 50, 300)
        for m in (2, 3, 7)
        for s in (1, 10)
        for agreement in CONCENTRATION
    ]
    designs += [Design(n, 3, 1, "mixed", size) for n, size in ((100, 10), (200, 5))]
    names = [*STATISTICS, "beta", *(f"difference in {name}" for name in STATISTICS)]
    for design in designs:
        name = (
            f"interval: {design.n} items, {design.m} raters, {design.s} "
            f"sample{'s' * (design.s > 1)}, {design.agreement} agreement"
        )
        if design.group_size > 1:
            name += f", {design.n // design.group_size} groups"
        simulate = partial(interval_holds, design=design)
        yield Scenario(name, simulate, dict.fromkeys(names, HOLDS))
    for n, m in ((50, 5), (50, 7), (300, 5), (300, 7)):
        yield Scenario(
            f"crossed raters: {n} items, {m} raters, severity 1 logit",
            partial(crossed_raters, n=n, m=m),
            dict.fromkeys((*STATISTICS, *(f"difference in {name}" for name in STATISTICS)), HOLDS),
        )


def evaluate_all(
    chosen: list[Scenario], n_replicates: int, n_processes: int
) -> Iterator[list[Row]]:
    """Evaluate scenarios, those whose processes are free first."""
    evaluate = partial(evaluate_scenario, n_replicates=n_replicates)
    if n_processes == 1:
        yield from map(evaluate, chosen)
        return
    with ProcessPoolExecutor(n_processes) as pool:
        yield from pool.map(evaluate, chosen)


def size_rows() -> list[Row]:
    """Enumerate the size of the deciding test: how many of 20 numbers of items hold the level."""
    sizes = {n: largest_size(n) for n in range(10, 30)}
    n_held = sum(size <= ALPHA for size in sizes.values())
    claim = f"size at most {ALPHA:g} (largest {max(sizes.values()):.4f})"
    return [Row(SIZE_SCENARIO, claim, n_held, len(sizes), len(sizes), (1.0, 1.0))]


# The page

INTRODUCTION = """\
## Decisions and intervals on few items

Each [row](reference/coverage-rows.md) has a kind of simulated data sets, a claim, and the share of
data sets in which the claim was true. "NA" is the share of data sets without a result, and the
other share is among those with a result. Of {n_rows:,} rows, {n_outside} lie outside the wanted
range, {n_missed} of them by more than two standard errors.

- *Verdicts and comparisons*: two options, judges ranked by Jensen-Shannon divergence at one reply
  per item, an annotator test with a margin of 0.1, and {n_resamples:,} resamples. *Coins* ignore
  the item, *marginal judges* draw from the raters' answers over all items, and *good judges* are
  right on 90% of items (raters on 85%).
- *At its margin*: the judges lose by exactly the margin to as many raters as allowed, with
  correlations of -0.5 to 0.9 between raters. The best of the judges is tested.
- *A human rater at the margin*: the best of the judges is tested on 1, 1.5 and 3 times the minimum
  number of items.
- *Always the median*: a constant judge on five ordered options. The most frequent option is at one
  end of the scale.
- Rows with a wanted range of 0% to 100% show the power on few items.
- *Intervals*: two options and their response sets, one pair per item for beta, {n_resamples:,}
  resamples, and the [score interval](explanation/intervals.md#how-they-are-made). An item's
  response sets come from a Dirichlet(1, 1, 1) for *mixed* agreement, or a Dirichlet(.15, .15, .15)
  for *high* agreement. Items in a group share their distribution.
- *Beta by likelihood*: independent calls of a judge, with as many choices as sets. Sets come from a
  Dirichlet(1, 1, 1) (*mixed*), a Dirichlet(3, 3, 3) (*similar* items), or a Dirichlet(1, 2, .5)
  (raters *mostly* say *no*). All items have the same F. Below 20 items there's no interval.
- *Nearly always right*: two options, with raters and a judge of the accuracies in the row.
- *F-hat of three options*: the chance of a choice given the set, with all seven sets. Items have
  one or three pairs, or as many independent choices as sets. Groups of six items share their sets
  and, with pairs, have their own F.
- An interval should contain the design value, which is the statistic on {large:,} items. *Crossed
  raters* rate all items with their own severity. Their intervals are over items and raters, and
  should contain the expectation over both, with at least 2 degrees of freedom.
- *A sample*: five or more raters have names, so comparisons allow for other raters too. All
  other rows have unnamed raters or fewer than five.

Why rows miss their range:

- Differences in prevalence bias compare absolute values, which vary less near 0 than the biases do,
  so the interval is wider than needed.
- Shares of few items move in steps. If most raters and the judge make the same decisions, one step
  is more than a percent of the data sets.
- For one judge with one reply and with ten, the critical value for skewed differences is an
  approximation on 30 items. The share is within two standard errors of 5%.
- On 20 and 30 items, intervals for squared distances allow for one more item. They're wider than
  needed if the sample already contains one like it.
- On 20 items, intervals for kappa account for options that are rare in the sample. They're
  wider than needed if options are about equally frequent.
- With crossed raters, a single rater can change a decision at a cut-off. If one of five raters is
  left out, the share can be exactly at the cut-off. Decisions therefore vary more between left-out
  raters than between new raters, so the interval for decision consistency is wider than needed.

Too few items never make a value NA, but they do make these results NA:

- intervals on fewer than five items or groups (for a share, fewer than two items)
- significant differences between judges on fewer than 20 items or groups, or between judges that
  differ on fewer than six
- the interval for the winner among several judges, on fewer than 30

If items are grouped, the annotator test also needs enough groups with a win or a loss of the judge.
"""


def render(rows: list[Row]) -> str:
    """Write the section of the page: a line per claim, then the rows that miss their range."""
    by_claim: dict[str, list[Row]] = {}
    for row in rows:
        by_claim.setdefault(row.claim, []).append(row)
    missing = [row for row in rows if row.misses]
    lines = [
        INTRODUCTION.format(
            n_missed=len(missing),
            n_outside=sum(row.n_errors_off > 0.0 for row in rows),
            n_rows=len(rows),
            n_resamples=N_RESAMPLES,
            large=LARGE,
        ),
        "| what holds | rows | share | outside the wanted range | by two standard errors |",
        "| --- | --- | --- | --- | --- |",
        *(summary_line(claim, of_claim) for claim, of_claim in by_claim.items()),
        "",
        "These rows miss their range by more than two standard errors:",
        "",
        TABLE_HEAD,
        *map(render_row, missing),
    ]
    return "\n".join(lines) + "\n"


def summary_line(claim: str, rows: list[Row]) -> str:
    """Write how often a claim held over all kinds of data sets."""
    shares = [100.0 * row.share for row in rows if row.n_defined]
    span = f"{min(shares):.1f} to {max(shares):.1f} %" if shares else "NA"
    n_outside = sum(row.n_errors_off > 0.0 for row in rows)
    n_missed = sum(row.misses for row in rows)
    return f"| {claim} | {len(rows)} | {span} | {n_outside} | {n_missed} |"


def render_row(row: Row) -> str:
    """Write a line of the table of all rows."""
    low, high = row.wanted
    if low == high:
        wanted = f"{100 * low:g} %"
    elif low == 0.0:
        wanted = f"at most {100 * high:g} %"
    elif high == 1.0:
        wanted = f"at least {100 * low:g} %"
    else:
        wanted = f"{100 * low:g} to {100 * high:g} %"
    share = f"{100 * row.share:.1f} %" if row.n_defined else "NA"
    unavailable = f"{100 * (1.0 - row.n_defined / row.n_replicates):.1f} %"
    cells = (row.scenario, row.claim, share, unavailable, wanted, f"{row.n_replicates:,}")
    return f"| {' | '.join(cells)} | {'misses' if row.misses else ''} |"


def all_rows() -> str:
    """Write the page of all rows, which is built with the site."""
    rows = read_rows()
    lines = [
        "# Decisions and intervals on few items, row by row",
        "",
        f"{len(rows):,} rows; [what they are, and which miss their range]({SECTION}). NA is the",
        "share of data sets without a result.",
        "",
        TABLE_HEAD,
        *map(render_row, rows),
    ]
    return "\n".join(lines) + "\n"


def read_rows(file: Path = ROWS) -> list[Row]:
    """Read the rows that were simulated."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Row(
                cells["data_sets"],
                cells["claim"],
                int(cells["n_held"]),
                int(cells["n_defined"]),
                int(cells["n_data_sets"]),
                (float(cells["low"]), float(cells["high"])),
            )
            for cells in csv.DictReader(lines)
        ]


def write_rows(rows: list[Row], file: Path = ROWS) -> None:
    """Write the rows as `read_rows` reads them."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            counts = (row.n_held, row.n_defined, row.n_replicates)
            writer.writerow((row.scenario, row.claim, *counts, *row.wanted))


def with_published(rows: list[Row]) -> list[Row]:
    """Return the rows that were simulated before, in the place of some of them new ones."""
    by_claim = {(row.scenario, row.claim): row for row in (*read_rows(), *rows)}
    claims = [(scenario.name, claim) for scenario in scenarios() for claim in scenario.wanted]
    of_size = [key for key in by_claim if key[0] == SIZE_SCENARIO]
    return [by_claim[key] for key in (*of_size, *claims) if key in by_claim]


def write_page(section: str, page: Path = PAGE) -> None:
    """Put the section in the place of the last one."""
    before, rest = page.read_text("utf-8").split(START)
    after = rest.split(END)[1]
    page.write_text(f"{before}{START}\n{section}{END}{after}", "utf-8")


def main() -> None:
    """Simulate, print the table, and exit with 1 when a row misses its range."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    parser.add_argument("--write", action="store_true", help="write the file and the page")
    options = parser.parse_args()
    chosen = [scenario for scenario in scenarios() if options.only in scenario.name]
    rows = size_rows() if options.only in SIZE_SCENARIO else []
    for evaluated in evaluate_all(chosen, options.replicates, options.processes):
        rows += evaluated
        print(evaluated[0].scenario, file=sys.stderr, flush=True)
    print("\n".join((TABLE_HEAD, *map(render_row, rows))))
    if options.write:
        published = with_published(rows)
        write_rows(published)
        write_page(render(published))
    sys.exit(any(row.misses for row in rows))


if __name__ == "__main__":
    main()
