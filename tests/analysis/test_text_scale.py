"""Validation of free texts: lexical similarity, a table of similarities, and the annotator test."""

from __future__ import annotations

import csv
import json

import pytest
from support.analysis_inputs import source_of, task_of
from support.known_answers import golden_cases

import harness
from harness.analysis import validate
from harness.errors import TaskError
from harness.report import page
from harness.report.text import render
from harness.runs.run_folder import RunFolder
from harness.runs.sources import source_of as source_of_folder
from harness.runs.sources import source_of_verdicts
from harness.stats.open_scales.text_answers import word_overlap
from harness.tasks import load_task

ARTICLES = ("a", "the", "my")
NOUNS = ("house", "ship", "dog", "bird")
TASK = "name: shapes\nproperty: what the shape is\nscale: text\n"


def example():
    """Make a source of 40 shapes: three raters name them in two words, one judge knows them."""
    items = [f"i{i}" for i in range(40)]
    noun = {item: NOUNS[i % 4] for i, item in enumerate(items)}
    ratings = {
        f"r{j}": {item: f"{ARTICLES[(i + j) % 3]} {noun[item]}" for i, item in enumerate(items)}
        for j in range(3)
    }
    judges = {
        "exact": {item: f"a {noun[item]}" for item in items},
        "constant": dict.fromkeys(items, "a house"),
    }
    return source_of(task_of(ratings, options=(), positive=(), scale="text", abstain=False), judges)


def test_texts_are_ranked_by_their_similarity_to_the_raters():
    """By hand: of three ratings one shares both words, two the noun of three words."""
    validation = validate(example())
    exact = validation.judge("exact").metrics["similarity"]
    assert exact.value == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)
    assert validation.decision.leader == "exact"
    rows = {row.judge: row for row in validation.evidence.judges}
    assert rows["exact"].better_than == {"most_frequent": True, "prior": True}
    assert rows["exact"].human.human == pytest.approx(1 / 3)
    assert validation.replacement.score == "similarity"
    assert validation.humans.agreement["pairwise_similarity"].value == pytest.approx(1 / 3)
    text = render(validation)
    assert "similarity is the share of words" in text
    assert "similarity to the raters" in page(validation)


def test_a_value_that_never_varies_has_the_interval_of_an_exact_test():
    """Every item adds the same to the value of this judge, on 40 items; others may not."""
    items = [f"i{i}" for i in range(40)]
    ratings = {f"r{j}": {item: f"word{item} {j}" for item in items} for j in range(4)}
    judges = {"m": {item: f"word{item} 0" for item in items}}
    task = task_of(ratings, options=(), positive=(), scale="text", abstain=False)
    validation = validate(source_of(task, judges))
    [row] = validation.evidence.judges
    assert row.estimate.interval.low < row.value < row.estimate.interval.high
    assert not row.estimate.interval_reason


def test_word_overlap_is_symmetric_and_ignores_case():
    """Two empty texts are the same."""
    assert word_overlap("A red house", "a house") == word_overlap("a house", "a red house") == 2 / 3
    assert word_overlap("", " ") == 1.0
    assert word_overlap("", "a") == 0.0


def folder_of(tmp_path, rows, task=TASK + "similarity: pairs.csv\n"):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "task.yaml").write_text(task)
    (tmp_path / "items.csv").write_text("id,text\ni1,one\ni2,two\n")
    (tmp_path / "ratings.csv").write_text(
        "item,rater,value\ni1,a,house\ni1,b,home\ni2,a,dog\ni2,b,dog\n"
    )
    with (tmp_path / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "other", "similarity"), *rows])
    return tmp_path


PAIRS = [("house", "home", 0.9), ("hut", "house", 0.5), ("hut", "home", 0.7), ("wolf", "dog", 0.6)]


@pytest.mark.slow
def test_a_table_gives_the_similarities_of_a_run(tmp_path, monkeypatch):
    """In both orders; the run folder keeps the table, so that its results can be computed again."""
    folder = folder_of(tmp_path / "task", PAIRS)
    assert load_task(folder).similarities["home", "hut"] == 0.7
    judges = {"judge": {"kind": "scripted", "model": "m", "replies": {"i1": "hut", "i2": "wolf"}}}
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": judges}))
    monkeypatch.chdir(tmp_path)
    run = harness.run(folder, "judge", judges_file="judges.yaml", no_store=True)
    assert run.validation.judge("judge").metrics["similarity"].value == pytest.approx(0.6)
    (folder / "pairs.csv").unlink()
    assert validate(source_of_folder(RunFolder.open(run.path))) == run.validation


def test_a_missing_pair_is_named(tmp_path):
    """An answer that the table does not know cannot be compared."""
    task = load_task(folder_of(tmp_path, PAIRS[:2]))
    with pytest.raises(TaskError, match=r"pairs\.csv has no similarity for 'hut' and 'home'"):
        validate(source_of(task, {"judge": {"i1": "hut", "i2": "dog"}}))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b", "x")], "line 2: similarity 'x' is not a number"),
        ([("a", "b", 1), ("b", "a", 0)], "line 3: 'b' and 'a' are listed twice"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, rows, message):
    """With file and line."""
    with pytest.raises(TaskError, match=message):
        _ = load_task(folder_of(tmp_path, rows)).similarities


def test_similarity_belongs_to_a_text_scale(tmp_path):
    """Options and numbers have distances of their own."""
    text = TASK.replace("text\n", "continuous\n") + "similarity: pairs.csv\n"
    with pytest.raises(
        TaskError,
        match=r"similarity: the scale is continuous, but similarity is for a text scale\. Leave",
    ):
        load_task(folder_of(tmp_path, [], text))


@pytest.mark.slow
def test_kilogram_gives_the_known_annotator_test(truth, tmp_path):
    """Winning rate and advantage by the overlap of words, from files as they are published."""
    data = truth / "data" / "kilogram"
    (tmp_path / "task.yaml").write_text(TASK)
    (tmp_path / "ratings.csv").write_bytes((data / "ratings.csv").read_bytes())
    source = source_of_verdicts(str(tmp_path), data / "verdicts.csv")
    tests = {result.judge: result.test for result in validate(source).replacement.judges}
    cases = [c for c in golden_cases("alt_test") if c["id"].startswith("alt/kilogram-jaccard/")]
    for case in cases:
        test = tests[case["inputs"]["judge"]]
        assert test.winning_rate.value == pytest.approx(case["expect"]["omega"])
        assert test.advantage.value == pytest.approx(case["expect"]["rho"])
    assert len(cases) == 2
