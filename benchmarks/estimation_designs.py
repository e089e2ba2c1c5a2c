"""How often intervals of `harness estimate` hold where items are no independent yes-or-no labels.

    python benchmarks/estimation_designs.py [--data-sets 2000] [--write]

Labels that were drawn actively, items that come in groups, labels drawn by stratum or weighted by
it, and items with a few raters each, with one judge or the best of five by the labels; and beta
from pairs. Prints Markdown tables and exits with 1 if a coverage is below 93 %; ``--write`` puts
the tables into docs/estimation.md. Takes twelve minutes of one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.estimation import JUDGES, LEAST_COVERAGE, LEVEL, PAGE
from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.identified_set import endorsed_share
from harness.stats.estimation.labelling import draw_probabilities, label_spreads
from harness.stats.estimation.population import paired_beta, population_share
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.stratified import PopulationStratum, ShareSums

if TYPE_CHECKING:
    from harness.stats.estimation.identified_set import PairedBeta

START = "<!-- benchmarks/estimation_designs.py writes what follows -->"
END = "<!-- benchmarks/estimation_designs.py wrote this -->"
N_UNLABELLED = 2000
N_FIRST = 100  # labels by which the judge is chosen and the spreads of active draws are fitted
N_TRIED = 5
GROUP = 5  # items of a group
RARE, COMMON = 0.05, 0.4  # prevalence in the strata
N_WIDTHS = 100  # data sets of which the width at the true beta is taken
PAIRED = (0.0, 0.1, 0.4)  # beta
PAIRED_RATERS = 2  # of each item, all of whom give both answers on the paired items
COMMON_SHARE = 0.2  # of the items that lie in the stratum where positive items are common
LANGUAGES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])  # shares of five strata in the population
POSITIVE = np.array([0.05, 0.1, 0.3, 0.5, 0.8])  # prevalence in each
MIN_OF_STRATUM = 2  # labelled items, as `harness estimate --strata` wants


@dataclass(frozen=True)
class Design:
    """How items are drawn and rated.

    Attributes
    ----------
    labels : str
        "active", "groups", "strata", "weighted" or "raters".
    n : int
        Labelled items.
    prevalence : float
        Share of positive ratings over the population; of strata, it follows from them.
    kind : str
        Of the judges.
    n_raters : int
        Of each item.
    n_judges : int
        Of which the best by the labels is used.
    """

    labels: str
    n: int
    prevalence: float
    kind: str
    n_raters: int = 1
    n_judges: int = 1

    @property
    def truth(self) -> float:
        """Share of positive ratings over the population."""
        if self.labels == "weighted":
            return float(LANGUAGES @ POSITIVE)
        if self.labels != "strata":
            return self.prevalence
        return COMMON_SHARE * COMMON + (1.0 - COMMON_SHARE) * RARE

    def draw(self, rng: np.random.Generator) -> list[PopulationStratum]:
        """Draw labelled items and the judge's verdicts about others, by stratum."""
        if self.labels == "weighted":
            return _weighted(self, rng)
        draw = {"active": _active, "groups": _groups, "strata": _strata, "raters": _raters}
        return [PopulationStratum(*draw[self.labels](self, rng))]


def _verdicts(design: Design, rng: np.random.Generator, yes: np.ndarray) -> np.ndarray:
    """Return (J, n) verdicts about items that are positive or not."""
    sensitivity, specificity = JUDGES[design.kind]
    right = rng.random((design.n_judges, len(yes))) < np.where(yes, sensitivity, specificity)
    return np.where(right, yes, ~yes).astype(float)


def _best(labels: np.ndarray, verdicts: np.ndarray) -> np.ndarray:
    return verdicts[np.abs(verdicts - labels).mean(axis=1).argmin()]


def _judged(design: Design, rng: np.random.Generator, yes: np.ndarray) -> JudgedMean:
    """Judges are alike, so that the chosen one answers as any."""
    return JudgedMean.of(_verdicts(design, rng, yes)[0])


def _active(design: Design, rng: np.random.Generator) -> tuple[Labelled, JudgedMean]:
    """The judge is chosen by other labels; those drawn then are weighted."""
    first = rng.random(N_FIRST) < design.prevalence
    said = _verdicts(Design("", N_FIRST, 0.0, design.kind, 1, N_TRIED), rng, first)
    first_verdicts = _best(first.astype(float), said)
    yes = rng.random(N_UNLABELLED) < design.prevalence
    verdicts = _verdicts(design, rng, yes)[0]
    spreads = label_spreads(first.astype(float), first_verdicts, verdicts)
    chances = draw_probabilities(spreads, design.n)
    drawn = rng.random(N_UNLABELLED) < chances
    labelled = Labelled(yes[drawn].astype(float), verdicts[drawn], weights=1.0 / chances[drawn])
    return labelled, JudgedMean.of(verdicts)


def _groups(design: Design, rng: np.random.Generator) -> tuple[Labelled, JudgedMean]:
    """Groups differ in their share of positive items: intraclass correlation 1/3."""
    a, b = 2.0 * design.prevalence, 2.0 * (1.0 - design.prevalence)

    def items(n: int) -> np.ndarray:
        return rng.random(n) < rng.beta(a, b, n // GROUP).repeat(GROUP)

    yes, others = items(design.n), items(N_UNLABELLED)
    labels = yes.astype(float)
    groups = np.arange(design.n) // GROUP
    labelled = Labelled(labels, _best(labels, _verdicts(design, rng, yes)), groups=groups)
    return labelled, _judged(design, rng, others)


def _strata(design: Design, rng: np.random.Generator) -> tuple[Labelled, JudgedMean]:
    """Half of the labels are in the stratum where positive items are common."""
    common = np.arange(design.n) < design.n // 2
    yes = rng.random(design.n) < np.where(common, COMMON, RARE)
    weights = np.where(common, COMMON_SHARE, 1.0 - COMMON_SHARE)
    labels = yes.astype(float)
    labelled = Labelled(labels, _best(labels, _verdicts(design, rng, yes)), weights=weights)
    in_common = rng.random(N_UNLABELLED) < COMMON_SHARE
    others = rng.random(N_UNLABELLED) < np.where(in_common, COMMON, RARE)
    return labelled, _judged(design, rng, others)


def _weighted(design: Design, rng: np.random.Generator) -> list[PopulationStratum]:
    """Five strata are labelled alike, by chance; the unlabelled items say how large each is."""
    n_strata = len(LANGUAGES)
    strata = rng.integers(n_strata, size=design.n)
    while np.bincount(strata, minlength=n_strata).min() < MIN_OF_STRATUM:
        strata = rng.integers(n_strata, size=design.n)
    labels = (rng.random(design.n) < POSITIVE[strata]).astype(float)
    verdicts = _best(labels, _verdicts(design, rng, labels > 0.0))
    others = rng.choice(n_strata, size=N_UNLABELLED, p=LANGUAGES)
    judged = _verdicts(design, rng, rng.random(N_UNLABELLED) < POSITIVE[others])[0]
    return [
        PopulationStratum(
            Labelled(labels[strata == stratum], verdicts[strata == stratum]),
            JudgedMean.of(judged[others == stratum]),
        )
        for stratum in range(n_strata)
    ]


def _raters(design: Design, rng: np.random.Generator) -> tuple[Labelled, JudgedMean]:
    """Raters of an item disagree: its share of positive ones is beta-distributed."""

    def shares(n: int) -> np.ndarray:
        return rng.beta(design.prevalence, 1.0 - design.prevalence, n)

    p, others = shares(design.n), shares(N_UNLABELLED)
    labels = rng.binomial(design.n_raters, p) / design.n_raters
    verdicts = _verdicts(design, rng, rng.random(design.n) < p)
    labelled = Labelled(labels, _best(labels, verdicts))
    return labelled, _judged(design, rng, rng.random(N_UNLABELLED) < others)


@dataclass(frozen=True)
class Result:
    """Coverage of the truth, and the median width over that of the labels alone."""

    coverage: float
    ratio: float


def simulate(design: Design, n_data_sets: int) -> Result:
    """Draw data sets; the interval is that of `population_share`."""
    rng = np.random.default_rng(crc32(repr(design).encode()))
    sums = ShareSums.of([design.draw(rng) for _ in range(n_data_sets)])
    found, _ = sums.reported(LEVEL, design.n_judges)
    covered = (found.low <= design.truth) & (design.truth <= found.high)
    ratio = float(np.median(found.width) / np.median(sums.alone(LEVEL).width))
    return Result(float(covered.mean()), ratio)


@dataclass(frozen=True)
class PairedDesign:
    """Forced choices of two raters; on some items they give sets as well, which shows beta.

    Attributes
    ----------
    n, n_paired : int
        Labelled items, and those of them with sets.
    prevalence : float
        Share of positive choices.
    beta : float
        Mean over items, between which it differs.
    kind : str
        Of the judge.
    """

    n: int
    n_paired: int
    prevalence: float
    beta: float
    kind: str

    def draw(self, rng: np.random.Generator) -> tuple[Labelled, JudgedMean, PairedBeta | None]:
        """Draw choices, verdicts and, of the first items, pairs."""
        p, others = (
            rng.beta(self.prevalence, 1.0 - self.prevalence, n) for n in (self.n, N_UNLABELLED)
        )
        yes = rng.random((PAIRED_RATERS, self.n)) < p
        hides = rng.beta(2.0 * self.beta, 2.0 * (1.0 - self.beta), self.n) if self.beta else p * 0.0
        hidden = ~yes & (rng.random(yes.shape) < hides)
        one = Design("", self.n, 0.0, self.kind)
        labelled = Labelled(yes.mean(axis=0), _verdicts(one, rng, rng.random(self.n) < p)[0])
        first = slice(self.n_paired)
        eligible = (~yes).sum(axis=0)[first].astype(float)
        beta = None
        if eligible.any():
            items = np.arange(self.n_paired)
            beta = paired_beta(hidden.sum(axis=0)[first].astype(float), eligible, items)
        return labelled, _judged(one, rng, rng.random(N_UNLABELLED) < others), beta


def simulate_paired(design: PairedDesign, n_data_sets: int) -> Result:
    """Draw data sets; the width is over that of the choices' share at the true beta."""
    rng = np.random.default_rng(crc32(repr(design).encode()))
    truth = endorsed_share(design.prevalence, design.beta)
    covered, widths, known = [], [], []
    for _ in range(n_data_sets):
        labelled, judged, beta = design.draw(rng)
        found = population_share([PopulationStratum(labelled, judged)], betas=beta).estimate
        covered.append(found.low <= truth <= found.high)
        widths.append(found.width)
        if len(known) < N_WIDTHS:
            at_truth = (design.beta, design.beta)
            of_truth = population_share([PopulationStratum(labelled, judged)], betas=at_truth)
            known.append(of_truth.estimate.width)
    return Result(float(np.mean(covered)), float(np.median(widths) / np.median(known)))


def paired_designs() -> list[PairedDesign]:
    """Return the designs of the table of pairs."""
    return [
        PairedDesign(n, n_paired, prevalence, beta, "good")
        for (n, n_paired), prevalence, beta in product(((50, 25), (300, 100)), (0.1, 0.5), PAIRED)
    ]


def paired_table(n_data_sets: int) -> tuple[list[str], bool]:
    """Return a Markdown table, and whether every coverage is high enough."""
    lines = [
        "| labels | with sets | prevalence | beta | judge | covered | width |",
        "| --: | --: | --: | --: | --- | --: | --: |",
    ]
    holds = True
    for design in paired_designs():
        found = simulate_paired(design, n_data_sets)
        holds &= found.coverage >= LEAST_COVERAGE
        lines.append(
            f"| {design.n} | {design.n_paired} | {design.prevalence:g} | {design.beta:g} "
            f"| {design.kind} | {found.coverage:.1%} | {found.ratio:.2f} |"
        )
    return lines, holds


def designs() -> dict[str, list[Design]]:
    """Return the designs of each table."""
    kinds = ("weak", "good", "near-perfect")
    numbers = (50, 100, 300)
    return {
        "Labels drawn actively": [
            Design("active", n, prevalence, kind)
            for n, prevalence, kind in product(numbers, (0.05, 0.1, 0.3, 0.5), kinds)
        ],
        "Items in groups of five": [
            Design("groups", n, prevalence, kind, n_judges=n_judges)
            for n, prevalence, kind, n_judges in product(
                (100, 300), (0.1, 0.3, 0.5), kinds, (1, N_TRIED)
            )
        ],
        "Labels drawn by stratum": [
            Design("strata", n, 0.0, kind, n_judges=n_judges)
            for n, kind, n_judges in product(numbers, kinds, (1, N_TRIED))
        ],
        "Labels from five strata, in different shares than the population, weighted by stratum": [
            Design("weighted", n, 0.0, kind, n_judges=n_judges)
            for n, kind, n_judges in product(numbers, kinds, (1, N_TRIED))
        ],
        "Items with several raters": [
            Design("raters", n, prevalence, kind, n_raters, n_judges)
            for n, prevalence, kind, n_raters, n_judges in product(
                (50, 100), (0.1, 0.3), ("weak", "near-perfect"), (2, 3, 5), (1, N_TRIED)
            )
        ],
    }


def table(rows: list[Design], n_data_sets: int) -> tuple[list[str], bool]:
    """Return a Markdown table, and whether every coverage is high enough."""
    lines = [
        "| labels | prevalence | judge | raters | judges tried | covered | width |",
        "| --: | --: | --- | --: | --: | --: | --: |",
    ]
    holds = True
    for design in rows:
        found = simulate(design, n_data_sets)
        holds &= found.coverage >= LEAST_COVERAGE
        lines.append(
            f"| {design.n} | {design.truth:.2g} | {design.kind} | {design.n_raters} "
            f"| {design.n_judges} | {found.coverage:.1%} | {found.ratio:.2f} |"
        )
    return lines, holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    parts, all_hold = [], True
    for title, rows in designs().items():
        lines, holds = table(rows, arguments.data_sets)
        all_hold &= holds
        parts.append(f"{title}:\n\n" + "\n".join(lines))
    lines, holds = paired_table(arguments.data_sets)
    all_hold &= holds
    title = "Beta from pairs, with the width relative to the interval at the true beta"
    parts.append(f"{title}:\n\n" + "\n".join(lines))
    text = "\n\n".join(parts)
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page[: page.index(START) + len(START)], page[page.index(END) :]
        PAGE.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")
    return 0 if all_hold else 1


if __name__ == "__main__":
    raise SystemExit(main())
