"""Charts of the alternative annotator test (Calderon et al. 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.charts import DotRow, Series, Titles, dots, lines
from harness.report.formatting import counted
from harness.report.judge_charts import dot_row, kinds, own_slug, styles

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.analysis import Validation
    from harness.analysis.rater_replacement import JudgeReplacement, Replacement
    from harness.report.svg import Chart
    from harness.stats.inference.estimate import Estimate

REASONS = {
    "positional_raters": "a rater's id is only a place within the item, so it names nobody",
    "no_judges": "no verdicts were given",
}
TESTS = {"t": "t-test", "wilcoxon": "signed-rank test"}
VARIANTS = {
    "small_n=t": "t-test also for raters with few items",
    "small_n=skip": "raters with few items skipped",
    "unanswered=exclude": "unanswered items left out",
    "unanswered=loss": "unanswered items lost",
    "weighting=ipw": "items weighted by the inverse share of their label",
    "score=rank_neg_rmse": "closeness of ranks",
    "score=weights": "closeness by the task's weights",
    "expert": "compared with the expert alone",
    "gold": "compared with right answers, at margin 0",
    "quality": "raters weighted by their quality",
}


def variant(name: str) -> str:
    """Say what a named variant of the test changes."""
    return VARIANTS.get(name) or VARIANTS[name.partition("=")[0]]


def in_order_of_advantage(v: Validation) -> list[JudgeReplacement]:
    """Return the tested judges, the greatest advantage first, NA last."""
    tested = v.replacement.judges if v.replacement else ()
    return sorted(tested, key=lambda one: -_known(one.advantage.value))


def _known(value: float | None) -> float:
    return -1.0 if value is None else value


def charts(v: Validation) -> list[Chart]:
    """Draw winning rates, advantages, the sweep over eps, and each judge against each rater."""
    r = v.replacement
    if r is None or not r.judges:
        return []
    return [
        _estimates(v, r, "winning-rate", "Winning rate", lambda one: one.winning_rate),
        _estimates(v, r, "advantage", "Advantage probability", lambda one: one.advantage),
        _sweep(v, r),
    ]


def _estimates(
    v: Validation,
    r: Replacement,
    name: str,
    title: str,
    read: Callable[[JudgeReplacement], Estimate],
) -> Chart:
    kind = kinds(v)
    rows = [
        dot_row(one.judge, read(one), kind.get(one.judge, "judge"))
        for one in in_order_of_advantage(v)
    ]
    if r.controls:
        random = r.controls.random
        value = random.winning_rate if name == "winning-rate" else random.advantage
        rows.append(DotRow("answers at random", value, kind="baseline"))
    told = "; ".join(row.told for row in rows)
    alt = f"{title} of each judge at eps {r.eps:g}. {told}."
    needed = r.threshold if name == "winning-rate" else None
    beaten = f" ({needed:.0%} passes)" if needed is not None else ""
    n_raters = counted((one.n_tested for one in r.judges), "rater")
    titles = Titles(name, title, alt, x=f"{title.lower()}{beaten}, {n_raters}")
    return dots(titles, rows, within=(0.0, 1.0), reference=needed)


def _sweep(v: Validation, r: Replacement) -> Chart:
    style = styles(v)
    series = [
        Series(one.judge, tuple((p.eps, p.winning_rate) for p in one.sweep), style[one.judge])
        for one in in_order_of_advantage(v)
    ]
    least = [
        f"{one.judge} from eps {one.smallest_eps:.3f}"
        for one in r.judges
        if one.smallest_eps is not None
    ]
    titles = Titles(
        "winning-rate-by-eps",
        "Winning rate by the margin eps",
        f"Share of raters that each judge beats, over eps. It passes at {r.threshold:g}: "
        f"{'; '.join(least) or 'none at any margin'}.",
        x=f"eps, {counted((one.n_tested for one in r.judges), 'rater')}",
        y="winning rate",
    )
    return lines(
        titles,
        series,
        y_within=(0.0, 1.0),
        reach=(0.0, 1.0),
        rules=[(r.eps, f"eps {r.eps:g}")],
    )


def rater_charts(v: Validation) -> list[Chart]:
    """Draw, per judge, how often it is at least as good as each rater, and the rater as it."""
    return [_raters(one) for one in in_order_of_advantage(v) if one.raters and not one.baseline]


def _raters(one: JudgeReplacement) -> Chart:
    rows: list[DotRow] = []
    for rater in one.raters[:30]:
        against = f"{one.judge}, against {rater.rater}"
        line = f"{rater.rater} ({counted([rater.n])})"
        rows += [
            DotRow(against, rater.rho_f, kind="best", line=line),
            DotRow(rater.rater, rater.rho_h, kind="baseline", line=line),
        ]
    told = "; ".join(row.told for row in rows)
    titles = Titles(
        f"raters-{own_slug(one.judge)}",
        f"{one.judge} against each rater",
        f"Share of items on which judge, or rater, is at least as close to the others. {told}.",
        x="share of items at least as close to the other raters",
    )
    return dots(titles, rows, within=(0.0, 1.0))
