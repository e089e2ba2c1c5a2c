"""`harness plan`: from assumed rates, and from the ratings and verdicts of a task."""

from __future__ import annotations

import csv
import json

import pytest
from support.known_answers import truth_folders
from support.processes import invoke
from support.task_folders import make_task_folder, make_truth_task

from harness.curation.collecting.collection_plan import planted_raters_of
from harness.runs.sources import source_of_verdicts
from harness.stats.planning.planted import PlantedJudge, planted_moments

ASSUMED = ("--agreement", "0.75", "--rater-agreement", "0.8")


@pytest.fixture
def rated(tmp_path):
    """A task of 24 items and verdicts of the judges a and b on it."""
    task, file = make_task_folder(tmp_path / "small", 24), tmp_path / "verdicts.csv"
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(("item", "judge", "value"))
        writer.writerows((f"i{i}", "a", "A" if i % 4 > 1 else "B") for i in range(24))
        writer.writerows((f"i{i}", "b", "A" if i % 3 else "B") for i in range(24))
    return ("--task", task, "--verdicts", file)


def test_costs_choose_between_items_and_raters(rated):
    """Free ratings make calls dear, and more raters per item the cheaper plan."""
    options = ("difference", "0.1", *rated, "--reply-cost", "0.01", "--json", "--rating-cost")
    rows = json.loads(invoke("plan", *options, "0").output)["rows"]
    assert [row["n_raters"] for row in rows] == [1, 2, 3, 5]
    assert [row["n_items"] for row in rows] == sorted((r["n_items"] for r in rows), reverse=True)
    assert rows[3]["cost_usd"] == pytest.approx(rows[3]["n_items"] * 2 * 0.01)
    assert (
        invoke("plan", *options[:-2], "--rating-cost", "0")
        .output.splitlines()[-1]
        .endswith("least cost")
    )


def test_raters_are_planted_as_in_a_task(rated):
    """With a task alone, raters agree as its own, and judges as is assumed of them."""
    task, arguments = rated[1], ("--agreement", "0.55", "--json")
    planned = json.loads(invoke("plan", "difference", "0.05", "--task", task, *arguments).output)
    raters = planted_raters_of(source_of_verdicts(str(task), None))
    better, worse = (PlantedJudge.that_agrees(raters, share) for share in (0.6, 0.55))
    moments = planted_moments(raters, better, worse)
    assert planned["basis"]["other_rater"] == pytest.approx(moments.other_rater)
    assert planned["basis"]["mean"] == pytest.approx(0.05, abs=0.002)
    drawn = invoke(
        "plan", "annotators", "--task", task, *arguments, "--items", "30", "--draws", "10"
    )
    assert json.loads(drawn.output)[0]["n_draws"] == 10


def test_a_second_reply_is_not_extrapolated_from_one(rated):
    """One reply per item leaves plans with more replies NA, with the reason."""
    result = invoke("plan", "difference", "0.2", *rated, "--samples", "1,3")
    assert result.exit_code == 0
    assert "by the variance of 24 items" in result.output
    assert result.output.count("one reply per item") == 4


def test_charts_are_written_as_svg(tmp_path):
    """Both plans draw what their tables say."""
    for arguments in (
        ("difference", "0.1", *ASSUMED),
        ("annotators", *ASSUMED, "--eps", "0.2", "--items", "20,30", "--draws", "10"),
    ):
        file = tmp_path / f"{arguments[0]}.svg"
        result = invoke("plan", *arguments, "--chart", file)
        assert result.exit_code == 0, result.output
        assert file.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("difference", "0.1"), "or assume --agreement"),
        (("difference", "2", *ASSUMED), "between 0 and 1"),
        (("difference", "0.3", *ASSUMED), "a judge's agreement with a rater can't be 1.050"),
        (("annotators", *ASSUMED), "--eps"),
        (("annotators", *ASSUMED, "--eps", "0.1", "--raters", "1"), "2 raters or more"),
        (("difference", "0.1", *ASSUMED, "--raters", "x"), "whole numbers"),
        (("difference", "0.1", "--task", "toxicity"), "with either --task or --rater-agreement"),
        (
            ("difference", "0.1", "--task", "toxicity", *ASSUMED),
            "with either --task or --rater-agreement",
        ),
        (("difference", "0.1", "--verdicts", "v.csv"), "--verdicts needs a task. Add --task"),
        (
            ("annotators", "--task", "toxicity", *ASSUMED[:2], "--eps", "0.1"),
            "comes from task.yaml",
        ),
    ],
)
def test_wrong_options_are_named(arguments, message):
    """One line says what is missing."""
    result = invoke("plan", *arguments)
    assert result.exit_code == 2
    assert message in result.output + str(result.exception)


def test_judges_have_to_be_named_among_several(rated):
    """The message lists the judges of the verdicts."""
    result = invoke("plan", "annotators", *rated)
    assert result.exit_code == 2
    assert "name one judge from the verdicts (a, b)" in result.output


@pytest.mark.slow
def test_raters_and_items_are_drawn_from_a_task(tmp_path):
    """Calderon et al. 2025, figure 2, on WAX: power grows with the items and stays uncertain."""
    if not truth_folders():
        pytest.skip("no truth folder")
    truth = truth_folders()[0]
    task = make_truth_task(truth, "wax", tmp_path)
    verdicts = truth / "data" / "wax" / "verdicts.csv"
    options = ("--judge", "gemini-1.5-pro", "--items", "30,150", "--draws", "40", "--json")
    result = invoke("plan", "annotators", "--task", task, "--verdicts", verdicts, *options)
    few, many = json.loads(result.output)
    assert many["power"] > few["power"]
    assert few["n_draws"] == 40
