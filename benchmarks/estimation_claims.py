"""How often intervals of `harness estimate` hold in the designs where they are hardest to get.

    python benchmarks/estimation_claims.py [--data-sets 1000] [--write]

Rare strata that are over-sampled, few groups of items that are alike, and several raters who are
rarely positive. Each row has a bound: coverage is at least 93 %. Prints Markdown tables with
standard errors, and exits with 1 if a coverage is below its bound by more than two standard errors;
``--write`` puts the tables into docs/estimation.md. Takes half an hour of one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.estimation import JUDGES, LEAST_COVERAGE, LEVEL, PAGE
from harness.stats.estimation.effective_counts import Labelled, group_dispersion
from harness.stats.estimation.label_plan import WANTED_CHANCE, plan_labels
from harness.stats.estimation.labelling import JUDGE_ALPHA, confidence_sequence
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.score_sums import ScoreSums
from harness.stats.estimation.stratified import PopulationStratum, ShareSums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

START = "<!-- benchmarks/estimation_claims.py writes what follows -->"
END = "<!-- benchmarks/estimation_claims.py wrote this -->"
N_UNLABELLED = 2000
WIDER = 1.02  # times the width without the judge
OFTEN_WIDER = 0.05  # share of data sets
SCORES = np.arange(1.0, 6.0)
SPREADS = {  # chances of scores 1 to 5
    "3% top": (0.97, 0.0, 0.0, 0.0, 0.03),
    "10% top": (0.9, 0.0, 0.0, 0.0, 0.1),
    "rare high": (0.9, 0.04, 0.03, 0.02, 0.01),
    "even": (0.2, 0.2, 0.2, 0.2, 0.2),
}
WRONG_SCORES = {"weak": 0.5, "good": 0.2, "near-perfect": 0.02}  # share of items scored at random
KINDS = ("weak", "good", "near-perfect")


@dataclass(frozen=True)
class Claim:
    """A design of data sets, and how often the interval should hold the share.

    Attributes
    ----------
    kind : str
        Of the judge.
    n_judges : int
        Judges tried; the interval allows for the choice.
    """

    kind: str
    n_judges: int = 1

    @property
    def name(self) -> str:
        """What its row begins with."""
        raise NotImplementedError

    @property
    def truth(self) -> float:
        """Share of positive ratings over the population."""
        raise NotImplementedError

    def draw(self, rng: np.random.Generator) -> list[PopulationStratum]:
        """Draw labelled items and the judge's verdicts about others, by stratum."""
        raise NotImplementedError

    def sums(self, data_sets: list[list[PopulationStratum]]) -> ShareSums | ScoreSums:
        """Add up data sets, as an estimate does."""
        return ShareSums.of(data_sets)

    def verdicts(self, rng: np.random.Generator, yes: np.ndarray) -> np.ndarray:
        """Return the judge's verdicts about items that are positive or not."""
        sensitivity, specificity = JUDGES[self.kind]
        right = rng.random(len(yes)) < np.where(yes, sensitivity, specificity)
        return np.where(right, yes, ~yes).astype(float)


@dataclass(frozen=True)
class RareStratum(Claim):
    """A flagged stratum is rare, and over-sampled.

    Attributes
    ----------
    n, n_flagged : int
        Labelled items of either stratum.
    share : float
        Of the flagged items in the population.
    common, flagged : float
        Share of positive items in either stratum.
    """

    n: int = 50
    n_flagged: int = 50
    share: float = 0.02
    common: float = 0.03
    flagged: float = 0.5

    @property
    def name(self) -> str:
        return (
            f"{self.share:.0%} flagged, {self.n_flagged} of {self.n + self.n_flagged} labels; "
            f"{self.common:.0%} and {self.flagged:.0%} positive"
        )

    @property
    def truth(self) -> float:
        return self.share * self.flagged + (1.0 - self.share) * self.common

    def draw(self, rng: np.random.Generator) -> list[PopulationStratum]:
        n_flagged = max(int(rng.binomial(N_UNLABELLED, self.share)), 1)
        strata = []
        for n, n_unlabelled, positive in (
            (self.n, N_UNLABELLED - n_flagged, self.common),
            (self.n_flagged, n_flagged, self.flagged),
        ):
            yes, others = (rng.random(size) < positive for size in (n, n_unlabelled))
            labelled = Labelled(yes.astype(float), self.verdicts(rng, yes))
            strata.append(PopulationStratum(labelled, JudgedMean.of(self.verdicts(rng, others))))
        return strata


@dataclass(frozen=True)
class Groups(Claim):
    """Labelled and unlabelled items come in groups that differ in their share.

    Attributes
    ----------
    n_groups, size : int
        Labelled groups, and the items of each.
    alike : float
        Intraclass correlation.
    prevalence : float
        Share of positive items.
    in_file : bool
        Whether the groups of the unlabelled items are known.
    """

    n_groups: int = 10
    size: int = 5
    alike: float = 0.9
    prevalence: float = 0.1
    in_file: bool = True

    @property
    def name(self) -> str:
        unknown = "" if self.in_file else "; unlabelled groups not known"
        return (
            f"{self.n_groups} groups of {self.size}, correlation {self.alike:g}, "
            f"{self.prevalence:.0%} positive{unknown}"
        )

    @property
    def truth(self) -> float:
        return self.prevalence

    def _items(self, rng: np.random.Generator, n_groups: int) -> np.ndarray:
        total = (1.0 - self.alike) / self.alike
        shares = rng.beta(self.prevalence * total, (1.0 - self.prevalence) * total, n_groups)
        return rng.random(n_groups * self.size) < shares.repeat(self.size)

    def draw(self, rng: np.random.Generator) -> list[PopulationStratum]:
        yes = self._items(rng, self.n_groups)
        groups = np.arange(len(yes)) // self.size
        verdicts = self.verdicts(rng, self._items(rng, N_UNLABELLED // self.size))
        judged = JudgedMean.of(verdicts)
        if self.in_file:
            sums = (verdicts - judged.mean).reshape(-1, self.size).sum(axis=1)
            sizes = np.full(len(sums), float(self.size))
            judged = replace(judged, dispersion=group_dispersion(sums, sizes, judged.deviations))
        return [
            PopulationStratum(Labelled(yes.astype(float), self.verdicts(rng, yes), groups), judged)
        ]


@dataclass(frozen=True)
class Raters(Claim):
    """Several raters per item, who are rarely positive.

    Attributes
    ----------
    n, n_raters : int
        Labelled items, and the raters of each.
    prevalence : float
        Share of positive ratings.
    agreement : float
        Correlation of two raters of an item.
    """

    n: int = 100
    n_raters: int = 5
    prevalence: float = 0.02
    agreement: float = 0.5

    @property
    def name(self) -> str:
        return (
            f"{self.n} labels, {self.n_raters} raters, correlation {self.agreement:.2g}, "
            f"{self.prevalence:.0%} positive"
        )

    @property
    def truth(self) -> float:
        return self.prevalence

    def draw(self, rng: np.random.Generator) -> list[PopulationStratum]:
        total = (1.0 - self.agreement) / self.agreement
        a, b = self.prevalence * total, (1.0 - self.prevalence) * total
        p, others = rng.beta(a, b, self.n), rng.beta(a, b, N_UNLABELLED)
        labels = rng.binomial(self.n_raters, p) / self.n_raters
        labelled = Labelled(labels, self.verdicts(rng, rng.random(self.n) < p))
        judged = JudgedMean.of(self.verdicts(rng, rng.random(N_UNLABELLED) < others))
        return [PopulationStratum(labelled, judged)]


@dataclass(frozen=True)
class Scores(Claim):
    """Scores from 1 to 5, of which high ones are rare.

    Attributes
    ----------
    n : int
        Labelled items.
    top : str
        How scores are spread: one of `SPREADS`.
    """

    n: int = 100
    top: str = "3% top"

    @property
    def name(self) -> str:
        return f"{self.n} labels, {self.top}"

    @property
    def chances(self) -> np.ndarray:
        return np.array(SPREADS[self.top])

    @property
    def truth(self) -> float:
        return float(self.chances @ SCORES)

    def _verdicts(self, rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
        errs = rng.random(len(scores)) < WRONG_SCORES[self.kind]
        return np.where(errs, rng.choice(SCORES, len(scores)), scores)

    def draw(self, rng: np.random.Generator) -> list[PopulationStratum]:
        scores, others = (
            rng.choice(SCORES, size, p=self.chances) for size in (self.n, N_UNLABELLED)
        )
        judged = JudgedMean.of(self._verdicts(rng, others))
        return [PopulationStratum(Labelled(scores, self._verdicts(rng, scores)), judged)]

    def sums(self, data_sets: list[list[PopulationStratum]]) -> ScoreSums:
        return ScoreSums.of(data_sets, (1.0, 5.0))


@dataclass(frozen=True)
class Planned:
    """Labels of a first part, after which the number of all is planned.

    Attributes
    ----------
    kind : str
        Of the judge.
    n : int
        Labels of the first part.
    prevalence : float
        Share of positive items.
    width : float
        Wanted.
    """

    kind: str
    n: int
    prevalence: float
    width: float

    def label(
        self, rng: np.random.Generator, n: int, n_unlabelled: int
    ) -> tuple[Labelled, JudgedMean]:
        """Draw labels, and verdicts about other items."""
        claim = Claim(self.kind)
        yes, others = (rng.random(size) < self.prevalence for size in (n, n_unlabelled))
        judged = JudgedMean.of(claim.verdicts(rng, others))
        return Labelled(yes.astype(float), claim.verdicts(rng, yes)), judged


@dataclass(frozen=True)
class Held:
    """How often intervals hold, of how many data sets."""

    share: float
    n_data_sets: int

    @property
    def error(self) -> float:
        """Standard error of the share."""
        return float(np.sqrt(self.share * (1.0 - self.share) / self.n_data_sets))

    @property
    def is_enough(self) -> bool:
        """Whether the share is not below its bound by more than two standard errors."""
        at_bound = np.sqrt(LEAST_COVERAGE * (1.0 - LEAST_COVERAGE) / self.n_data_sets)
        return self.share >= LEAST_COVERAGE - 2.0 * at_bound


def coverage(claim: Claim, n_data_sets: int) -> Held:
    """Draw data sets, and count the intervals of `population_share` that hold the share."""
    rng = np.random.default_rng(crc32(repr(claim).encode()))
    sums = claim.sums([claim.draw(rng) for _ in range(n_data_sets)])
    found, _ = sums.reported(LEVEL, claim.n_judges)
    held = (found.low <= claim.truth) & (claim.truth <= found.high)
    return Held(float(held.mean()), n_data_sets)


def kept(planned: Planned, n_data_sets: int) -> Held:
    """Plan labels from a first part, label so many, and count intervals of the wanted width.

    Data sets whose plan is that all items aren't enough are left out.
    """
    rng = np.random.default_rng(crc32(repr(planned).encode()))
    reached = []
    for _ in range(n_data_sets):
        first, judged = planned.label(rng, planned.n, N_UNLABELLED)
        plan = plan_labels(
            [PopulationStratum(first, judged)],
            planned.width,
            _widths,
            bounds=(0.0, 1.0),
            rng=rng,
        )
        if plan.n is not None:
            more, rest = planned.label(rng, plan.n - planned.n, N_UNLABELLED - plan.n + planned.n)
            labels = np.concatenate([first.labels, more.labels])
            verdicts = np.concatenate([first.verdicts, more.verdicts])
            stratum = PopulationStratum(Labelled(labels, verdicts), rest)
            reached.append(float(_widths([[stratum]])[0]) <= planned.width)
    return Held(float(np.mean(reached)), len(reached))


def _widths(data_sets: Sequence[Sequence[PopulationStratum]]) -> np.ndarray:
    return ShareSums.of(data_sets).reported(LEVEL, 1)[0].width


def plans() -> list[Planned]:
    """Return the designs of the table of plans."""
    return [
        Planned(kind, n, prevalence, width)
        for (n, prevalence, width), kind in product(
            ((50, 0.3, 0.15), (100, 0.3, 0.12), (100, 0.05, 0.06)), ("weak", "near-perfect")
        )
    ]


def plan_table(n_data_sets: int) -> tuple[list[str], bool]:
    """Return a Markdown table of plans, and whether they are kept often enough."""
    lines = [
        "| first labels | positive | judge | wanted width | reached | standard error | wanted |",
        "| --: | --: | --- | --: | --: | --: | --: |",
    ]
    holds = True
    for planned in plans():
        found = kept(planned, n_data_sets)
        holds &= found.share >= WANTED_CHANCE - 2.0 * (0.16 / found.n_data_sets) ** 0.5
        lines.append(
            f"| {planned.n} | {planned.prevalence:.0%} | {planned.kind} | {planned.width:.0%} "
            f"| {found.share:.0%} | {found.error:.0%} | {WANTED_CHANCE:.0%} |"
        )
    return lines, holds


@dataclass(frozen=True)
class Looked:
    """Looks at an estimate while items are rated, with a near-perfect judge.

    Attributes
    ----------
    n_unlabelled : int
        Items that only the judge rated.
    prevalence : float
        Share of positive items.
    n : int
        Labels at the look.
    """

    n_unlabelled: int
    prevalence: float
    n: int = 100


def width_ratios(looked: Looked, n_data_sets: int) -> np.ndarray:
    """Return the widths of sequences with the judge, over those of the labels alone."""
    rng = np.random.default_rng(crc32(repr(looked).encode()))
    judge = Claim("near-perfect")
    ratios = []
    for _ in range(n_data_sets):
        yes, others = (
            rng.random(size) < looked.prevalence for size in (looked.n, looked.n_unlabelled)
        )
        labels, verdicts = yes.astype(float), judge.verdicts(rng, yes)
        share = float(judge.verdicts(rng, others).mean())
        both = confidence_sequence(labels, verdicts, share, looked.n_unlabelled, level=LEVEL)
        # One unlabelled item tells nothing. All of the error probability is for the labels.
        level = 1.0 - (1.0 - LEVEL) / (1.0 - JUDGE_ALPHA)
        alone = confidence_sequence(labels, verdicts, 0.5, 1, level=level)
        ratios.append((both.high[-1] - both.low[-1]) / (alone.high[-1] - alone.low[-1]))
    return np.array(ratios)


def looks() -> list[Looked]:
    """Return the designs of the table of looks."""
    return [Looked(*pair) for pair in product((300, 2000, 20_000), (0.05, 0.1, 0.3, 0.5))]


def look_table(n_data_sets: int) -> tuple[list[str], bool]:
    """Return a Markdown table of looks, and whether a judge rarely widens an interval."""
    lines = [
        "| unlabelled | positive | more than 2% wider | standard error | wanted | median width |",
        "| --: | --: | --: | --: | --: | --: |",
    ]
    holds = True
    for looked in looks():
        ratios = width_ratios(looked, n_data_sets)
        wider = Held(float((ratios > WIDER).mean()), n_data_sets)
        bound = OFTEN_WIDER + 2.0 * (OFTEN_WIDER * (1.0 - OFTEN_WIDER) / n_data_sets) ** 0.5
        holds &= wider.share <= bound
        lines.append(
            f"| {looked.n_unlabelled:,} | {looked.prevalence:.0%} | {wider.share:.1%} "
            f"| {wider.error:.1%} | at most {OFTEN_WIDER:.0%} | {np.median(ratios):.2f} |"
        )
    return lines, holds


def claims() -> dict[str, list[Claim]]:
    """Return the designs of each table, for a judge whose kind is left open."""
    rare = [
        RareStratum("", 1, n, n_flagged, share, common)
        for (n, n_flagged), share, common in product(
            ((50, 50), (150, 150), (90, 10), (57, 3)), (0.02, 0.1), (0.01, 0.03, 0.06)
        )
    ]
    five = [RareStratum("", 5, 50, 50, share) for share in (0.02, 0.1)]
    groups = [
        Groups("", 1, n_groups, size, alike, prevalence)
        for (n_groups, size), alike, prevalence in product(
            ((10, 5), (10, 20), (40, 20), (100, 5)), (0.3, 0.9), (0.1, 0.3)
        )
    ]
    unknown = [Groups("", 1, 10, 20, 0.9, p, in_file=False) for p in (0.1, 0.3, 0.5)]
    raters = [
        Raters("", 1, n, n_raters, prevalence, agreement)
        for n, n_raters, prevalence, agreement in product(
            (50, 100, 300), (2, 5), (0.02, 0.05), (0.5, 0.75)
        )
    ]
    return {
        "Strata, with a rare and over-sampled flagged stratum": [*rare, *five],
        "Items in groups": [*groups, *unknown],
        "Several raters, whose labels are rarely positive": list(raters),
        "Mean scores from 1 to 5": [
            Scores("", 1, n, top) for n, top in product((30, 100, 300), SPREADS)
        ],
    }


def table(rows: Iterable[Claim], n_data_sets: int) -> tuple[list[str], bool]:
    """Return a Markdown table, and whether every coverage is high enough."""
    lines = [
        f"| data sets | judges tried | {' | '.join(KINDS)} | standard error | wanted |",
        f"| --- | --: | {'--: | ' * len(KINDS)}--: | --: |",
    ]
    holds = True
    for row in rows:
        found = [coverage(replace(row, kind=kind), n_data_sets) for kind in KINDS]
        holds &= all(held.is_enough for held in found)
        cells = " | ".join(f"{held.share:.1%}" for held in found)
        error = max(held.error for held in found)
        lines.append(
            f"| {row.name} | {row.n_judges} | {cells} | {error:.1%} | {LEAST_COVERAGE:.0%} |"
        )
    return lines, holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--plans", type=int, default=100, help="data sets of each plan and look")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    parts, all_hold = [], True
    for title, rows in claims().items():
        lines, holds = table(rows, arguments.data_sets)
        all_hold &= holds
        parts.append(f"{title}:\n\n" + "\n".join(lines))
        print(parts[-1], flush=True)
    lines, holds = plan_table(arguments.plans)
    all_hold &= holds
    parts.append("Plans (`--n-labels`), carried out:\n\n" + "\n".join(lines))
    print(parts[-1], flush=True)
    lines, holds = look_table(arguments.plans)
    all_hold &= holds
    title = "Width with a near-perfect judge at 100 labels (`--until-width`), relative to no judge"
    parts.append(f"{title}:\n\n" + "\n".join(lines))
    print(parts[-1], flush=True)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page[: page.index(START) + len(START)], page[page.index(END) :]
        text = "\n\n".join(parts)
        PAGE.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")
    return 0 if all_hold else 1


if __name__ == "__main__":
    raise SystemExit(main())
