"""Render pages from templates, colours, glossary terms and the charts' data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.files.plain_text import counted, reach
from harness.report import formatting, words
from harness.report.glossary import GLOSSARY, paper_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

    from harness.report.charts import Chart


HERE = Path(__file__).parent


POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


DATA_DIGITS = 6  # digits of the numbers behind a chart


COLOURS = re.compile(r"--(\w+): light-dark\((#\w+), (#\w+)\)")


_VARIABLE = re.compile(r"var\(--(\w+)\)")


_BACKTICKS = re.compile("`([^`<>]+)`")


_TERM_OF = {word: term for term in GLOSSARY for word in term.words}


_TERMS = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, _TERM_OF))})(?![\w-])")


_COUNT = re.compile(r"\u00d7(\d)(?!\d)")


_UNSAFE = re.compile("[<>&\u2028\u2029]")


def render(
    template: str,
    context: Mapping[str, object],
    *,
    block: Mapping[str, object],
    title: str,
    sections: Sequence[tuple[str, str]],
) -> str:
    """Render a template inside the page's frame of style, script and security policy.

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
    """Return a chart as an SVG file that uses the light colours."""
    visible = tuple(mark for mark in chart.marks if "visibility" not in mark.attributes)
    template = _environment().get_template("chart.svg.jinja")
    return template.render(chart=replace(chart, marks=visible), style=_light(_read("chart.css")))


def _light(style: str) -> str:
    """Replace the variables in a style sheet with the light colours."""
    colours = {name: light for name, light, _ in COLOURS.findall(_read("colours.css"))}
    return _VARIABLE.sub(lambda match: colours[match[1]], style)


def block_json(value: object) -> str:
    """Return JSON in which no text can end the surrounding script element."""
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
    environment.globals |= {"counted": counted, "reach": reach}
    environment.filters["code"] = _code
    environment.filters["breakable"] = _breakable
    environment.filters["terms"] = _terms
    environment.filters["symbol"] = _symbol
    environment.filters["rows"] = _chart_rows
    environment.filters["dots"] = _dots
    environment.filters["spaced"] = lambda text: text.replace("_", " ")
    return environment


def _code(text: str) -> Markup:
    """Escape a text, and format the parts between backticks as code."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped before


def _terms(text: str) -> Markup:
    """Escape a text, and link each term's first use to the glossary with a tooltip."""
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


def _dots(text: str) -> str:
    """Draw a small count as dots, in the same way as the page's script."""
    return _COUNT.sub(lambda count: "●" * int(count[1]), text)


def _breakable(text: str) -> Markup:
    """Escape a name, and allow line breaks after its underscores."""
    from markupsafe import Markup, escape  # noqa: PLC0415 -- only for pages

    return Markup(str(escape(text)).replace("_", "_<wbr>"))  # noqa: S704 -- escaped before


def _chart_rows(chart: Chart) -> str:
    """Return a chart's data as JSON. The page's script makes a table from it.

    A text is replaced by a list with its index in ``texts``.
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
    """Return a metric's name with the papers' symbol."""
    symbol = paper_symbol(name)
    return f"{name}; in the papers {symbol}" if symbol else name


@cache
def _read(name: str) -> str:
    return (HERE / "static" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
