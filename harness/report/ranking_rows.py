"""Rows of the ranking: judges, a human rater and baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.charts import RowKind  # noqa: TC001 -- readers of a field's type need it
from harness.report.formatting import (
    SEE_BELOW,
    estimate,
    listed,
    reason_words,
    with_bounds,
)
from harness.report.judge_charts import judge_kinds
from harness.report.words import BASELINE_NAMES
from harness.stats import Estimate

if TYPE_CHECKING:
    from harness.analysis import JudgeResult, Validation
    from harness.analysis.evidence_rows import JudgeEvidence


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RankedJudge:
    """Fields of a judge's row only.

    Attributes
    ----------
    evidence : JudgeEvidence
        Evidence on the same items and number of replies, with completeness.
    alike : Estimate
        Share of items with the same decision as the raters.
    """

    result: JudgeResult
    evidence: JudgeEvidence
    alike: Estimate


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RankingRow:
    """Row for a judge, a human rater or a baseline, on the same items and number of replies.

    Attributes
    ----------
    kind : str
        "best", "tied", "judge" or "unranked", see `judge_kinds`; "baseline" of others.
    value : str
        Ranking metric with its interval, for rows other than judges.
    judge : RankedJudge or None
        Judge in the row; None in other rows.
    is_defined : bool
        Whether the row has a value, or the reason for NA.
    """

    name: str
    kind: RowKind
    value: str = ""
    judge: RankedJudge | None = None
    is_defined: bool = True


def ranking_rows(v: Validation) -> list[RankingRow]:
    """Return rows for the judges in order, for a human rater if there is one, and for baselines."""
    evidence = v.evidence
    if evidence is None:
        return []
    rows = [*_judges(v)]
    if evidence.human_value is not None:
        human = with_bounds(evidence.human_value, evidence.human_low, evidence.human_high)
        rows.append(RankingRow(name="human rater", kind="baseline", value=human))
    elif evidence.human_is_apart:
        rows.append(RankingRow(name="human rater", kind="baseline", value=SEE_BELOW))
    return rows + [
        RankingRow(
            name=BASELINE_NAMES[row.name],
            kind="baseline",
            value=with_bounds(row.value, row.low, row.high),
            is_defined=row.value is not None,
        )
        for row in evidence.baselines
    ]


def missing_intervals(v: Validation) -> str:
    """Explain why some judges in the ranking have no interval, or return ""."""
    names: dict[str, list[str]] = {}
    for row in v.evidence.judges if v.evidence else ():
        result = row.estimate
        if result.value is not None and result.interval is None and v.settings.n_resamples:
            names.setdefault(reason_words(result.interval_reason), []).append(row.judge)
    return " ".join(f"No interval for {listed(judges)}: {why}." for why, judges in names.items())


def agreement_table(v: Validation) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of the table of agreement among raters."""
    agreement = v.humans.defined_agreement.items()
    rows = [[name, estimate(result), str(result.n_used)] for name, result in agreement]
    return ["inter-rater agreement", "value", "items"], rows


def _judges(v: Validation) -> list[RankingRow]:
    kinds = judge_kinds(v)
    rows = []
    for row in v.evidence.judges if v.evidence else ():
        judge = v.judge(row.judge)
        alike = decided_alike(v, judge)
        rows.append(
            RankingRow(
                name=row.judge,
                kind=kinds[row.judge],
                judge=RankedJudge(result=judge, evidence=row, alike=alike),
            )
        )
    return rows


CONSISTENCY, HIT_RATE = "decision_consistency", "hit_rate(h/h)"


def decided_alike(v: Validation, judge: JudgeResult) -> Estimate:
    """Return the share of items on which a judge makes the same decision as the raters.

    If decisions are undefined, use the share of items with the raters' most common answer. The
    result is NA without options.
    """
    nothing = Estimate(value=None, reason="no_options", n_used=0)
    return judge.metrics.get(CONSISTENCY if _is_decided(v) else HIT_RATE, nothing)


def alike_words(v: Validation) -> str:
    """Describe the items that `decided_alike` counts."""
    return "decided as the raters do" if _is_decided(v) else "answered as most raters do"


def same_words(v: Validation) -> str:
    """Return a name for the share that `decided_alike` returns."""
    return "same decision" if _is_decided(v) else "same answer"


def _is_decided(v: Validation) -> bool:
    """Return whether decisions are defined for the raters and for at least one judge."""
    estimates = (judge.metrics.get(CONSISTENCY) for judge in v.judges)
    return any(estimate is not None and estimate.value is not None for estimate in estimates)
