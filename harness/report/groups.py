"""Metrics in the groups of Guerdan et al. 2025, table 1, and what each group is good for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Group:
    """A family of metrics.

    Attributes
    ----------
    title, told : str
        Its name, and in a sentence what it compares.
    starts : tuple of str
        How the names of its metrics begin.
    """

    title: str
    told: str
    starts: tuple[str, ...]


GROUPS = (
    Group(
        "Downstream",
        "What the judge is used for: deciding item by item, and estimating how many are positive.",
        ("decision_consistency", "prevalence_bias"),
    ),
    Group(
        "Continuous multi-label",
        "How likely each option is to be found reasonable, compared option by option.",
        ("mse", "binary_cross_entropy", "bce"),
    ),
    Group(
        "Categorical multi-label",
        "Whether the judge stays within the options that the raters allow.",
        ("coverage", "predictive_efficiency", "recall(", "precision(", "set_"),
    ),
    Group(
        "Distributional",
        "How often each option is chosen, compared as distributions.",
        ("kl", "cross_entropy", "ce(", "js_"),
    ),
    Group(
        "Categorical",
        "One label a side: the most frequent answer, right or wrong.",
        (
            *("hit_rate", "cohen", "fleiss", "scott", "krippendorff", "randolph", "percent"),
            *("accuracy", "phi", "mcc", "f1", "precision_", "recall_", "weighted_kappa", "kappa"),
            *("spearman", "kendall", "pearson"),
        ),
    ),
)
OTHER = Group("Further", "Metrics outside these groups.", ())


def grouped(names: Iterable[str]) -> list[tuple[Group, list[str]]]:
    """Return the groups that hold any of these metrics, in order; every name is in one of them."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(group_of(name).title, []).append(name)
    return [(g, found[g.title]) for g in (*GROUPS, OTHER) if g.title in found]


def group_of(name: str) -> Group:
    """Return the group of a metric."""
    return next((g for g in GROUPS if name.startswith(g.starts)), OTHER)
