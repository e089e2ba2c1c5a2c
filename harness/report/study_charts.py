"""Draw published figures for a study's page, with a chart per task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.report.annotator_charts import winning_rate_by_eps
from harness.report.charts import Series, Titles, line_chart
from harness.report.formatting import number, reason_words
from harness.report.judge_charts import unique_slug
from harness.stats.subsets.certainty_mix import HELD_OUT, RANDOM, RATERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.analysis import Validation
    from harness.analysis.study_figures import ItemsCurve, TaskFigures
    from harness.report.charts import Chart
    from harness.stats.subsets.certainty_mix import CertaintyMix

STYLES = 8  # line styles
NAMES = {
    RATERS: "raters among themselves",
    HELD_OUT: "one rater, with the others' label",
    RANDOM: "random rater, with the raters' label",
}
ITEMS_NOTE = (
    "Winning rate and advantage probability of the judge with the greatest advantage, by the "
    "number of items. Values are means over 100 draws of raters and items (Calderon et al. 2025, "
    "figure 2). Bars contain 90 % of the draws' advantages."
)
MARGIN_NOTE = (
    "Winning rate of each judge by the margin eps (Calderon et al. 2025, figure 3). "
    "A judge passes at 0.5."
)
CERTAINTY_NOTE = (
    "Krippendorff's alpha between judges (or raters) and the raters' most common answer (median on "
    "ordered scales), by the share of items on which all raters agree. Values are means over 100 "
    "subsets of 100 items, drawn with replacement (Elangovan et al. 2025, figures 1 and 5). Bars "
    "are standard errors for 100 items."
)


def figure_groups(
    figures: Mapping[str, TaskFigures], validations: Mapping[str, Validation]
) -> list[tuple[str, str, list[Chart], list[str]]]:
    """Return for each figure its heading, its note, its charts, and why charts are missing."""
    items = [
        (task, found.items, reason_words(found.items_reason)) for task, found in figures.items()
    ]
    mixes = [(task, found.certainty, found.certainty_reason) for task, found in figures.items()]
    margins = [
        replace(chart, name=f"{chart.name}-{unique_slug(task)}", title=task)
        for task, v in validations.items()
        if v.replacement and v.replacement.judges
        for chart in [winning_rate_by_eps(v, v.replacement)]
    ]
    return [
        (
            "Annotator test by number of items",
            ITEMS_NOTE,
            [_by_items(task, curve) for task, curve, _ in items if curve],
            [f"{task}: {reason}" for task, _, reason in items if reason],
        ),
        ("Annotator test by margin", MARGIN_NOTE, margins, []),
        (
            "Agreement by certainty of the raters",
            CERTAINTY_NOTE,
            [_by_certainty(task, mix) for task, mix, _ in mixes if mix],
            [f"{task}: {reason}" for task, _, reason in mixes if reason],
        ),
    ]


def _by_items(task: str, curve: ItemsCurve) -> Chart:
    first = next(iter(curve.by_margin.values()))
    series = [
        Series(
            f"winning rate, eps {eps:g}",
            tuple((float(row.n_items), row.winning_rate) for row in rows),
            f"j{place}",
        )
        for place, (eps, rows) in enumerate(curve.by_margin.items())
    ]
    advantage = Series(
        "advantage probability",
        tuple((float(row.n_items), row.advantage) for row in first),
        f"j{len(series)}",
        tuple((row.advantage_low, row.advantage_high) for row in first),
    )
    lines = [*series, advantage]
    titles = Titles(
        f"items-{unique_slug(task)}",
        f"{task}: {curve.judge}",
        f"Annotator test of {curve.judge} by the number of items, from {first[0].n_items} to "
        f"{first[-1].n_items}: {_ends(lines)}.",
        x=f"items, {counted([curve.n_raters], 'rater')}",
        y=f"mean over {first[0].n_draws} draws",
    )
    return line_chart(titles, lines, reach=(0.0, 1.0))


def _by_certainty(task: str, mix: CertaintyMix) -> Chart:
    lines = [
        Series(
            NAMES.get(name, name),
            tuple(zip(mix.shares, values, strict=True)),
            f"j{place % STYLES}",
            tuple(
                None if value is None or error is None else (value - error, value + error)
                for value, error in zip(values, mix.error[name], strict=True)
            ),
        )
        for place, (name, values) in enumerate(mix.alpha.items())
    ]
    titles = Titles(
        f"certainty-{unique_slug(task)}",
        task,
        "Krippendorff's alpha for subsets in which raters agree on no item, and in which they "
        f"agree on all items: {_ends(lines)}. Drawn from {mix.n_certain} items on which all raters "
        f"agree and {mix.n_uncertain} others.",
        x=f"share with full agreement, from {mix.n_certain} and {mix.n_uncertain} items",
        y="Krippendorff's alpha",
    )
    return line_chart(titles, lines, reach=(0.0, 1.0), within=(-1.0, 1.0))


def _ends(lines: list[Series]) -> str:
    return "; ".join(
        f"{line.name} {number(line.points[0][1])} to {number(line.points[-1][1])}" for line in lines
    )
