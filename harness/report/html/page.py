"""A validation as one HTML file that needs no network and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.plain_text import visible
from harness.report import (
    annotator_charts,
    certainty_charts,
    confusion_charts,
    formatting,
    judge_charts,
    sensitivity_charts,
    words,
)
from harness.report.charts import draw_interval, items_link
from harness.report.checklist import checklist
from harness.report.glossary import GLOSSARY, paper_symbol
from harness.report.html.item_table import item_block, item_filters
from harness.report.html.summaries import (
    changes,
    chart_note,
    figures,
    no_sweep_reason,
    section_results,
)
from harness.report.judge_card import latex, markdown, paragraph
from harness.report.prevalence_text import missed_line, prevalence_lines
from harness.report.race_text import race_lines, race_table
from harness.report.ranking_rows import flips_with_n, missing_intervals, ranking_rows
from harness.report.recommendation import (
    alike_words,
    further_evidence,
    next_steps,
    property_words,
    reasons,
    summary,
    tested_raters,
)
from harness.report.svg import Mark, label, line
from harness.report.text import rubric_table, second_questions_table
from harness.report.unreadable_text import attempts, sentence
from harness.report.verdict_words import human_pair
from harness.report.words import GOAL_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

    from harness.analysis import Validation
    from harness.report.charts import Chart, RowKind
    from harness.report.html.details import Details
    from harness.report.ranking_rows import RankingRow


HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECTIONS = {
    "decision": "May I use it?",
    "race": "Who left the race?",
    "ranking": "Which judge is best?",
    "sensitivity": "What if beta is another?",
    "certainty": "How does it do where raters disagree?",
    "replacement": "May it replace a rater?",
    "errors": "Where is it wrong?",
    "selftest": "Does the analysis hold on this design?",
    "provenance": "How did the numbers come about?",
}
OUTCOMES = ("planned", "answered", "abstained", "refused", "invalid", "failed", "not_asked")
PAGE_SIZE = 25
STATIC_ROWS = 10  # of the item table, where no script runs
DATA_DIGITS = 6  # of the numbers behind a chart
COLOURS = re.compile(r"--(\w+): light-dark\((#\w+), (#\w+)\)")
_VARIABLE = re.compile(r"var\(--(\w+)\)")
_BACKTICKS = re.compile("`([^`<>]+)`")
_TERM_OF = {word: term for term in GLOSSARY for word in term.words}
_TERMS = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, _TERM_OF))})(?![\w-])")
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def page(v: Validation, details: Details | None = None) -> str:
    """Render the page; everything that comes from the task or a judge is escaped.

    Parameters
    ----------
    v : Validation
        The numbers shown.
    details : Details, optional
        Items, prompts and provenance; the page says where they are missing.
    """
    grid = sensitivity_charts.slider_grid(v)
    items = details and item_block(details.items)
    practices = checklist(v)
    return render(
        "report.html.jinja",
        {
            "v": v,
            "details": details,
            "grid": grid,
            "judges": v.ranked_judges,
            "annotator_charts": annotator_charts,
            "certainty_charts": certainty_charts,
            "confusion_charts": confusion_charts,
            "judge_charts": judge_charts,
            "sensitivity_charts": sensitivity_charts,
            "headline": formatting.headline(v).replace("  ", " · "),
            "options": formatting.options(v),
            **_first_screen(v),
            "results": section_results(v, practices, details),
            "changes": changes(v),
            "glossary": GLOSSARY,
            "no_sweep_reason": no_sweep_reason(v),
            "outcomes": OUTCOMES,
            "item_filters": item_filters(v, details.items) if details else (),
            "items_link": items_link,
            "property_words": property_words,
            "label": partial(judge_charts.metric_label, v),
            "static_rows": STATIC_ROWS,
            "checklist": practices,
            "paragraphs": {
                "Markdown": markdown(paragraph(v)),
                "LaTeX": latex(paragraph(v)),
            },
            "calls": {calls.name: calls for calls in details.calls} if details else {},
            "provenance": _provenance(v, details),
            "bounds": _bounds(v),
            "missing_intervals": missing_intervals(v),
            "common": list(map(_common_row, ranking_rows(v))),
            "tables": {
                "Criteria": rubric_table(v),
                "Second questions": second_questions_table(v),
            },
            "race_lines": race_lines,
            "race_table": race_table,
            "prevalence": list(prevalence_lines(v)),
            "missed_line": missed_line(v),
            "has_beta_hat": any(v.beta_hat(j.name)[0].value is not None for j in v.judges),
            "has_flips": any(judge.injection for judge in v.judges),
            "alike": alike_words(v),
            "tested_raters": tested_raters,
            "human_pair": human_pair(v),
            **_ranking(v),
        },
        block={
            "grid": grid,
            "items": items,
            "strata": [row.stratum.name for row in v.certainty.strata] if v.certainty else [],
            "pageSize": PAGE_SIZE,
        },
        title=f"{v.task.name}: which judge to use",
        sections=[(name, SECTIONS[name]) for name in _sections(v, details)],
    )


def _sections(v: Validation, details: Details | None) -> list[str]:
    """Return the sections that have something to show."""
    has_data = {
        "race": v.race,
        "sensitivity": bool(v.task.options)
        and (sensitivity_charts.swept_grid(v) or sensitivity_charts.regret_charts(v)),
        "certainty": v.certainty and certainty_charts.strata_charts(v),
        "replacement": v.replacement and v.replacement.judges,
        "errors": v.judges or details,
        "selftest": details and details.selftest,
    }
    return [name for name in SECTIONS if has_data.get(name, True)]


def render(
    template: str,
    context: Mapping[str, Any],
    *,
    block: Mapping[str, Any],
    title: str,
    sections: Sequence[tuple[str, str]],
) -> str:
    """Render a template with the page's style, script and policy around it.

    Parameters
    ----------
    block : mapping
        Data of the script, written as JSON.
    sections : tuple of (id, name)
        Entries of the navigation.
    """
    chart_style = _read("chart.css")
    style = _read("colours.css") + chart_style + _read("page.css")
    script = _read("page.js")
    html = (
        _environment()
        .get_template(template)
        .render(
            formatting=formatting,
            words=words,
            css=style,
            script=script,
            policy=f"{POLICY}; style-src '{_digest(style)}'; script-src '{_digest(script)}'",
            title=title,
            sections=sections,
            block=block_json({**block, "chartStyle": _light(chart_style)}),
            **context,
        )
    )
    return formatting.control_pictures(html)


def standalone_svg(chart: Chart) -> str:
    """Return a chart as an SVG file in light colours."""
    visible = tuple(mark for mark in chart.marks if "visibility" not in mark.attributes)
    template = _environment().get_template("chart.svg.jinja")
    return template.render(chart=replace(chart, marks=visible), style=_light(_read("chart.css")))


def _light(style: str) -> str:
    """Return a style sheet with its variables replaced by the light colours."""
    colours = {name: light for name, light, _ in COLOURS.findall(_read("colours.css"))}
    return _VARIABLE.sub(lambda match: colours[match[1]], style)


def block_json(value: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- only for pages

    from harness.report.html.compiled_templates import (  # noqa: PLC0415 -- needs jinja2
        compiled_templates,
    )

    templates = HERE / "templates"
    environment = Environment(
        loader=FileSystemLoader(templates),
        bytecode_cache=compiled_templates(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    environment.filters["breakable"] = _breakable
    environment.filters["terms"] = _terms
    environment.filters["symbol"] = _symbol
    environment.filters["rows"] = _chart_rows
    environment.filters["spaced"] = lambda text: text.replace("_", " ")
    return environment


def _code(text: str) -> Markup:
    """Escape a text and set what stands between backticks as code."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped before


def _terms(text: str) -> Markup:
    """Escape a text and link the first use of each term to the glossary, its meaning as tooltip."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    linked: set[str] = set()

    def link(match: re.Match[str]) -> str:
        term = _TERM_OF[match[0]]
        if term.slug in linked:
            return match[0]
        linked.add(term.slug)
        link = f'<a class="term" href="#term-{term.slug}" title="{escape(term.meaning)}">'
        return f"{link}{match[0]}</a>"

    return Markup(_TERMS.sub(link, str(escape(text))))  # noqa: S704 -- escaped before


def _breakable(text: str) -> Markup:
    """Escape a name and let lines break at its underscores."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    return Markup(str(escape(text)).replace("_", "_<wbr>"))  # noqa: S704 -- escaped before


def _chart_rows(chart: Chart) -> str:
    """Return the data of a chart as JSON, for the table that the script makes.

    A text is the list of its index in ``texts``.
    """
    texts: dict[str, int] = {}
    rows = [
        [
            [texts.setdefault(cell, len(texts))]
            if isinstance(cell, str)
            else None
            if cell is None
            else round(cell, DATA_DIGITS)
            for cell in row
        ]
        for row in chart.rows
    ]
    data = {"columns": chart.columns, "texts": list(texts), "rows": rows}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _symbol(name: str) -> str:
    """Return the name of a metric, and what the papers call it."""
    symbol = paper_symbol(name)
    return f"{name}; in the papers {symbol}" if symbol else name


@cache
def _read(name: str) -> str:
    return (HERE / "static" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _first_screen(v: Validation) -> dict[str, object]:
    """Return the verdict, its reasons, the numbers and the next steps; ``rest`` is the rest."""
    band = judge_charts.human_band(v.evidence) if v.evidence else None
    return {
        "verdict": summary(v)[0],
        "reasons": reasons(v),
        "next_steps": next_steps(v),
        "figures": figures(v),
        "unreadable": [
            (sentence(replies), attempts(replies), map(visible, replies.examples))
            for replies in v.unreadable
        ],
        "compared_on": formatting.compared_on(v),
        "chart_note": chart_note(v, band),
        "rest": further_evidence(v),
    }


def _common_row(row: RankingRow) -> dict[str, str]:
    """Return a row of the ranking as texts."""
    judge = row.judge
    difference = judge.evidence.difference if judge else None
    flips, n_flips = flips_with_n(judge.result) if judge else ("", "")
    return {
        "name": row.name,
        "kind": row.kind,
        "rank": row.ranks,
        "value": row.value,
        "difference": f"{formatting.number(difference.value)} "
        f"{formatting.span(difference.interval)}"
        if difference
        else "",
        "alike": formatting.percent(judge.alike.value) if judge else "",
        "beta_hat": row.beta_hat,
        "answered": row.answered,
        "usable": row.usable,
        "flips": flips,
        "n_flips": n_flips,
        "cost": row.usd_per_thousand(unknown="unknown"),
    }


def _ranking(v: Validation) -> dict[str, object]:
    """Return each judge on its own items, and how firm the order of the ranked ones is."""
    if v.ranking is None:
        return {}
    kinds = judge_charts.judge_kinds(v)
    places = v.choosing.places if v.choosing else ()
    return {
        "own": [_on_own_items(v, row.judge, kinds[row.judge]) for row in v.ranking.rows],
        "places": places if sum(place.rank is not None for place in places) > 1 else (),
        "axis": _table_axis(v),
    }


def _on_own_items(v: Validation, name: str, kind: RowKind) -> dict[str, object]:
    assert v.ranking is not None
    judge = v.judge(name)
    interval = judge_charts.interval_row(name, judge.own, kind)
    marks = draw_interval(interval, judge_charts.ranking_scale(v), 13.0)
    return {"judge": judge, "row": v.evidence_of(name), "kind": kind, "marks": marks}


def _table_axis(v: Validation) -> list[Mark]:
    scale = judge_charts.ranking_scale(v)
    marks = [line(scale.start, 19, scale.end, 19, "axis")]
    for value in scale.ticks()[::2]:
        marks.append(label(scale(value), 12, f"{value:.6g}", "tick x", "middle"))
        marks.append(line(scale(value), 15, scale(value), 19, "axis"))
    return marks


def _bounds(v: Validation) -> dict[str, object]:
    """Return judge, goal and bound, free per item and for one beta; or why all are NA."""
    kinds = (v.sensitivity.bounds, v.sensitivity.common_bounds) if v.sensitivity else ()
    rows = [
        (judge, GOAL_WORDS.get(goal, goal), bound)
        for bounds in kinds
        for judge, by_goal in bounds.items()
        for goal, bound in by_goal.items()
    ]
    ends = [end for _, _, bound in rows for end in (bound.low, bound.high)]
    reasons = dict.fromkeys(formatting.reason(end) for end in ends if end.value is None)
    is_undefined = all(end.value is None for end in ends)
    return {"rows": rows, "reason": ", ".join(reasons) if is_undefined else ""}


def _provenance(v: Validation, details: Details | None) -> list[tuple[str, str]]:
    settings, unit = v.settings, v.sampling.unit
    rows = [
        ("task, SHA-256", v.task.content_hash),
        ("cut-off tau", f"{v.tau:g}"),
        ("ranking metric", judge_charts.metric_label(v, v.ranking_metric)),
        ("abstentions", settings.mode),
        ("aggregation", settings.level),
        ("seed", str(settings.seed)),
        ("resamples", f"{settings.n_resamples} of {unit}s"),
        ("schema of metrics.json", str(v.schema_version)),
    ]
    if details is not None:
        seconds = details.asking_s
        rows += [
            ("run", details.run),
            ("started", details.created),
            ("state", details.state),
            ("time for calls", "" if seconds is None else formatting.duration(seconds)),
            ("data source", details.source),
            ("data licence", details.licence),
            *((f"{name}, SHA-256", sha) for name, sha in details.hashes.items() if name != "task"),
            *details.versions.items(),
        ]
    return [(name, value) for name, value in rows if value]
