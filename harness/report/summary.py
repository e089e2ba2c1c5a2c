"""A validation in words: what was validated, and the sentences that end a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import (
    READING,
    counted,
    duration,
    estimate,
    in_unit,
    number,
    p_value,
    percent,
    reach,
    reason,
    resting,
    share,
    span,
    tenths,
)
from harness.report.recommendation import sentences

if TYPE_CHECKING:
    from harness.analysis import Validation

__all__ = [
    "READING",
    "counted",
    "decision",
    "duration",
    "estimate",
    "headline",
    "in_unit",
    "number",
    "options",
    "p_value",
    "percent",
    "reach",
    "reason",
    "resting",
    "sentences",
    "share",
    "span",
    "tenths",
]


def headline(validation: Validation) -> str:
    """What was validated, on one line."""
    task, humans = validation.task, validation.humans
    items = counted([task.n_items])
    if task.n_items < task.n_items_in_task:
        items += f" of {task.n_items_in_task}"
    parts = [
        task.name,
        items,
        counted([humans.n_raters], "rater"),
        counted([humans.n_forced_choice], "forced choice"),
    ]
    if humans.n_response_sets:
        parts.append(counted([humans.n_response_sets], "response set"))
    if validation.judges:
        parts.append(counted([len(validation.judges)], "judge"))
    return "  ".join(parts)


def options(validation: Validation) -> str:
    """What may be answered: keys, with their labels where these say more."""
    named = validation.task.options.items()
    return ", ".join(key if key == label else f"{key} ({label})" for key, label in named)


def decision(validation: Validation) -> str:
    """Say which judge to use, what that hangs on, and what to collect next."""
    return " ".join(sentences(validation))
