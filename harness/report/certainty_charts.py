"""Charts of judges by human certainty (Elangovan et al. 2025, tables 1 to 3)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.report.charts import (
    IntervalRow,
    Series,
    Titles,
    interval_chart,
    interval_ends,
    items_link,
    line_chart,
)
from harness.report.formatting import counted, percent, tenths, with_bounds
from harness.report.judge_charts import (
    SMALL_CHART_WIDTH,
    described,
    interval_row,
    is_drawn,
    judge_kinds,
    judge_styles,
    option_label,
    slug,
    unique_slug,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.human_certainty import Certainty, JudgeBin, JudgeCertainty, PerceptionBin
    from harness.report.charts import Chart
    from harness.stats import Estimate
    from harness.stats.subsets.strata import Stratum

STRATA = {
    "majority_share": "By the share of raters who chose the most frequent answer (PA)",
    "median_share": "By the share of raters who chose the median (PA)",
    "median_share_floor": "By the share of raters who chose the median rounded down (PA)",
    "n_labels": "By the number of different answers the raters gave",
}


def strata_charts(v: Validation) -> list[tuple[str, list[Chart]]]:
    """Draw alpha in each stratum of the raters, of each judge, and of a random rater."""
    if v.certainty is None:
        return []
    strata = [(i, row) for i, row in enumerate(v.certainty.strata) if row.n_items]
    rows = {i: _stratum_rows(v, v.certainty, i) for i, _ in strata}
    ends = [end for stratum_rows in rows.values() for end in interval_ends(stratum_rows)]
    charts: dict[str, list[Chart]] = {}
    for i, row in strata:
        if not is_drawn(rows[i]):
            continue
        chart = _stratum(v.certainty, i, rows[i], ends)
        charts.setdefault(
            STRATA.get(row.stratum.by, f"By {row.stratum.by.replace('_', ' ')}"), []
        ).append(chart)
    return list(charts.items())


def _stratum_rows(v: Validation, c: Certainty, i: int) -> list[IntervalRow]:
    kinds = judge_kinds(v)
    judges = [
        interval_row(result.judge, _alpha(result.strata[i].hw_mw), kinds[result.judge])
        for result in _ranked_results(v)
    ]
    raters = interval_row("raters", _alpha(c.strata[i].hh), "rater")
    random = interval_row("random rater", _alpha(c.strata[i].random), "baseline")
    return [raters, *judges, random]


def _alpha(measures: Mapping[str, Estimate]) -> Estimate:
    return next(e for name, e in measures.items() if name.startswith("krippendorff_alpha"))


def _ranked_results(v: Validation) -> list[JudgeCertainty]:
    results = {result.judge: result for result in v.certainty.judges} if v.certainty else {}
    return [results[judge.name] for judge in v.ranked_judges if judge.name in results]


def _stratum(c: Certainty, i: int, rows: list[IntervalRow], ends: Sequence[float | None]) -> Chart:
    stratum = c.strata[i]
    name = stratum_words(stratum.stratum)
    share = f", {percent(stratum.share_of_items)}" if stratum.share_of_items is not None else ""
    titles = Titles(
        f"stratum-{unique_slug(stratum.stratum.name)}",
        f"{name} · {counted([stratum.n_items])}{share}",
        f"Krippendorff's alpha of the items in this stratum: {name}. {described(rows)}.",
        x="Krippendorff's alpha",
    )
    chart = interval_chart(
        titles, rows, within=(-1.0, 1.0), reference=0.0, reach=ends, width=SMALL_CHART_WIDTH
    )
    return replace(chart, link=items_link(stratum=stratum.stratum.name))


def held_out_charts(v: Validation) -> list[Chart]:
    """Draw what a held-out rater agrees more with the others than each judge, per stratum."""
    if v.certainty is None:
        return []
    kinds, results = judge_kinds(v), _ranked_results(v)
    rows = {
        i: [
            interval_row(result.judge, result.held_out[i].difference, kinds[result.judge])
            for result in results
        ]
        for i in range(len(v.certainty.strata))
    }
    ends = [end for of_stratum in rows.values() for end in interval_ends(of_stratum)]
    return [
        _held_out(v.certainty, i, of_stratum, ends)
        for i, of_stratum in rows.items()
        if is_drawn(of_stratum)
    ]


def _held_out(c: Certainty, i: int, rows: list[IntervalRow], ends: Sequence[float | None]) -> Chart:
    stratum = c.strata[i].stratum
    name = stratum_words(stratum)
    n_ratings = max(result.held_out[i].n_ratings for result in c.judges)
    titles = Titles(
        f"held-out-{unique_slug(stratum.name)}",
        f"Other raters: {name} · {counted([n_ratings], 'held-out rating')}",
        f"Agreement of a held-out rater with the other raters minus that of the judge with the "
        f"same raters; stratum by the other raters: {name}. {described(rows)}.",
        x="above 0: the judge agrees less than a rater",
    )
    return interval_chart(
        titles, rows, within=(-1.0, 1.0), reference=0.0, reach=ends, width=SMALL_CHART_WIDTH
    )


def stratum_words(stratum: Stratum) -> str:
    """Return which items a stratum holds, in words."""
    least, below = stratum.at_least, stratum.below
    if stratum.by == "n_labels":
        return counted([round(least)], "different answer")
    if below is None:
        return "all raters agree" if least else "all items"
    return f"{least:.0%} to under {below:.0%} agree" if least else f"under {below:.0%} agree"


def perception_charts(v: Validation) -> list[tuple[str, list[Chart]]]:
    """Draw, per judge, the answers of raters and judge in each bin of the raters' answers."""
    if v.certainty is None:
        return []
    _c, bins = v.certainty, {human.label: human for human in v.certainty.bins}
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
    rows = [
        IntervalRow(
            f"{side}: {option_label(v, option)}",
            labels.get(option, 0.0),
            kind=kind,
            line=option_label(v, option),
        )
        for option in c.options
        for side, kind, labels in (
            ("raters", "rater", human.labels),
            (judge, "best", judge_bin.labels),
        )
    ]
    name = _labelled(v, bin_name(human.label, c.options))
    share = f"{percent(human.share_of_items)} of items ({tenths(human.n_items)})"
    titles = Titles(
        f"perception-{unique_slug(judge)}-{unique_slug(human.label)}",
        f"{judge} where raters say {name}",
        f"Items whose human {c.bins_by} is {name}: {share}. {described(rows)}. Divergence "
        f"{judge_bin.divergence_bits:.3f} bits.",
        x=f"share of answers on {share}",
    )
    width = SMALL_CHART_WIDTH
    return interval_chart(titles, rows, within=(0.0, 1.0), reach=(0.0, 1.0), width=width)


def _labelled(v: Validation, name: str) -> str:
    """Return the name of a bin with labels for keys; "between" holds two of them."""
    words = ("between ", " and ")
    if not name.startswith(words[0]):
        return option_label(v, name)
    below, _, above = name.removeprefix(words[0]).partition(words[1])
    return f"between {option_label(v, below)} and {option_label(v, above)}"


def bin_name(label: str, options: Sequence[str]) -> str:
    """Name a bin; the median of a scale of words is the position of an option."""
    if label in options or all(_is_number(option) for option in options):
        return label
    position = float(label) - 1.0
    below, above = options[math.floor(position)], options[math.ceil(position)]
    return below if below == above else f"between {below} and {above}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def binned_charts(v: Validation) -> list[Chart]:
    """Draw the binned Jensen-Shannon divergence for perception of each judge, best first."""
    results = {result.judge: result.binned for result in _ranked_results(v)}
    measures = {judge: binned.get("js_divergence_bits") for judge, binned in results.items()}
    estimates = {judge: value for judge, value in measures.items() if value is not None}
    if not estimates:
        return []
    kinds = judge_kinds(v)
    rows = [interval_row(judge, value, kinds[judge]) for judge, value in estimates.items()]
    rows.sort(key=lambda row: (row.value is None, row.value or 0.0))
    n_items = counted(value.n_used for value in estimates.values() if value.value is not None)
    titles = Titles(
        "binned-divergence",
        "Binned Jensen-Shannon divergence",
        "Divergence of each judge's answers from the raters', bin by bin, in bits; lower is "
        f"better. {described(rows)}.",
        x=f"bits (lower is better), {n_items}",
    )
    return [interval_chart(titles, rows, within=(0.0, 1.0))]


def risk_charts(v: Validation) -> list[Chart]:
    """Draw what each confidence is worth: risk by coverage, and agreement by confidence."""
    scores = dict.fromkeys(c.score for result in _ranked_results(v) for c in result.risk_coverage)
    return [chart for score in scores for chart in (_risk(v, score), _calibration(v, score))]


def _calibration(v: Validation, score: str) -> Chart:
    styles = judge_styles(v)
    curves = [
        (result.judge, curve)
        for result in _ranked_results(v)
        for curve in result.calibration
        if curve.score == score
    ]
    series = [
        Series(judge, tuple(zip(c.confidence, c.agreement, strict=True)), styles[judge])
        for judge, c in curves
        if c.confidence
    ]
    briers = [
        f"{judge} {with_bounds(c.brier, c.brier_low, c.brier_high)} ({c.n_used} items)"
        if c.brier is not None
        else f"{judge} NA ({c.reason.replace('_', ' ')})"
        for judge, c in curves
    ]
    name = score.replace("_", " ")
    titles = Titles(
        f"calibration-{slug(score)}",
        f"Calibration of {name}",
        f"Share of raters who agree with the judge against its {name} as a probability, in bins of "
        "about equally many items; the line of a calibrated judge is the diagonal. Brier score "
        f"(lower is better): {', '.join(briers)}.",
        x=f"{name} as a probability, {counted(c.n_used for _, c in curves)}",
        y="share of raters who agree",
    )
    return line_chart(titles, series)


def _risk(v: Validation, score: str) -> Chart:
    styles = judge_styles(v)
    curves = [
        (result.judge, curve)
        for result in _ranked_results(v)
        for curve in result.risk_coverage
        if curve.score == score
    ]
    series = [
        Series(judge, tuple(zip(c.answered_fraction, c.risk, strict=True)), styles[judge])
        for judge, c in curves
        if c.risk
    ]
    name = score.replace("_", " ")
    titles = Titles(
        f"risk-{slug(score)}",
        f"Risk and coverage by {name}",
        f"Share of wrong answers against share of items answered, one line per judge; {name} "
        "decides which answers are kept. The line of a useful score falls to the left.",
        x=f"share of {counted(c.n_used for _, c in curves)} answered",
        y="share of answers that are wrong",
    )
    return line_chart(titles, series)
