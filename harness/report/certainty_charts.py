"""Charts of judges by rater certainty (Elangovan et al. 2025, tables 1 to 3)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.analysis.human_certainty import ALL
from harness.files.plain_text import counted
from harness.report.charts import (
    IntervalRow,
    Titles,
    interval_chart,
    interval_ends,
    items_link,
    line_chart,
)
from harness.report.formatting import about, percent, reason_words, with_bounds
from harness.report.judge_charts import (
    SMALL_CHART_WIDTH,
    described,
    interval_row,
    is_drawn,
    judge_lines,
    judge_rows,
    option_label,
    slug,
    unique_slug,
)
from harness.tasks.schema import numeric_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.human_certainty import JudgeBin, JudgeCertainty, PerceptionBin
    from harness.report.charts import Chart, RowKind
    from harness.stats import Estimate
    from harness.stats.subsets.selective_prediction import CalibrationCurve, RiskCoverage
    from harness.stats.subsets.strata import Stratum, StratumResult

STRATA = {
    "majority_share": "By the share of raters who chose the most common answer (PA)",
    "median_share": "By the share of raters who chose the median (PA)",
    "median_share_floor": "By the share of raters who chose the median rounded down (PA)",
    "n_labels": "By the number of different answers the raters gave",
}

COEFFICIENT_HEADS = {
    "fleiss_kappa_unequal_raters": "Fleiss' kappa",
    "randolph_kappa_unequal_raters": "Randolph's kappa",
    "gwet_ac1": "Gwet's AC1",
    "spearman": "Spearman",
    "kendall_tau_b": "Kendall's tau-b",
}


def coefficient_rows(v: Validation) -> list[tuple[str, list[tuple[str, list[Estimate | None]]]]]:
    """Return coefficients other than alpha by stratum, for the raters and then for each judge."""
    certainty = v.certainty
    if certainty is None:
        return []
    return [
        (
            stratum_words(row.stratum),
            [
                ("raters", [row.hh.get(name) for name in certainty.coefficients]),
                *(
                    (r.judge, list(map(r.strata[i].hw_mw.get, certainty.coefficients.values())))
                    for r in _ranked_results(v)
                ),
            ],
        )
        for i, row in enumerate(certainty.strata)
        if row.n_items and row.stratum.by != "n_labels" and row.stratum.name != ALL
    ]


def strata_charts(v: Validation) -> list[tuple[str, list[Chart]]]:
    """Draw alpha in each stratum for the raters, for each judge, and for a random rater."""
    strata, alpha = (v.certainty.strata, v.certainty.alpha) if v.certainty else ((), "")
    rows = {
        i: [
            interval_row("raters", row.hh[alpha], "rater"),
            *judge_rows(v, {r.judge: r.strata[i].hw_mw[alpha] for r in _ranked_results(v)}),
            interval_row("random rater", row.random[alpha], "baseline"),
        ]
        for i, row in enumerate(strata)
        if row.n_items
    }
    groups: dict[str, list[Chart]] = {}
    for i, chart in _over_strata(rows, [_alpha_titles(row) for row in strata]):
        stratum = strata[i].stratum
        heading = STRATA.get(stratum.by, f"By {stratum.by.replace('_', ' ')}")
        link = items_link(stratum=stratum.name)
        groups.setdefault(heading, []).append(replace(chart, link=link))
    return list(groups.items())


def held_out_charts(v: Validation) -> list[Chart]:
    """Draw by stratum how much more a held-out rater agrees with other raters than each judge."""
    results = _ranked_results(v)
    strata = v.certainty.strata if v.certainty and results else ()
    n_ratings = [max(r.held_out[i].n_ratings for r in results) for i in range(len(strata))]
    rows = {
        i: judge_rows(v, {r.judge: r.held_out[i].difference for r in results})
        for i in range(len(strata))
    }
    titles = [_held_out_titles(row.stratum, n) for row, n in zip(strata, n_ratings, strict=True)]
    return [chart for _, chart in _over_strata(rows, titles)]


def _over_strata(
    rows: Mapping[int, list[IntervalRow]], titles: Sequence[Titles]
) -> Iterator[tuple[int, Chart]]:
    """Yield a chart for each stratum with values. All charts have the same axis."""
    ends = [end for of_stratum in rows.values() for end in interval_ends(of_stratum)]
    for i, of_stratum in rows.items():
        if is_drawn(of_stratum):
            chart = interval_chart(
                titles[i],
                of_stratum,
                within=(-1.0, 1.0),
                reference=0.0,
                reach=ends,
                width=SMALL_CHART_WIDTH,
            )
            yield i, chart


def _ranked_results(v: Validation) -> list[JudgeCertainty]:
    results = {result.judge: result for result in v.certainty.judges} if v.certainty else {}
    return [results[judge.name] for judge in v.ranked_judges if judge.name in results]


def _alpha_titles(row: StratumResult) -> Titles:
    name = stratum_words(row.stratum)
    share = f", {percent(row.share_of_items)}" if row.share_of_items is not None else ""
    return Titles(
        f"stratum-{unique_slug(row.stratum.name)}",
        f"{name} · {counted([row.n_items])}{share}",
        f"Krippendorff's alpha: {name}.",
        x="Krippendorff's alpha",
    )


def _held_out_titles(stratum: Stratum, n_ratings: int) -> Titles:
    name = stratum_words(stratum)
    return Titles(
        f"held-out-{unique_slug(stratum.name)}",
        f"Other raters: {name} · {counted([n_ratings], 'held-out rating')}",
        f"A rater's agreement with the others minus the judge's: {name}.",
        x="above 0: the judge agrees less than a rater",
    )


def stratum_words(stratum: Stratum) -> str:
    """Describe the items in a stratum."""
    least, below = stratum.at_least, stratum.below
    if stratum.by == "n_labels":
        return counted([round(least)], "different answer")
    if below is None:
        return "all raters agree" if least else "all items"
    return f"{least:.0%} to under {below:.0%} agree" if least else f"under {below:.0%} agree"


def perception_charts(v: Validation) -> list[tuple[str, list[Chart]]]:
    """Draw the raters' and each judge's answers in each bin of the raters' answers."""
    bins = {human.label: human for human in v.certainty.bins} if v.certainty else {}
    return [
        (
            result.judge,
            [_bin(v, result.judge, bins[b.label], b) for b in result.bins if b.label in bins],
        )
        for result in _ranked_results(v)
        if result.bins
    ]


def _bin(v: Validation, judge: str, human: PerceptionBin, judge_bin: JudgeBin) -> Chart:
    assert v.certainty is not None
    c = v.certainty
    sides: tuple[tuple[str, RowKind, dict[str, float]], ...] = (
        ("raters", "rater", human.labels),
        (judge, "best", judge_bin.labels),
    )
    rows = [
        IntervalRow(
            f"{side}: {option_label(v, option)}",
            labels.get(option, 0.0),
            kind=kind,
            line=option_label(v, option),
        )
        for option in c.options
        for side, kind, labels in sides
    ]
    name = bin_name(human.label, {key: option_label(v, key) for key in c.options})
    share = f"{percent(human.share_of_items)} of items ({about(human.n_items)})"
    titles = Titles(
        f"perception-{unique_slug(judge)}-{unique_slug(human.label)}",
        f"{judge} where raters say {name}",
        f"Items whose human {c.bins_by} is {name}: {share}. Divergence "
        f"{judge_bin.divergence_bits:.3f} bits.",
        x=f"share of answers on {share}",
    )
    width = SMALL_CHART_WIDTH
    return interval_chart(titles, rows, within=(0.0, 1.0), reach=(0.0, 1.0), width=width)


def bin_name(label: str, options: Mapping[str, str]) -> str:
    """Return a bin's name, using the labels of the options.

    The median on a scale of words is an option's position.
    """
    if label in options or numeric_keys(tuple(options)):
        return options.get(label, label)
    position, labels = float(label) - 1.0, list(options.values())
    below, above = labels[math.floor(position)], labels[math.ceil(position)]
    return below if below == above else f"between {below} and {above}"


def binned_charts(v: Validation) -> list[Chart]:
    """Draw each judge's binned Jensen-Shannon divergence from the raters, smallest first."""
    results = {result.judge: result.binned for result in _ranked_results(v)}
    measures = {judge: binned.get("js_divergence_bits") for judge, binned in results.items()}
    estimates = {judge: value for judge, value in measures.items() if value is not None}
    if not estimates:
        return []
    rows = judge_rows(v, estimates)
    rows.sort(key=lambda row: (row.value is None, row.value or 0.0))
    n_items = counted(value.n_used for value in estimates.values() if value.value is not None)
    titles = Titles(
        "binned-divergence",
        "Binned Jensen-Shannon divergence",
        "Divergence between each judge's answers and the raters', bin by bin, in bits. Lower is "
        f"better. {described(rows)}.",
        x=f"bits (lower is better), {n_items}",
    )
    return [interval_chart(titles, rows, within=(0.0, 1.0))]


def risk_charts(v: Validation) -> list[Chart]:
    """Draw a judge's risk by coverage and agreement by confidence, for each confidence signal."""
    results, charts = _ranked_results(v), []
    for score in dict.fromkeys(score for r in results for score in r.risk_coverage):
        risks = {r.judge: r.risk_coverage[score] for r in results if score in r.risk_coverage}
        calibrations = {r.judge: c for r in results for c in r.calibration if c.score == score}
        charts += [_risk(v, score, risks), _calibration(v, score, calibrations)]
    return charts


def _calibration(v: Validation, score: str, curves: Mapping[str, CalibrationCurve]) -> Chart:
    briers = [
        f"{judge} {with_bounds(c.brier, c.brier_low, c.brier_high)} ({c.n_used} items)"
        if c.brier is not None
        else f"{judge} NA ({reason_words(c.reason)})"
        for judge, c in curves.items()
    ]
    name = score.replace("_", " ")
    titles = Titles(
        f"calibration-{slug(score)}",
        f"Calibration of {name}",
        f"Share of raters who agree with the judge, by its {name} as a probability, in bins with "
        "about equally many items. A calibrated judge is on the diagonal. Brier "
        f"score (lower is better): {', '.join(briers)}.",
        x=f"{name} as a probability, {counted(c.n_used for c in curves.values())}",
        y="share of raters who agree",
    )
    points = {judge: (c.confidence, c.agreement) for judge, c in curves.items()}
    return line_chart(titles, judge_lines(v, points))


def _risk(v: Validation, score: str, curves: Mapping[str, RiskCoverage]) -> Chart:
    name = score.replace("_", " ")
    titles = Titles(
        f"risk-{slug(score)}",
        f"Risk and coverage by {name}",
        "Share of wrong answers by the share of items answered, with one line per judge. "
        f"{name} decides which answers are kept. If the score is useful, the line falls towards "
        "the left.",
        x=f"share of {counted(c.n_used for c in curves.values())} answered",
        y="share of answers that are wrong",
    )
    points = {judge: (c.answered_fraction.tolist(), c.risk.tolist()) for judge, c in curves.items()}
    return line_chart(titles, judge_lines(v, points))
