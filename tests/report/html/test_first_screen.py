"""The first screen answers five questions; the rest is folded, and can be linked."""

from __future__ import annotations

import re

import pytest

from harness.report.next_steps import next_steps
from harness.report.recommendation import reasons, summary

pytestmark = pytest.mark.slow

SCREENS = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 400, "height": 800}}
MAX_HEIGHT = 4000  # CSS pixels
MAX_WORDS = 900
GREEK = re.compile(r"[\u0370-\u03ff]|\b(alpha|beta|tau|eps|epsilon|omega|theta)\b|\(\w+/\w+\)")


@pytest.fixture(scope="module", params=SCREENS)
def closed(request, browser, folder):
    """The page as it opens, on a wide and on a narrow screen."""
    opened = browser.new_page(viewport=SCREENS[request.param])
    opened.goto((folder.path / "report.html").as_uri())
    yield opened
    opened.close()


@pytest.fixture
def fresh(browser, folder):
    """A function that opens the page at a place of its address."""
    pages = []

    def open_at(place: str):
        pages.append(browser.new_page(viewport=SCREENS["wide"]))
        pages[-1].goto((folder.path / "report.html").as_uri() + place)
        return pages[-1]

    yield open_at
    for opened in pages:
        opened.close()


def first_screen(opened) -> str:
    return opened.locator("section.first").inner_text()


def open_sections(opened) -> list[str]:
    return opened.locator("details.part[open]").evaluate_all("parts => parts.map(p => p.id)")


def test_closed_page_is_short(closed):
    """At most 4,000 px high and 900 words long."""
    assert closed.evaluate("document.documentElement.scrollHeight") <= MAX_HEIGHT
    assert len(closed.locator("body").inner_text().split()) <= MAX_WORDS


def test_closed_page_fits_its_width(closed):
    """Nothing is cut off at the right."""
    assert closed.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_first_screen_ends_above_the_fold(fresh):
    """Verdict, chart, numbers and next step are seen without scrolling."""
    bottom = "document.querySelector('section.first').getBoundingClientRect().bottom"
    assert fresh("").evaluate(bottom) <= SCREENS["wide"]["height"]


def test_first_screen_answers_five_questions(closed, validation):
    """Which judge, may I use it, how sure, what does it cost, what now."""
    text, decision = first_screen(closed), validation.decision
    assert decision.leader in closed.locator(".verdict").inner_text()
    assert closed.locator(f".decision.{decision.verdict}").inner_text().startswith("Use")
    assert summary(validation)[0] in text
    for reason in reasons(validation):
        assert reason in text
    human = validation.evidence.judges[0].human
    assert human.difference < 0
    closer = f"closer to the raters than a human rater [{-human.high:.3f}, {-human.low:.3f}]"
    assert closer in closed.locator(".figures").inner_text()
    assert "per 1,000" in text
    shown = " ".join(closed.locator(".next li").all_inner_texts()).replace(" Copy", "")
    for step in next_steps(validation):
        assert step.replace("`", "").removesuffix(".") in shown


def test_first_screen_has_one_chart_and_three_numbers(closed):
    """Judges, computed baselines and a human rater are on one axis."""
    assert closed.locator("section.first figure").count() == 1
    assert closed.locator(".figures dd").count() == 3
    chart = closed.locator("#chart-ranking svg").first.text_content()
    for name in (
        "follows",
        "lenient",
        "human rater",
        "random guess",
        "proportional guess",
        "most common answer",
    ):
        assert name in chart


def test_first_screen_has_no_greek_and_no_forms_of_metrics(closed):
    """Symbols stand in tooltips, the glossary and the folded sections."""
    assert not GREEK.search(first_screen(closed))
    assert not GREEK.search(closed.locator("main > header").inner_text())


def test_each_folded_section_tells_its_result(closed):
    """The line beside a title is not empty."""
    results = closed.locator("details.part > summary .result")
    assert results.count() == 6
    assert all(text.strip() for text in results.all_inner_texts())


def test_address_names_the_open_sections(fresh):
    """What is open can be linked."""
    opened = fresh("")
    for name in ("errors", "ranking"):
        opened.locator(f"#{name} > summary").click()
    opened.wait_for_url("**/*#open=ranking,errors")
    assert open_sections(fresh(opened.evaluate("location.hash"))) == ["ranking", "errors"]


def test_address_of_a_place_opens_its_section(fresh):
    """A link into a folded section shows it."""
    assert open_sections(fresh("#glossary")) == ["provenance"]
    opened = fresh("")
    opened.locator("nav a[href='#certainty']").click()
    opened.locator("#certainty[open]").wait_for()
    assert open_sections(opened) == ["certainty"]


def test_term_of_the_first_screen_leads_to_the_glossary(fresh):
    """Its meaning is the tooltip, and a click opens the glossary at it."""
    opened = fresh("")
    term = opened.locator("section.first .term").first
    entry = opened.locator(term.get_attribute("href"))
    assert term.get_attribute("title") == entry.locator("td.meaning").text_content()
    term.click()
    entry.wait_for()
    assert open_sections(opened) == ["provenance"]


def test_verdict_is_larger_than_the_question(closed):
    """The question was printed larger than its answer."""
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    assert closed.locator(".verdict").evaluate(size) > closed.locator("h1").evaluate(size)


def test_page_has_one_font_family(closed):
    """Headings were in another family than the text."""
    families = closed.evaluate(
        "[...document.querySelectorAll('main :not(pre, code, pre *)')]"
        ".filter(e => e.checkVisibility() && e.innerText)"
        ".map(e => getComputedStyle(e).fontFamily)"
    )
    assert set(families) == {"system-ui, sans-serif"}


def test_long_name_of_the_best_judge_was_cut_at_its_first_letter(closed):
    """Names are drawn within the chart on a phone too, where its letters are larger."""
    overhang = closed.locator("#chart-ranking svg").first.evaluate(
        "svg => Math.min(...[...svg.querySelectorAll('text.name')]"
        ".map(text => text.getBoundingClientRect().left - svg.getBoundingClientRect().left))"
    )
    assert overhang >= 0


def test_every_judge_is_in_the_first_chart(closed, validation):
    """Those behind the eighth were left out; each has its value beside its dot."""
    chart = closed.locator("#chart-ranking svg").first
    labels = "".join(chart.locator("text.name").all_text_contents())
    for row in validation.evidence.judges:
        assert row.judge.replace(" ", "") in labels.replace(" ", "")
        if row.value is not None:
            assert f"{row.value:.3f}" in chart.locator("text.value").all_text_contents()
    assert chart.locator("line.divider").count() == 1


def test_names_of_sections_are_questions(closed):
    """And a section without data is absent."""
    titles = closed.locator("details.part h2").all_inner_texts()
    assert all(title.endswith("?") for title in titles)
    assert "Where is it wrong?" in titles
