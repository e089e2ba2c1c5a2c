"""Contextual calibration of option probabilities, using a content-free item.

A judge that favours an option regardless of the item also favours it on an item without content.
Each option's probability is divided by its probability on such an item, which is requested once per
criterion like any other item.

References
----------
T. Z. Zhao, E. Wallace, S. Feng, D. Klein, S. Singh, Calibrate Before Use: Improving Few-Shot
Performance of Language Models, ICML 2021 (section 5: W = diag(p_cf)^-1, b = 0).
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.judging.parsing.option_probabilities import distribution
from harness.judging.strategies.log_probabilities import LogProbabilities
from harness.tasks import CANNOT_ASSESS, Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.strategies.strategy import Combining, Fitted
    from harness.tasks import Task

CONTENT_FREE = "N/A"
PREFIX = "(content-free)"


class Calibrated(LogProbabilities):
    """Strategy that divides option probabilities by those for a content-free item."""

    keeps_order = True
    both_orders = False  # calibration corrects for the judge's preferences

    def extra_items(self, task: Task, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return content-free items, one for each criterion among the given items."""
        return content_free_items(task, items)

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Return the option probabilities for each content-free item."""
        del of
        return {
            verdict.item: verdict.probabilities
            for verdict in verdicts
            if verdict.item.startswith(PREFIX) and verdict.probabilities
        }

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Calibrate the verdicts, and drop verdicts on content-free items."""
        own = list(verdicts)
        fitted = self.fit(own, of) if of.fitted is None else of.fitted
        return calibrated(own, {item.id: item.criterion for item in of.task.items}, fitted)


def content_free_items(task: Task, items: Iterable[Item]) -> tuple[Item, ...]:
    """Return content-free items, one for each criterion among the given items."""
    fields = dict.fromkeys(task.text, CONTENT_FREE)
    criteria = dict.fromkeys(item.criterion for item in items)
    return tuple(Item(_id_of(criterion), fields, None, criterion) for criterion in criteria)


def calibrated(
    verdicts: Sequence[Verdict], criteria: Mapping[str, str | None], content_free: Fitted
) -> list[Verdict]:
    """Calibrate each verdict for its item's criterion, and drop the content-free items.

    The total probability of the options does not change. A verdict is invalid (``no_calibration``)
    if an option is not among the tokens listed for the content-free item.
    """
    names = {_id_of(criterion) for criterion in criteria.values()}
    return [
        _calibrated(verdict, content_free.get(_id_of(criteria.get(verdict.item)), {}))
        for verdict in verdicts
        if verdict.item not in names
    ]


def _id_of(criterion: str | None) -> str:
    return PREFIX if criterion is None else f"{PREFIX} {criterion}"


def _calibrated(verdict: Verdict, content_free: Mapping[str, float]) -> Verdict:
    masses = verdict.probabilities
    shares = distribution(masses or {})
    if masses is None or not shares:
        return verdict
    if not all(content_free.get(option) for option in shares):
        return replace(verdict, outcome="invalid", value=None, reason="no_calibration")
    ratios = {option: share / content_free[option] for option, share in shares.items()}
    scale = fsum(mass for name, mass in masses.items() if name != CANNOT_ASSESS)
    scale /= fsum(ratios.values())
    options = {option: ratio * scale for option, ratio in ratios.items()}
    value = max(options, key=options.__getitem__)
    return replace(verdict, value=value, probabilities=dict(masses) | options)
