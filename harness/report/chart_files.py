"""Write a report's charts as SVG and PNG files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.files.regular_files import write_file, writing_to
from harness.report import (
    annotator_charts,
    certainty_charts,
    confusion_charts,
    judge_charts,
    sensitivity_charts,
    slice_charts,
)
from harness.report.html.rendering import standalone_svg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from harness.analysis import Validation
    from harness.report.charts import Chart


PNG_SCALE = 2.0


NO_FONT = "no font was found on this machine, so text would be missing in PNG files"


NO_RENDERER = "PNG files need resvg-py. Install it: pip install 'judge-harness[png]'"


FONT_TEST = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    '<text x="2" y="16" font-family="sans-serif" font-size="16">{}</text></svg>'
)


def all_charts(v: Validation) -> list[Chart]:
    """Return all charts on the page, in the page's order."""
    charts = [judge_charts.evidence_chart(v)] if v.evidence else []
    return [
        *charts,
        *sensitivity_charts.curve_charts(v),
        *sensitivity_charts.region_charts(v),
        *sensitivity_charts.regret_charts(v),
        *(chart for _, group in certainty_charts.strata_charts(v) for chart in group),
        *certainty_charts.held_out_charts(v),
        *certainty_charts.binned_charts(v),
        *(chart for _, group in certainty_charts.perception_charts(v) for chart in group),
        *certainty_charts.risk_charts(v),
        *annotator_charts.annotator_charts(v),
        *annotator_charts.rater_charts(v),
        *(sliced.chart for sliced in slice_charts.sliced_judges(v)),
        *confusion_charts.confusion_charts(v),
        *confusion_charts.leniency_charts(v),
        *confusion_charts.translation_charts(v),
    ]


def write_charts(charts: list[Chart], folder: Path) -> str:
    """Write each chart as SVG and PNG. Return why PNG files are missing, or ""."""
    draw_png, no_png_reason = _png_renderer()
    with writing_to(folder, RunError):
        folder.mkdir(parents=True, exist_ok=True)
        for chart in charts:
            svg = standalone_svg(chart)
            write_file(folder / f"{chart.name}.svg", svg.encode())
            if draw_png is not None:
                write_file(folder / f"{chart.name}.png", draw_png(svg))
    return no_png_reason


def _png_renderer() -> tuple[Callable[[str], bytes] | None, str]:
    """Return a function that converts SVG to PNG, or the reason why none is available."""
    try:
        from resvg_py import svg_to_bytes  # noqa: PLC0415 -- an extra, and only for pictures
    except ImportError:
        return None, NO_RENDERER
    blank, word = (svg_to_bytes(FONT_TEST.format(text)) for text in (" ", "M"))
    if blank == word:
        return None, NO_FONT
    return lambda svg: bytes(svg_to_bytes(svg, zoom=PNG_SCALE)), ""
