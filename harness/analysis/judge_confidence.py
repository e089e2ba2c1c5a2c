"""Derive a judge's confidence per item from samples, stated confidence or log probabilities."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np

from harness.files.tables import parse_json
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.stats import risk_coverage
from harness.stats.data.arrays import FloatArray, ratio, row_shares
from harness.stats.data.labels import majority_shares, modes
from harness.stats.inference.bootstrap import Units
from harness.stats.reasons import Reason
from harness.stats.subsets.selective_prediction import (
    CalibrationCurve,
    RiskCoverage,
    calibration_curve,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.analysis.prepared import Prepared
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.storage.verdict_columns import VerdictKind
    from harness.stats import RatingTable
    from harness.stats.data.arrays import FloatArray


SEVERAL = 2  # one sample agrees with itself


MEMBER = '"confidence"'


def confidences(table: RatingTable, verdicts: Sequence[Verdict]) -> dict[str, FloatArray]:
    """Return an (n,) array of scores for each confidence signal. Items without a score have nan.

    Parameters
    ----------
    table : RatingTable
        The judge's table, with its items and counts.
    verdicts : sequence of Verdict
        The judge's verdicts.

    Returns
    -------
    dict of str to (n,) array
        ``verbal_confidence``: the number for "confidence" in JSON replies. ``logprob``: log
        probability of the reply, or of the most probable option. Both are means over the samples
        that have one. ``sample_agreement``: share of the most common option, on items with at least
        two samples.
    """
    columns = columns_of(verdicts)
    forced = any(kind.elicitation == "forced_choice" for kind in columns.kinds)
    elicitation = "forced_choice" if forced else "paired"

    def may_score(kind: VerdictKind) -> bool:
        is_chosen = kind.elicitation == elicitation and kind.outcome == "answered"
        return is_chosen and (kind.has_object or kind.has_logprobs or kind.is_soft)

    scored = verdicts_at(verdicts, columns.of_kinds(may_score))
    stated = [verdict for verdict in scored if MEMBER in verdict.text]
    measured = [v for v in scored if v.probabilities is not None or _logprobs(v) is not None]
    scores = {
        "verbal_confidence": _means(stated, table.items, _stated),
        "logprob": _means(measured, table.items, _log_probability),
    }
    counts = table.forced_choice
    several = counts.sum(axis=1) >= SEVERAL
    scores["sample_agreement"] = np.where(several, majority_shares(counts), np.nan)
    return {name: score for name, score in scores.items() if not np.isnan(score).all()}


def as_probabilities(name: str, score: FloatArray) -> FloatArray:
    """Convert a score to a probability: divide percentages by 100, and undo logarithms."""
    if name == "logprob":
        return np.exp(score)
    is_percentage = name == "verbal_confidence" and np.nanmax(score, initial=0.0) > 1.0
    return score / 100.0 if is_percentage else score


def _means(
    verdicts: Sequence[Verdict], items: Sequence[str], score: Callable[[Verdict], float | None]
) -> FloatArray:
    sums, n = np.zeros((2, len(items)))
    row = {item: i for i, item in enumerate(items)} if verdicts else {}
    for verdict in verdicts:
        value = score(verdict)
        if value is not None and math.isfinite(value) and verdict.item in row:
            sums[row[verdict.item]] += value
            n[row[verdict.item]] += 1
    return ratio(sums, n)


def _stated(verdict: Verdict) -> float | None:
    text = verdict.text
    try:
        reply = parse_json(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return None
    value = reply.get("confidence") if isinstance(reply, dict) else None
    return _number(value)


def _logprobs(verdict: Verdict) -> object:
    return verdict.reply and verdict.reply.logprobs


def _log_probability(verdict: Verdict) -> float | None:
    if verdict.probabilities is not None:
        return math.log(max(verdict.probabilities.values()))
    logprobs = _logprobs(verdict)
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


MAX_POINTS, DIGITS = 101, 4  # for a drawn curve


NO_SCORE: Final = "no_confidence"


class _Risk(TypedDict):
    """Fields of a judge's result that depend on its confidence."""

    risk_coverage: dict[str, RiskCoverage]
    risk_coverage_reason: Reason
    calibration: tuple[CalibrationCurve, ...]


def risk_of(p: Prepared, table: RatingTable) -> _Risk:
    """Return risk-coverage and calibration curves from a judge's confidence."""
    human, judge = (modes(side.forced_choice.astype(np.float64)) for side in (p.human, table))
    correct = np.nan_to_num((human * judge).sum(axis=1))
    rated = np.asarray(~np.isnan(human).any(axis=1), dtype=np.bool_)
    scores = confidences(table, p.source.verdicts[table.name])
    n_excluded = int((~rated).sum())
    curves = {
        name: replace(
            risk_coverage(score[rated], correct[rated]).thinned(MAX_POINTS, DIGITS),
            n_excluded=n_excluded,
        )
        for name, score in scores.items()
    }
    raters, own = (row_shares(side.forced_choice.astype(np.float64)) for side in (p.human, table))
    agreement = np.asarray((raters * own).sum(axis=1))
    clusters, level = Units.of(len(agreement), p.groups).of_item, p.settings.confidence
    calibration = tuple(
        calibration_curve(
            as_probabilities(name, score), agreement, clusters, score=name, level=level
        )
        for name, score in scores.items()
    )
    reason: Reason = "" if curves else NO_SCORE
    return {"risk_coverage": curves, "risk_coverage_reason": reason, "calibration": calibration}
