"""Detection of changed judges, at one error rate over judges, elicitations and rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.multiple_testing import holm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.drift.reply_counts import Window

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class JudgeChange:
    """Result of testing whether a judge changed.

    Attributes
    ----------
    judge : str
        Its name.
    changed : bool
        ``p_value <= threshold``.
    p_value : float
        The smallest p-value of its elicitations times their number, at most 1.
    threshold : float
        The judge's share of alpha.
    elicitations : tuple of str
        Elicitations that changed, by Holm's procedure at the threshold; empty unless ``changed``.
    """

    judge: str
    changed: bool
    p_value: float
    threshold: float
    elicitations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommonChange:
    """Streams that changed in the same round and whose windows overlap.

    Attributes
    ----------
    look : int
        The round of the alarm.
    first_look : int
        The earliest first round of their windows.
    streams : tuple of (judge, elicitation)
        The streams, two or more.
    """

    look: int
    first_look: int
    streams: tuple[tuple[str, str], ...]


def changed_judges(
    p_values: Mapping[str, Mapping[str, float]], *, alpha: float = ALPHA
) -> dict[str, JudgeChange]:
    """Decide which judges changed.

    Parameters
    ----------
    p_values : mapping of judge to mapping of elicitation to float
        `StreamPath.p_value` of every stream, a list that is fixed with the baseline: a stream
        without evidence is included with 1. A judge that is added later starts a separate history.
    alpha : float in (0, 1)
        Probability of any false alarm, for any judge in any round, if nothing changed.

    Returns
    -------
    dict of str to JudgeChange
        Result per judge.

    Raises
    ------
    ValueError
        If a judge has no stream, or alpha or a p-value is out of range.

    Examples
    --------
    >>> changes = changed_judges({"gpt": {"forced_choice": 0.02}, "claude": {"forced_choice": 0.4}})
    >>> changes["gpt"].changed, changes["gpt"].threshold
    (True, 0.025)
    """
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is {alpha}; wanted a number between 0 and 1")
    threshold = alpha / max(len(p_values), 1)
    return {judge: _change(judge, streams, threshold) for judge, streams in p_values.items()}


def _change(judge: str, p_values: Mapping[str, float], threshold: float) -> JudgeChange:
    if not p_values:
        raise ValueError(f"{judge} has no elicitation; pass the p-value of at least one")
    adjusted = holm(list(p_values.values()))
    p_value = float(adjusted.min())
    rejected = np.asarray(adjusted <= threshold).tolist()
    return JudgeChange(
        judge=judge,
        changed=p_value <= threshold,
        p_value=p_value,
        threshold=threshold,
        elicitations=tuple(e for e, changed in zip(p_values, rejected, strict=True) if changed),
    )


def common_changes(alarms: Mapping[tuple[str, str], tuple[int, Window]]) -> list[CommonChange]:
    """Find changes shared by several streams, which suggest a common cause.

    Parameters
    ----------
    alarms : mapping of (judge, elicitation) to (look, Window)
        Streams that changed, with the round of the change and the strongest window in it.

    Returns
    -------
    list of CommonChange
        Changes in order of rounds; a stream that changed on its own is in none. This is a
        description without an error rate.
    """
    order = sorted(alarms.items(), key=lambda alarm: (alarm[1][0], alarm[1][1].first_look))
    changes: list[CommonChange] = []
    last_look = 0  # of the last change's windows
    for stream, (look, window) in order:
        if changes and changes[-1].look == look and window.first_look <= last_look:
            streams = (*changes[-1].streams, stream)
            changes[-1] = replace(changes[-1], streams=streams)
            last_look = max(last_look, window.look)
        else:
            changes.append(CommonChange(look, window.first_look, (stream,)))
            last_look = window.look
    return [change for change in changes if len(change.streams) > 1]
