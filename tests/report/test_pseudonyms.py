"""What is made to be passed on doesn't name the raters, who are people."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.processes import call_harness
from support.task_folders import make_task_folder, write_jsonl

from harness.report import judge_card, page
from harness.report.pseudonyms import pseudonyms, raters_in, with_pseudonyms
from harness.report.rebuild import stored_validation
from harness.report.served.side_by_side import RunItems
from harness.runs.run_folder import RunFolder

PEOPLE = ("Ann O'Hara", "bob@example.org", "Chidera", "Dora <d@example.org>", "eve")
RARE = "Gus Gray"  # rated too few items to be tested
N_ITEMS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two runs on a task whose raters have names, one of which a judge has, too."""
    place = tmp_path_factory.mktemp("names")
    task = make_task_folder(place / "task", N_ITEMS, raters=5, response_sets=False, in_turn=True)
    rows = [json.loads(line) for line in (task / "ratings.jsonl").read_text().splitlines()]
    named = [row | {"rater": PEOPLE[int(row["rater"][1:])]} for row in rows]
    rare = [{"item": f"i{i}", "rater": RARE, "value": "A"} for i in range(5)]
    write_jsonl(task / "ratings.jsonl", [*named, *rare])
    copied = {row["item"]: row["value"] for row in named if row["rater"] == PEOPLE[1]}
    judge = {"kind": "scripted", "model": "script", "samples": 1, "replies": copied}
    (place / "judges.yaml").write_text(json.dumps({"judges": {"eve": judge}}), encoding="utf-8")
    for judges in ("eve,random", "eve"):
        command = ("run", "--task", "task", "--judges", judges, "--judges-file", "judges.yaml")
        done = call_harness(*command, "--no-store", "--elicitation", "forced_choice", cwd=place)
        assert done.returncode == 0, done.stderr
    return place


def folders(place):
    return sorted((place / "runs").iterdir())


def named_in(text):
    """Return the people whose name stands in a text, as it is or escaped; a judge is called eve."""
    escaped = text.replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">")
    for code, sign in (("\\u003c", "<"), ("\\u003e", ">"), ("\\u0026", "&")):
        escaped = escaped.replace(code, sign)
    return {name for name in (*PEOPLE[:-1], RARE) if name in escaped}


def texts_of(folder):
    """Return what is made to be passed on, by file."""
    names = ("report.html", "judge-card.md", "ranking.csv")
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


@pytest.mark.slow
def test_a_run_names_no_rater_in_what_is_passed_on(place):
    """Page, card and ranking have r1, r2 and so on; the judge called eve keeps its name."""
    for folder in folders(place):
        for name, text in texts_of(folder).items():
            assert named_in(text) == set(), name
        assert "r5" in texts_of(folder)["report.html"]
        assert "eve" in texts_of(folder)["report.html"]


@pytest.mark.slow
def test_charts_and_comparisons_name_no_rater(place):
    """`harness report --charts` and `harness report A B` have no names either."""
    first, second = folders(place)
    assert call_harness("report", first, "--charts", "charts", cwd=place).returncode == 0
    charts = [path.read_text(encoding="utf-8") for path in (place / "charts").glob("*.svg")]
    assert any("against each rater" in chart for chart in charts)
    assert set().union(*map(named_in, charts)) == set()
    assert call_harness("report", first, second, cwd=place).returncode == 0
    [beside] = second.glob("beside-*.html")
    assert named_in(beside.read_text(encoding="utf-8")) == set()


@pytest.mark.slow
def test_items_side_by_side_name_no_rater(place):
    """`harness view` shows ratings; with --show-raters, whose they are."""
    folder = RunFolder.open(folders(place)[0])
    masked, named = RunItems.of(folder), RunItems.of(folder, show_raters=True)
    assert {rating.name for rating in masked.full("i0").raters} == {f"r{i}" for i in range(1, 7)}
    assert {rating.name for rating in named.full("i0").raters} == {*PEOPLE, RARE}


def test_names_are_shown_on_request(place):
    """`--show-raters` keeps them, and the next report without it doesn't."""
    folder = folders(place)[0]
    assert call_harness("report", folder, "--show-raters", cwd=place).returncode == 0
    assert named_in(texts_of(folder)["report.html"]) == {*PEOPLE[:-1], RARE}
    assert call_harness("report", folder, cwd=place).returncode == 0
    assert named_in(texts_of(folder)["report.html"]) == set()


@pytest.mark.slow
def test_terminal_keeps_the_names(place):
    """The owner of the data reads it: the evidence names the rater who could not be tested."""
    shown = call_harness("validate", folders(place)[0], "--details", cwd=place).stdout
    assert named_in(shown) == {RARE}


@pytest.fixture(scope="module")
def validation(place):
    return stored_validation(RunFolder.open(folders(place)[0]))


def test_only_raters_are_renamed(validation):
    """Names come back by the inverse, and nothing else changes."""
    shown = pseudonyms([*PEOPLE, RARE])
    assert sorted(shown.values()) == ["r1", "r2", "r3", "r4", "r5", "r6"]
    renamed = with_pseudonyms(validation, shown)
    assert raters_in(validation) == {*PEOPLE, RARE}
    assert raters_in(renamed) == set(shown.values())
    assert [judge.name for judge in renamed.judges] == [judge.name for judge in validation.judges]
    back = with_pseudonyms(renamed, {other: name for name, other in shown.items()})
    assert back == validation


def test_warnings_name_no_rater(validation):
    """They are sentences with lists of raters, some of whose names are the end of others."""
    test = validation.replacement.judges[0].test
    shown = pseudonyms(["Gray", RARE])
    warned = replace(
        test,
        warnings=(
            f"few_items: the judge passes with fewer than 30 items for Gray (3), {RARE} (5)",
            f"raters_skipped: {RARE}, Gray had too few items and are not in the winning rate",
        ),
    )
    assert with_pseudonyms(warned, shown).warnings == (
        "few_items: the judge passes with fewer than 30 items for r1 (3), r2 (5)",
        "raters_skipped: r2, r1 had too few items and are not in the winning rate",
    )


def test_page_and_card_without_details_name_no_rater(validation):
    """As from Python, where only the numbers are at hand."""
    assert named_in(page(validation)) == set()
    assert named_in(judge_card(validation)) == set()


def test_pseudonyms_stay_as_they_are():
    """Raters that are called r7 in the data are r7 in the report."""
    assert pseudonyms(["r7", "r0"]) == {"r0": "r0", "r7": "r7"}
    assert pseudonyms(["ann", "r1"]) == {"ann": "r1", "r1": "r2"}
    assert pseudonyms(["ann"], show_raters=True) == {"ann": "ann"}
