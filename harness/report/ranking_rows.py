"""The rows of the ranking table, which terminal, page, judge card, CSV and notebook draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.injection import percent_with_interval
from harness.report.charts import RowKind  # noqa: TC001 -- readers of a field's type need it
from harness.report.formatting import (
    SEE_BELOW,
    counted,
    estimate,
    listed,
    number,
    percent,
    rank_set,
    reason,
    reason_words,
    short_name,
    with_bounds,
)
from harness.report.judge_charts import judge_kinds
from harness.report.words import BASELINE_NAMES
from harness.stats import Estimate

if TYPE_CHECKING:
    from harness.analysis import JudgeResult, Validation
    from harness.analysis.evidence_rows import JudgeEvidence

COST = "$/1,000"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RankedJudge:
    """What only a judge's row has.

    Attributes
    ----------
    evidence : JudgeEvidence
        On common footing, with completeness.
    alike : Estimate
        Share of the items decided as the raters do.
    """

    result: JudgeResult
    evidence: JudgeEvidence
    alike: Estimate


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RankingRow:
    """A judge, one human or a computed baseline on common footing.

    Attributes
    ----------
    kind : str
        "best", "tied", "judge" or "unranked", see `judge_kinds`; "baseline" of others.
    value : str
        The metric that ranks, with its interval.
    ranks, beta_hat, answered, usable, flips : str
        The rank set, beta-hat, completeness and flip rate of a judge; "" of others, and the flip
        rate also where the run did not probe its judges.
    judge : RankedJudge or None
        None of others.
    is_defined : bool
        Whether it has a value, or says why it has none.
    """

    name: str
    kind: RowKind
    value: str
    ranks: str = ""
    beta_hat: str = ""
    answered: str = ""
    usable: str = ""
    flips: str = ""
    judge: RankedJudge | None = None
    is_defined: bool = True

    def usd_per_thousand(self, unknown: str) -> str:
        """Return the cost of 1,000 answers; "" for what is no judge."""
        if self.judge is None:
            return ""
        usd = self.judge.result.cost.usd_per_answered
        return unknown if usd is None else f"{1000 * usd:.2f}"


def ranking_rows(v: Validation) -> list[RankingRow]:
    """Return the judges in order, one human where there is one, and the baselines."""
    evidence = v.evidence
    if evidence is None:
        return []
    rows = [*_judges(v)]
    if evidence.human_value is not None:
        human = with_bounds(evidence.human_value, evidence.human_low, evidence.human_high)
        rows.append(RankingRow(name="one human", kind="baseline", value=human))
    elif evidence.human_is_apart:
        rows.append(RankingRow(name="one human", kind="baseline", value=SEE_BELOW))
    return rows + [
        RankingRow(
            name=BASELINE_NAMES[row.name],
            kind="baseline",
            value=with_bounds(row.value, row.low, row.high),
            is_defined=row.value is not None,
        )
        for row in evidence.baselines
    ]


def ranking_table(v: Validation) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of the ranking, without columns that have no value or no cost."""
    name = short_name(v.evidence.display_name) if v.evidence else ""
    heads = ("rank", "judge", name, "flips", "alike", "beta-hat", "answered", "usable", COST)
    rows = [
        (
            row.ranks,
            row.name,
            row.value,
            row.flips,
            _alike(row),
            row.beta_hat,
            row.answered,
            row.usable,
            row.usd_per_thousand(unknown=""),
        )
        for row in ranking_rows(v)
        if row.is_defined
    ]
    columns = [[row[i] for row in rows] for i in range(len(heads))]
    costs_nothing = {*columns[-1]} <= {"", "0.00"}
    kept = [
        i
        for i, column in enumerate(columns)
        if not {*column} <= {"", "NA"} and not (heads[i] == COST and costs_nothing)
    ]
    return [heads[i] for i in kept], [[row[i] for i in kept] for row in rows]


def missing_intervals(v: Validation) -> str:
    """Say why the value of a judge in the ranking has no interval; "" where each has one."""
    names: dict[str, list[str]] = {}
    for row in v.evidence.judges if v.evidence else ():
        result = row.estimate
        if result.value is not None and result.interval is None and v.settings.n_resamples:
            names.setdefault(reason_words(result.interval_reason), []).append(row.judge)
    return " ".join(f"No interval of {listed(judges)}: {why}." for why, judges in names.items())


def agreement_table(v: Validation) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of the inter-rater agreement."""
    agreement = v.humans.defined_agreement.items()
    rows = [[name, estimate(result), str(result.n_used)] for name, result in agreement]
    return ["inter-rater agreement", "value", "items"], rows


def _alike(row: RankingRow) -> str:
    if row.judge is None:
        return ""
    value = row.judge.alike.value
    return "NA" if value is None else f"{value:.0%}"


def ranked_judges(v: Validation) -> list[tuple[RankingRow, RankedJudge]]:
    """Return the rows of the judges alone."""
    return [(row, row.judge) for row in ranking_rows(v) if row.judge is not None]


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
                value=estimate(row.estimate),
                ranks=rank_set(row.ranks),
                beta_hat=beta_hat(v, judge),
                answered=percent(row.answered_fraction),
                usable=percent(row.usable_replies),
                flips=flip_rate(judge),
                judge=RankedJudge(result=judge, evidence=row, alike=alike),
            )
        )
    return rows


def flip_rate(judge: JudgeResult) -> str:
    """Return the share of verdicts that hidden instructions flip; "" where it was not probed."""
    if judge.injection is None:
        return ""
    value = judge.injection.flipped.value
    return "NA" if value is None else f"{value:.0%}"


def flips_with_n(judge: JudgeResult) -> tuple[str, str]:
    """Return the flip rate with its interval or the reason of NA, and its n; see `flip_rate`."""
    if judge.injection is None:
        return "", ""
    flipped = judge.injection.flipped
    if flipped.value is None:
        return f"NA ({reason(flipped)})", ""
    n_verdicts, items = flipped.counts["n"], counted([flipped.n_used])
    return percent_with_interval(flipped), f"of {n_verdicts:.0f} on {items}"


def beta_hat(v: Validation, judge: JudgeResult) -> str:
    """Return beta-hat by pairs, or by likelihood from independent calls, marked with a tilde."""
    beta, by_likelihood = v.beta_hat(judge.name)
    return f"{'~' if by_likelihood else ''}{number(beta.value, 2)}"


CONSISTENCY, HIT_RATE = "decision_consistency", "hit_rate(h/h)"


def decided_alike(v: Validation, judge: JudgeResult) -> Estimate:
    """Return the share of items that a judge decides as the raters do.

    Where decisions are undefined, the share that it answers as most raters do. NA without options.
    """
    nothing = Estimate(value=None, reason="no_options", n_used=0)
    return judge.metrics.get(CONSISTENCY if _is_decided(v) else HIT_RATE, nothing)


def alike_words(v: Validation) -> str:
    """Return what the items of `decided_alike` are."""
    return "decided as the raters do" if _is_decided(v) else "answered as most raters do"


def _is_decided(v: Validation) -> bool:
    """Whether decisions of raters and of some judge are defined."""
    estimates = (judge.metrics.get(CONSISTENCY) for judge in v.judges)
    return any(estimate is not None and estimate.value is not None for estimate in estimates)
