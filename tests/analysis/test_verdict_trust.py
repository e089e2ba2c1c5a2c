"""`harness trust`: which verdicts of a judge can be accepted without a person."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.processes import invoke
from support.verdicts import verdict_from

import harness
from harness.analysis.verdict_trust import VerdictTrust, verdict_trust
from harness.errors import HarnessError
from harness.report.trust_text import trust_text
from harness.runs.sources import source_of_verdicts

N = 240
TASK = (
    "name: tone\nproperty: whether the reply is rude\nscale: binary\noptions: [rude, polite]\n"
    "positive: [rude]\nraters: skilled\nsource: made up\nlicence: CC0-1.0\n"
)


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def make_task(folder, *, raters=3, groups=False, sets=False, probability=None):
    """Write a task whose raters all agree on an item."""
    folder.mkdir()
    (folder / "task.yaml").write_text(TASK)
    items = [{"id": f"i{i}", "text": f"Reply {i}."} for i in range(N)]
    for i, item in enumerate(items):
        if groups:
            item["group"] = f"g{i // 4}"
        if probability:
            item["inclusion_probability"] = probability(i)
    write_csv(folder / "items.csv", items)
    ratings = [
        {"item": f"i{i}", "rater": f"r{j}", "elicitation": "forced_choice", "value": truth(i)}
        for i in range(N)
        for j in range(raters)
    ]
    if sets:
        ratings += [
            row | {"elicitation": "response_set", "value": json.dumps(["rude", "polite"])}
            for row in ratings
        ]
    write_csv(folder / "ratings.csv", ratings)
    return folder


def truth(i):
    return ("rude", "polite")[i % 2]


def verdicts(path, *, samples=4, error=lambda i, s: i % 3 == 0 and s < 2):
    """Write verdicts of two judges, the first of which contradicts itself where it errs."""
    rows = [
        {"item": f"i{i}", "judge": judge, "sample": s, "value": truth(i + wrong)}
        for i in range(N)
        for s in range(samples)
        for judge, wrong in (("often", error(i, s)), ("always", True))
    ]
    return write_csv(path, rows)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_task(tmp_path / "tone")
    verdicts(tmp_path / "v.csv")
    return tmp_path


ON_TASK = ("--task", "./tone", "--verdicts", "v.csv")


def test_verdicts_that_agree_with_themselves_can_stand(place):
    """Where its replies tie, the judge has no single answer, and a person rates the item."""
    files = ("--export", "accepted.csv", "--queue", "rest.csv")
    done = invoke("trust", *ON_TASK, "--judge", "often", "--max-error", 0.1, *files)
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "160 of 240 verdicts of often can be accepted without a person (66.7%)." in text
    assert "A person must rate the other 80." in text
    assert "160 are accepted, with an error of 0.0% (exact binomial test)." in text
    assert "This accounts for selecting the judge from 2." in text
    rows = list(csv.DictReader(Path("accepted.csv").read_text().splitlines()))
    assert len(rows) == N
    assert [row["accepted"] for row in rows] == ["false", "true", "true"] * 80
    assert {row["value"] for row in rows[::3]} == {""}
    queue = list(csv.DictReader(Path("rest.csv").read_text().splitlines()))
    assert {row["item"] for row in queue} == {f"i{i}" for i in range(0, N, 3)}
    assert {row["elicitation"] for row in queue} == {"forced_choice"}


def test_python_and_json_have_the_same_result(place):
    shown = json.loads(
        invoke("trust", *ON_TASK, "--judge", "often", "--max-error", 0.1, "--json").stdout
    )
    result = harness.trust(task="./tone", verdicts="v.csv", judge="often", max_error=0.1)
    assert repr(result) == "VerdictTrust('often', 160 of 240 accepted)"
    assert shown["n_accepted"] == result.n_accepted
    assert [v["accepted"] for v in shown["verdicts"]] == [v.accepted for v in result.verdicts]
    assert result.raters_error == 0.0
    assert result.n_raters_items == N
    assert result.signals == ("sample_agreement",)
    assert len(result.rest) == 80


def test_a_judge_that_is_wrong_is_never_accepted(place):
    """However sure it is of itself."""
    done = invoke("trust", *ON_TASK, "--judge", "always", "--max-error", 0.1)
    text = " ".join(done.stdout.split())
    assert "No verdict of always can be accepted without a person." in text
    assert "don't show an error of at most 0.1 for any threshold" in text
    result = harness.trust(task="./tone", verdicts="v.csv", judge="always", max_error=0.1)
    assert (result.n_accepted, result.reason, len(result.rest)) == (0, "error_not_shown", N)


def test_one_reply_per_item_carries_no_confidence(place):
    """So all of them stand, or none."""
    verdicts(place / "one.csv", samples=1, error=lambda i, _: i % 40 == 0)
    done = invoke(
        *("trust", "--task", "./tone", "--verdicts", "one.csv", "--judge", "often"),
        *("--max-error", 0.1),
    )
    text = " ".join(done.stdout.split())
    assert "240 of 240 verdicts of often can be accepted without a person (100.0%). With" in text
    assert "The replies have no confidence" in text


def stated(place, *, shuffled):
    """Return a source whose judge states a confidence, and contradicts itself where it's unsure."""
    draw, verdicts = np.random.default_rng(0), []
    for i in range(N):
        sure = draw.random() < 0.7
        wrong = not sure and draw.random() < 0.5
        for s in range(3):
            wrong_now = wrong != (not sure and s == 0)
            verdicts.append(
                verdict_from(
                    item=f"i{i}",
                    judge="mine",
                    elicitation="forced_choice",
                    sample=s,
                    outcome="answered",
                    value=truth(i + wrong_now),
                    reply=json.dumps({"confidence": 90 if sure else 60}),
                    shown=("polite", "rude") if shuffled and s else (),
                )
            )
    source = source_of_verdicts("./tone", place / "v.csv")
    return replace(source, verdicts={"mine": verdicts})


@pytest.mark.parametrize("shuffled", [False, True])
def test_two_confidences_are_weighed_on_half_of_the_items(place, shuffled):
    """What the judge states, and how its replies agree, be it over orders of the options."""
    source = stated(place, shuffled=shuffled)
    result, _ = verdict_trust(source, "mine", max_error=0.1, error_kind="rater", level=0.95)
    agreement = "order_stability" if shuffled else "sample_agreement"
    assert set(result.signals) == {"verbal_confidence", agreement}
    assert result.n_chosen_on == result.n_tested == N // 2
    assert 0.5 * N < result.n_accepted < 0.8 * N
    text = " ".join(trust_text(result).split())
    named = "stability across option orders" if shuffled else "agreement of replies"
    assert f"It was chosen among stated confidence, {named} and their combination" in text


def test_items_of_a_group_are_tested_together(tmp_path, monkeypatch):
    """Bets on sixty groups need more items than an exact test on 240 items."""
    monkeypatch.chdir(tmp_path)
    make_task(tmp_path / "tone", groups=True)
    verdicts(tmp_path / "v.csv")
    result = harness.trust(task="./tone", verdicts="v.csv", judge="often", max_error=0.2)
    assert result.method == "betting"
    assert result.n_accepted == 160


def test_errors_against_response_sets_need_response_sets(place):
    done = invoke("trust", *ON_TASK, "--judge", "often", "--max-error", 0.1, "--error", "set")
    assert "no item with an answer from often has response sets" in str(done.exception)
    make_task(place / "with", sets=True)
    result = harness.trust(
        task="./with", verdicts="v.csv", judge="always", max_error=0.1, error_kind="set"
    )
    assert result.n_accepted == N  # both options are in every set
    assert result.raters_error == 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judge", "nobody", "--max-error", 0.1), "no judge 'nobody'. Use one of often, always"),
        (("--judge", "often", "--max-error", 0), "max-error"),
        (("--judge", "often", "--max-error", 1.0), "max-error"),
        (("--judge", "often"), "max-error"),
        (("--judge", "often", "--max-error", 0.1, "--confidence", 1.5), "confidence"),
    ],
)
def test_wrong_input_is_refused(place, words, message):
    done = invoke("trust", *ON_TASK, *words)
    assert done.exit_code == 2 or isinstance(done.exception, HarnessError)
    assert message in " ".join(f"{done.output} {done.exception}".split())


def test_items_drawn_with_unequal_probabilities_are_refused(place):
    make_task(place / "drawn", probability=lambda i: 0.1 if i % 2 else 0.4)
    with pytest.raises(HarnessError, match="drawn with unequal probabilities"):
        harness.trust(task="./drawn", verdicts="v.csv", judge="often", max_error=0.1)


def test_a_task_without_verdicts_is_refused(place):
    with pytest.raises(HarnessError, match="Pass a file of verdicts"):
        harness.trust(task="./tone", judge="often", max_error=0.1)
    with pytest.raises(HarnessError, match="verdicts need a task"):
        harness.trust(verdicts="v.csv", judge="often", max_error=0.1)


def test_a_run_shows_which_of_its_verdicts_can_stand(place):
    """The newest run by default."""
    harness.run("./tone", ["random"], out="runs", samples=2, elicitations="forced_choice")
    result = harness.trust(judge="random", max_error=0.9, out="runs")
    assert result.signals == ("sample_agreement",)
    done = invoke("trust", "--judge", "random", "--max-error", 0.05, "--out", "runs")
    assert "No verdict of random can be accepted" in done.stdout


def test_json_has_the_published_schema(place):
    """Which names what every member means."""
    done = invoke("trust", *ON_TASK, "--judge", "often", "--max-error", 0.1, "--json")
    schema = VerdictTrust.json_schema()
    assert set(json.loads(done.stdout)) <= set(schema["properties"])
    assert schema["properties"]["error_kind"] == {"enum": ["majority", "rater", "set"]}
