"""The page of `harness annotate` in headless Chromium: by keyboard, killed and resumed."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from support.annotating import make_unrated_task, page_server
from support.hostile_run import HOSTILE
from support.local_pages import NARROW, WIDE, tab_of
from support.packages import checking
from support.processes import invoke
from support.task_folders import write_jsonl

pytestmark = pytest.mark.slow  # its packages are in the group `check`

expect = checking("playwright", "playwright.sync_api").expect

BIDI = "abc \u202egnp.exe \u2066 end \x1b[31m"
N_ITEMS = 20


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
            assert tab.locator("#questions input").count() == (2 if both else 1)
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
    assert invoke("annotate", "merge", task).exit_code == 0
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
        change = tab.get_by_role("button", name="None of these: change the set")
        tab.get_by_text("part 1 of 2").wait_for()
        assert not change.is_visible()
        answer(tab, "2", "Enter")
        change.click()
        tab.get_by_text("part 1 of 2").wait_for()
        assert tab.locator("#questions input").nth(1).is_checked()
        answer(tab, "Enter")
        answer(tab, "c")
        assert "part 1 of 2" in tab.locator("#heading").inner_text()
        answer(tab, "1", "Enter")
        answer(tab, "1", "Enter")
        assert tab.locator("#done").is_visible()
        tab.context.close()
    values = [row["value"] for row in answers(task, "ann")]
    assert values == [["B"], ["A", "B"], "A"]


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
    assert "<b onclick=window.hit=1>Toxic</b>" in tab.locator("#questions").text_content()
    assert "<script>window.hit=1</script> {{ 7*7 }}" in tab.locator(".instructions").inner_text()
    assert HOSTILE[0] in shown
    assert "abc \ufffdgnp.exe \ufffd end \u241b[31m" in shown
    assert tab.evaluate("window.hit") is None
    assert tab.messages == []


def test_back_pause_and_abstention_by_keyboard(hostile):
    """`b` shows the last answer, `p` hides the item, `0` says that it cannot be assessed."""
    tab, task = hostile
    if tab.locator("#work").is_visible():
        answer(tab, "1", "Enter")
    last = answers(task, "%3Ci%3Eann%3C%2Fi%3E")[-1]
    tab.keyboard.press("b")
    tab.locator("#forward").wait_for()
    assert tab.locator("#questions input:checked").count() == len(last["value"])
    tab.keyboard.press("p")
    expect(tab.locator("#paused")).to_be_visible()
    expect(tab.locator("article").first).to_be_hidden()
    tab.keyboard.press("2")
    tab.keyboard.press("p")
    expect(tab.locator("#work")).to_be_visible()
    answer(tab, "0")
    abstained = answers(task, "%3Ci%3Eann%3C%2Fi%3E")[-1]
    assert (abstained["value"], abstained["item"]) == ("CANNOT_ASSESS", last["item"])
    tab.keyboard.press("b")
    expect(tab.locator("#note")).to_have_text("You could not assess this item.")
    tab.keyboard.press("Enter")
    expect(tab.locator("#problem")).to_have_text("Choose an option first.")


def test_space_chooses_and_keys_can_be_switched_off(hostile):
    """The space key works as in any form, also where the other keys are switched off."""
    tab, _ = hostile
    first = tab.locator("#questions input").first
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
    axe = checking("axe-playwright-python", "axe_playwright_python.sync_playwright")
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
        tab.keyboard.press("b")
        tab.locator("#work").wait_for()
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    answer(tab, "0")
    top = tab.evaluate("document.activeElement.getBoundingClientRect().top")
    assert 0 <= top < 300
    tab.keyboard.press("b")
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


RUBRIC = """\
name: rubric
property: whether the criterion is met
scale: binary
options: [{key: met}, {key: missed}]
positive: [met]
abstain: true
rubric: {criteria: {clear: {description: Easy to read.}, correct: , polite: }}
"""
MANY = """\
name: many
property: the topic
scale: nominal
options: [%s]
response_sets: %s
"""
PAIRWISE = """\
name: pairs
property: which answer is better
scale: pairwise
options: [{key: A, label: The left one}, {key: B, label: The right one}, {key: C, label: A tie}]
text: [question, one, two]
pairwise: {answers: [one, two], first: A, second: B}
"""


def task_of(folder, yaml, items):
    make_unrated_task(folder, [])
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    write_jsonl(folder / "items.jsonl", items)
    return folder


def assert_page_fits(tab, axe):
    """Nothing is wider than the screen, and axe finds nothing serious, in themes and widths."""
    for viewport in (NARROW, WIDE):
        tab.set_viewport_size(viewport)
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            violations = axe.Axe().run(tab).response["violations"]
            assert [v["id"] for v in violations if v["impact"] in {"serious", "critical"}] == []
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_criteria_are_rated_on_one_screen_by_keyboard(browser, tmp_path):
    """The text once, a question per criterion; keys answer one after the other."""
    axe = checking("axe-playwright-python", "axe_playwright_python.sync_playwright")
    items = [
        {"id": f"{i}-{name}", "text": f"Text {i}", "group": f"g{i}", "criterion": name}
        for i in range(2)
        for name in ("clear", "correct", "polite")
    ]
    task = task_of(tmp_path / "task", RUBRIC, items)
    with page_server(task, "ann") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        tab.locator("#work").wait_for()
        assert tab.locator("article").count() == 1
        assert tab.locator("legend").all_inner_texts() == [
            "clear - Easy to read.",
            "correct",
            "polite",
        ]
        assert_page_fits(tab, axe)
        tab.keyboard.press("1")
        tab.keyboard.press("2")
        tab.keyboard.press("Enter")
        expect(tab.locator("#problem")).to_have_text("Choose an option first.")
        answer(tab, "0", "Enter")
        answer(tab, "1", "1", "1", "Enter")
        expect(tab.locator("#done")).to_be_visible()
        assert tab.messages == []
        tab.context.close()
    values = [row["value"] for row in answers(task, "ann")]
    assert values == ["met", "missed", "CANNOT_ASSESS", "met", "met", "met"]


def test_sets_of_more_than_nine_options_have_keys(browser, tmp_path):
    """The tenth option on has a letter; the set is kept in the order of the options."""
    keys = [f"topic{i}" for i in range(12)]
    sets = [[key] for key in keys] + [["topic0", "topic9", "topic11"]]
    yaml = MANY % (", ".join(f"{{key: {key}}}" for key in keys), json.dumps(sets))
    task = task_of(tmp_path / "task", yaml, [{"id": "i0", "text": "Hm."}])
    with page_server(task, "ann", "--elicitation", "response_set") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        tab.locator("#work").wait_for()
        assert tab.locator("#questions kbd").all_inner_texts()[8:] == ["9", "a", "d", "e"]
        answer(tab, "e", "a", "1", "Enter")
        expect(tab.locator("#done")).to_be_visible()
        tab.context.close()
    assert [row["value"] for row in answers(task, "ann")] == [["topic0", "topic9", "topic11"]]


def test_two_browsers_at_once_rate_pairs_with_comments(browser, tmp_path):
    """Two raters, each with an order of their own; skips, flags and comments stay with them."""
    axe = checking("axe-playwright-python", "axe_playwright_python.sync_playwright")
    items = [
        {"id": f"i{i}", "question": f"Q{i}", "one": f"One {i}", "two": f"Two {i}"} for i in range(6)
    ]
    task = task_of(tmp_path / "task", PAIRWISE, items)
    seen = {}
    with page_server(task, "ann") as one, page_server(task, "bea") as two:
        tabs = {"ann": tab_of(browser), "bea": tab_of(browser, NARROW)}
        for (rater, tab), server in zip(tabs.items(), (one, two), strict=True):
            tab.goto(server.address)
            tab.locator("#work").wait_for()
            seen[rater] = {}
        left, right = tabs["ann"].locator(".pair article").all()
        assert left.bounding_box()["y"] == right.bounding_box()["y"]
        upper, lower = tabs["bea"].locator(".pair article").all()
        assert upper.bounding_box()["y"] < lower.bounding_box()["y"]
        assert_page_fits(tabs["ann"], axe)
        for _ in range(6):
            for rater, tab in tabs.items():
                _, first, _ = tab.locator("article .text").all_inner_texts()
                seen[rater][f"i{first[-1]}"] = first.startswith("One")
                answer(tab, "1", "Enter")
        for tab in tabs.values():
            expect(tab.locator("#done")).to_be_visible()
            tab.keyboard.press("b")
            tab.locator("#work").wait_for()
        tabs["ann"].locator("#remarks summary").click()
        tabs["ann"].locator("#comment").fill("Both are poor. bspn1")
        tabs["ann"].locator("#flag").check()
        tabs["ann"].get_by_role("button", name="Save and continue").click()
        expect(tabs["ann"].locator("#done")).to_be_visible()
        tabs["bea"].get_by_role("button", name="Skip").click()
        expect(tabs["bea"].locator("#done")).to_be_visible()
        tabs["bea"].get_by_text("5 of 6 rated, 1 skipped").wait_for()
        tabs["bea"].get_by_role("button", name="Rate the skipped items").click()
        expect(tabs["bea"].locator("#note")).to_have_text("You skipped this item.")
        for tab in tabs.values():
            assert tab.messages == []
            tab.context.close()
    for rater, ones in seen.items():
        rows = answers(task, rater)[:6]
        assert {row["item"]: row["value"] for row in rows} == {
            item: "A" if is_one else "B" for item, is_one in ones.items()
        }
        assert {row["item"]: row.get("swapped", False) for row in rows} == {
            item: not is_one for item, is_one in ones.items()
        }
    last = answers(task, "ann")[-1]
    assert (last["comment"], last["flagged"]) == ("Both are poor. bspn1", True)
    assert answers(task, "bea")[-1]["skipped"]


def test_numbers_are_typed(browser, tmp_path):
    """On a continuous scale Enter in the field saves; a number out of bounds is refused."""
    yaml = "name: open\nproperty: quality\nscale: continuous\nbounds: [0, 1]\n"
    task = task_of(tmp_path / "task", yaml, [{"id": "i0", "text": "Hm."}])
    with page_server(task, "ann") as server:
        tab = tab_of(browser)
        tab.goto(server.address)
        box = tab.get_by_role("spinbutton", name="Which number fits best?")
        box.fill("1.5")
        box.press("Enter")
        expect(tab.locator("#problem")).to_have_text("Write a number from 0 to 1.")
        box.fill("0.25")
        box.press("Enter")
        expect(tab.locator("#done")).to_be_visible()
        tab.context.close()
    assert [row["value"] for row in answers(task, "ann")] == ["0.25"]


def test_a_rebound_name_reaches_nothing(browser, tmp_path):
    """A site whose name resolves to this computer (DNS rebinding) sees no item and rates none."""
    task = make_unrated_task(tmp_path / "task", ["A secret comment."])
    rules = "--host-resolver-rules=MAP rebound.example 127.0.0.1"
    program, sandbox = shutil.which("chromium") or shutil.which("chromium-browser"), "--no-sandbox"
    rebound = browser.browser_type.launch(executable_path=program, args=[sandbox, rules])
    body = {"answers": [{"item": "i0", "elicitation": "forced_choice", "value": "A"}]}
    with page_server(task, "ann") as server:
        tab = tab_of(rebound)
        origin = f"http://rebound.example:{server.port}"
        for path in ("/", "/question", f"/?token={server.token}"):
            response = tab.goto(f"{origin}{path}")
            assert response.status == 403
            assert "secret" not in tab.content()
        status = tab.evaluate(
            "body => fetch('/answer', {method: 'POST', body: JSON.stringify(body),"
            " headers: {'Content-Type': 'application/json'}}).then(r => r.status)",
            body,
        )
        assert status == 403
        rebound.close()
        server.enter()  # the token was not used up
        headers = {"Host": f"rebound.example:{server.port}", "Origin": origin}
        assert server.request("POST", "/answer", body, **headers)[0] == 403
    assert answers(task, "ann") == []
