"""Every chart, read back from its drawing, shows what metrics.json says."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from support.indeterminate import make_source, make_task

from harness.analysis import validate
from harness.report import all_charts
from harness.report.certainty_charts import bin_words, perception_charts, strata_charts
from harness.report.charts import Series, Titles, heat, lines
from harness.report.comparison import comparison
from harness.report.formatting import counted, reach
from harness.report.judge_charts import items_of, n_used, own_slug
from harness.report.sensitivity_charts import facet_charts, nearest, regret_rows
from harness.report.svg import CHARACTER, Scale, clip

DRAWN = 0.011  # px: marks have two decimals
FOOT = {"x": 0.0, "y": 4.0}  # px by which a tick's words lie below what they name
DOTS = ("name", "value")
LINE_POINT = re.compile(r"([\d.-]+) ([\d.-]+)")


@pytest.fixture(scope="module", params=["run", "response sets"])
def found(request):
    """A run with pairs of judges, and a validation whose raters gave response sets."""
    if request.param == "run":
        return request.getfixturevalue("validation")
    return validate(replace(make_source(make_task(paired=60)), n_resamples=100))


@pytest.fixture(scope="module")
def charts(found):
    return {chart.name: chart for chart in all_charts(found)}


def classed(chart, *names: str):
    """Marks that have every one of these classes."""
    return [m for m in chart.marks if set(names) <= set(m.attributes.get("class", "").split())]


def reading(chart, axis: str):
    """From a pixel to a value, by the first and the last tick; and what two decimals leave open."""
    known = []
    for mark in classed(chart, "tick", axis):
        share = mark.text.endswith("%")
        value = float(mark.text.removesuffix("%")) / (100.0 if share else 1.0)
        known.append((value, float(mark.attributes[axis]) - FOOT[axis]))
    (a, start), (b, end) = known[0], known[-1]
    slope = (b - a) / (end - start)
    return (lambda pixel: a + slope * (float(pixel) - start)), 2 * DRAWN * abs(slope)


def read_dots(chart):
    """Value, low and high of each row with a value; an interval belongs to the dot after it."""
    across, open_ = reading(chart, "x")
    drawn, ends = [], (None, None)
    for mark in chart.marks:
        kinds = mark.attributes.get("class", "").split()
        if kinds[:1] == ["interval"]:
            ends = (across(mark.attributes["x1"]), across(mark.attributes["x2"]))
        elif kinds[:1] == ["dot"]:
            drawn.append((mark.attributes["data-of"], across(mark.attributes["cx"]), *ends))
            ends = (None, None)
    shown = [row[:4] for row in chart.rows if row[1] is not None]
    return drawn, shown, open_


def read_lines(chart):
    """Name, x and y of every point."""
    (across, open_x), (up, open_y) = reading(chart, "x"), reading(chart, "y")
    found = [
        (mark.attributes["data-of"], across(x), up(y))
        for mark in classed(chart, "series")
        if mark.tag == "path"  # the others are the key's
        for x, y in LINE_POINT.findall(mark.attributes["d"])
    ]
    return found, [row for row in chart.rows if row[2] is not None], max(open_x, open_y)


def read_regions(chart):
    """Cut-off, beta from, beta to, and who is best, of every box; a box hangs above its tick."""
    (across, open_x), (up, open_y) = reading(chart, "x"), reading(chart, "y")
    found = []
    for mark in classed(chart, "region"):
        if mark.title:
            x, y = float(mark.attributes["x"]), float(mark.attributes["y"])
            ends = (across(x), across(x + float(mark.attributes["width"])))
            found.append((up(y + 5), *ends, mark.title.rpartition(": ")[2]))
    in_order = sorted(found, key=lambda one: (round(one[0], 3), one[1]))
    return in_order, sorted(chart.rows), max(2 * open_x, open_y)


def read_facet(chart):
    """Judge and both ranks."""
    (across, open_x), (up, open_y) = reading(chart, "x"), reading(chart, "y")
    found = [
        (m.attributes["data-of"], across(m.attributes["cx"]), up(m.attributes["cy"]))
        for m in classed(chart, "dot")
        if m.title  # the others are the key's
    ]
    return found, list(chart.rows), max(open_x, open_y)


def read_perception(chart):
    """Option, share of the raters' labels, share of the judge's."""
    up, open_ = reading(chart, "y")
    drawn = {m.attributes["data-of"]: up(m.attributes["cy"]) for m in classed(chart, "dot")}
    options = [row[0] for row in chart.rows]
    return [(o, drawn[f"rater {o}"], drawn[f"best {o}"]) for o in options], list(chart.rows), open_


def read_heat(chart):
    """Row, column and what the cell says; its shade grows with its value."""
    words = [m for m in chart.marks if m.attributes["class"] in {"on-heat", "in-heat", "na"}]
    cells = classed(chart, "heat")
    shades = [int(m.attributes["class"].split()[1][1:]) for m in cells]
    known = sorted((r[2], s) for r, s in zip(chart.rows, shades, strict=True) if r[2] is not None)
    assert [s for _, s in known] == sorted(s for _, s in known)
    digits = max(len(word.text.partition(".")[2]) for word in words)
    values = [None if word.text == "NA" else float(word.text) for word in words]
    found = [(row[0], row[1], value) for row, value in zip(chart.rows, values, strict=True)]
    return found, [row[:3] for row in chart.rows], 0.501 * 10.0**-digits


def read_back(chart):
    """What is drawn, what the chart's data say, and by how much they may differ."""
    if chart.columns[:2] == DOTS:
        return read_dots(chart)
    if chart.frame is not None:
        return read_lines(chart)
    for start, read in (
        ("regions-", read_regions),
        ("ranks-", read_facet),
        ("perception-", read_perception),
    ):
        if chart.name.startswith(start):
            return read(chart)
    return read_heat(chart)


def test_every_chart_is_drawn_as_its_data_say(charts):
    """Dots, intervals, lines, boxes and cells, through the axes that a reader sees."""
    assert len(charts) > 80
    for chart in charts.values():
        seen, shown, open_ = read_back(chart)
        assert len(seen) == len(shown), chart.name
        for drawn, told in zip(seen, shown, strict=True):
            assert [x for x in drawn if isinstance(x, str)] == [
                x for x in told if isinstance(x, str)
            ], chart.name
            numbers = [x for x in drawn if not isinstance(x, str)]
            known = [x for x in told if not isinstance(x, str)]
            assert numbers == pytest.approx(known, abs=open_), chart.name


def test_charts_of_metrics_hold_the_numbers_of_metrics_json(charts, found):
    """Value and interval of every judge on every metric that is drawn."""
    drawn = [chart for name, chart in charts.items() if name.startswith("metric-")]
    assert len(drawn) > 20
    for chart in drawn:
        for name, value, low, high, _ in chart.rows:
            one = found.judge(name).metrics[chart.title]
            assert value == one.value
            ends = (one.interval.low, one.interval.high) if one.interval else (None, None)
            assert (low, high) == ends


def test_charts_over_beta_hold_the_grid(charts, found):
    """Consistency and absolute bias at the run's cut-off; who is best at every one."""
    sensitivity = found.sensitivity
    grid = sensitivity.grid
    at = nearest(grid.taus, found.settings.tau)
    for name, goal in (("decision-consistency", "consistency"), ("prevalence-bias", "bias")):
        rows = charts[f"{name}-by-beta"].rows
        for judge, surface in grid.judges.items():
            wanted = [None if x is None else abs(x) for x in getattr(surface, goal)[at]]
            assert [(x, y) for who, x, y in rows if who == judge] == list(
                zip(grid.betas, wanted, strict=True)
            )
    for goal, evens in sensitivity.regions.items():
        chart = charts[f"regions-{goal.replace('_', '-')}"]
        pieces = [(e.tau, p.low, p.high) for e in evens for p in e.pieces]
        assert [row[:3] for row in chart.rows] == pieces


def test_charts_of_certainty_hold_the_strata_bins_and_curves(charts, found):
    """Alpha of each stratum, shares of each bin, risk at each share of items answered."""
    c = found.certainty
    for judge in c.judges:
        for curve in judge.risk_coverage:
            rows = charts[f"risk-{curve.score.replace('_', '-')}"].rows
            drawn = [row[1:] for row in rows if row[0] == judge.judge]
            assert drawn == list(zip(curve.answered_fraction, curve.risk, strict=True))
        alphas = [stratum.hw_mw["krippendorff_alpha_nominal"].value for stratum in judge.strata]
        strata = {chart.title: chart for n, chart in charts.items() if n.startswith("stratum-")}
        for row, alpha in zip(c.strata, alphas, strict=True):
            if row.n_items:
                [chart] = [
                    one for title, one in strata.items() if title.startswith(f"{row.name} ·")
                ]
                assert [r[1] for r in chart.rows if r[0] == judge.judge][:1] == [alpha]
    shares = {one.label: one.labels for one in c.bins}
    for name, chart in charts.items():
        if name.startswith("perception-"):
            label = chart.title.partition(" where raters say ")[2]
            assert {row[0]: row[1] for row in chart.rows} == {
                o: shares[label].get(o, 0.0) for o in c.options
            }


def test_charts_of_choosing_and_erring_hold_their_numbers(charts, found):
    """Ranks and regret by each metric; confusions in items; F of every judge with pairs."""
    orders = found.choosing.orders
    for name, chart in charts.items():
        if name.startswith("ranks-"):
            by, goal = (column.removeprefix("rank by ") for column in chart.columns[1:])
            ranks = [{p.judge: p.rank for p in orders[metric].places} for metric in (by, goal)]
            assert all(row[1:] == tuple(one[row[0]] for one in ranks) for row in chart.rows)
    for name, goal, value, _ in charts["regret"].rows if "regret" in charts else ():
        assert value == found.choosing.regret[name][goal.replace(" ", "_")].value
    for one in found.errors.judges:
        if one.confusion.n_items:
            title = f"{one.judge} · {one.confusion.n_items} items"
            [chart] = [
                c for n, c in charts.items() if n.startswith("confusion-") and c.title == title
            ]
            assert sum(row[2] for row in chart.rows) == pytest.approx(one.confusion.n_items)
            cells = {
                (human, judge): one.confusion.cells[i][j]
                for i, human in enumerate(one.confusion.human)
                for j, judge in enumerate(one.confusion.judge)
            }
            assert all(cells[row[0], row[1]] == row[2] for row in chart.rows)
    for judge in found.judges:
        if judge.F:
            n_pairs = judge.translated.n_pairs
            [chart] = [c for c in charts.values() if c.title == f"{judge.name} · {n_pairs} pairs"]
            known = [x for row in judge.F for x in row if x is not None]
            assert [row[2] for row in chart.rows] == known
            n_of_set = {row[1]: row[3] for row in chart.rows}
            assert sum(n_of_set.values()) == n_pairs
            assert {f"n {n}" for n in n_of_set.values()} <= {mark.text for mark in chart.marks}


def test_names_that_differ_at_their_ends_are_told_apart():
    """A name too long for its place loses its middle, and no more than it must."""
    start = "openrouter/anthropic/claude-sonnet-4.5-"
    shown = [clip(f"{start}{date}", 20 * CHARACTER) for date in ("20250929", "20260101")]
    assert shown == ["openrouter…-20250929", "openrouter…-20260101"]
    assert clip("gpt-4o", 6 * CHARACTER) == "gpt-4o"


def test_break_points_close_to_each_other_keep_their_words():
    """Every rule says its value, and no two words lie on one another."""
    rules = [(x, f"{x:g}") for x in (0.0, 0.33, 0.331, 0.34, 0.36, 0.6, 0.99, 1.0)]
    series = [Series("a", ((0.0, 0.1), (1.0, 0.9)), "j0")]
    chart = lines(Titles("c", "c", "c"), series, y_within=(0.0, 1.0), rules=rules)
    words = classed(chart, "rule-label")
    assert [mark.text for mark in words] == [told for _, told in rules]
    for one, other in combinations(words, 2):
        apart = abs(float(one.attributes["x"]) - float(other.attributes["x"]))
        same_level = one.attributes["y"] == other.attributes["y"]
        assert not same_level or apart >= 3 * (len(one.text) + len(other.text))
    assert all(0 < float(mark.attributes["x"]) < chart.width for mark in words)


def test_key_below_names_every_line_in_its_style(charts):
    """Nobody has to scroll a narrow screen to see whose line is whose."""
    drawn = [chart for chart in charts.values() if chart.frame is not None]
    assert len(drawn) >= 3
    for chart in drawn:
        assert chart.width <= 400
        paths = [m for m in classed(chart, "series") if m.tag == "path"]
        keys = [m for m in classed(chart, "series") if m.tag == "line"]
        assert [m.attributes["class"] for m in keys] == [m.attributes["class"] for m in paths]
        texts = {m.text for m in chart.marks}
        assert {m.attributes["data-of"][:20] for m in paths} <= {text[:20] for text in texts}


def test_charts_say_how_many_items_they_rest_on(charts, found):
    """Over beta, over both, of bins and of the margin: an n stands at the axis."""
    names = ("decision-consistency-by-beta", "regions-prevalence-bias", "binned-divergence")
    for name in names:
        assert re.search(r"\b\d+( to \d+)? items", " ".join(m.text for m in charts[name].marks))
    [both] = re.findall(
        r">ring: first, ([^<]*)<", comparison(("a", "b"), (found, found)).split("chart-both-")[1]
    )
    n_items = items_of(found, found.ranking.metric)
    assert both == f"{n_items}; dot: second, {n_items}"


def test_ranks_and_regret_say_how_many_items_they_rest_on(charts, found):
    """Both axes of ranks against ranks, and every metric and goal that regret is told of."""
    ranks = [chart for name, chart in charts.items() if name.startswith("ranks-")]
    assert ranks or "regret" not in charts
    for chart in ranks:
        named = [column.removeprefix("rank by ") for column in chart.columns[1:]]
        judges = [row[0] for row in chart.rows]
        told = [mark.text for mark in chart.marks if mark.text.endswith(" items")]
        assert told == [counted(n_used(found, metric, judges)) for metric in named]
    candidates = found.choosing.candidates
    for metric, goal, _, n_metric, n_goal in regret_rows(found):
        assert n_metric == reach(n_used(found, metric, candidates))
        assert n_goal == reach(n_used(found, goal.replace(" ", "_"), candidates))
    for metric, _, _, n in charts["regret"].rows if "regret" in charts else ():
        assert n == reach(n_used(found, metric, candidates))
        assert f"n {n}" in {mark.text for mark in charts["regret"].marks}


def test_long_names_of_columns_do_not_widen_cells():
    """They are broken at their joints, else they slope; a sloping one may reach past the last."""
    titles = Titles("c", "c", "c")
    narrow = heat(titles, ["a"], ["A", "CANNOT_ASSESS"], [[1.0, 0.0]], cell_width=60.0)
    assert {"CANNOT_", "ASSESS"} <= {mark.text for mark in narrow.marks}
    long = "OneLongNameWithoutJoints"
    first, last = (
        heat(titles, ["a"], names, [[1.0, 0.0, 0.0]], cell_width=46.0)
        for names in ([long, "B", "C"], ["A", "B", long])
    )
    assert first.width < last.width


def test_judges_of_equal_ranks_stand_side_by_side(found):
    """No dot hides another; the first stands where their ranks are; the key names each, whole."""
    chosen = found.choosing
    equal = {
        metric: order.model_copy(
            update={"places": tuple(p.model_copy(update={"rank": 1}) for p in order.places)}
        )
        for metric, order in chosen.orders.items()
    }
    tied = chosen.model_copy(update={"orders": equal})
    for chart in facet_charts(found.model_copy(update={"choosing": tied})):
        across, open_ = reading(chart, "x")
        dots = [dot for dot in classed(chart, "dot") if dot.title]
        places = [float(dot.attributes["cx"]) for dot in dots]
        assert len(dots) == len(found.judges)
        assert min(b - a for a, b in pairwise(places)) >= 2 * float(dots[0].attributes["r"])
        assert across(places[0]) == pytest.approx(1, abs=open_)
        key = [dot.attributes["class"] for dot in classed(chart, "dot") if not dot.title]
        assert key == [dot.attributes["class"] for dot in dots]
        written = "".join(mark.text for mark in classed(chart, "name"))
        named = "".join(dot.attributes["data-of"] for dot in dots)
        assert written.replace(" ", "") == named.replace(" ", "")


def test_ranks_of_many_judges_are_written_apart(found):
    """No number at an axis runs into the next, and no dot into the next of its row."""
    judges = tuple(found.judges[0].model_copy(update={"name": f"j{i}"}) for i in range(18))
    orders = {
        metric: order.model_copy(
            update={
                "places": tuple(
                    order.places[0].model_copy(update={"judge": judge.name, "rank": i + 1})
                    for i, judge in enumerate(judges)
                )
            }
        )
        for metric, order in found.choosing.orders.items()
    }
    choosing = found.choosing.model_copy(update={"orders": orders})
    many = found.model_copy(update={"judges": judges, "ranking": None, "choosing": choosing})
    drawn = facet_charts(many)
    assert drawn
    for chart in drawn:
        ticks = [float(mark.attributes["x"]) for mark in classed(chart, "tick", "x")]
        assert min(b - a for a, b in pairwise(ticks)) >= 2 * CHARACTER
        [dots] = {dot.attributes["r"] for dot in classed(chart, "dot") if dot.title}
        assert 2 * float(dots) < (ticks[1] - ticks[0]) / 2


def test_strata_share_their_axis(found):
    """Where a dot stands says the same in every stratum."""
    for _, some in strata_charts(found):
        ticks = [[(m.text, m.attributes["x"]) for m in classed(c, "tick", "x")] for c in some]
        assert all(one == ticks[0] for one in ticks)


def test_options_of_perception_charts_are_told_apart(found):
    """Names that do not fit side by side stand under one another, whole, beside their dots."""
    names = ("model_a", "model_b", "A", "B")
    certainty = found.certainty.model_copy(update={"options": names})
    for _, some in perception_charts(found.model_copy(update={"certainty": certainty})):
        for chart in some:
            assert set(names) <= {mark.text for mark in chart.marks}
            across, open_ = reading(chart, "x")
            drawn = {m.attributes["data-of"]: across(m.attributes["cx"]) for m in chart.marks
                     if "data-of" in m.attributes}  # fmt: skip
            wanted = {f"{who} {row[0]}": row[i] for row in chart.rows
                      for i, who in ((1, "rater"), (2, "best"))}  # fmt: skip
            assert drawn == pytest.approx(wanted, abs=open_)


def test_medians_of_a_scale_of_words_are_named():
    """A half point lies between two options; numbers speak for themselves."""
    assert bin_words("1.5", ("bad", "fair", "good")) == "between bad and fair"
    assert bin_words("3", ("bad", "fair", "good")) == "good"
    assert bin_words("good", ("bad", "good")) == "good"
    assert bin_words("1.5", ("1", "2", "3")) == "1.5"


def test_limits_without_a_span_do_not_end_the_page():
    """A metric that is 1 for every judge has an axis, and its dots stand in the middle of it."""
    scale = Scale.around([1.0, 1.0], 0.0, 100.0, within=(1.0, 1.0))
    assert scale(1.0) == pytest.approx(50.0)
    assert 1.0 in scale.ticks()


def test_names_that_read_alike_get_drawings_of_their_own():
    """A judge's chart is not written over another's, nor does one lead out of the folder."""
    names = [
        "gpt-4o",
        "gpt 4o",
        "GPT-4o",
        "gpt/4o",
        "\u65e5\u672c",
        "\u4e2d\u56fd",
        "../../x",
        "x",
        "..",
    ]
    slugs = [own_slug(name) for name in names]
    assert slugs[0] == "gpt-4o"
    assert len(set(slugs)) == len(names)
    assert all(re.fullmatch("[a-z0-9-]+", one) for one in slugs)
