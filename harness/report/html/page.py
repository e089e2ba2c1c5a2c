"""A validation as one HTML file that needs no network and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.report import (
    annotator_charts,
    certainty_charts,
    confusion_charts,
    formatting,
    judge_charts,
    palette,
    sensitivity_charts,
)
from harness.report.charts import dot_marks
from harness.report.checklist import checklist
from harness.report.html.findings import changes, facts, no_sweep
from harness.report.judge_card import paragraph_latex, paragraph_markdown
from harness.report.recommendation import sentences
from harness.report.svg import Mark, label, line, tick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment
    from markupsafe import Markup

    from harness.analysis import Validation
    from harness.analysis.result import RankedJudge
    from harness.report.html.details import Details, ItemTable
    from harness.report.svg import Chart

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECTIONS = (
    ("decision", "Decision"),
    ("ranking", "Ranking"),
    ("sensitivity", "Sensitivity"),
    ("certainty", "Certainty"),
    ("replacement", "May it replace a rater?"),
    ("errors", "How each judge errs"),
    ("checklist", "Checklist"),
    ("provenance", "Provenance"),
)
OUTCOMES = ("planned", "answered", "abstained", "refused", "invalid", "failed", "not asked")
PAGE_SIZE = 25
_BACKTICKS = re.compile("`([^`<>]+)`")
DELETE = 0x7F
_CONTROL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def page(v: Validation, d: Details | None = None) -> str:
    """Render the page; everything that comes from the task or a judge is escaped.

    Parameters
    ----------
    v : Validation
        Every number shown.
    d : Details, optional
        Items, prompts and how it was run; what needs them says so where they are absent.
    """
    grid = sensitivity_charts.grid_block(v)
    block = {"grid": grid, "items": d and _items_block(d.items), "pageSize": PAGE_SIZE}
    return render(
        "report.html.jinja",
        {
            "v": v,
            "d": d,
            "grid": grid,
            "order": judge_charts.in_order(v),
            "sentences": sentences(v),
            "facts": facts(v),
            "changes": changes(v),
            "outcomes": OUTCOMES,
            "page_size": PAGE_SIZE,
            "checklist": checklist(v, d),
            "paragraph_markdown": paragraph_markdown(v, d),
            "paragraph_latex": paragraph_latex(v, d),
            "asked": {one.name: one for one in d.asked} if d else {},
            "provenance": _provenance(v, d),
            "bounds": _bounds(v),
            "bounds_reason": _why_no_bounds(v),
            "no_sweep": no_sweep(v),
            "translations": judge_charts.translation_charts(v, d.sets if d else ()),
            **_ranking(v),
            **_outlook(v),
            **_sections(v),
        },
        block=block,
        title=f"{v.task.name}: which judge to use",
        sections=SECTIONS,
    )


def render(
    template: str,
    context: Mapping[str, Any],
    *,
    block: Mapping[str, Any],
    title: str,
    sections: tuple[tuple[str, str], ...],
) -> str:
    """Render a template with the page's style, script and policy around it."""
    chart_style = _read("chart.css")
    style = palette.variables() + chart_style + _read("page.css")
    script = _read("page.js")
    policy = f"{POLICY}; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    page = (
        _environment()
        .get_template(template)
        .render(
            words=formatting,
            css=style,
            script=script,
            policy=policy,
            title=title,
            sections=sections,
            block=block_json({**block, "chartStyle": palette.plain(chart_style)}),
            **context,
        )
    )
    return _CONTROL.sub(_picture, page)


def _picture(control: re.Match[str]) -> str:
    """Show a control character, which no page may hold."""
    code = ord(control[0])
    return "\u2421" if code == DELETE else chr(0x2400 + code)


def drawing(chart: Chart) -> str:
    """Return a chart as an SVG file that stands by itself, on light ground."""
    style = palette.plain(_read("chart.css"))
    still = replace(chart, marks=tuple(m for m in chart.marks if "visibility" not in m.attributes))
    return _environment().get_template("chart.svg.jinja").render(c=still, style=style)


def block_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- only for pages

    from harness.report.html.template_cache import compiled  # noqa: PLC0415 -- needs jinja2

    templates = HERE / "templates"
    environment = Environment(
        loader=FileSystemLoader(templates),
        bytecode_cache=compiled(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = _coded
    environment.filters["jointed"] = _jointed
    return environment


def _coded(text: str) -> Markup:
    """Escape a text and set what it has between backticks as code."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped before


def _jointed(text: str) -> Markup:
    """Escape a name and let lines break at its underscores."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    return Markup(str(escape(text)).replace("_", "_<wbr>"))  # noqa: S704 -- escaped before


@cache
def _read(name: str) -> str:
    return (HERE / "static" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _items_block(table: ItemTable) -> dict[str, object]:
    """Return the item table with each distinct answer once, by its number."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    rows = [
        [
            row.id,
            row.text,
            number(row.raters),
            row.split if row.split is None else round(row.split, 4),
            row.n_apart,
            *(number(one) for one in row.judges),
        ]
        for row in table.rows
    ]
    return {"rows": rows, "answers": list(numbers)}


def _ranking(v: Validation) -> dict[str, Any]:
    """Return what the ranking's table and charts show."""
    if v.ranking is None:
        return {"groups": (), "undefined": {}}
    kind = judge_charts.kinds(v)
    places = {}
    if v.choosing and v.ranking.metric in v.choosing.orders:
        places = {one.judge: one for one in v.choosing.orders[v.ranking.metric].places}
    return {
        "ranked": [_ranked(v, row, kind[row.judge], places) for row in v.ranking.rows],
        "rivals": sum(one.rank is not None for one in places.values()) > 1,
        "ties": "tied" in kind.values(),
        "baselines": "baseline" in kind.values(),
        "row_width": f"{judge_charts.ROW_WIDTH:g}",
        "axis": _row_axis(v),
        "goals": [goal for goal in judge_charts.GOAL_WORDS if judge_charts.is_defined(v, goal)],
        "ranking_chart": judge_charts.ranking_chart(v),
        "groups": judge_charts.metric_charts(v),
        "undefined": judge_charts.undefined_metrics(v),
        "units": {facts.name: facts.unit for facts in v.metrics},
        "also": {facts.name: facts.also for facts in v.metrics},
    }


def _ranked(
    v: Validation, row: RankedJudge, kind: str, places: Mapping[str, Any]
) -> dict[str, Any]:
    assert v.ranking is not None
    judge = v.judge(row.judge)
    one = judge.metrics[v.ranking.metric]
    worse = row.difference
    place = places.get(row.judge)
    firm = place is not None and place.rank_low != place.rank_high
    drawn = judge_charts.dot_row(judge.name, one, kind)
    return {
        "judge": judge,
        "kind": kind,
        "rank": row.rank or "NA",
        "ranks": f"{place.rank_low} to {place.rank_high}" if place and firm else "",
        "p_best": formatting.percent(place.p_best) if place else "",
        "value": formatting.estimate(one),
        "worse": f"{formatting.number(worse.value)} {formatting.span(worse.interval)}"
        if worse
        else "",
        "marks": dot_marks(drawn, judge_charts.row_scale(v), 13.0),
    }


def _row_axis(v: Validation) -> list[Mark]:
    scale = judge_charts.row_scale(v)
    marks = [line(scale.start, 19, scale.end, 19, "axis")]
    for value in scale.ticks(3):
        marks.append(label(scale(value), 12, tick(value), "tick x", anchor="middle"))
        marks.append(line(scale(value), 15, scale(value), 19, "axis"))
    return marks


def _outlook(v: Validation) -> dict[str, Any]:
    return {
        "curves": sensitivity_charts.curve_charts(v),
        "regions": sensitivity_charts.region_charts(v),
        "facets": sensitivity_charts.facet_charts(v),
        "regret": sensitivity_charts.regret_charts(v),
        "regret_rows": sensitivity_charts.regret_rows(v),
    }


def _why_no_bounds(v: Validation) -> str:
    """Say why no bound has a value; "" where one has."""
    ends = [one for _, _, bound in _bounds(v) for one in (bound.low, bound.high)]
    if any(one.value is not None for one in ends):
        return ""
    return ", ".join(dict.fromkeys(formatting.reason(one) for one in ends))


def _sections(v: Validation) -> dict[str, Any]:
    reason = v.replacement.reason if v.replacement else ""
    return {
        "own_slug": judge_charts.own_slug,
        "strata": certainty_charts.strata_charts(v),
        "perception": certainty_charts.perception_charts(v),
        "binned": certainty_charts.binned_charts(v),
        "risk": certainty_charts.risk_charts(v),
        "replacing": annotator_charts.in_order_of_advantage(v),
        "replacement_reason": annotator_charts.REASONS.get(reason, reason.replace("_", " ")) + ".",
        "tests": annotator_charts.TESTS,
        "variant": annotator_charts.variant,
        "replacement_charts": annotator_charts.charts(v),
        "rater_charts": annotator_charts.rater_charts(v),
        "erring": confusion_charts.ordered(v),
        "confusions": confusion_charts.confusion_charts(v),
        "leniency": confusion_charts.leniency_charts(v),
        "modes": confusion_charts.mode_rows(v),
    }


def _bounds(v: Validation) -> list[tuple[str, str, Any]]:
    kinds = (v.sensitivity.bounds, v.sensitivity.common_bounds) if v.sensitivity else ()
    return [
        (judge, judge_charts.GOAL_WORDS.get(goal, goal), one)
        for bounds in kinds
        for judge, goals in bounds.items()
        for goal, one in goals.items()
    ]


def _provenance(v: Validation, d: Details | None) -> list[tuple[str, str]]:
    s = v.settings
    told = [
        ("task, SHA-256", v.task.content_hash),
        ("cut-off tau", f"{s.tau:g}"),
        ("ranking metric", s.metric),
        ("abstentions", s.mode),
        ("aggregation", s.level),
        ("seed", str(s.seed)),
        ("resamples", f"{s.n_resamples} of {s.unit}s"),
        ("schema of metrics.json", str(v.schema_version)),
    ]
    if d is not None:
        took = "" if d.asking_s is None else formatting.duration(d.asking_s)
        told += [("run", d.run), ("begun", d.created), ("state", d.state), ("time asking", took)]
        told += [("source of the data", d.source), ("licence of the data", d.licence)]
        told += [(f"{name}, SHA-256", one) for name, one in d.hashes.items() if name != "task"]
        told += list(d.versions.items())
    return [(name, value) for name, value in told if value]
