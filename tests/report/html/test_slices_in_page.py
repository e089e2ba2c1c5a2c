"""The page shows each judge by slice, and lists the items of a slice."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from support.packages import checking
from support.sliced_judges import planted_source

from harness.analysis import validate
from harness.report import all_charts, page
from harness.report.html.details import details_of

expect = checking("playwright", "playwright.sync_api").expect


@pytest.fixture(scope="module")
def source():
    """A judge that guesses on German items."""
    return planted_source()


@pytest.fixture(scope="module")
def sliced(source):
    """Its validation."""
    return validate(source)


@pytest.fixture(scope="module")
def file(source, sliced, tmp_path_factory):
    """Its page."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(sliced, details_of(source, certainty=sliced.certainty)), encoding="utf-8")
    return path


def test_the_chart_lists_slices_worst_first_beside_a_rater(sliced):
    """Each has the judge and a rater with their intervals; the largest difference is first."""
    [chart] = [chart for chart in all_charts(sliced) if chart.name.startswith("slices-")]
    names = [row[0] for row in chart.rows]
    assert len(names) == 2 * sliced.slices.n_slices
    assert names[::2] == [f"planted, {name.removeprefix('a rater, ')}" for name in names[1::2]]
    rows = {f"{row.field}: {row.value}": row for row in sliced.slices.judges[0].rows}
    differences = [
        rows[name.removeprefix("planted, ")].measures["agreement"].difference.value
        for name in names[::2]
    ]
    assert differences == sorted(differences)
    assert "Weakest: language: de" in chart.alt
    for name, value, low, high, why in chart.rows:
        assert low <= value <= high, (name, why)


@pytest.mark.slow
def test_a_slice_of_the_chart_lists_its_items(browser, file):
    """A click filters the item table, and the address keeps the filter."""
    tab = browser.new_page()
    tab.goto(file.as_uri() + "#open=errors")
    tab.locator("#chart-slices-planted svg a", has_text="language: de").click()
    expect(tab.locator("#item-count")).to_have_text("1 to 10 of 75 items")
    assert f"slice={quote('language: de')}" in tab.url
    assert tab.locator("#filter-slice").input_value() == "language: de"
    shown = tab.locator("#items > tbody > tr > th").all_inner_texts()
    assert all(int(text.split("i")[-1]) % 4 == 0 for text in shown)
    tab.close()


def test_without_fields_the_page_has_no_slices():
    """Neither a heading nor a filter."""
    source = planted_source(60, fields=False)
    v = validate(source)
    html = page(v, details_of(source, certainty=v.certainty))
    assert "<h3>Slices</h3>" not in html
    assert "filter-slice" not in html
