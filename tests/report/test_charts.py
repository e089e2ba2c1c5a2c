"""Every chart, read back from its marks, shows the values of metrics.json."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import combinations

import numpy as np
import pytest
from support.analysis_inputs import (
    indeterminate_source,
    indeterminate_task,
    source_of,
    task_of,
)

from harness.analysis import validate
from harness.files.plain_text import reach
from harness.report import all_charts, page
from harness.report.certainty_charts import (
    bin_name,
    perception_charts,
    strata_charts,
    stratum_words,
)
from harness.report.charts import HeatCells, Overlay, Series, Titles, heat_map, line_chart
from harness.report.html.summaries import no_sweep_reason
from harness.report.judge_charts import (
    metric_groups,
    metric_label,
    n_items_used,
    option_label,
    unique_slug,
)
from harness.report.sensitivity_charts import (
    curve_charts,
    nearest_index,
    region_charts,
    regret_rows,
    slider_grid,
)
from harness.report.svg import CHARACTER, PixelScale, clip
from harness.report.text import prevalence_lines, render

ROUNDING = 0.011  # px: marks have two decimals
LABEL_OFFSET = {"x": 0.0, "y": 4.0}  # px by which a tick label lies below its value
INTERVAL_COLUMNS = ("name", "value")
PATH_POINT = re.compile(r"([\d.-]+) ([\d.-]+)")


@pytest.fixture(scope="module", params=["run", "response sets"])
def validated(request):
    """A run with pairs of judges, and a validation whose raters gave response sets."""
    if request.param == "run":
        return request.getfixturevalue("validation")
    return validate(indeterminate_source(indeterminate_task(paired=60), n_resamples=100))


@pytest.fixture(scope="module")
def charts(validated):
    return {chart.name: chart for chart in all_charts(validated)}


def with_classes(chart, *names: str):
    """Marks that have every one of these classes."""
    return [m for m in chart.marks if set(names) <= set(m.attributes.get("class", "").split())]


def read_axis(chart, axis: str):
    """Return a map from pixel to value by the first and the last tick, and its tolerance."""
    ticks = [
        (float(mark.text), float(mark.attributes[axis]) - LABEL_OFFSET[axis])
        for mark in with_classes(chart, "tick", axis)
    ]
    (low, start), (high, end) = ticks[0], ticks[-1]
    slope = (high - low) / (end - start)
    return (lambda pixel: low + slope * (float(pixel) - start)), 2 * ROUNDING * abs(slope)


def read_intervals(chart):
    """Value, low and high of each row with a value; an interval belongs to the dot after it."""
    across, tolerance = read_axis(chart, "x")
    dots, ends = [], (None, None)
    for mark in chart.marks:
        kinds = mark.attributes.get("class", "").split()
        if kinds[:1] == ["interval"]:
            ends = (across(mark.attributes["x1"]), across(mark.attributes["x2"]))
        elif kinds[:1] == ["dot"]:
            dots.append((mark.attributes["data-of"], across(mark.attributes["cx"]), *ends))
            ends = (None, None)
    return dots, [row[:4] for row in chart.rows if row[1] is not None], tolerance


def read_lines(chart):
    """Name, x and y of every point."""
    (across, x_tolerance), (up, y_tolerance) = read_axis(chart, "x"), read_axis(chart, "y")
    points = [
        (mark.attributes["data-of"], across(x), up(y))
        for mark in with_classes(chart, "series")
        if mark.tag == "path"  # the others belong to the key
        for x, y in PATH_POINT.findall(mark.attributes["d"])
    ]
    points += [
        (mark.attributes["data-of"], across(mark.attributes["cx"]), up(mark.attributes["cy"]))
        for mark in with_classes(chart, "rug")
        if "data-of" in mark.attributes  # the others lie on the axis
    ]
    tolerance = max(x_tolerance, y_tolerance)
    return points, [row for row in chart.rows if row[2] is not None], tolerance


def read_regions(chart):
    """Cut-off within each box, beta from, beta to, and the best judge."""
    (across, x_tolerance), (up, y_tolerance) = read_axis(chart, "x"), read_axis(chart, "y")
    boxes = []
    for mark in with_classes(chart, "region"):
        if mark.title:  # the others belong to the key
            x, y, width, height = (
                float(mark.attributes[name]) for name in ("x", "y", "width", "height")
            )
            boxes.append((up(y + height), up(y), across(x), across(x + width), mark.title))
    taus = sorted({row[0] for row in chart.rows})
    read = []
    for low, high, left, right, title in boxes:
        [tau] = [tau for tau in taus if low - y_tolerance < tau < high + y_tolerance]
        read.append((tau, left, right, title.rpartition(": ")[2]))
    return sorted(read), sorted(chart.rows), 2 * x_tolerance


def read_heat_map(chart):
    """Row, column and text of each cell; the shade grows with the value."""
    texts = [m for m in chart.marks if m.attributes["class"] in {"on-heat", "in-heat", "na"}]
    shades = [int(m.attributes["class"].split()[1][1:]) for m in with_classes(chart, "heat")]
    defined = sorted((r[2], s) for r, s in zip(chart.rows, shades, strict=True) if r[2] is not None)
    assert [shade for _, shade in defined] == sorted(shade for _, shade in defined)
    digits = max(len(mark.text.partition(".")[2]) for mark in texts)
    values = [None if mark.text == "NA" else float(mark.text) for mark in texts]
    cells = [(row[0], row[1], value) for row, value in zip(chart.rows, values, strict=True)]
    return cells, [row[:3] for row in chart.rows], 0.501 * 10.0**-digits


def read_back(chart):
    """Return what is drawn, the chart's data, and by how much they may differ."""
    if chart.columns[:2] == INTERVAL_COLUMNS:
        return read_intervals(chart)
    if chart.name.startswith("regions-"):
        return read_regions(chart)
    return read_heat_map(chart) if chart.frame is None else read_lines(chart)


def test_every_chart_is_drawn_as_its_data(charts):
    """Dots, intervals, lines, boxes and cells, read through the axes."""
    assert len(charts) > 30
    for chart in charts.values():
        values, rows, tolerance = read_back(chart)
        assert len(values) == len(rows), chart.name
        for cells, row in zip(values, rows, strict=True):
            names, numbers = split(cells)
            wanted_names, wanted_numbers = split(row)
            assert names == wanted_names, chart.name
            assert numbers == pytest.approx(wanted_numbers, abs=tolerance), chart.name


def split(cells):
    """Return the texts and the numbers of a row."""
    names = [cell for cell in cells if isinstance(cell, str)]
    return names, [cell for cell in cells if not isinstance(cell, str)]


def test_table_of_metrics_draws_the_numbers_of_metrics_json(validated):
    """Value and interval of every judge on every metric lie on one line with what is drawn."""
    rows = [row for group in metric_groups(validated) for row in group.rows]
    assert len(rows) > 20
    for row in rows:
        numbers, pixels = [], []
        for judge, marks in row.charts.items():
            estimate = validated.judge(judge).metrics[row.name]
            if estimate.value is None:
                assert [mark.text for mark in marks] == ["NA"]
                continue
            numbers.append(estimate.value)
            pixels.append(marks[-1].attributes["cx"])
            if estimate.interval:
                numbers += [estimate.interval.low, estimate.interval.high]
                pixels += [marks[0].attributes["x1"], marks[0].attributes["x2"]]
        low, high = min(numbers), max(numbers)
        if high > low:
            slope, start = np.polyfit(numbers, np.array(pixels, dtype=float), 1)
            assert slope > 0
            drawn = start + slope * np.array(numbers)
            assert drawn == pytest.approx(np.array(pixels, dtype=float), abs=2 * ROUNDING)


def test_metrics_without_a_value_are_named_with_the_reason(validated):
    """They have no row in the table."""
    for group in metric_groups(validated):
        names = [label for labels in group.undefined.values() for label in labels]
        assert not {metric_label(validated, row.name) for row in group.rows} & set(names)
        assert all(group.undefined)


def test_charts_over_beta_hold_the_grid(charts, validated):
    """Consistency and absolute bias at the run's cut-off; the best judge at every one."""
    sensitivity = validated.sensitivity
    grid = sensitivity.grid
    tau = nearest_index(grid.taus, validated.tau)
    for name, goal in (("decision-consistency", "consistency"), ("prevalence-bias", "bias")):
        rows = charts[f"{name}-by-beta"].rows
        for judge, surface in grid.judges.items():
            wanted = [None if x is None else abs(x) for x in getattr(surface, goal)[tau]]
            assert [(x, y) for row_judge, x, y in rows if row_judge == judge] == list(
                zip(grid.betas, wanted, strict=True)
            )
    for goal, evens in sensitivity.regions.items():
        chart = charts[f"regions-{goal.replace('_', '-')}"]
        pieces = [(even.tau, piece.low, piece.high) for even in evens for piece in even.pieces]
        assert [row[:3] for row in chart.rows] == pieces


def test_charts_of_certainty_hold_the_strata_bins_and_curves(charts, validated):
    """Alpha of each stratum, shares of each bin, risk at each share of items answered."""
    certainty = validated.certainty
    strata = {c.title: c for name, c in charts.items() if name.startswith("stratum-")}
    for result in certainty.judges:
        for curve in result.risk_coverage:
            rows = charts[f"risk-{curve.score.replace('_', '-')}"].rows
            points = [row[1:] for row in rows if row[0] == result.judge]
            assert points == list(zip(curve.answered_fraction, curve.risk, strict=True))
        for curve in result.calibration:
            rows = charts[f"calibration-{curve.score.replace('_', '-')}"].rows
            points = [row[1:] for row in rows if row[0] == result.judge]
            assert points == list(zip(curve.confidence, curve.agreement, strict=True))
        for row, stratum in zip(certainty.strata, result.strata, strict=True):
            if row.n_items:
                start = f"{stratum_words(row.stratum)} ·"
                [chart] = [c for title, c in strata.items() if title.startswith(start)]
                alpha = stratum.hw_mw["krippendorff_alpha_nominal"].value
                assert [r[1] for r in chart.rows if r[0] == result.judge][:1] == [alpha]


def test_perception_charts_hold_the_shares_of_both_sides(validated):
    """Each option has a row for the raters and one for the judge, on a line of its own."""
    certainty = validated.certainty
    human_bins = {human.label: human for human in certainty.bins}
    results = {result.judge: result for result in certainty.judges}
    for judge, charts in perception_charts(validated):
        for chart, judge_bin in zip(charts, results[judge].bins, strict=True):
            sides = (("raters", human_bins[judge_bin.label]), (judge, judge_bin))
            assert [row[:2] for row in chart.rows] == [
                (f"{side}: {option_label(validated, option)}", shares.labels.get(option, 0.0))
                for option in certainty.options
                for side, shares in sides
            ]


def symbol(validated, name):
    """Return the name in metrics.json of a metric, or goal, as a chart names it."""
    names = {metric_label(validated, key): key for j in validated.judges for key in j.metrics}
    return names.get(name, name.replace(" ", "_"))


def test_charts_of_regret_confusion_and_translation_hold_their_numbers(charts, validated):
    """Regret by each metric; confusions in items; F of every judge with pairs."""
    for name, goal, value, _ in charts["regret"].rows if "regret" in charts else ():
        assert (
            value
            == validated.choosing.regret[symbol(validated, name)][goal.replace(" ", "_")].value
        )
    titles = {chart.title: chart for chart in charts.values()}
    confusions = {c.title: c for name, c in charts.items() if name.startswith("confusion-")}
    for errors in validated.errors.judges:
        confusion = errors.confusion
        if confusion.n_items:
            chart = confusions[f"{errors.judge} · {confusion.n_items} items"]
            assert sum(row[2] for row in chart.rows) == pytest.approx(confusion.n_items)
            cells = {
                (option_label(validated, human), option_label(validated, judge)): (
                    confusion.cells[i][j]
                )
                for i, human in enumerate(confusion.human)
                for j, judge in enumerate(confusion.judge)
            }
            assert all(cells[row[0], row[1]] == row[2] for row in chart.rows)
    for judge in validated.judges:
        if judge.F:
            n_pairs = sum(judge.n_endorsed)
            chart = titles[f"{judge.name} · {n_pairs} pairs"]
            columns = [column for column in zip(*judge.F, strict=True) if any(column)]
            assert [row[2] for row in chart.rows] == [x for column in columns for x in column]
            n_endorsed = {row[0]: row[3] for row in chart.rows}
            assert sum(n_endorsed.values()) == n_pairs
            assert {f"n {n}" for n in n_endorsed.values()} <= {mark.text for mark in chart.marks}


def test_clipped_names_that_differ_at_their_ends_stay_different():
    """A name too long for its place loses its middle, and no more than it must."""
    start = "openrouter/anthropic/claude-sonnet-4.5-"
    clipped = [clip(f"{start}{date}", 20 * CHARACTER) for date in ("20250929", "20260101")]
    assert clipped == ["openrouter…-20250929", "openrouter…-20260101"]
    assert clip("gpt-4o", 6 * CHARACTER) == "gpt-4o"


def test_labels_of_break_points_do_not_overlap():
    """Every rule has its label, within the chart."""
    rules = [(x, f"{x:g}") for x in (0.0, 0.33, 0.331, 0.34, 0.36, 0.6, 0.99, 1.0)]
    series = [Series("a", ((0.0, 0.1), (1.0, 0.9)), "j0")]
    chart = line_chart(Titles("c", "c", "c"), series, overlay=Overlay(rules=rules))
    labels = with_classes(chart, "rule-label")
    assert [mark.text for mark in labels] == [text for _, text in rules]
    for first, second in combinations(labels, 2):
        distance = abs(float(first.attributes["x"]) - float(second.attributes["x"]))
        same_level = first.attributes["y"] == second.attributes["y"]
        assert not same_level or distance >= 3 * (len(first.text) + len(second.text))
    assert all(0 < float(mark.attributes["x"]) < chart.width for mark in labels)


def test_key_names_every_line_in_its_style(charts):
    """The key stands below the chart, so that it is visible on a narrow screen."""
    line_charts = [chart for chart in charts.values() if chart.frame is not None]
    assert len(line_charts) >= 3
    for chart in line_charts:
        assert chart.width <= 400
        paths = [m for m in with_classes(chart, "series") if m.tag == "path"]
        swatches = [m for m in with_classes(chart, "series") if m.tag == "line"]
        assert [m.attributes["class"] for m in swatches] == [m.attributes["class"] for m in paths]
        texts = {m.text for m in chart.marks}
        assert {m.attributes["data-of"][:20] for m in paths} <= {text[:20] for text in texts}


def test_key_of_regions_names_every_best_judge(charts):
    """Each colour of a region chart is explained below it."""
    for name, chart in charts.items():
        if name.startswith("regions-"):
            best = {judge for row in chart.rows for judge in row[3].split(" and ")} - {"NA"}
            assert best <= {mark.text for mark in with_classes(chart, "name")}


def test_charts_state_how_many_items_they_use(charts, validated):
    """Over beta, over both, of bins and of the margin: the axis title has the number."""
    names = ("decision-consistency-by-beta", "regions-prevalence-bias", "binned-divergence")
    for name in names:
        assert re.search(r"\b\d+( to \d+)? items", " ".join(m.text for m in charts[name].marks))


def test_ranks_and_regret_state_how_many_items_they_use(charts, validated):
    """Each row of both heat maps, and every metric and goal in the table of regret."""
    candidates = validated.choosing.candidates
    for name, _, _, n in charts["ranks"].rows if "ranks" in charts else ():
        assert n == reach(n_items_used(validated, symbol(validated, name), candidates))
    for metric, goal, _, n_metric, n_goal in regret_rows(validated):
        assert n_metric == reach(n_items_used(validated, metric, candidates))
        assert n_goal == reach(n_items_used(validated, goal.replace(" ", "_"), candidates))
    for name, _, _, n in charts["regret"].rows if "regret" in charts else ():
        assert n == reach(n_items_used(validated, symbol(validated, name), candidates))
        assert f"n {n}" in {mark.text for mark in charts["regret"].marks}


def test_long_column_names_are_wrapped_and_do_not_widen_cells():
    """They break after joints if they can, else anywhere."""
    titles = Titles("c", "c", "c")
    joints = heat_map(
        titles, ["a"], ["A", "CANNOT_ASSESS"], HeatCells([[1.0, 0.0]]), cell_width=60.0
    )
    assert {"CANNOT_", "ASSESS"} <= {mark.text for mark in joints.marks}
    long = "OneLongNameWithoutJoints"
    wrapped = heat_map(titles, ["a"], [long, "B"], HeatCells([[1.0, 0.0]]), cell_width=46.0)
    texts = [mark.text for mark in with_classes(wrapped, "name")]
    assert "".join(text for text in reversed(texts) if len(text) > 1) == long
    assert max(map(len, texts)) * CHARACTER <= 46.0
    assert (
        wrapped.width
        == heat_map(titles, ["a"], ["A", "B"], HeatCells([[1.0, 0.0]]), cell_width=46.0).width
    )


def test_strata_share_their_axis(validated):
    """The same position means the same value in every stratum."""
    for _, charts in strata_charts(validated):
        ticks = [
            [(m.text, m.attributes["x"]) for m in with_classes(c, "tick", "x")] for c in charts
        ]
        assert all(axis == ticks[0] for axis in ticks)


def _by_item(options):
    return {f"i{i}": option for i, option in enumerate(options)}


def test_raters_had_nominal_alpha_beside_the_ordinal_one_of_judges():
    """On an ordered scale all rows of a stratum show alpha on that level."""
    of_raters = ("11344123", "21344214", "12444332")
    ratings = {name: _by_item(text) for name, text in zip("abc", of_raters, strict=True)}
    task = task_of(ratings, options=tuple("1234"), scale="ordinal", positive=())
    validation = validate(source_of(task, {"z": _by_item("11342224")}))
    alpha, certainty = "krippendorff_alpha_ordinal", validation.certainty
    assert certainty.alpha == alpha
    [(_, [everything, *_]), *_] = strata_charts(validation)
    whole = certainty.strata[0]
    assert whole.hh[alpha].value != whole.hh["krippendorff_alpha_nominal"].value
    shown = {row[0]: row[1] for row in everything.rows}
    assert shown["raters"] == whole.hh[alpha].value
    assert shown["z"] == certainty.judges[0].strata[0].hw_mw[alpha].value


def test_options_of_perception_charts_are_named_in_full(validated):
    """Options stand below each other, beside their dots."""
    names = ("model_a", "model_b", "A", "B")
    certainty = replace(validated.certainty, options=names)
    for _, charts in perception_charts(replace(validated, certainty=certainty)):
        for chart in charts:
            shown = "".join(mark.text for mark in with_classes(chart, "name")).replace(" ", "")
            for name in names:
                assert option_label(validated, name).replace(" ", "") in shown


def test_medians_of_a_scale_of_words_are_named():
    """A half point lies between two options; numbers stay as they are."""
    words = {"bad": "Bad", "fair": "Fair", "good": "Good"}
    assert bin_name("1.5", words) == "between Bad and Fair"
    assert bin_name("3", words) == "Good"
    assert bin_name("good", words) == "Good"
    assert bin_name("1.5", {"1": "1", "2": "2", "3": "3"}) == "1.5"


def test_limits_without_a_span_are_ignored():
    """A metric that is 1 for every judge has an axis, with its dots in the middle."""
    scale = PixelScale.around([1.0, 1.0], 0.0, 100.0, within=(1.0, 1.0))
    assert scale(1.0) == pytest.approx(50.0)
    assert 1.0 in scale.ticks()


def test_similar_names_get_files_of_their_own():
    """A judge's chart does not overwrite another's, nor does a name lead out of the folder."""
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
    slugs = [unique_slug(name) for name in names]
    assert slugs[0] == "gpt-4o"
    assert len(set(slugs)) == len(names)
    assert all(re.fullmatch("[a-z0-9-]+", slug) for slug in slugs)


@pytest.mark.slow
def test_sweep_missed_the_measurement_at_its_own_marked_beta_and_said_nothing():
    """Each judge's value by the raters' sets stands at their beta, beside what the sweep gives."""
    validation = validate(indeterminate_source(indeterminate_task(n=40, paired=40)))
    beta = validation.humans.beta.value
    for chart, goal in zip(
        curve_charts(validation), ("decision_consistency", "prevalence_bias"), strict=True
    ):
        rows = {row[0]: row[1:] for row in chart.rows if ", measured on " in str(row[0])}
        assert len(rows) == len(validation.sensitivity.grid.judges) == 2
        for name in validation.sensitivity.grid.judges:
            measured = validation.judge(name).metrics[goal]
            place = f"{name}, measured on {measured.n_used} items"
            assert rows[place] == (beta, abs(measured.value))
            assert f"{place}: {abs(measured.value):.3f}" in chart.alt
            across, up = chart.frame
            [dot] = [mark for mark in chart.marks if mark.title.startswith(place)]
            assert float(dot.attributes["cx"]) == pytest.approx(across(beta), abs=ROUNDING)
            y = up(abs(measured.value))
            assert float(dot.attributes["cy"]) == pytest.approx(y, abs=ROUNDING)
    assert "Dots among the lines are measured" in page(validation)
    choices = validate(indeterminate_source(indeterminate_task(n=40), judges=("lenient",)))
    assert not any("measured" in str(row[0]) for row in curve_charts(choices)[0].rows)
    assert "Dots among the lines are measured" not in page(choices)


@pytest.mark.slow
def test_sweep_that_misses_the_measured_sets_is_called_a_lower_bound():
    """Half of the items hide toxic always, half never: one beta does not describe their sets."""
    task = indeterminate_task(n=200, paired=200)
    chosen = {(r.item, r.rater): r.value for r in task.ratings if r.elicitation == "forced_choice"}

    def sets(rating):
        choice, hides = chosen[rating.item, rating.rater], int(rating.item[1:]) % 2
        return ("A", "B") if choice == "B" and hides else (choice,)

    ratings = tuple(
        rating if rating.elicitation == "forced_choice" else replace(rating, value=sets(rating))
        for rating in task.ratings
    )
    varied = validate(indeterminate_source(task.model_copy(update={"ratings": ratings})))
    assert varied.humans.prevalence.is_missed
    [line] = [line for line in prevalence_lines(varied) if "real uncertainty" in line]
    assert line.startswith(f"At the raters' beta ({varied.humans.beta.value:.2f})")
    assert line in " ".join(unescape(page(varied)).split())
    assert line in " ".join(render(varied, details=True).split())
    alike = validate(indeterminate_source(task))
    assert not alike.humans.prevalence.is_missed
    assert "the real uncertainty is larger" not in page(alike)


def test_nothing_is_swept_where_no_judge_has_a_decision():
    """Judges of forced choices alone, raters of sets: no empty chart, and why in words."""
    source = indeterminate_source(indeterminate_task(n=20, paired=20))
    choices = {
        judge: [v for v in verdicts if v.elicitation == "forced_choice"]
        for judge, verdicts in source.verdicts.items()
    }
    validation = validate(replace(source, verdicts=choices))
    assert validation.sensitivity.grid is not None
    assert slider_grid(validation) is None
    assert curve_charts(validation) == region_charts(validation) == []
    assert "but no judge gave any" in no_sweep_reason(validation)
