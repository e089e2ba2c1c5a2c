"""From a cell, a stratum or a judge to its items, and from an item to every reply; by address."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from support.hostile_run import BAD_NAME, N_ITEMS
from support.packages import checking

from harness.analysis import item_answers
from harness.analysis.item_answers import answered_items
from harness.report import page
from harness.report.certainty_charts import stratum_words
from harness.report.charts import items_link
from harness.report.html import item_table as item_table_module
from harness.report.html.item_table import item_table
from harness.report.judge_charts import unique_slug
from harness.runs.sources import source_of

expect = checking("playwright", "playwright.sync_api").expect
pytestmark = pytest.mark.slow

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def context(browser):
    """A browser window whose messages are collected."""
    opened = browser.new_context(viewport=WIDE)
    yield opened
    opened.close()


@pytest.fixture
def open_at(context, folder):
    """A function that opens the page at a place of its address."""
    pages = []

    def opener(place: str = "", file=None):
        tab = context.new_page()
        tab.set_default_timeout(5000)
        tab.goto((file or folder.path / "report.html").as_uri() + place)
        pages.append(tab)
        return tab

    yield opener
    for tab in pages:
        tab.close()


@pytest.fixture
def open_with(open_at, validation, details, tmp_path):
    """A function that opens the page with another item table."""

    def opener(table):
        file = tmp_path / "report.html"
        file.write_text(page(validation, replace(details, items=table)), encoding="utf-8")
        return open_at("#open=errors", file)

    return opener


def ids(tab) -> set[str]:
    """Return the items on every page of the table."""
    names = set()
    while True:
        names |= set(tab.locator("#items > tbody > tr > th").all_inner_texts())
        if tab.locator("#next").is_disabled():
            return names
        tab.locator("#next").click()


def filters_in(tab) -> dict[str, list[str]]:
    return parse_qs(tab.evaluate("location.hash.slice(1)"))


def members(details, judge: str, raters: str, answer: str) -> set[str]:
    """Return the items of a cell of a confusion matrix."""
    table = details.items
    j, rater_class, judge_class = (
        table.judges.index(judge),
        *map(table.classes.index, (raters, answer)),
    )
    return {
        row.id
        for row in table.rows
        if rater_class in row.classes and judge_class in row.judges[j].classes
    }


def test_every_cell_of_a_matrix_leads_to_its_items(open_at, validation, details):
    """As many items as the cell counts, tied answers in every cell that they are part of."""
    for errors in validation.errors.judges:
        confusion = errors.confusion
        for raters, cells in zip(confusion.human, confusion.cells, strict=True):
            for answer, n in zip(confusion.judge, cells, strict=True):
                matched = members(details, errors.judge, raters, answer)
                assert (len(matched) > 0) == (n > 0)
                assert len(matched) >= n
    errors = validation.errors.judges[0]
    tab = open_at("#open=errors")
    cell = tab.locator(f"#chart-confusion-{unique_slug(errors.judge)} svg a").first
    filters = parse_qs(cell.get_attribute("href")[1:])
    cell.click()
    [judge], [raters], [answer] = (filters[name] for name in ("judge", "raters", "answer"))
    expect(tab.locator("#item-list")).to_be_focused()
    assert ids(tab) == members(details, judge, raters, answer)


def test_cell_is_followed_by_the_keyboard(open_at, validation):
    """Each cell with items is a link with a name."""
    tab = open_at("#open=errors")
    cell = tab.locator(f"#chart-confusion-{unique_slug(validation.judges[0].name)} svg a").first
    assert cell.get_attribute("aria-label").startswith("Items: ")
    cell.focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#filter-judge")).to_have_value(validation.judges[0].name)
    tab.go_back()
    expect(tab.locator("#filter-judge")).to_have_value("")


def test_stratum_leads_to_its_items(open_at, validation):
    """From its chart, with as many items as the stratum holds."""
    row = next(row for row in validation.certainty.strata if 0 < row.n_items < N_ITEMS)
    tab = open_at("#open=certainty")
    link = tab.locator("#certainty figcaption a", has_text=stratum_words(row.stratum)).first
    link.click()
    expect(tab.locator("#item-list")).to_be_focused()
    assert len(ids(tab)) == row.n_items


def test_judge_leads_to_its_replies_alone(open_at, validation):
    """Other judges' columns are hidden; its name may be anything."""
    tab = open_at("#open=ranking")
    tab.locator("#ranking .ranking:not(.own) tbody a", has_text=BAD_NAME).click()
    expect(tab.locator("#filter-judge")).to_have_value(BAD_NAME)
    expect(tab.locator("#items thead th:visible")).to_have_count(6)
    assert tab.locator("#items thead th:visible").all_inner_texts()[-1] == BAD_NAME


@pytest.mark.parametrize(
    ("filters", "keeps"),
    [
        ({"outcome": "invalid"}, lambda row: any("invalid" in c.outcomes for c in row.judges)),
        ({"agreement": "differs"}, lambda row: row.n_judges_apart > 0),
        (
            {"judge": "lenient", "agreement": "differs"},
            lambda row: row.judges[1].agreement == "differs",
        ),
        ({"raters": "A"}, lambda row: 0 in row.classes),
    ],
)
def test_filters_keep_the_items_they_name(open_at, details, filters, keeps):
    """By judge, outcome, agreement and answer, each from its list."""
    assert details.items.judges[1] == "lenient"
    tab = open_at("#open=errors")
    for name, value in filters.items():
        tab.locator(f"#filter-{name}").select_option(value)
    assert ids(tab) == {row.id for row in details.items.rows if keeps(row)}
    assert {name: [value] for name, value in filters.items()}.items() <= filters_in(tab).items()


def test_item_opens_in_place_with_every_rating_and_reply(open_at, details):
    """Its whole text, a line per rater and elicitation, and each raw reply."""
    row, full = details.items.rows[0], details.items.full[0]
    tab = open_at("#open=errors")
    button = tab.locator("#items .open", has_text=row.id).first
    assert button.get_attribute("aria-expanded") == "false"
    button.focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#items .opened")).to_have_count(1)
    lines = tab.locator("#items .opened tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert lines == [
        *([f"rater {a.name}", a.elicitation.replace("_", " "), a.text, ""] for a in full.raters),
        *([a.name, a.elicitation.replace("_", " "), a.text, a.reply] for a in full.judges),
    ]
    assert tab.locator("#items .opened blockquote").inner_text() == full.text
    assert tab.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert filters_in(tab)["item"] == [row.id]
    tab.keyboard.press("Enter")
    expect(tab.locator("#items .opened")).to_have_count(0)


def test_address_restores_filters_page_and_opened_item(open_at, details):
    """What one reader sees, another sees from the link alone."""
    tab = open_at("#open=errors")
    tab.locator("#filter-agreement").select_option("differs")
    tab.locator("#next").click()
    tab.locator("#items .open").first.click()
    tab.locator("#find").fill("i")
    tab.locator("#next").click()
    place = tab.evaluate("location.hash")
    other = open_at(place)
    for selector in ("#items", "#item-count"):
        assert other.locator(selector).inner_text() == tab.locator(selector).inner_text()
    assert other.locator("#find").input_value() == "i"
    last = details.items.rows[-1].id
    alone = open_at(f"#open=errors&item={last}")
    expect(alone.locator("#items .opened")).to_have_count(1)  # on whichever page it stands


def test_names_that_need_quoting_survive_the_address(open_at):
    """A link to a judge with markup, blanks and signs in its name."""
    tab = open_at(items_link(judge=BAD_NAME))
    expect(tab.locator("#filter-judge")).to_have_value(BAD_NAME)
    assert open_at("#open=errors&judge=nobody&page=x").locator("#items tbody tr").count() > 0


def test_item_table_fits_400_pixels(open_at):
    """Filters and an opened item are read without scrolling sideways."""
    tab = open_at("#open=errors")
    tab.set_viewport_size(NARROW)
    tab.locator("#items .open").first.click()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = tab.locator("#items .inside").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW["width"]


def test_large_tables_are_cut_and_say_so(open_with, folder, monkeypatch):
    """At a number of items, and of characters of replies; the rest of the table is usable."""
    monkeypatch.setattr(item_answers, "MAX_ITEMS", 40)
    monkeypatch.setattr(item_table_module, "MAX_CHARACTERS", 9000)
    table = item_table(answered_items(source_of(folder)))
    assert len(table.rows) == 40
    assert 0 < len(table.full) < 40
    assert sum(item.size for item in table.full) <= 9000
    tab = open_with(table)
    text = tab.locator("#errors").inner_text()
    assert f"The table has the 40 most disputed of {N_ITEMS} items." in text
    assert f"The ratings and replies of the first {len(table.full)} open in place" in text
    assert len(ids(tab)) == 40


def test_without_item_text_nothing_of_an_item_is_shown(open_with, details):
    """As where a run keeps no text: ids, ratings and replies remain."""
    rows = tuple(replace(row, text="") for row in details.items.rows)
    full = tuple(replace(item, text="") for item in details.items.full)
    tab = open_with(replace(details.items, rows=rows, full=full))
    tab.locator("#items .open").first.click()
    assert "(text not kept)" in tab.locator("#items .opened").inner_text()
    assert not tab.locator("#items .text").first.is_visible()
    assert "Comment 1" not in tab.locator("#errors").inner_text()
