"""A name that a reader sees means one metric, in every table, legend and list of a view."""

from __future__ import annotations

import re
from collections import defaultdict
from html import unescape

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task, source_of, task_of
from support.each_case import fast_first
from support.sliced_judges import planted

from harness.analysis import validate
from harness.report import page
from harness.report.judge_charts import MEASURES
from harness.stats.metrics.registry import METRICS

ABBREVIATION = re.compile(r'<abbr title="([^"]*)"[^>]*>(.*?)</abbr>')
SYMBOL = re.compile(r"[a-z][a-z_0-9.]*(\([a-z/, >-]*\))?")


def ordinal():
    """Three raters and a judge on four ordered options."""
    ratings = {f"r{j}": {f"i{i}": str(1 + (i + i * j) % 4) for i in range(24)} for j in range(3)}
    task = task_of(ratings, options=("1", "2", "3", "4"), positive=("4",), scale="ordinal")
    return validate(source_of(task, {"judge": ratings["r1"]}))


def numbers():
    """Three raters and a judge on a scale from 0 to 10."""
    ratings = {f"r{j}": {f"i{i}": str((i + j) % 10) for i in range(24)} for j in range(3)}
    task = task_of(
        ratings, options=(), positive=(), scale="continuous", bounds=(0, 10), abstain=False
    )
    return validate(source_of(task, {"judge": ratings["r1"]}))


VALIDATIONS = {
    "response sets": lambda: validate(indeterminate_source(indeterminate_task(n=40, paired=40))),
    "forced choices": lambda: validate(indeterminate_source(indeterminate_task(n=40))),
    "slices": planted,
    "ordered options": ordinal,
    "numbers": numbers,
}


def named_metrics(html):
    """Yield the (name, symbol) of each metric that a page explains, whichever of them it shows."""
    for title, shown in ABBREVIATION.findall(html):
        first, *others = unescape(title).split("; ")
        text = unescape(re.sub("<[^>]*>", "", shown))
        if others and SYMBOL.fullmatch(text):
            yield first, text
        elif SYMBOL.fullmatch(first) and not SYMBOL.fullmatch(text):
            yield text, first


def test_alpha_of_a_judge_and_of_the_raters_were_one_name():
    """On a scale of numbers, a page has both, and the second was called as the first."""
    html = page(numbers())
    shown = {text for text, symbol in named_metrics(html) if "krippendorff" in symbol}
    assert shown == {
        "agreement (Krippendorff's alpha, interval)",
        "rater agreement beyond chance on numbers (Krippendorff's alpha)",
    }


@pytest.mark.parametrize("kind", fast_first(2, VALIDATIONS))
def test_three_metrics_were_called_disagreement_with_raters(kind):
    """They select different judges, and one table and its legend called them alike."""
    symbols, names = defaultdict(set), defaultdict(set)
    for name, symbol in named_metrics(page(VALIDATIONS[kind]())):
        symbols[name].add(symbol)
        names[symbol].add(name)
    assert len(names) > 5
    assert {name: of for name, of in symbols.items() if len(of) > 1} == {}
    of_raters = {"krippendorff_alpha_interval"}  # and of a judge: see above
    assert {symbol: of for symbol, of in names.items() if len(of) > 1}.keys() <= of_raters


def test_no_two_metrics_or_coefficients_of_raters_have_one_name():
    """In lists of all of them, too."""
    symbols = defaultdict(set)
    for metric in METRICS:
        symbols[metric.display_name].add(metric.name)
    for symbol, name in MEASURES.items():
        symbols[name].add(symbol)
    assert {name: of for name, of in symbols.items() if len(of) > 1} == {}
