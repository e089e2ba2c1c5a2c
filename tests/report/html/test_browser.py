"""The page in headless Chromium: offline, inert, equal to metrics.json, accessible and usable."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import pytest
from support.hostile_run import BAD_NAME, HOSTILE, N_ITEMS
from support.packages import checking
from support.processes import run_harness

from harness.analysis import Validation, validate
from harness.report import details_of, page
from harness.report.html.page import PAGE_SIZE, STATIC_ROWS
from harness.report.judge_charts import unique_slug
from harness.report.words import BASELINE_NAMES
from harness.runs.sources import source_of, source_of_verdicts

pytestmark = pytest.mark.slow  # its packages are in the group `check`

expect = checking("playwright", "playwright.sync_api").expect

HEIGHTS = re.compile(r"[ML][\d.-]+ ([\d.-]+)")  # of the points of a path
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}
PAPER = {"width": 718, "height": 1000}  # A4 between margins of 10 mm, in CSS pixels
LABEL_OFFSET = 4.0  # px by which a tick label lies below its value
ROUNDING = 0.01  # px: marks have two decimals


@pytest.fixture(scope="module")
def tab(browser, folder):
    """The page opened from disk, with its requests and console messages."""
    context = browser.new_context(viewport=WIDE, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(5000)
    opened.requests, opened.messages = [], []
    opened.on("request", lambda request: opened.requests.append(request.url))
    opened.on("console", lambda message: opened.messages.append(message.text))
    opened.on("pageerror", lambda error: opened.messages.append(str(error)))
    opened.on("dialog", lambda dialog: opened.messages.append(dialog.message))
    opened.goto((folder.path / "report.html").as_uri())
    unfold(opened)
    yield opened
    context.close()


def unfold(opened) -> None:
    """Open every section and group."""
    opened.evaluate(
        "document.querySelectorAll('.part, .group').forEach(element => { element.open = true })"
    )


def slide(tab, name: str, step: int) -> None:
    tab.locator(f"#{name}").evaluate(
        "(el, step) => { el.value = step; el.dispatchEvent(new Event('input', {bubbles: true})) }",
        step,
    )


def live(tab) -> list[list[str]]:
    return tab.locator("#live tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def axis(tab, chart: str, direction: str) -> tuple[float, float]:
    """Slope and start of an axis, from where its first and last tick stand and what they say."""
    ticks = tab.locator(f"#chart-{chart} text.tick.{direction}").evaluate_all(
        "(ticks, name) => ticks.map(t => [Number(t.textContent), Number(t.getAttribute(name))])",
        direction,
    )
    below = LABEL_OFFSET if direction == "y" else 0.0
    (a, pixel_a), (b, pixel_b) = ((value, pixel - below) for value, pixel in (ticks[0], ticks[-1]))
    slope = (b - a) / (pixel_b - pixel_a)
    return slope, a - slope * pixel_a


def test_page_makes_no_request_and_logs_nothing(tab):
    """No request leaves the file, and the browser has nothing to say about it."""
    assert len(tab.requests) == 1
    assert tab.requests[0].startswith("file:")
    assert tab.messages == []


def test_hostile_texts_do_nothing(tab):
    """What items, replies and judges say is shown, and none of it runs."""
    assert tab.evaluate("window.hit") is None
    assert tab.locator("main img, main iframe, main b, main script").count() == 0
    tab.locator("#find").fill("onerror")
    assert HOSTILE[2] in tab.locator("#items tbody").inner_text()
    tab.locator("#find").fill("")
    assert BAD_NAME in tab.locator(".ranking.own").text_content()
    assert tab.evaluate("window.hit") is None


def test_dots_stand_where_metrics_json_says(tab, validation):
    """Each dot of the first chart, read back through the axis, is what the evidence says."""
    slope, start = axis(tab, "ranking", "x")
    pixels = dict(
        tab.locator("#chart-ranking circle.dot").evaluate_all(
            "dots => dots.map(d => [d.dataset.of, Number(d.getAttribute('cx'))])"
        )
    )
    evidence = validation.evidence
    values = {row.judge: row.value for row in evidence.judges if row.value is not None}
    values |= {BASELINE_NAMES[row.name]: row.value for row in evidence.baselines}
    assert pixels.keys() == values.keys()
    for name, value in values.items():
        drawn = start + slope * pixels[name]
        assert drawn == pytest.approx(value, abs=2 * ROUNDING * abs(slope))


def test_small_text_on_a_shade_is_as_dark_as_other_text_there(tab):
    """An interval in a cell of a heat map had a contrast below 4.5 to its shade."""
    cells = tab.locator("text.in-heat")
    assert tab.locator("text.in-heat.small").count()
    assert len(set(cells.evaluate_all("all => all.map(text => getComputedStyle(text).fill)"))) == 1


def test_intervals_reach_as_far_as_metrics_json_says(tab, validation):
    """Each interval of a small chart ends where the metric's interval does."""
    slope, start = axis(tab, "leniency-recall", "x")
    ends = tab.locator("#chart-leniency-recall line.interval").evaluate_all(
        "lines => lines.map(l => [Number(l.getAttribute('x1')), Number(l.getAttribute('x2'))])"
    )
    intervals = sorted((start + slope * low, start + slope * high) for low, high in ends)
    estimates = [errors.leniency["recall"].interval for errors in validation.errors.judges]
    expected = sorted((interval.low, interval.high) for interval in estimates)
    for pair, ends in zip(intervals, expected, strict=True):
        assert pair == pytest.approx(ends, abs=2 * ROUNDING * abs(slope))


@pytest.mark.parametrize("tau", [1, 4, 7])
def test_lines_follow_the_grid_at_every_cut_off(tab, validation, tau):
    """Each line of consistency over beta passes through the numbers computed for that tau."""
    slide(tab, "tau", tau)
    chart = "decision-consistency-by-beta"
    slope, start = axis(tab, chart, "y")
    paths = dict(
        tab.locator(f"#chart-{chart} path.series").evaluate_all(
            "paths => paths.map(p => [p.dataset.of, p.getAttribute('d')])"
        )
    )
    for name, surface in validation.sensitivity.grid.judges.items():
        values = [start + slope * float(y) for y in HEIGHTS.findall(paths[name])]
        expected = [value for value in surface.consistency[tau] if value is not None]
        assert values == pytest.approx(expected, abs=2 * ROUNDING * abs(slope))


def check_ranking(tab, expected: Validation) -> None:
    """The sliders stand where a validation was computed, and show its ranking and its values."""
    grid = expected.sensitivity.grid
    at = {"beta": (grid.betas, expected.settings.beta), "tau": (grid.taus, expected.tau)}
    for name, (steps, value) in at.items():
        slide(tab, name, min(range(len(steps)), key=lambda i: abs(steps[i] - value)))
    tab.locator("#goal").select_option("consistency")
    rows = live(tab)
    assert {name: int(rank) for rank, name, _, _ in rows} == {
        row.judge: row.rank for row in expected.ranking.rows if row.rank
    }
    for _, name, consistency, bias in rows:
        metrics = expected.judge(name).metrics
        assert consistency == f"{metrics['decision_consistency'].value:.3f}"
        assert float(bias) == pytest.approx(metrics["prevalence_bias"].value, abs=6e-4)


@pytest.mark.parametrize(("beta", "tau"), [(0.0, 0.5), (0.6, 0.25), (1.0, 0.75)])
def test_sliders_rank_as_a_validation_does(tab, folder, beta, tau):
    """What the sliders show at a beta and a tau is what a validation with these computes."""
    options = {"beta": beta, "tau": tau, "metric": "decision_consistency", "n_resamples": 100}
    check_ranking(tab, validate(source_of(folder).with_settings(**options)))


def test_sliders_rank_as_the_command_line_does(tab, folder):
    """What the sliders show is what `harness validate --beta --tau` prints, in its order."""
    command = ("validate", folder.path, "--beta", 0.3, "--tau", 0.5, "--json")
    done = run_harness(*command, "--metric", "decision_consistency", cwd=folder.path.parents[1])
    assert done.returncode == 3, done.stderr  # one judge has too few usable replies
    check_ranking(tab, Validation.from_json(done.stdout))


def test_goal_changes_what_ranks(tab, validation):
    """Under the other goal the judges stand in order of absolute bias."""
    tab.locator("#goal").select_option("bias")
    biases = [abs(float(row[3])) for row in live(tab)]
    assert biases == sorted(biases)
    assert "|bias|" in tab.locator("#live-line").inner_text()
    tab.locator("#goal").select_option("consistency")


def test_sliders_move_by_the_keyboard(tab, validation):
    """An arrow key is one step of the grid, and the page says which."""
    slide(tab, "beta", 3)
    tab.locator("#beta").press("ArrowRight")
    beta = validation.sensitivity.grid.betas[4]
    expect(tab.locator("#beta-shown")).to_have_text(f"{beta:.3f}")
    expect(tab.locator("#beta")).to_have_attribute("aria-valuetext", f"beta {beta:.3f}")


def test_item_table_pages_and_finds(tab):
    """Every item is reached a page at a time, or by its words."""
    rows = tab.locator("#items tbody tr")
    ids = set()
    while True:
        ids |= set(rows.locator("th").all_inner_texts())
        if tab.locator("#next").is_disabled():
            break
        tab.locator("#next").click()
    assert ids == {f"i{i}" for i in range(N_ITEMS)}
    assert tab.locator("#item-count").inner_text().endswith(f"of {N_ITEMS} items")
    tab.locator("#find").fill("Comment 17.")
    assert rows.locator("th").all_inner_texts() == ["i17"]
    tab.locator("#find").fill("")
    assert rows.count() == PAGE_SIZE


def test_data_and_drawing_of_a_chart_can_be_downloaded(tab, validation, tmp_path):
    """Each chart's numbers come as CSV, its drawing as SVG that stands by itself."""
    chart = tab.locator("#chart-leniency-recall")
    chart.locator("summary").click()
    with tab.expect_download() as download:
        chart.locator("button[data-save=csv]").click()
    download.value.save_as(tmp_path / "chart.csv")
    rows = list(csv.DictReader((tmp_path / "chart.csv").read_text(encoding="utf-8").splitlines()))
    values = {row["name"]: float(row["value"]) for row in rows}
    assert values == {e.judge: e.leniency["recall"].value for e in validation.errors.judges}
    with tab.expect_download() as download:
        chart.locator("button[data-save=svg]").click()
    download.value.save_as(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "var(" not in text
    assert ">Recall: share of the positive items that are called positive</text>" in text


def test_first_stop_of_the_keyboard_skips_to_the_decision(tab):
    """The tab key meets the skip link first, and it is seen when met."""
    tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    tab.reload()
    tab.keyboard.press("Tab")
    expect(tab.locator(".skip")).to_be_focused()
    assert tab.locator(".skip").bounding_box()["width"] > 50


def test_colour_scheme_follows_the_system_and_the_button(tab):
    """Dark where the system is dark; the button overrides it both ways."""

    def ground() -> str:
        return tab.evaluate("getComputedStyle(document.body).backgroundColor")

    light = ground()
    tab.emulate_media(color_scheme="dark")
    dark = ground()
    assert dark != light
    tab.locator("#theme").click()
    assert ground() == light
    tab.locator("#theme").click()
    assert ground() == dark
    tab.locator("#theme").click()
    tab.emulate_media(color_scheme="light")
    assert ground() == light


def serious(tab, **options) -> list[tuple[str, str]]:
    """What axe finds, as far as it is serious."""
    axe = checking("axe-playwright-python", "axe_playwright_python.sync_playwright")
    results = axe.Axe().run(tab, options={"resultTypes": ["violations"], **options})
    return [
        (violation["id"], violation["nodes"][0]["html"][:200])
        for violation in results.response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]


@pytest.fixture(scope="module")
def brief(browser, folder):
    """The page with one element of each kind, as axe reports all alike."""
    opened = browser.new_page(viewport=WIDE)
    opened.goto((folder.path / "report.html").as_uri())
    unfold(opened)
    remove(
        opened,
        *(".multiples > :nth-child(n + 2)", "tbody tr:nth-child(n + 3)"),
        *(".practices > :nth-child(n + 4)", "details.group:nth-of-type(n + 4)"),
    )
    yield opened
    opened.close()


def remove(opened, *selectors: str) -> None:
    opened.evaluate(
        "like => document.querySelectorAll(like).forEach(element => element.remove())",
        ", ".join(selectors),
    )


def test_axe_finds_no_serious_violation(brief):
    """Names, roles, order and keyboard: nothing serious anywhere on the page."""
    assert serious(brief, rules={"color-contrast": {"enabled": False}}) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_schemes(brief, scheme):
    """What is shown stands out from its ground."""
    brief.emulate_media(color_scheme=scheme)
    remove(brief, "details:not([open]) > :not(summary)")
    assert serious(brief, runOnly=["color-contrast"]) == []


def test_page_fits_400_pixels(tab):
    """At 400 px nothing but tables and charts, in their own frames, is wider than the window."""
    tab.set_viewport_size(NARROW)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    hidden = "frames => frames.some(frame => frame.scrollWidth > frame.clientWidth)"
    assert not tab.locator("svg[data-x]").locator("..").evaluate_all(hidden)
    frame = tab.locator(".scroll:has(> .ranking:not(.own))")
    expect = "f => getComputedStyle(f, '::before').content"
    tab.locator(".scroll.more > .ranking:not(.own)").wait_for()
    assert "more to the right" in frame.evaluate(expect)
    tab.set_viewport_size(WIDE)
    tab.locator(".scroll.more > .ranking:not(.own)").wait_for(state="detached")


def test_row_names_stay_visible_while_scrolling(browser, validation, tmp_path):
    """However far tables and wide matrices are scrolled on a telephone; on paper none is twice."""
    options = tuple(f"generalised_anxiety_disorder_of_type_{i:02d}" for i in range(17))
    first = validation.errors.judges[0]
    cells = tuple(tuple(float(i == j) for j in range(17)) for i in range(17))
    wide = replace(first.confusion, human=options, judge=options, cells=cells)
    judges = (replace(first, confusion=wide), *validation.errors.judges[1:])
    errors = replace(validation.errors, judges=judges)
    bare = dict.fromkeys(("sensitivity", "certainty", "replacement", "choosing"))
    wide_validation = replace(validation, **bare, errors=errors)
    (tmp_path / "wide.html").write_text(page(wide_validation), encoding="utf-8")
    opened = browser.new_page(viewport=NARROW)
    opened.goto((tmp_path / "wide.html").as_uri())
    unfold(opened)
    name = f"#chart-confusion-{unique_slug(first.judge)} > .scroll"
    stub, cell = (
        opened.locator(f"{name} {selector}").first for selector in (".stub", "svg:not(.stub) .heat")
    )
    edge = stub.bounding_box()["x"] + stub.bounding_box()["width"]
    assert 0 <= cell.bounding_box()["x"] - edge < 3  # px: no name shows a second time between them
    for frame, named in (
        (name, ".stub text.name"),
        (".scroll:has(> .ranking:not(.own))", "tbody th"),
    ):
        scrolled = opened.locator(frame)
        scrolled.evaluate("frame => { frame.scrollLeft = 300 }")
        assert scrolled.evaluate("frame => frame.scrollLeft") > 100
        for box in (scrolled.locator(named).nth(i).bounding_box() for i in (0, -1)):
            assert scrolled.bounding_box()["x"] <= box["x"] < NARROW["width"] / 2
    opened.emulate_media(media="print")
    assert not opened.locator(f"{name} .stub").is_visible()
    assert opened.locator(f"{name} svg").first.is_visible()
    opened.close()


def test_page_is_complete_without_its_script(browser, folder, validation):
    """With scripts off the ranking, the metrics and the items are there, and no dead control."""
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    still.goto((folder.path / "report.html").as_uri())
    still.locator("#ranking > summary").click()
    for judge in validation.judges:
        assert judge.name in still.locator(".ranking:not(.own)").inner_text()
    assert still.locator("#items tbody tr").count() == STATIC_ROWS
    assert not still.locator("#beta").is_visible()
    assert not still.locator("#theme").is_visible()
    context.close()


def test_page_can_be_printed(tab):
    """On paper the controls are gone, everything is on light ground, and nothing is cut off."""
    tab.emulate_media(media="print", color_scheme="dark")
    assert not tab.locator("nav").is_visible()
    assert not tab.locator("#beta").is_visible()
    assert not tab.locator("button[data-copy]").first.is_visible()
    assert tab.locator(".ranking:not(.own)").is_visible()
    ink = tab.evaluate("getComputedStyle(document.body).color")
    assert max(map(int, re.findall(r"\d+", ink)[:3])) < 128
    tab.set_viewport_size(PAPER)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.emulate_media(media="screen", color_scheme="light")
    tab.set_viewport_size(WIDE)


def test_item_table_without_texts_has_no_empty_column(browser, tmp_path):
    """Of labels alone there is nothing to show between an item and its ratings."""
    source = source_of_verdicts("diagnoses", None)
    (tmp_path / "labels.html").write_text(page(validate(source), details_of(source)), "utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "labels.html").as_uri())
    unfold(opened)
    assert opened.locator("#items td").first.is_visible() is False
    assert opened.locator("#items th.text").is_visible() is False
    assert opened.locator("#items td").nth(1).is_visible()
    opened.close()


def test_page_without_a_grid_or_items_runs_too(browser, validation, tmp_path):
    """The script does not stumble over parts that a page lacks."""
    bare = replace(validation, sensitivity=None, errors=None, certainty=None)
    (tmp_path / "bare.html").write_text(page(bare), encoding="utf-8")
    opened = browser.new_page()
    messages = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.goto((tmp_path / "bare.html").as_uri())
    assert messages == []
    shown = opened.locator("details.part").evaluate_all("parts => parts.map(p => p.id)")
    assert "certainty" not in shown
    assert "ranking" in shown
    opened.close()
