"""The page in headless Chromium, from disk: still, inert, true to metrics.json, and usable."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import pytest
from support.making import harness
from support.reporting import BAD_NAME, HOSTILE, N_ITEMS

from harness.analysis import Validation, validate
from harness.app import source_of_verdicts
from harness.report import details_of, page
from harness.report.html.page import PAGE_SIZE
from harness.report.judge_charts import unique_slug

HEIGHTS = re.compile(r"[ML][\d.-]+ ([\d.-]+)")  # of the points of a path
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}
PAPER = {"width": 718, "height": 1000}  # A4 between margins of 10 mm, in CSS pixels
HALF_A_LETTER = 4.0  # px by which the foot of a label lies below what it names
DRAWN = 0.01  # px: marks have two decimals


@pytest.fixture(scope="module")
def watched(browser, folder):
    """The page as opened from disk, with everything that it asked for and complained about."""
    context = browser.new_context(viewport=WIDE, accept_downloads=True)
    opened = context.new_page()
    opened.asked, opened.said = [], []
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.on("console", lambda message: opened.said.append(message.text))
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.on("dialog", lambda dialog: opened.said.append(dialog.message))
    opened.goto((folder.path / "report.html").as_uri())
    yield opened
    context.close()


def slide(watched, name: str, step: int) -> None:
    watched.locator(f"#{name}").evaluate(
        "(el, step) => { el.value = step; el.dispatchEvent(new Event('input', {bubbles: true})) }",
        step,
    )


def live(watched) -> list[list[str]]:
    return watched.locator("#live tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def axis(watched, chart: str, direction: str) -> tuple[float, float]:
    """Slope and start of an axis, from where its first and last tick stand and what they say."""
    ticks = watched.locator(f"#chart-{chart} text.tick.{direction}").evaluate_all(
        "(ticks, name) => ticks.map(t => [Number(t.textContent), Number(t.getAttribute(name))])",
        direction,
    )
    below = HALF_A_LETTER if direction == "y" else 0.0
    (a, pixel_a), (b, pixel_b) = ((value, pixel - below) for value, pixel in (ticks[0], ticks[-1]))
    slope = (b - a) / (pixel_b - pixel_a)
    return slope, a - slope * pixel_a


def test_page_asks_for_nothing_and_complains_of_nothing(watched):
    """No request leaves the file, and the browser has nothing to say about it."""
    assert len(watched.asked) == 1
    assert watched.asked[0].startswith("file:")
    assert watched.said == []


def test_hostile_texts_do_nothing(watched):
    """What items, replies and judges say is shown, and none of it runs."""
    assert watched.evaluate("window.hit") is None
    assert watched.locator("main img, main iframe, main b, main script").count() == 0
    watched.locator("#find").fill("onerror")
    assert HOSTILE[2] in watched.locator("#items tbody").inner_text()
    watched.locator("#find").fill("")
    assert BAD_NAME in watched.locator(".ranking").inner_text()
    assert watched.evaluate("window.hit") is None


def test_dots_stand_where_metrics_json_says(watched, validation):
    """Each dot of the ranking, read back through the axis, is its judge's value."""
    metric = validation.ranking.metric
    slope, start = axis(watched, "ranking", "x")
    drawn = dict(
        watched.locator("#chart-ranking circle.dot").evaluate_all(
            "dots => dots.map(d => [d.dataset.of, Number(d.getAttribute('cx'))])"
        )
    )
    assert drawn.keys() == {judge.name for judge in validation.judges}
    for judge in validation.judges:
        value = start + slope * drawn[judge.name]
        assert value == pytest.approx(judge.metrics[metric].value, abs=2 * DRAWN * abs(slope))


def test_intervals_reach_as_far_as_metrics_json_says(watched, validation):
    """Each interval of a small chart ends where the metric's interval does."""
    slope, start = axis(watched, "metric-hit-rate-h-h", "x")
    ends = watched.locator("#chart-metric-hit-rate-h-h line.interval").evaluate_all(
        "lines => lines.map(l => [Number(l.getAttribute('x1')), Number(l.getAttribute('x2'))])"
    )
    drawn = sorted((start + slope * low, start + slope * high) for low, high in ends)
    found = [judge.metrics["hit_rate(h/h)"].interval for judge in validation.judges]
    wanted = sorted((one.low, one.high) for one in found)
    for pair, known in zip(drawn, wanted, strict=True):
        assert pair == pytest.approx(known, abs=2 * DRAWN * abs(slope))


@pytest.mark.parametrize("tau", [3, 9, 15])
def test_lines_follow_the_grid_at_every_cut_off(watched, validation, tau):
    """Each line of consistency over beta passes through the numbers computed for that tau."""
    slide(watched, "tau", tau)
    chart = "decision-consistency-by-beta"
    slope, start = axis(watched, chart, "y")
    paths = dict(
        watched.locator(f"#chart-{chart} path.series").evaluate_all(
            "paths => paths.map(p => [p.dataset.of, p.getAttribute('d')])"
        )
    )
    for name, surface in validation.sensitivity.grid.judges.items():
        drawn = [start + slope * float(y) for y in HEIGHTS.findall(paths[name])]
        wanted = [one for one in surface.consistency[tau] if one is not None]
        assert drawn == pytest.approx(wanted, abs=2 * DRAWN * abs(slope))


def check_standing(watched, found: Validation) -> None:
    """The sliders stand where a validation was computed, and show its ranking and its values."""
    grid = found.sensitivity.grid
    at = {"beta": (grid.betas, found.settings.beta), "tau": (grid.taus, found.settings.tau)}
    for name, (steps, value) in at.items():
        slide(watched, name, min(range(len(steps)), key=lambda i: abs(steps[i] - value)))
    watched.locator("#goal").select_option("consistency")
    rows = live(watched)
    assert {name: int(rank) for rank, name, _, _ in rows} == {
        row.judge: row.rank for row in found.ranking.rows
    }
    for _, name, consistency, bias in rows:
        metrics = found.judge(name).metrics
        assert consistency == f"{metrics['decision_consistency'].value:.3f}"
        assert float(bias) == pytest.approx(metrics["prevalence_bias"].value, abs=6e-4)


@pytest.mark.parametrize(("beta", "tau"), [(0.0, 0.5), (0.6, 0.25), (1.0, 0.75)])
def test_sliders_rank_as_a_validation_does(watched, source, beta, tau):
    """What the sliders show at a beta and a tau is what a validation with these computes."""
    asked = {"beta": beta, "tau": tau, "metric": "decision_consistency", "n_resamples": 100}
    check_standing(watched, validate(replace(source, **asked)))


def test_sliders_rank_as_the_command_line_does(watched, folder, place):
    """What the sliders show is what `harness validate --beta --tau` prints, in its order."""
    command = ("validate", folder.path, "--beta", 0.3, "--tau", 0.5, "--json")
    done = harness(*command, "--metric", "decision_consistency", cwd=place)
    assert done.returncode == 0, done.stderr
    check_standing(watched, Validation.from_json(done.stdout))


def test_goal_changes_what_ranks(watched, validation):
    """Under the other goal the judges stand in order of absolute bias."""
    watched.locator("#goal").select_option("bias")
    biases = [abs(float(row[3])) for row in live(watched)]
    assert biases == sorted(biases)
    assert "|bias|" in watched.locator("#live-line").inner_text()
    watched.locator("#goal").select_option("consistency")


def test_sliders_move_by_the_keyboard(watched, validation):
    """An arrow key is one step of the grid, and the page says which."""
    slide(watched, "beta", 3)
    watched.locator("#beta").press("ArrowRight")
    beta = validation.sensitivity.grid.betas[4]
    assert watched.locator("#beta-shown").inner_text() == f"{beta:.3f}"
    assert watched.locator("#beta").get_attribute("aria-valuetext") == f"beta {beta:.3f}"


def test_item_table_pages_and_finds(watched):
    """Every item is reached a page at a time, or by its words."""
    rows = watched.locator("#items tbody tr")
    seen = set()
    while True:
        seen |= set(rows.locator("th").all_inner_texts())
        if watched.locator("#next").is_disabled():
            break
        watched.locator("#next").click()
    assert seen == {f"i{i}" for i in range(N_ITEMS)}
    assert watched.locator("#item-count").inner_text().endswith(f"of {N_ITEMS} items")
    watched.locator("#find").fill("Comment 17.")
    assert rows.locator("th").all_inner_texts() == ["i17"]
    watched.locator("#find").fill("")
    assert rows.count() == PAGE_SIZE


def test_data_and_drawing_of_a_chart_can_be_kept(watched, validation, tmp_path):
    """Each chart's numbers come as CSV, its drawing as SVG that stands by itself."""
    chart = watched.locator("#chart-metric-hit-rate-h-h")
    chart.locator("summary").click()
    with watched.expect_download() as kept:
        chart.locator("button[data-save=csv]").click()
    kept.value.save_as(tmp_path / "chart.csv")
    rows = list(csv.DictReader((tmp_path / "chart.csv").read_text(encoding="utf-8").splitlines()))
    found = {row["name"]: float(row["value"]) for row in rows}
    assert found == {j.name: j.metrics["hit_rate(h/h)"].value for j in validation.judges}
    with watched.expect_download() as kept:
        chart.locator("button[data-save=svg]").click()
    kept.value.save_as(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "var(" not in text
    assert ">hit_rate(h/h)</text>" in text


def test_first_stop_of_the_keyboard_skips_to_the_decision(watched):
    """The tab key meets the skip link first, and it is seen when met."""
    watched.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    watched.reload()
    watched.keyboard.press("Tab")
    assert watched.evaluate("document.activeElement.className") == "skip"
    assert watched.locator(".skip").bounding_box()["width"] > 50


def test_colour_scheme_follows_the_system_and_the_button(watched):
    """Dark where the system is dark; the button overrides it both ways."""

    def ground() -> str:
        return watched.evaluate("getComputedStyle(document.body).backgroundColor")

    light = ground()
    watched.emulate_media(color_scheme="dark")
    dark = ground()
    assert dark != light
    watched.locator("#theme").click()
    assert ground() == light
    watched.locator("#theme").click()
    assert ground() == dark
    watched.locator("#theme").click()
    watched.emulate_media(color_scheme="light")
    assert ground() == light


def serious(watched, **options) -> list[tuple[str, str]]:
    """What axe finds, as far as it is serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    found = axe.Axe().run(watched, options={"resultTypes": ["violations"], **options})
    return [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in found.response["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.fixture(scope="module")
def brief(browser, folder):
    """The page with one of each kind of thing: what axe says of one, it says of all like it."""
    opened = browser.new_page(viewport=WIDE)
    opened.goto((folder.path / "report.html").as_uri())
    remove(
        opened,
        *(".multiples > :nth-child(n + 2)", "tbody tr:nth-child(n + 3)"),
        *(".practices > :nth-child(n + 4)", "details.group:nth-of-type(n + 4)"),
    )
    yield opened
    opened.close()


def remove(opened, *selectors: str) -> None:
    opened.evaluate(
        "like => document.querySelectorAll(like).forEach(one => one.remove())", ", ".join(selectors)
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


def test_page_fits_a_telephone(watched):
    """At 400 px nothing but tables and charts, in their own frames, is wider than the window."""
    watched.set_viewport_size(NARROW)
    assert watched.evaluate("document.documentElement.scrollWidth <= innerWidth")
    hidden = "frames => frames.some(frame => frame.scrollWidth > frame.clientWidth)"
    assert not watched.locator("svg[data-x]").locator("..").evaluate_all(hidden)
    frame = watched.locator(".scroll:has(> .ranking)")
    expect = "f => getComputedStyle(f, '::before').content"
    watched.wait_for_function("document.querySelector('.scroll.more > .ranking')")
    assert "more to the right" in frame.evaluate(expect)
    watched.set_viewport_size(WIDE)
    watched.wait_for_function("!document.querySelector('.scroll.more > .ranking')")


def test_names_of_rows_stay_in_sight(browser, validation, tmp_path):
    """However far tables and wide matrices are scrolled on a telephone; on paper none is twice."""
    options = tuple(f"generalised_anxiety_disorder_of_type_{i:02d}" for i in range(17))
    first = validation.errors.judges[0]
    cells = tuple(tuple(float(i == j) for j in range(17)) for i in range(17))
    wide = replace(first.confusion, human=options, judge=options, cells=cells)
    judges = (replace(first, confusion=wide), *validation.errors.judges[1:])
    errors = replace(validation.errors, judges=judges)
    bare = dict.fromkeys(("sensitivity", "certainty", "replacement", "choosing"))
    found = replace(validation, **bare, errors=errors)
    (tmp_path / "wide.html").write_text(page(found), encoding="utf-8")
    opened = browser.new_page(viewport=NARROW)
    opened.goto((tmp_path / "wide.html").as_uri())
    name = f"#chart-confusion-{unique_slug(first.judge)} > .scroll"
    stub, cell = (
        opened.locator(f"{name} {one}").first for one in (".stub", "svg:not(.stub) .heat")
    )
    edge = stub.bounding_box()["x"] + stub.bounding_box()["width"]
    assert 0 <= cell.bounding_box()["x"] - edge < 3  # px: no name shows a second time between them
    for frame, named in ((name, ".stub text.name"), (".scroll:has(> .ranking)", "tbody th")):
        scrolled = opened.locator(frame)
        scrolled.evaluate("frame => { frame.scrollLeft = 300 }")
        assert scrolled.evaluate("frame => frame.scrollLeft") > 100
        for box in (scrolled.locator(named).nth(i).bounding_box() for i in (0, -1)):
            assert scrolled.bounding_box()["x"] <= box["x"] < NARROW["width"] / 2
    opened.emulate_media(media="print")
    assert not opened.locator(f"{name} .stub").is_visible()
    assert opened.locator(f"{name} svg").first.is_visible()
    opened.close()


def test_page_is_whole_without_its_script(browser, folder, validation):
    """With scripts off the ranking, the metrics and the items are there, and no dead control."""
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    still.goto((folder.path / "report.html").as_uri())
    for judge in validation.judges:
        assert judge.name in still.locator(".ranking").inner_text()
    assert still.locator("#items tbody tr").count() == PAGE_SIZE
    assert not still.locator("#beta").is_visible()
    assert not still.locator("#theme").is_visible()
    context.close()


def test_page_can_be_printed(watched):
    """On paper the controls are gone, everything is on light ground, and nothing is cut off."""
    watched.emulate_media(media="print", color_scheme="dark")
    assert not watched.locator("nav").is_visible()
    assert not watched.locator("#beta").is_visible()
    assert not watched.locator("button[data-copy]").first.is_visible()
    assert watched.locator(".ranking").is_visible()
    ink = watched.evaluate("getComputedStyle(document.body).color")
    assert max(map(int, re.findall(r"\d+", ink)[:3])) < 128
    watched.set_viewport_size(PAPER)
    watched.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert watched.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.emulate_media(media="screen", color_scheme="light")
    watched.set_viewport_size(WIDE)


def test_item_table_without_texts_has_no_empty_column(browser, tmp_path):
    """Of labels alone there is nothing to show between an item and its ratings."""
    source = source_of_verdicts("diagnoses", None)
    (tmp_path / "labels.html").write_text(page(validate(source), details_of(source)), "utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "labels.html").as_uri())
    assert opened.locator("#items td").first.is_visible() is False
    assert opened.locator("#items th.text").is_visible() is False
    assert opened.locator("#items td").nth(1).is_visible()
    opened.close()


def test_page_without_a_grid_or_items_runs_too(browser, validation, tmp_path):
    """The script does not stumble over parts that a page lacks."""
    bare = replace(validation, sensitivity=None, errors=None, certainty=None)
    (tmp_path / "bare.html").write_text(page(bare), encoding="utf-8")
    opened = browser.new_page()
    said = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto((tmp_path / "bare.html").as_uri())
    assert said == []
    assert opened.locator(".skipped").count() >= 3
    opened.close()
