"""The page of a history in a browser."""

from __future__ import annotations

import pytest
from support.look_schedules import Schedule, flawed, majority, replies
from support.processes import invoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory, stub):
    """The page of a history in which two judges changed, one of them in two ways."""
    folder = tmp_path_factory.mktemp("page")
    tables = {name: replies(60, majority) for name in ("first", "second")}
    schedule = Schedule(folder, stub, tables, samples=5)
    schedule.look()
    stub.set_table("first", replies(60, flawed))
    stub.set_table("second", replies(60, lambda i: "A" if i % 5 == 0 else "B"))
    schedule.look(code=1)
    invoke("history", schedule.run, "--page", folder / "history.html")
    return folder / "history.html"


def test_the_page_filters_changed_answers(page, browser):
    """Ten are shown, or all; lists choose a judge and a change, and the count follows."""
    tab = browser.new_page()
    tab.goto(page.as_uri())
    rows = tab.locator("table.changed tbody tr:visible")
    assert rows.count() == 10
    tab.locator('[data-changed="judge"]').select_option("second")
    tab.locator('[data-changed="n"]').select_option("all")
    judges = set(rows.evaluate_all("rows => rows.map(row => row.dataset.judge)"))
    assert judges == {"second"}
    n_second = rows.count()
    tab.locator('[data-changed="change"]').select_option("Toxic to Not toxic")
    assert 0 < rows.count() < n_second
    assert tab.locator("#changed-count").inner_text() == f"{rows.count()} of {rows.count()}"
    tab.close()


def test_filters_hid_the_judges_below_a_sentence_on_a_changed_judge(page, browser, tmp_path):
    """The box of the verdict has the verdict's name, too; its table is none of changed answers."""
    html = page.read_text("utf-8")
    assert 'class="decision worse"' in html
    other = tmp_path / "changed.html"
    other.write_text(html.replace('class="decision worse"', 'class="decision changed"'), "utf-8")
    tab = browser.new_page()
    tab.goto(other.as_uri())
    assert tab.locator("table.changed tbody tr:visible").count() == 10
    tab.locator('[data-changed="judge"]').select_option("second")
    assert tab.locator(".decision tbody tr:visible").count() == 2
    tab.close()


@pytest.mark.parametrize("width", [400, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_the_screen(page, browser, width, scheme):
    """Tables and charts scroll within it, and the browser has nothing to say."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    messages = []
    tab.on("console", lambda message: messages.append(message.text))
    tab.on("pageerror", lambda error: messages.append(str(error)))
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator("svg").count() >= 12
    assert messages == []
    tab.close()


def test_rows_in_the_verdict_had_the_colour_of_the_page(page, browser):
    """In a dark theme that was a black block in a grey box; a round's verdicts keep to one line."""
    tab = browser.new_page(viewport={"width": 400, "height": 900}, color_scheme="dark")
    tab.goto(page.as_uri())
    colour = "node => getComputedStyle(node).backgroundColor"
    box = tab.locator(".decision")
    assert box.locator("tbody tr").first.evaluate(colour) == box.evaluate(colour)
    cell = tab.locator("td.verdicts").first
    lines = "node => node.clientHeight / parseFloat(getComputedStyle(node).lineHeight)"
    assert cell.evaluate(lines) < 3
    tab.close()
