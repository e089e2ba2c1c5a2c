"""Charts and labels for the alternative annotator test (Calderon et al. 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.report.charts import IntervalRow, Overlay, Titles, interval_chart, line_chart
from harness.report.judge_charts import described, is_drawn, judge_lines, judge_rows, unique_slug

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.annotator_variants import Variant
    from harness.analysis.rater_replacement import JudgeTests, Replacement
    from harness.report.charts import Chart

TESTS = {"t": "t-test", "wilcoxon": "signed-rank test"}
VARIANTS: dict[tuple[str, str], str] = {  # labels by setting and value; "" is any value
    ("small_n", "t"): "t-test also for raters with few items",
    ("small_n", "skip"): "raters with few items skipped",
    ("unanswered", "exclude"): "unanswered items excluded",
    ("weighting", "ipw"): "items weighted by the inverse share of their label",
    ("score", "rank_neg_rmse"): "closeness measured in ranks",
    ("score", "weights"): "closeness by the task's weights",
    ("expert", ""): "compared only with the expert",
    ("gold", ""): "compared with gold labels, at margin 0",
    ("quality", ""): "raters weighted by their quality",
}
MAX_RATERS = 30


def variant_label(variant: Variant) -> str:
    """Return a label for the changed setting in a variant of the test."""
    setting, value = variant.setting, variant.value
    return VARIANTS.get((setting, value)) or VARIANTS[setting, ""]


def judges_by_advantage(v: Validation) -> list[JudgeTests]:
    """Return the tested judges, sorted by decreasing advantage. Undefined advantages come last."""
    tests = v.replacement.judges if v.replacement else ()
    values = {result.judge: result.test.advantage.value for result in tests}
    return sorted(tests, key=lambda r: (values[r.judge] is None, -(values[r.judge] or 0)))


def annotator_charts(v: Validation) -> list[Chart]:
    """Draw winning rates, advantage probabilities, and winning rates for different margins eps."""
    test = v.replacement
    if test is None or not test.judges:
        return []
    charts = [
        _estimates(v, test, "winning_rate", "Winning rate", test.judges[0].test.threshold),
        _estimates(v, test, "advantage", "Advantage probability", None),
        winning_rate_by_eps(v, test),
    ]
    return [chart for chart in charts if chart is not None]


def _estimates(
    v: Validation, test: Replacement, name: str, title: str, threshold: float | None
) -> Chart | None:
    rows = judge_rows(v, {r.judge: getattr(r.test, name) for r in judges_by_advantage(v)})
    if test.controls:
        value = getattr(test.controls.random, name)
        rows.append(IntervalRow("random answers", value, kind="baseline"))
    if not is_drawn(rows):
        return None
    passes = f" ({threshold:.0%} passes)" if threshold is not None else ""
    axis = f"{title.lower()}{passes}, {_n_raters(test)}"
    alt = f"{title} of each judge at eps {test.eps:g}. {described(rows)}."
    titles = Titles(name.replace("_", "-"), title, alt, x=axis)
    return interval_chart(titles, rows, within=(0.0, 1.0), reference=threshold)


def _n_raters(test: Replacement) -> str:
    return counted((result.test.n_tested for result in test.judges), "rater")


def winning_rate_by_eps(v: Validation, test: Replacement) -> Chart:
    """Draw each judge's winning rate for different margins (Calderon et al. 2025, figure 3)."""
    curves = {
        result.judge: ([p.eps for p in result.sweep], [p.winning_rate for p in result.sweep])
        for result in judges_by_advantage(v)
    }
    passing = [
        f"{result.judge} from eps {result.smallest_eps:.3f}"
        for result in test.judges
        if result.smallest_eps is not None
    ]
    threshold = test.judges[0].test.threshold
    titles = Titles(
        "winning-rate-by-eps",
        "Winning rate by margin eps",
        f"Winning rate of each judge by eps. A judge passes if its rate is at least {threshold:g}: "
        f"{'; '.join(passing) or 'none at any margin'}.",
        x=f"eps, {_n_raters(test)}",
        y="winning rate",
    )
    overlay = Overlay(rules=[(test.eps, f"eps {test.eps:g}")])
    return line_chart(titles, judge_lines(v, curves), overlay=overlay, reach=(0.0, 1.0))


def rater_charts(v: Validation) -> list[Chart]:
    """Draw how often each judge is at least as good as each rater, and the reverse."""
    results = judges_by_advantage(v)
    return [rater_chart(result) for result in results if result.test.per_rater]


def rater_chart(result: JudgeTests) -> Chart:
    """Draw one judge's comparison with each rater."""
    rows: list[IntervalRow] = []
    for rater in result.test.per_rater[:MAX_RATERS]:
        name = f"{result.judge}, against {rater.rater}"
        line = f"{rater.rater} ({counted([rater.n])})"
        rows.append(IntervalRow(name, rater.rho_f, kind="best", line=line))
        rows.append(IntervalRow(rater.rater, rater.rho_h, kind="baseline", line=line))
    titles = Titles(
        f"raters-{unique_slug(result.judge)}",
        f"{result.judge} against each rater",
        "Share of items on which the judge is at least as close to the other raters as this rater "
        "is, and the reverse.",
        x="share of items at least as close to the other raters",
    )
    return interval_chart(titles, rows, within=(0.0, 1.0), reach=(0.0, 1.0))
