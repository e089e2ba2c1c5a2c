"""Show how well numeric judges order items: tables, and a chart of scores by rating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.formatting import estimate, number
from harness.report.judge_charts import judge_kinds, unique_slug
from harness.tasks.schema import numeric_keys

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.score_measures import ScoredJudge, Scores, ScoreStratum
    from harness.report.charts import Chart

TitledRows = tuple[str, list[str], list[list[str]]]
AUC_AND_PAIRS = (
    "AUC is the chance that scores put two items in the order of the raters' labels. Pairs in "
    "order are the share of pairs that scores and mean ratings put in the same order, or that "
    "tie in both. How close scores must be to tie is estimated from other items."
)
HEADS = ["judge", "better", "AUC", "Spearman, mean", "pairs in order"]
STRATA_HEADS = [
    "judge",
    "raters agree",
    "items",
    "AUC",
    "rho, mean",
    "rho, median",
    "tau, mean",
    "tau, median",
]
MEASURES = (
    "auc",
    "spearman_mean",
    "spearman_median",
    "kendall_tau_b_mean",
    "kendall_tau_b_median",
)
INF = float("inf")


def score_table(scores: Scores) -> TitledRows:
    """Return a table with each judge's measures for ordering items, as title, heads and rows."""
    rows = [
        [
            judge.judge,
            judge.better + ("" if judge.is_declared else " (found)"),
            estimate(judge.strata[0].measures["auc"], 2),
            estimate(judge.strata[0].measures["spearman_mean"], 2),
            estimate(judge.pairwise_accuracy, 2),
        ]
        for judge in scores.judges
    ]
    title = "These measures show how scores order items, without a threshold."
    return title, HEADS, rows


def score_terms(scores: Scores) -> list[str]:
    """Explain the measures, and which items they use if no direction is declared."""
    terms = [AUC_AND_PAIRS]
    if found := [judge for judge in scores.judges if not judge.is_declared]:
        n = found[0].strata[0].n_items
        terms.append(
            "You didn't declare whether higher or lower scores are better, so half of the items "
            f"were used to find out, and the numbers are for the other {counted([n])}. To use "
            "all items, declare the direction in a column 'better' of the file, or with "
            "@scoring-higher or @scoring-lower."
        )
    return terms


def strata_table(scores: Scores, *, intervals: bool = True) -> TitledRows:
    """Return a table of each judge's measures by rater certainty, as title, heads and rows."""
    rows = [
        [judge.judge, stratum.name, str(stratum.n_items), *_cells(stratum, intervals=intervals)]
        for judge in scores.judges
        for stratum in judge.strata
    ]
    title = (
        "Scores by the raters' certainty, with Spearman's rho and Kendall's tau-b between scores "
        "and the mean or the median of the ratings."
    )
    return title, STRATA_HEADS, rows


def _cells(stratum: ScoreStratum, *, intervals: bool) -> list[str]:
    values = [stratum.measures[name] for name in MEASURES]
    return [estimate(value, 2) if intervals else number(value.value, 2) for value in values]


def score_charts(v: Validation, scores: Scores) -> list[Chart]:
    """Draw a chart per judge with the quartiles of its scores for each median rating."""
    return [_chart(v, scores, judge) for judge in scores.judges if judge.by_median]


def _chart(v: Validation, scores: Scores, judge: ScoredJudge) -> Chart:
    kind = judge_kinds(v)[judge.judge]
    rows = []
    for at in judge.by_median:
        _, low, middle, high, _ = at.quantiles
        name = f"{_label(v, scores, at.median)} ({at.n_items})"
        rows.append(IntervalRow(name, middle, low, high, kind))
    titles = Titles(
        name=f"scores-{unique_slug(judge.judge)}",
        title=f"Scores by the raters' median: {judge.judge}",
        alt="Median score and quartiles of the items with each median rating.",
        x="score: median and quartiles",
    )
    return interval_chart(titles, rows, within=(-INF, INF))


def _label(v: Validation, scores: Scores, median: float) -> str:
    """Return the option that a median rating represents, or the two neighbouring options."""
    options = scores.options
    if not options or (v.task.scale == "ordinal" and numeric_keys(options)):
        return f"{median:g}"
    low, high = int(median), int(median + 0.5)
    return options[low - 1] if low == high else f"{options[low - 1]} to {options[high - 1]}"
