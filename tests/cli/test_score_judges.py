"""Judges that give numbers: imported, asked, compared with judges that choose, estimated with."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.processes import call_harness, invoke
from support.scored_judges import SCALES, label, score_rows, scored_task, scores, write_csv

from harness.analysis import score_measures
from harness.runs.sources import source_of_verdicts

N = 120


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def validated(*arguments):
    result = invoke("validate", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def judge_of(validation, name):
    return next(row for row in validation["scores"]["judges"] if row["judge"] == name)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_any_real_number_is_validated_on_every_ordered_scale(place, scale):
    """Good scores beat the baselines, noise does not, and a falling score is found to fall."""
    quality = scored_task(place / "task", scale)
    noise = np.random.default_rng(9).normal(size=N)
    rows = [
        *score_rows("rising", scores(quality), better="higher"),
        *score_rows("falling", scores(quality, sign=-1.0), better=""),
        *score_rows("noise", noise, better=""),
    ]
    validation = validated("--task", "task", "--verdicts", write_csv(place / "scores.csv", rows))
    rising, falling = judge_of(validation, "rising"), judge_of(validation, "falling")
    assert (rising["better"], rising["is_declared"]) == ("higher", True)
    assert (falling["better"], falling["is_declared"]) == ("lower", False)
    assert rising["strata"][0]["n_items"] == N
    assert falling["strata"][0]["n_items"] == N // 2  # the other half showed the direction
    for judge in (rising, falling):
        for name, estimate in judge["strata"][0]["measures"].items():
            assert estimate["interval"]["low"] > (0.5 if name == "auc" else 0.0)
    beaten = {
        row["judge"]: row["beats_baselines"]["passed"] if "beats_baselines" in row else None
        for row in validation["evidence"]["judges"]
    }
    places = {row["judge"]: row["rank"] for row in validation["ranking"]["rows"]}
    assert places["noise"] == 3
    assert beaten.keys() == {"rising", "falling", "noise"}
    assert validation["decision"]["judge"] != "noise"


def test_direction_that_is_wrongly_declared_shows(place):
    """If lower is said to be better, the correlations are negative and the judge is worthless."""
    quality = scored_task(place / "task", "ordinal")
    rows = score_rows("judge", scores(quality), better="lower")
    validation = validated("--task", "task", "--verdicts", write_csv(place / "scores.csv", rows))
    judge = judge_of(validation, "judge")
    assert judge["better"] == "lower"
    assert judge["strata"][0]["measures"]["spearman_mean"]["interval"]["high"] < 0
    assert validation["decision"]["verdict"] == "none"


def test_numbers_that_are_no_options_are_read_as_scores_and_said_to_be(place):
    """A reward model's values in the column value are compared with a judge that chooses."""
    quality = scored_task(place / "task", "ordinal")
    options = SCALES["ordinal"][1]
    rng = np.random.default_rng(4)
    rows = [
        {"item": f"i{i}", "judge": judge, "value": value}
        for i, (mean, score) in enumerate(zip(quality, scores(quality), strict=True))
        for judge, value in (
            ("reward", repr(float(score))),
            ("chooser", label(mean + 0.5 * rng.normal(), options)),
        )
    ]
    validation = validated("--task", "task", "--verdicts", write_csv(place / "v.csv", rows))
    assert [row["judge"] for row in validation["scores"]["judges"]] == ["reward"]
    assert any("reward: its values are numbers" in note for note in validation["notes"])
    [counts] = next(j for j in validation["judges"] if j["name"] == "reward")["outcomes"]
    assert counts["answered"] == N
    assert {row["judge"] for row in validation["ranking"]["rows"]} == {"reward", "chooser"}


def test_a_stray_number_is_still_no_option(place):
    """Few values that are no options don't turn choices into scores."""
    quality = scored_task(place / "task", "ordinal")
    values = [label(x, SCALES["ordinal"][1]) for x in quality]
    values[0] = "6"
    rows = [{"item": f"i{i}", "judge": "j", "value": value} for i, value in enumerate(values)]
    validation = validated("--task", "task", "--verdicts", write_csv(place / "v.csv", rows))
    assert "scores" not in validation
    [counts] = validation["judges"][0]["outcomes"]
    assert (counts["answered"], counts["invalid"]) == (N - 1, 1)


def test_a_direction_is_one_of_two_words(place):
    """Anything else is refused, with the line."""
    quality = scored_task(place / "task")
    rows = score_rows("j", scores(quality), better="higher")
    rows[0]["better"] = "more"
    path = write_csv(place / "v.csv", rows)
    result = call_harness("validate", "--task", "task", "--verdicts", path, cwd=place)
    assert result.returncode == 2
    assert "line 2: column 'better' of judge 'j' contains 'more'. Write" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("text", ["good", "", "nan", "inf"])
def test_invalid_scores_are_counted(place, text):
    """The other items keep theirs."""
    quality = scored_task(place / "task")
    rows = score_rows("j", scores(quality), better="higher")
    rows[0]["score"] = text
    path = write_csv(place / "v.csv", rows)
    validation = validated("--task", "task", "--verdicts", path)
    [counts] = validation["judges"][0]["outcomes"]
    assert (counts["answered"], counts["invalid"]) == (N - 1, 1)
    assert judge_of(validation, "j")["strata"][0]["n_items"] == N - 1


def test_a_score_next_to_a_value_is_not_a_verdict(place):
    """Many exports have both, and the number is a confidence or an earlier grade."""
    quality = scored_task(place / "task", "ordinal")
    options = SCALES["ordinal"][1]
    rows = [
        {"item": f"i{i}", "judge": "j", "value": label(x, options)} for i, x in enumerate(quality)
    ]
    alone = validated("--task", "task", "--verdicts", write_csv(place / "v.csv", rows))
    for row, score in zip(rows, scores(-quality), strict=True):
        row["score"] = repr(float(score))
    beside = validated("--task", "task", "--verdicts", write_csv(place / "w.csv", rows))
    assert "scores" not in beside
    assert beside["judges"] == alone["judges"]


def test_options_without_an_order_are_refused(place):
    """A number can't say which of three kinds an item is."""
    quality = scored_task(place / "task", "ordinal")
    path = place / "task" / "task.yaml"
    path.write_text(path.read_text().replace("scale: ordinal", "scale: nominal"))
    rows = score_rows("j", scores(quality))
    path = write_csv(place / "v.csv", rows)
    result = call_harness("validate", "--task", "task", "--verdicts", path, cwd=place)
    assert result.returncode == 2
    assert "scores order items, but the options have no order" in result.stderr


def test_too_few_rated_items_are_refused_before_anything_else(place):
    """Nine rated items don't show what a score means."""
    quality = scored_task(place / "task", n=9)
    rows = score_rows("j", scores(quality))
    path = write_csv(place / "v.csv", rows)
    result = call_harness("validate", "--task", "task", "--verdicts", path, cwd=place)
    assert result.returncode == 2
    assert "fewer than 10 rated items" in result.stderr


def asked(server, place, quality, judge="grader@scoring"):
    """Run a judge behind a server that gives a number for each text."""
    new = {f"text new {i}": [f"{10 * i:.1f}"] for i in range(60)}
    table = {f"text {i}": [f"{s:.3f}"] for i, s in enumerate(40 * quality)} | new
    server.set_table("scores", table)
    judges = {"grader": {"model": "m", "base_url": server.url(table="scores")}}
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    run = ("--judges", judge, "--judges-file", "judges.yaml", "--out", "runs", "-q")
    return invoke("run", "--task", "task", *run)


@pytest.mark.slow
def test_judge_behind_an_endpoint_gives_scores(place, stub):
    """Each reply is a number; the log keeps it, and the run compares what it becomes."""
    quality = scored_task(place / "task")
    result = asked(stub, place, quality)
    assert result.exit_code == 0, result.output
    [run] = (place / "runs").iterdir()
    lines = (run / "verdicts.jsonl").read_text().splitlines()[1:]
    values = [json.loads(line)["value"] for line in lines]
    assert len(values) == N
    assert sorted(map(float, values)) == pytest.approx(sorted(np.round(40 * quality, 3)))
    validation = json.loads((run / "metrics.json").read_text())
    assert validation["scores"]["judges"][0]["judge"] == "grader@scoring"
    assert validation["scores"]["judges"][0]["better"] == "higher"
    assert validation["judges"][0]["outcomes"][0]["answered"] == N
    assert "how scores order items" in invoke("validate", run).output


@pytest.mark.slow
def test_estimate_maps_scores_of_unlabelled_items(place, stub):
    """The mean of the folds' maps turns them into choices: half of these are above the middle."""
    quality = scored_task(place / "task")
    assert asked(stub, place, quality).exit_code == 0
    [run] = (place / "runs").iterdir()
    stub.set_table("scores", {f"text new {i}": [f"{i - 29.5:.1f}"] for i in range(60)})
    items = [{"id": f"u{i}", "text": f"text new {i}"} for i in range(60)]
    options = ("--judge", "grader@scoring", "--items", write_csv(place / "new.csv", items))
    result = invoke("estimate", run.name, *options, "--judges-file", "judges.yaml", "--json", "-q")
    assert result.exit_code == 0, result.output
    validation = json.loads(result.stdout)
    assert validation["n_unlabelled"] == 60
    assert validation["n_unanswered"] == 0
    assert validation["mean"]["estimate"]["low"] < 0.5 < validation["mean"]["estimate"]["high"]


@pytest.mark.slow
def test_tables_of_correlations_by_certainty_are_those_of_the_paper(place):
    """Elangovan et al. 2025, tables 2 and 7: against mean and median, overall and by agreement.

    Where raters agree, mean and median are one, and so are both correlations; where they don't, a
    score correlates less. The figure behind it shows the scores at each median.
    """
    from scipy.stats import kendalltau, spearmanr

    quality = scored_task(place / "task", "ordinal", n=400, seed=3)
    values = scores(quality, noise=0.8)
    path = write_csv(place / "v.csv", score_rows("metric", values, better="higher"))
    judge = judge_of(validated("--task", "task", "--verdicts", path), "metric")
    rows = (place / "task" / "ratings.csv").read_text().splitlines()[1:]
    ratings = np.array([int(row.split(",")[2]) for row in rows]).reshape(400, 3)
    median = np.median(ratings, axis=1)
    agreeing = (ratings == median[:, None]).mean(axis=1)
    strata = {row["name"]: row for row in judge["strata"]}
    for name, members in (
        ("all", agreeing >= 0),
        ("PA = 1", agreeing == 1),
        ("0.6 <= PA < 0.8", (agreeing > 0.6) & (agreeing < 1)),
        ("PA < 0.6", agreeing < 0.6),
    ):
        measures = strata[name]["measures"]
        assert strata[name]["n_items"] == members.sum()
        for centre, centres in (("mean", ratings.mean(axis=1)), ("median", median)):
            x, y = values[members], centres[members]
            assert measures[f"spearman_{centre}"]["value"] == pytest.approx(spearmanr(x, y)[0])
            assert measures[f"kendall_tau_b_{centre}"]["value"] == pytest.approx(
                kendalltau(x, y)[0]
            )
    of_all = {name: row["measures"]["spearman_mean"]["value"] for name, row in strata.items()}
    assert of_all["PA = 1"] > of_all["all"] > of_all["PA < 0.6"]
    for row in judge["by_median"]:
        at = values[median == row["median"]]
        assert row["n_items"] == len(at)
        assert row["quantiles"] == pytest.approx(np.quantile(at, [0.05, 0.25, 0.5, 0.75, 0.95]))
    medians = [row["quantiles"][2] for row in judge["by_median"]]
    assert medians == sorted(medians)


def test_many_different_numbers_are_na_with_the_reason(place, monkeypatch):
    """Ratings that would take gigabytes as counts; and no chart of some of their medians alone."""
    quality = scored_task(place / "task", "continuous")
    path = write_csv(place / "v.csv", score_rows("j", scores(quality), better="higher"))
    assert judge_of(validated("--task", "task", "--verdicts", path), "j")["by_median"] == []
    monkeypatch.setattr("harness.analysis.score_measures.MAX_CELLS", 100)
    source = source_of_verdicts("task", path)
    [judge] = score_measures.section(source).judges
    assert {e.reason for e in judge.strata[0].measures.values()} == {"not_computed"}
    assert judge.pairwise_accuracy.reason == "not_computed"
