"""What a report gives away: the judge card, tables, charts as pictures, two runs side by side."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET

import pytest
from making import harness
from pyarrow import parquet
from reporting import BAD_NAME

from harness.report import all_charts, judge_card, page
from harness.report.compare import comparison, facts
from harness.report.files import metric_rows

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def written(place, folder):
    """What `harness report RUN --charts charts` leaves behind."""
    done = harness("report", folder.path, "--charts", "charts", cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_report_names_what_it_wrote(written, folder):
    """Each file is named on a line of its own, and is there."""
    for name in ("report.html", "ranking.csv", "judge-card.md", "metrics.parquet"):
        assert str(folder.path / name) in written.splitlines()
        assert (folder.path / name).stat().st_size


def test_report_without_a_name_takes_the_newest_run(place, folder):
    """`harness report` alone writes the newest run below the runs' folder."""
    done = harness("report", cwd=place)
    assert done.returncode == 0, done.stderr
    assert folder.path.name in done.stdout


def test_report_of_no_run_says_what_to_type(tmp_path):
    """Where there is no run the fault is one line with the first command."""
    done = harness("report", cwd=tmp_path)
    assert done.returncode == 2
    assert "harness run --task toxicity" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_each_chart_is_written_as_svg_and_png(written, place, validation, details):
    """Every chart of the page is there twice, whole and named inside."""
    charts = all_charts(validation, details)
    assert len({chart.name for chart in charts}) == len(charts) > 20
    pictures = {path.name for path in (place / "charts").iterdir()}
    assert {f"{chart.name}.svg" for chart in charts} <= pictures
    for chart in charts:
        root = ET.parse(place / "charts" / f"{chart.name}.svg").getroot()
        assert root.find("{http://www.w3.org/2000/svg}title").text == chart.title
    if "SVG only" not in written:
        for chart in charts:
            assert (place / "charts" / f"{chart.name}.png").read_bytes().startswith(PNG)


def test_charts_without_words_are_not_written_as_png(validation, details, tmp_path, monkeypatch):
    """Where no font is found, one line says so instead of pictures that lack their words."""
    import resvg_py

    from harness.report.files import NO_FONT, write_charts

    draw = resvg_py.svg_to_bytes
    monkeypatch.setattr(
        resvg_py, "svg_to_bytes", lambda svg, **more: draw(svg, skip_system_fonts=True, **more)
    )
    assert write_charts(all_charts(validation, details)[:1], tmp_path) == NO_FONT
    assert [path.suffix for path in tmp_path.iterdir()] == [".svg"]


def test_parquet_holds_every_metric_of_every_judge(written, folder, validation):
    """A row for each judge and metric, equal to metrics.json; NA is null with its reason."""
    rows = parquet.read_table(folder.path / "metrics.parquet").to_pylist()
    assert rows == [dict.fromkeys(rows[0]) | row for row in metric_rows(validation)]
    found = {(row["judge"], row["metric"]): row for row in rows}
    for judge in validation.judges:
        for name, one in judge.metrics.items():
            row = found[judge.name, name]
            assert (row["value"], row["reason"]) == (one.value, one.reason)
            assert row["low"] == (one.interval.low if one.interval else None)


def test_judge_card_is_one_page_that_says_what_matters(validation, details):
    """Decision, ranking, how it came about, the eleven practices, and what reproduces it."""
    card = judge_card(validation, details)
    assert len(card.splitlines()) < 80
    for words in ("# Judge card", "| rank |", "## Reporting checklist", "\n11. ", "harness"):
        assert words in card
    assert BAD_NAME not in card
    assert validation.task.content_hash in card


def test_page_is_made_again_from_the_folder_alone(place, folder, written):
    """Without metrics.json the numbers are computed anew, and the page is the same."""
    elsewhere = place / "elsewhere"
    shutil.copytree(folder.path, elsewhere)
    before = (folder.path / "metrics.json").read_bytes()
    (elsewhere / "metrics.json").unlink()
    done = harness("report", elsewhere, cwd=place)
    assert done.returncode == 0, done.stderr
    assert (elsewhere / "metrics.json").read_bytes() == before


def test_two_runs_side_by_side_say_what_differs(validation):
    """Settings that differ are named; numbers of both stand beside each other."""
    settings = validation.settings.model_copy(update={"tau": 0.25, "seed": 7})
    other = validation.model_copy(update={"settings": settings})
    assert {name for name, _, _ in facts(validation, other)} == {"tau", "seed"}
    html = comparison(("march", "november"), (validation, other))
    assert html.count('class="verdict"') == 2
    assert "march" in html
    assert BAD_NAME not in html
    assert facts(validation, validation) == []
    assert "Nothing: the same task" in comparison(("a", "b"), (validation, validation))


def test_two_runs_are_written_beside_the_second(place, folder):
    """`harness report A B` names the page that it wrote."""
    done = harness("report", folder.path.name, folder.path, cwd=place)
    assert done.returncode == 0, done.stderr
    page_path = folder.path / f"beside-{folder.path.name}.html"
    assert done.stdout.split() == [str(page_path)]
    assert page_path.read_text(encoding="utf-8").startswith("<!doctype html>")
    page_path.unlink()


def test_report_keeps_no_item_text_that_was_to_stay_out(place):
    """With --no-item-text the page has ids and answers, and no item's words."""
    command = ("run", "--task", "task", "--judges", "random", "--no-item-text", "--no-cache")
    done = harness(*command, "--limit", "5", "--out", "silent", cwd=place)
    assert done.returncode == 0, done.stderr
    [run] = (place / "silent").iterdir()
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "i3" in html
    assert "Comment 3." not in html


def test_metrics_json_has_no_number_that_json_lacks(folder, validation, details):
    """The page's data are strict JSON: no NaN, no infinity."""
    html = page(validation, details)
    start = html.index('id="block">') + len('id="block">')
    json.loads(html[start : html.index("</script>", start)], parse_constant=pytest.fail)
