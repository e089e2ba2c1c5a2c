"""What tests read in pages of a report."""

from __future__ import annotations

import json
import re
from html import unescape

MOST_WORDS = 13_000  # half of what a page of the quick start once had
SCRIPTS = re.compile(r"<(script|style)[^>]*>.*?</\1>", re.DOTALL)
BLOCK = re.compile(r'<script type="application/json" id="block">(.*?)</script>', re.DOTALL)


def texts_of(value):
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for member in value.values() if isinstance(value, dict) else value:
            yield from texts_of(member)


def n_words(html: str) -> int:
    """Count the words of a page with all of it unfolded, and those that its script can show."""
    body = SCRIPTS.sub(" ", html[html.index("<body") :])
    shown = unescape(re.sub(r"<[^>]+>", " ", body)).split()
    block = json.loads(BLOCK.search(html)[1])
    block.pop("chartStyle")
    return len(shown) + sum(len(text.split()) for text in texts_of(block))


def assert_headings_are_numbered_as_listed(page: str) -> None:
    """Each numbered heading has the number and title under which the navigation lists it."""
    listed = re.findall(r'<li><a href="#([\w-]+)">(.*?)</a></li>', page)
    numbers = {id_: (str(n), title) for n, (id_, title) in enumerate(listed, start=1)}
    headings = re.findall(
        r'<h2 id="([\w-]+)"><span class="n" aria-hidden="true">(\d+)</span> (.*?)</h2>', page
    )
    assert headings
    assert {id_: (n, title) for id_, n, title in headings}.items() <= numbers.items()


METRIC_HEADS = {"chosen by", "selected by", "metric", "coefficient"}  # of columns of metrics
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)


def assert_no_two_metrics_look_alike(page: str) -> None:
    """Fail if a table has two rows, or a chart two lines, of the same name."""
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        first = [_words(CELL.findall(row)[0]) for row in rows if CELL.search(row)]
        if first and first[0] in METRIC_HEADS:
            assert len(set(first)) == len(first), first
    for legend in re.findall(r'<[^>]*class="legend".*?</g>', page, re.DOTALL):
        names = re.findall(r"<text[^>]*>(.*?)</text>", legend)
        assert len(set(names)) == len(names), names


def _words(cell: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", cell).split())
