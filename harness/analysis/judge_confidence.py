"""Confidence of a judge per item: stated, from log probabilities, or from its samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.data.labels import majority_shares
from harness.tasks.tables import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.stats import RatingTable

SEVERAL = 2  # one sample agrees with itself
MEMBER = '"confidence"'


def confidences(table: RatingTable, verdicts: Sequence[Verdict]) -> dict[str, FloatArray]:
    """Return every score that the verdicts carry: name to (n,), nan where there is none.

    Parameters
    ----------
    table : RatingTable
        The judge's, whose items and counts these are.
    verdicts : sequence of Verdict
        The judge's.

    Returns
    -------
    dict of str to (n,) array
        ``verbal_confidence``: the number that replies in JSON give as "confidence".
        ``logprob``: log probability of the reply, or of the most probable option. Both are means
        over the samples that have one.
        ``sample_agreement``: share of the most frequent option, of items with two samples or more.
    """
    row = {item: i for i, item in enumerate(table.items)}
    forced = any(verdict.elicitation == "forced_choice" for verdict in verdicts)
    elicitation = "forced_choice" if forced else "paired"
    chosen = [v for v in verdicts if v.elicitation == elicitation and v.outcome == "answered"]
    stated = [verdict for verdict in chosen if verdict.reply and MEMBER in verdict.reply]
    measured = [v for v in chosen if v.logprobs is not None or v.probabilities is not None]
    scores = {
        "verbal_confidence": _means(stated, row, _stated),
        "logprob": _means(measured, row, _log_probability),
    }
    counts = table.forced_choice
    several = counts.sum(axis=1) >= SEVERAL
    scores["sample_agreement"] = np.where(several, majority_shares(counts), np.nan)
    return {name: score for name, score in scores.items() if not np.isnan(score).all()}


def as_probabilities(name: str, score: FloatArray) -> FloatArray:
    """Return a score as a probability: percentages are divided by 100, logarithms undone.

    Parameters
    ----------
    name : str
        Of the score, see `confidences`.
    score : (n,) array
        The score.
    """
    if name == "logprob":
        return np.exp(score)
    is_percentage = name == "verbal_confidence" and np.nanmax(score, initial=0.0) > 1.0
    return score / 100.0 if is_percentage else score


def _means(
    verdicts: Sequence[Verdict], row: Mapping[str, int], score: Callable[[Verdict], float | None]
) -> FloatArray:
    sums, n = np.zeros(len(row)), np.zeros(len(row))
    for verdict in verdicts:
        value = score(verdict)
        if value is not None and math.isfinite(value) and verdict.item in row:
            sums[row[verdict.item]] += value
            n[row[verdict.item]] += 1
    return ratio(sums, n)


def _stated(verdict: Verdict) -> float | None:
    text = verdict.reply or ""
    try:
        reply = parse_json(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return None
    value = reply.get("confidence") if isinstance(reply, dict) else None
    return _number(value)


def _log_probability(verdict: Verdict) -> float | None:
    if verdict.probabilities is not None:
        return math.log(max(verdict.probabilities.values()))
    logprobs = verdict.logprobs
    if not isinstance(logprobs, dict):
        return None
    tokens = logprobs.get("content")
    if isinstance(tokens, list):
        values = [token.get("logprob") if isinstance(token, dict) else None for token in tokens]
    else:
        listed = logprobs.get("token_logprobs")
        values = listed if isinstance(listed, list) else []
    numbers = [number for number in map(_number, values) if number is not None]
    return sum(numbers) if numbers and len(numbers) == len(values) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
