"""The page of `harness annotate` in headless Chromium: by keyboard, killed and resumed."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect
from support.annotating import make_unrated_task, page_server
from support.hostile_run import HOSTILE
from support.processes import invoke

BIDI = "abc \u202egnp.exe \u2066 end \x1b[31m"
N_ITEMS = 20
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}


def tab_of(browser, viewport=WIDE, **options):
    """Open a tab of its own, with its requests and console messages."""
    tab = browser.new_context(viewport=viewport, **options).new_page()
    tab.set_default_timeout(10_000)
    tab.requests, tab.messages = [], []
    tab.on("request", lambda request: tab.requests.append(request.url))
    tab.on("console", lambda message: tab.messages.append(message.text))
    tab.on("pageerror", lambda error: tab.messages.append(str(error)))
    tab.on("dialog", lambda dialog: tab.messages.append(dialog.message))
    return tab


def answer(tab, *keys: str) -> None:
    """Press keys, and wait for the next question."""
    before = tab.locator("#heading").inner_text()
    for key in keys:
        tab.keyboard.press(key)
    tab.wait_for_function(
        "before => document.getElementById('heading').innerText !== before"
        " || !document.getElementById('done').hidden",
        arg=before,
    )


def answers(task, rater):
    lines = (task / "annotations" / f"{rater}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_items_are_rated_by_keyboard_through_a_crash(browser, tmp_path):
    """20 items in paired form, killed with -9 midway and resumed: nothing is lost or doubled."""
    task = make_unrated_task(tmp_path / "task", [f"Comment {i}." for i in range(N_ITEMS)])
    expected = {}

    def rate(tab, n):
        for _ in range(n):
            text = tab.locator("article .text").inner_text()
            index = int(re.search(r"\d+", text)[0])
            choice = "A" if index % 3 == 0 else "B"
            assert "part 1 of 2" in tab.locator("#heading").inner_text()
            both = index % 2 == 0
            key = "1" if choice == "A" else "2"
            answer(tab, *(("1", "2") if both else (key,)), "Enter")
            assert tab.locator("article .text").inner_text() == text
            assert tab.locator("#options input").count() == (2 if both else 1)
            answer(tab, key if both else "1", "Enter")
            expected[f"i{index}"] = (choice, ["A", "B"] if both else [choice])

    with page_server(task, "ann", "--elicitation", "paired") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        assert tab.url == f"{server.origin}/"
        rate(tab, 9)
        tab.keyboard.press("1")
        server.process.kill()
        server.process.wait()
        tab.keyboard.press("Enter")
        tab.get_by_text("Not saved").wait_for()
    with page_server(task, "ann", "--elicitation", "paired") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        tab.get_by_text(f"9 of {N_ITEMS} rated").wait_for()
        rate(tab, N_ITEMS - 9)
        assert tab.locator("#done").is_visible()
        assert all(url.startswith(server.origin) for url in tab.requests)
        assert tab.messages == []
        tab.context.close()
    assert len(answers(task, "ann")) == 2 * N_ITEMS
    assert invoke("annotate", task, "--merge").exit_code == 0
    rows = [json.loads(line) for line in (task / "ratings.jsonl").read_text().splitlines()]
    merged = {}
    for row in rows:
        merged.setdefault(row["item"], {})[row["elicitation"]] = row["value"]
    assert {
        item: (values["forced_choice"], values["response_set"]) for item, values in merged.items()
    } == expected


def test_set_is_changed_where_none_of_its_options_fits(browser, tmp_path):
    """By button or key, before the choice is made; the choice alone has the button."""
    task = make_unrated_task(tmp_path / "task", ["Hm."])
    with page_server(task, "ann", "--elicitation", "paired") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        change = tab.get_by_role("button", name="None of these, change the set")
        tab.get_by_text("part 1 of 2").wait_for()
        assert not change.is_visible()
        answer(tab, "2", "Enter")
        change.click()
        tab.get_by_text("part 1 of 2").wait_for()
        answer(tab, "2", "Enter")
        answer(tab, "c")
        assert "part 1 of 2" in tab.locator("#heading").inner_text()
        answer(tab, "1", "2", "Enter")
        answer(tab, "1", "Enter")
        assert tab.locator("#done").is_visible()
        tab.context.close()
    values = [row["value"] for row in answers(task, "ann")]
    assert values == [["B"], None, ["B"], None, ["A", "B"], "A"]


@pytest.fixture(scope="module")
def hostile(browser, tmp_path_factory):
    """A tab on a task with hostile texts and names, and its folder."""
    task = make_unrated_task(tmp_path_factory.mktemp("hostile") / "task", [*HOSTILE, BIDI])
    yaml = (task / "task.yaml").read_text(encoding="utf-8")
    yaml = yaml.replace("label: Toxic", 'label: "<b onclick=window.hit=1>Toxic</b>"')
    yaml = yaml.replace("Read the comment", "<script>window.hit=1</script> {{ 7*7 }}")
    (task / "task.yaml").write_text(yaml, encoding="utf-8")
    with page_server(task, "<i>ann</i>", "--elicitation", "response_set") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        tab.locator("#work").wait_for()
        yield tab, task
        tab.context.close()


def test_hostile_texts_are_shown_as_text(hostile):
    """Markup, scripts and control characters are shown, and nothing of them runs."""
    tab, _ = hostile
    shown = set()
    while tab.locator("#work").is_visible():
        shown.add(tab.locator("article .text").inner_text())
        assert tab.locator("main img, main iframe, main script, main svg, main b").count() == 0
        answer(tab, "2", "Enter")
    assert "<b onclick=window.hit=1>Toxic</b>" in tab.locator("#options").text_content()
    assert "<script>window.hit=1</script> {{ 7*7 }}" in tab.locator(".instructions").inner_text()
    assert HOSTILE[0] in shown
    assert "abc \ufffdgnp.exe \ufffd end \u241b[31m" in shown
    assert tab.evaluate("window.hit") is None
    assert tab.messages == []


def test_undo_pause_and_abstention_by_keyboard(hostile):
    """`u` takes back the last answer, `p` hides the item, `0` says that it cannot be assessed."""
    tab, task = hostile
    if tab.locator("#work").is_visible():
        answer(tab, "1", "Enter")
    last = answers(task, "%3Ci%3Eann%3C%2Fi%3E")[-1]
    tab.keyboard.press("u")
    tab.get_by_text("Taken back.").wait_for()
    tab.keyboard.press("p")
    expect(tab.locator("#paused")).to_be_visible()
    expect(tab.locator("article").first).to_be_hidden()
    tab.keyboard.press("2")
    tab.keyboard.press("p")
    expect(tab.locator("#work")).to_be_visible()
    tab.keyboard.press("Enter")
    expect(tab.locator("#problem")).to_have_text("Choose an option first.")
    answer(tab, "0")
    withdrawn, abstained = answers(task, "%3Ci%3Eann%3C%2Fi%3E")[-2:]
    assert (withdrawn["value"], withdrawn["item"]) == (None, last["item"])
    assert (abstained["value"], abstained["item"]) == ("CANNOT_ASSESS", last["item"])
    tab.keyboard.press("u")
    tab.locator("#work").wait_for()


def test_space_chooses_and_keys_can_be_switched_off(hostile):
    """The space key works as in any form, also where the other keys are switched off."""
    tab, _ = hostile
    first = tab.locator("#options input").first
    first.focus()
    was = first.is_checked()
    tab.keyboard.press(" ")
    expect(first).to_be_checked(checked=not was)
    tab.locator("#shortcuts").uncheck()
    tab.keyboard.press("p")
    assert tab.locator("#work").is_visible()
    tab.locator("#shortcuts").check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_page_is_accessible_and_fits(hostile, scheme, viewport):
    """axe finds nothing serious in either theme, and nothing is wider than a telephone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    tab, _ = hostile
    tab.set_viewport_size(viewport)
    tab.emulate_media(color_scheme=scheme)
    violations = axe.Axe().run(tab).response["violations"]
    assert [v["id"] for v in violations if v["impact"] in {"serious", "critical"}] == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(251, 250, 247)", "dark": "rgb(20, 22, 26)"}[scheme]


def test_next_item_is_scrolled_into_view(hostile):
    """After an answer at the end of a long page the next heading is on the screen."""
    tab, _ = hostile
    tab.set_viewport_size({"width": 400, "height": 300})
    tab.wait_for_function("document.querySelector('#work:not([hidden]), #done:not([hidden])')")
    if tab.locator("#done").is_visible():
        tab.keyboard.press("u")
        tab.locator("#work").wait_for()
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    answer(tab, "0")
    top = tab.evaluate("document.activeElement.getBoundingClientRect().top")
    assert 0 <= top < 300
    tab.keyboard.press("u")
    tab.locator("#work").wait_for()
    tab.set_viewport_size(WIDE)


def test_question_is_announced(hostile):
    """The heading of a new item has the focus, and the options are one named group."""
    tab, _ = hostile
    tab.reload()
    tab.locator("#work").wait_for()
    assert tab.evaluate("document.activeElement.id") == "heading"
    group = tab.get_by_role("group", name="Which options do you find reasonable")
    assert group.get_by_role("checkbox").count() == 2
