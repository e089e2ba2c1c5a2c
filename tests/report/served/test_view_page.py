"""The page of `harness view` in headless Chromium: offline, inert, by keyboard, accessible."""

from __future__ import annotations

import pytest
from support.hostile_run import HOSTILE
from support.local_pages import NARROW, WIDE, serving, tab_of
from support.packages import checking
from support.viewed_runs import JUDGE, N_CHANGED, N_VIEWED

expect = checking("playwright", "playwright.sync_api").expect
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tab(browser, viewed):
    """A tab on the list of three runs."""
    place, names = viewed
    with serving("view", cwd=place) as server:
        opened = tab_of(browser)
        opened.goto(server.address)
        opened.locator("#runs tr").first.wait_for()
        opened.names, opened.origin, opened.runs = names, server.origin, place / "runs"
        yield opened
        opened.context.close()


@pytest.fixture
def listed(tab):
    """The tab, with the list of runs."""
    tab.goto(f"{tab.origin}/#")
    tab.reload()
    tab.locator("#runs tr").first.wait_for()
    return tab


@pytest.fixture
def paired(tab):
    """The tab, with the first two runs side by side."""
    tab.goto(f"{tab.origin}/#first={tab.names[0]}&second={tab.names[1]}")
    tab.reload()
    tab.locator("#items > li").first.wait_for()
    return tab


def test_list_shows_each_run_with_its_verdict_and_progress(listed):
    """Newest first, as the reports say; the running one has a bar."""
    rows = listed.locator("#runs tr")
    expect(rows).to_have_count(3)
    done = rows.filter(has=listed.get_by_label(f"Compare {listed.names[0]}", exact=True))
    expect(done).to_contain_text("Don't use any")
    expect(done).to_contain_text(JUDGE)
    expect(done).to_contain_text("$0.0000")
    running = rows.filter(has=listed.get_by_label(f"Compare {listed.names[2]}", exact=True))
    expect(running).to_contain_text(f"{N_VIEWED} of {2 * N_VIEWED} replies")
    bar = running.get_by_role("progressbar")
    assert bar.evaluate("bar => bar.value / bar.max") == 0.5


def test_list_says_how_many_runs_are_still_to_select(listed):
    """ "0 of 2 runs selected" read as if the list had only two runs."""
    expect(listed.locator("#chosen")).to_have_text("Select two runs.")
    boxes = listed.locator("#runs input")
    boxes.nth(0).check()
    expect(listed.locator("#chosen")).to_have_text("Select one more run.")
    boxes.nth(0).uncheck()


def test_list_follows_a_run_that_goes_on(listed):
    """Replies that arrive are counted without a reload, and the selection stays."""
    log = listed.runs / listed.names[2] / "verdicts.jsonl"
    before = log.read_bytes()
    whole = (listed.runs / listed.names[0] / "verdicts.jsonl").read_bytes()
    box = listed.get_by_label(f"Compare {listed.names[0]}", exact=True)
    box.check()
    try:
        log.write_bytes(whole)
        listed.get_by_text(f"{2 * N_VIEWED} of {2 * N_VIEWED} replies").wait_for()
        expect(box).to_be_checked()
    finally:
        log.write_bytes(before)


def test_two_runs_are_chosen_and_read_by_keyboard(listed):
    """Space selects, Enter submits, and the heading of the new view has the focus."""
    for name in listed.names[:2]:
        listed.get_by_label(f"Compare {name}", exact=True).focus()
        listed.keyboard.press(" ")
    listed.locator("#compare").focus()
    listed.keyboard.press("Enter")
    listed.locator("#items > li").first.wait_for()
    assert listed.evaluate("document.activeElement.id") == "pair-heading"
    assert listed.locator("#names dd").all_inner_texts() == listed.names[:2]
    summary = listed.locator("#items summary").first
    summary.focus()
    listed.keyboard.press("Enter")
    listed.locator("#items .replies").first.wait_for()
    listed.go_back()
    expect(listed.locator("#list")).to_be_visible()


def test_one_run_is_not_compared(listed):
    """The page says what to select."""
    listed.get_by_label(f"Compare {listed.names[0]}", exact=True).check()
    listed.locator("#compare").click()
    expect(listed.locator("#problem")).to_have_text("Select two runs.")


def test_items_are_filtered(paired):
    """By change, outcome, field, agreement, judge and text, alone and together."""
    items, count = paired.locator("#items > li"), paired.locator("#count")
    expect(items).to_have_count(N_VIEWED)
    paired.locator("#change").select_option("changed")
    expect(items).to_have_count(N_CHANGED)
    expect(count).to_contain_text(f"{N_CHANGED} of {N_VIEWED} items")
    paired.locator("#field").select_option(label="language: de")
    expect(items).to_have_count(N_CHANGED // 2)
    paired.locator("#judge").select_option("mute")
    expect(items).to_have_count(0)
    paired.locator("#change").select_option("")
    paired.locator("#field").select_option("")
    paired.locator("#outcome").select_option("invalid")
    expect(items).to_have_count(N_VIEWED)
    paired.locator("#judge").select_option(JUDGE)
    expect(items).to_have_count(0)
    paired.locator("#outcome").select_option("")
    paired.locator("#find").fill("Comment 7.")
    expect(items).to_have_count(1)
    paired.locator("#find").fill("")
    counts = {}
    for kind in ("agrees", "differs", "gained", "lost"):
        paired.locator("#agreement").select_option(kind)
        counts[kind] = items.count()
    paired.locator("#agreement").select_option("")
    assert counts["agrees"] + counts["differs"] == N_VIEWED
    assert counts["gained"] + counts["lost"] <= N_CHANGED


def test_hostile_texts_are_shown_as_text(paired):
    """What items, judges and replies say is shown, and none of it runs."""
    paired.locator("#items summary").first.click()
    paired.locator("#items .replies").first.wait_for()
    shown = paired.locator("#items").inner_text()
    assert HOSTILE[2] in shown
    assert JUDGE in shown
    assert paired.locator("main img, main iframe, main script, main svg, main i").count() == 0
    assert paired.evaluate("window.hit") is None


def test_report_opens_and_works(listed):
    """Its own script runs, without access to the page's origin."""
    listed.get_by_label(f"Report of {listed.names[0]}", exact=True).click()
    listed.locator("#theme").wait_for()
    listed.locator("#theme").click()
    assert listed.evaluate("document.documentElement.dataset.theme") == "light"
    assert listed.evaluate("self.origin") == "null"
    blocked = "fetch('/runs').then(() => 'read', () => 'blocked')"
    assert listed.evaluate(blocked) == "blocked"
    listed.messages.clear()  # the browser's words about the blocked request


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("shown", ["listed", "paired"])
def test_page_is_accessible_and_fits(request, shown, scheme, viewport):
    """axe finds nothing serious in either theme, and nothing is wider than a telephone."""
    axe = checking("axe-playwright-python", "axe_playwright_python.sync_playwright")
    tab = request.getfixturevalue(shown)
    tab.set_viewport_size(viewport)
    tab.emulate_media(color_scheme=scheme)
    if shown == "paired":
        tab.locator("#items summary").first.click()
        tab.locator("#items .replies").first.wait_for()
    violations = axe.Axe().run(tab).response["violations"]
    assert [v["id"] for v in violations if v["impact"] in {"serious", "critical"}] == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(251, 250, 247)", "dark": "rgb(20, 22, 26)"}[scheme]
    tab.set_viewport_size(WIDE)


def test_page_asks_only_its_own_server(paired):
    """No request leaves this computer, and the browser has nothing to say about the page."""
    assert all(url.startswith(paired.origin) for url in paired.requests)
    assert paired.messages == []
