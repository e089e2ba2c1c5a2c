"""How often `harness trust` accepts verdicts whose error is above the bound, and how many.

    python benchmarks/trust.py [--quick] [--write]

Verdicts have a confidence that is informative (errors become rarer with it), useless or misleading
(errors become more frequent with it). The error of the accepted verdicts in the population is
known, so each row counts the data sets in which it's above the bound of 0.1. Rows differ in the
errors (0 or 1, or the share of three raters who disagree), in whether items come in groups of five
with similar errors, and in whether there are two confidences, of which the better one or a
combination is chosen on half of the items. ``--write`` puts the rows into trust.csv. Exits with 1
if the bound is exceeded in more than 5 % of the data sets plus two standard errors, or if
informative confidence (n = 300, error .04 among the top 60 %) accepts half of the items in fewer
than 65 %.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING, Literal
from zlib import crc32

import numpy as np

try:
    from benchmarks.csv_rows import print_rows
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import print_rows

from harness.stats.trust.trusted_verdicts import trust_verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping

BOUND, ALPHA, N_SETS, N_POPULATION = 0.1, 0.05, 2000, 5000
SIZES = (100, 300, 1000)
TOP, TOP_ERROR, WANTED, POWER = 0.6, 0.04, 0.5, 0.65
GROUP, N_RATERS, TIED = 5, 3, 0.03
Kind = Literal["informative", "step", "useless", "misleading", "just above"]
"""Informative: the error falls evenly within the top 60 %. Step: it is the same there."""

Errors = Literal["0 or 1", "few ties", "shares"]


@dataclass(frozen=True)
class Design:
    """How verdicts err.

    Attributes
    ----------
    kind : str
        How the error depends on the first confidence.
    n : int
        Rated items.
    errors : str
        Whether an error is 0 or 1, that but for 3 % of the items, whose raters tie, or the share
        of three raters who disagree.
    grouped : bool
        Whether items come in groups of five, whose errors are alike.
    n_signals : int
        The first confidence, and a noisy copy of it where there are two.
    """

    kind: Kind
    n: int
    errors: Errors = "0 or 1"
    grouped: bool = False
    n_signals: int = 1

    def error_rate(self, confidence: np.ndarray) -> np.ndarray:
        """Return the chance of an error, by confidence in [0, 1]."""
        below = (1.0 - TOP - confidence) / (1.0 - TOP)  # 0 at the lowest of the top, 1 at 0
        match self.kind:
            case "informative":
                within = 2.0 * TOP_ERROR * (1.0 - confidence) / TOP
                return np.where(below <= 0.0, within, 2.0 * TOP_ERROR + 0.4 * below)
            case "step":
                return np.where(below <= 0.0, TOP_ERROR, 0.3)
            case "useless":
                return np.full_like(confidence, 0.15)
            case "just above":
                return np.full_like(confidence, 1.01 * BOUND)
            case "misleading":
                return np.where(confidence > 1.0 - TOP, 0.16, 0.02)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) first confidences and groups; half of a group's items share a confidence."""
        first = rng.random(self.n)
        if not self.grouped:
            return first, np.arange(self.n)
        groups = np.arange(self.n) // GROUP
        shared = rng.random(self.n // GROUP + 1)[groups]
        return np.where(rng.random(self.n) < 0.5, shared, first), groups

    def signals(self, rng: np.random.Generator, first: np.ndarray) -> dict[str, np.ndarray]:
        """Return the confidences by name: the first, and a noisy copy of it if there are two."""
        second = {"second": (first + rng.random(len(first))) / 2.0}
        return {"first": first, **(second if self.n_signals > 1 else {})}

    def drawn_errors(
        self, rng: np.random.Generator, rate: np.ndarray, groups: np.ndarray
    ) -> np.ndarray:
        """Draw the errors; half of those of a group compare their rates with one number."""
        drawn = rng.random((N_RATERS if self.errors == "shares" else 1, len(rate)))
        if self.grouped:
            shared = rng.random((len(drawn), groups.max() + 1))[:, groups]
            drawn = np.where(rng.random(len(rate)) < 0.5, shared, drawn)
        errors = (drawn < rate).mean(axis=0)
        return np.where(rng.random(len(rate)) < self.tied, 0.5, errors)

    @property
    def tied(self) -> float:
        """The share of items whose raters tie."""
        return TIED if self.errors == "few ties" else 0.0

    def mean_error(self, confidence: np.ndarray) -> np.ndarray:
        """Return the mean error by confidence, with that of ties."""
        return (1.0 - self.tied) * self.error_rate(confidence) + self.tied / 2.0


def simulate(design: Design, n_sets: int) -> dict[str, object]:
    """Return a row: how often the bound is exceeded, and how much is accepted."""
    rng = np.random.default_rng(crc32(repr(design).encode()))
    population = (np.arange(N_POPULATION) + 0.5) / N_POPULATION
    unrated, mean_error = design.signals(rng, population), design.mean_error(population)
    exceeded, shares = [], []
    for _ in range(n_sets):
        first, groups = design.draw(rng)
        errors = design.drawn_errors(rng, design.error_rate(first), groups)
        result = trust_verdicts(design.signals(rng, first), errors, groups, bound=BOUND, rng=rng)
        new = result.accepts(result.confidence_of(unrated, N_POPULATION))
        shares.append(new.mean())
        exceeded.append(bool(new.any()) and mean_error[new].mean() > BOUND)
    share = np.array(shares)
    return {
        "confidence": design.kind,
        "n": design.n,
        "errors": design.errors,
        "groups": f"of {GROUP}" if design.grouped else "",
        "confidences": design.n_signals,
        "exceeded": f"{np.mean(exceeded):.4f}",
        "accepted": f"{share.mean():.3f}",
        "half_accepted": f"{(share >= WANTED).mean():.3f}",
        "data_sets": n_sets,
    }


def designs() -> list[Design]:
    """Return all rows."""
    kinds: tuple[Kind, ...] = ("informative", "step", "useless", "misleading", "just above")
    forms: tuple[tuple[Errors, bool, int], ...] = (
        ("0 or 1", False, 1),
        ("0 or 1", False, 2),
        ("few ties", False, 1),
        ("shares", False, 1),
        ("0 or 1", True, 1),
        ("shares", True, 2),
    )
    return [Design(kind, n, *form) for kind, n, form in product(kinds, SIZES, forms)]


def passes(row: Mapping[str, object]) -> bool:
    """Return whether a row keeps its bars."""
    highest = ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / int(str(row["data_sets"])))
    needs_power = (row["confidence"], row["n"], row["errors"], row["groups"]) == (
        "informative",
        300,
        "0 or 1",
        "",
    ) and row["confidences"] == 1
    return float(str(row["exceeded"])) <= highest and (
        not needs_power or float(str(row["half_accepted"])) >= POWER
    )


if __name__ == "__main__":
    sys.exit(print_rows(__file__, designs(), simulate, passes, N_SETS))
