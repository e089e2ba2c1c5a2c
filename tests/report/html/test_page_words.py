"""How much there is to read on a page, shown and folded, and in the data of its script."""

from __future__ import annotations

import re

import pytest
from support.html_pages import MOST_WORDS, n_words
from support.processes import invoke

MOST_HEIGHT, MOST_WORDS_OPEN = 10_500, 3_600  # CSS pixels and words: half of what they once were


def test_words_are_counted_once_wherever_they_stand():
    """Text between tags, in drawings, and in the script's data; no code and no attribute."""
    html = (
        '<style>a b</style><body class="x y"><p title="not this">two words</p>'
        "<svg><title>three more words</title></svg>"
        '<script type="application/json" id="block">{"a": ["four", 1, {"b": "and five"}], '
        '"chartStyle": "no"}</script><script>let code = 1;</script></body>'
    )
    assert n_words(html) == 8


@pytest.fixture(scope="module")
def bundled_page(tmp_path_factory):
    """The page of three judges that cost nothing, on the bundled task."""
    place = tmp_path_factory.mktemp("words")
    judges = ("--judges", "lexicon,random", "--out", place / "runs")
    result = invoke("run", "--task", "toxicity", *judges, "--cache", place / "cache", "--quiet")
    assert result.exit_code == 0, result.output
    return next(place.glob("runs/*/report.html")).read_text(encoding="utf-8")


@pytest.mark.slow
def test_page_of_the_bundled_task_is_half_as_long_as_it_was(bundled_page):
    """Three judges on 120 items: at most 13,000 words, the folded ones included."""
    assert n_words(bundled_page) <= MOST_WORDS


@pytest.mark.slow
def test_page_with_every_section_open_is_half_as_high_as_it_was(browser, bundled_page):
    """At most 10,500 px and 3,600 words; groups in a section stay folded."""
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    opened.set_content(bundled_page)
    opened.evaluate("document.querySelectorAll('.part').forEach(part => { part.open = true })")
    assert opened.evaluate("document.documentElement.scrollHeight") <= MOST_HEIGHT
    assert len(opened.locator("body").inner_text().split()) <= MOST_WORDS_OPEN
    opened.close()


@pytest.mark.slow
def test_no_row_of_the_table_by_beta_is_empty(bundled_page):
    """Metrics that are NA at every beta had rows of their own."""
    [table] = re.findall(
        r'aria-label="Selected judge by metric and beta: decision.*?</table>',
        bundled_page,
        re.DOTALL,
    )
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    assert len(rows) > 1
    assert not [row for row in rows if set(re.findall(r"<td>(.*?)</td>", row)) == {"NA"}]


@pytest.mark.slow
def test_numbers_beside_a_small_chart_were_repeated_in_it(bundled_page):
    """A chart in a row of a table has no text beyond what the row says."""
    charts = re.findall(r'<svg class="rowchart".*?</svg>', bundled_page, re.DOTALL)
    assert len(charts) > 100
    assert not [chart for chart in charts if "<title>" in chart]


def test_buttons_of_a_chart_repeated_its_title(bundled_page):
    """They are named by the caption itself, which a screen reader adds."""
    for button in re.findall(r"<button[^>]*data-save[^>]*>.*?</button>", bundled_page):
        own, title = re.search(r'aria-labelledby="(\S+) (\S+)"', button).groups()
        assert f'id="{own}"' in button
        assert bundled_page.count(f'<figcaption id="{title}"') == 1
        assert re.search(r">(\w+)</button>", button)[1] in {"CSV", "SVG"}
