"""What a report gives away: the judge card, tables, charts as pictures, two runs side by side."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet
from support.hostile_run import BAD_NAME, N_ITEMS
from support.processes import call_harness

from harness.analysis.run_comparison import compare_runs
from harness.report import all_charts, judge_card, page
from harness.report.comparison import comparison, setup_differences
from harness.report.export import metric_table
from harness.report.rebuild import report_comparison, stored_validation, validation_of
from harness.runs.run_folder import RunFolder, find_run
from harness.runs.sources import source_of

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def copied(folder, tmp_path_factory):
    """The run, to write into: other workers read the first one."""
    place = tmp_path_factory.mktemp("copied")
    return RunFolder.open(Path(shutil.copytree(folder.path, place / folder.path.name)))


@pytest.fixture(scope="module")
def written(copied):
    """What `harness report RUN --charts charts` says it leaves behind."""
    command = ("report", copied.path, "--charts", "charts", "--json")
    done = call_harness(*command, cwd=copied.path.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def silent(folder, tmp_path_factory):
    """A small run that keeps no texts."""
    out = tmp_path_factory.mktemp("silent")
    command = ("run", "--task", "task", "--judges", "random", "--no-item-text", "--no-store")
    done = call_harness(*command, "--limit", "5", "--out", out, cwd=folder.path.parents[1])
    assert done.returncode == 0, done.stderr
    [run] = out.iterdir()
    return RunFolder.open(run)


@pytest.mark.slow
def test_report_names_what_it_wrote(written, copied):
    """Each file is named, the page first, and is there."""
    assert written["files"][0] == str(copied.path / "report.html")
    for name in ("report.html", "ranking.csv", "judge-card.md", "metrics.parquet"):
        assert str(copied.path / name) in written["files"]
        assert (copied.path / name).stat().st_size


def test_report_without_a_name_takes_the_newest_run(folder):
    """Unnamed, it is the newest run below the runs' folder."""
    assert find_run(folder.path.parent, None).path == folder.path
    assert find_run(folder.path.parent, folder.path.name).path == folder.path


def test_report_of_no_run_says_what_to_type(tmp_path):
    """Where there is no run the fault is one line with the first command."""
    done = call_harness("report", cwd=tmp_path)
    assert done.returncode == 2
    assert "harness run --task toxicity" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_each_chart_is_written_as_svg_and_png(written, copied, validation, details):
    """Every chart of the page is there twice, whole and named inside."""
    charts = all_charts(validation)
    assert len({chart.name for chart in charts}) == len(charts) > 20
    folder = copied.path.parent / "charts"
    pictures = {path.name for path in folder.iterdir()}
    assert {f"{chart.name}.svg" for chart in charts} <= pictures
    for chart in charts:
        root = ET.parse(folder / f"{chart.name}.svg").getroot()
        assert root.find("{http://www.w3.org/2000/svg}title").text == chart.title
        above = root.find("{http://www.w3.org/2000/svg}text[@class='title']")
        assert above.text == chart.title
        assert float(root.get("viewBox").split()[1]) < float(above.get("y")) < 0
    assert written["n_charts"] == len(charts)
    if not written["svg_only"]:
        for chart in charts:
            assert (folder / f"{chart.name}.png").read_bytes().startswith(PNG)


def test_charts_without_words_are_not_written_as_png(validation, details, tmp_path, monkeypatch):
    """Where no font is found, one line says so instead of pictures that lack their words."""
    import resvg_py

    from harness.report.chart_files import NO_FONT, write_charts

    draw = resvg_py.svg_to_bytes
    monkeypatch.setattr(
        resvg_py,
        "svg_to_bytes",
        lambda svg, **options: draw(svg, skip_system_fonts=True, **options),
    )
    assert write_charts(all_charts(validation)[:1], tmp_path) == NO_FONT
    assert [path.suffix for path in tmp_path.iterdir()] == [".svg"]


@pytest.mark.slow
def test_parquet_holds_every_metric_of_every_judge(written, copied, validation):
    """A row for each judge and metric, equal to metrics.json; NA is null with its reason."""
    with parquet.ParquetFile(copied.path / "metrics.parquet") as file:
        rows = file.read().to_pylist()
    assert rows == [dict.fromkeys(rows[0]) | row for row in metric_table(validation)]
    by_metric = {(row["judge"], row["metric"]): row for row in rows}
    for judge in validation.judges:
        for name, estimate in judge.metrics.items():
            row, interval = by_metric[judge.name, name], estimate.interval
            assert (row["value"], row["reason"]) == (estimate.value, estimate.reason)
            assert row["low"] == (interval.low if interval else None)


def test_judge_card_is_one_page_that_says_what_matters(validation, details):
    """Decision, ranking, how it came about, the eleven practices, and what reproduces it."""
    card = judge_card(validation, details)
    assert len(card.splitlines()) < 80
    for words in ("# Judge card", "| rank |", "## Reporting checklist", "\n11. ", "harness"):
        assert words in card
    assert BAD_NAME not in card
    assert validation.task.content_hash in card


@pytest.mark.slow
def test_numbers_are_computed_anew_where_they_are_missing_or_damaged(silent):
    """metrics.json is made again, byte for byte."""
    file = silent.path / "metrics.json"
    before = file.read_bytes()
    for spoil in (b"", b"{}", b"[" * 100_000):
        file.write_bytes(spoil)
        validation_of(silent, source_of(silent))
        assert file.read_bytes() == before


@pytest.mark.slow
def test_a_newer_metrics_json_of_another_log_is_not_believed(silent, tmp_path):
    """It carries the hash of the log that it was computed from; the time of the file is nothing."""
    copy = RunFolder.open(Path(shutil.copytree(silent.path, tmp_path / "copy")))
    stored = stored_validation(copy)
    assert stored is not None
    assert stored.verdicts_hash == hashlib.sha256(copy.verdicts.read_bytes()).hexdigest()
    lines = copy.verdicts.read_bytes().splitlines(keepends=True)
    copy.verdicts.write_bytes(b"".join(lines[:-1]))
    os.utime(copy.path / "metrics.json")
    assert stored_validation(copy) is None
    [judge] = validation_of(copy, source_of(copy)).judges
    assert sum(counts.not_asked + counts.failed for counts in judge.outcomes) == 1


def test_the_metrics_json_of_a_run_made_elsewhere_is_not_believed(silent, tmp_path, monkeypatch):
    """Whoever made the folder may have changed it; the log is read instead."""
    copy = Path(shutil.copytree(silent.path, tmp_path / "copy"))
    changed = json.loads((copy / "metrics.json").read_text(encoding="utf-8"))
    changed["notes"] = ["invented"]
    (copy / "metrics.json").write_text(json.dumps(changed), encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = RunFolder.open(copy)
    assert "invented" not in validation_of(run, source_of(run)).notes


def test_numbers_of_a_version_without_an_n_are_computed_anew(folder, validation):
    """No chart says 0 items because metrics.json was written before it said how many."""
    file = folder.path / "metrics.json"
    whole = file.read_text(encoding="utf-8")
    old = json.loads(whole)
    for surface in old["sensitivity"]["grid"]["judges"].values():
        del surface["n_items"]
    file.write_text(json.dumps(old), encoding="utf-8")
    try:
        assert validation_of(folder, source_of(folder)).sensitivity == validation.sensitivity
    finally:
        file.write_text(whole, encoding="utf-8")


@pytest.fixture(scope="module")
def paired(folder):
    """The run compared with itself."""
    source = source_of(folder)
    return compare_runs(source, source, ["mse(srs/srs)"])


def test_two_runs_say_what_differs(validation, paired):
    """Settings that differ are named, and every judge's change with its test."""
    settings = replace(validation.settings, tau=0.25, seed=7)
    changed = replace(validation, settings=settings)
    assert {name for name, _, _ in setup_differences(validation, changed)} == {"tau", "seed"}
    html = comparison(("march", "november"), (validation, changed), paired)
    assert html.count('class="verdict"') == 2
    assert "march" in html
    assert BAD_NAME not in html
    assert f"{N_ITEMS} shared items of {N_ITEMS} and {N_ITEMS}" in html
    assert "lenient is not significantly different in the second run" in html
    assert setup_differences(validation, validation) == []
    assert "None: the same task" in comparison(("a", "b"), (validation, validation), paired)


def test_two_runs_are_written_beside_the_second(folder, copied):
    """The page of two runs lies in the second one's folder, named for the first."""
    written = report_comparison(folder, copied, details=True)
    [beside] = written.files
    assert beside == copied.path / f"beside-{folder.path.name}.html"
    assert beside.read_text(encoding="utf-8").startswith("<!doctype html>")
    text = " ".join(written.text.split())
    assert "Difference in answer shares (JS divergence), follows, lenient on" in text
    assert "is not significantly different in the second run" in text
    assert [line for line in written.text.splitlines() if len(line) > 80] == []
    assert written.text.startswith(report_comparison(folder, copied).text[:200])


def test_comparison_is_given_as_json(folder, copied):
    """Every number of every judge and metric, and its p-value."""
    command = ("report", folder.path, copied.path, "--json")
    done = call_harness(*command, cwd=copied.path.parent)
    assert done.returncode == 0, done.stderr
    stated = json.loads(done.stdout)
    rows = stated["comparison"]["metrics"]
    assert {row["judge"] for row in rows} == {"follows", "lenient", BAD_NAME}
    assert {row["p_adjusted"] for row in rows} == {None, 1.0}


def test_verdicts_made_elsewhere_get_a_page_too(folder):
    """`harness report --task T --verdicts FILE` writes the page that a run would have."""
    place = folder.path.parents[1]
    rows = "".join(f"i{i},gpt,{'AB'[i % 2]}\n" for i in range(N_ITEMS))
    (place / "verdicts.csv").write_text(f"item,judge,value\n{rows}", encoding="utf-8")
    done = call_harness("report", "--task", "task", "--verdicts", "verdicts.csv", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["small-report.html"]
    html = (place / "small-report.html").read_text(encoding="utf-8")
    assert "Comment 3." in html
    assert "gpt" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--verdicts", "v.csv"), "--verdicts works only with --task"),
        (("--task", "task", "some-run"), "Leave out RUN or --task"),
        (("no-such-run",), "not a run folder"),
    ],
)
def test_wrong_arguments_of_report_are_one_line(folder, arguments, message):
    """Invalid arguments are one line on stderr, with exit code 2."""
    done = call_harness("report", *arguments, cwd=folder.path.parents[1])
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_report_keeps_no_item_text_that_was_to_stay_out(silent):
    """With --no-item-text the page has ids and answers, and no item's words."""
    html = (silent.path / "report.html").read_text(encoding="utf-8")
    assert "i3" in html
    assert "Comment 3." not in html


def test_metrics_json_has_no_number_that_json_lacks(folder, validation, details):
    """The page's data are strict JSON: no NaN, no infinity."""
    html = page(validation, details)
    start = html.index('id="block">') + len('id="block">')
    json.loads(html[start : html.index("</script>", start)], parse_constant=pytest.fail)
