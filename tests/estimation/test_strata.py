"""`harness estimate --strata`: each value of a field has its share of the unlabelled items."""

from __future__ import annotations

import csv
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.processes import call_harness, invoke
from support.task_folders import copy_place, make_task_folder, write_jsonl

import harness

LANGUAGES = {"de": 0.6, "en": 0.1, "fr": 0.3}  # share of positive ratings
RATED = 20  # of each language
UNLABELLED = {"de": 50, "en": 250, "fr": 100}


def rows_of(language, n, prefix, rng):
    """Items with a text that the word list finds bad as often as raters do, nearly."""
    return [
        {
            "id": f"{prefix}{language}{i}",
            "language": language,
            "text": f"{'bad' if rng.random() < LANGUAGES[language] else 'good'} day {i:03}",
        }
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on 20 rated items of each language; beside it 400 unlabelled ones, most English."""
    place = tmp_path_factory.mktemp("made")
    rng = random.Random(4)
    folder = make_task_folder(place / "small", 2, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: A, negative: B}\n")
    items = [row for name in LANGUAGES for row in rows_of(name, RATED, "r", rng)]
    write_jsonl(folder / "items.jsonl", items)
    ratings = [
        {"item": row["id"], "rater": "r0", "value": "A" if "bad" in row["text"] else "B"}
        for row in items
    ]
    write_jsonl(folder / "ratings.jsonl", ratings)
    rows = [row for name, n in UNLABELLED.items() for row in rows_of(name, n, "u", rng)]
    rng.shuffle(rows)
    write_jsonl(place / "new.jsonl", rows)
    result = invoke("run", "--task", folder, "--judges", "lexicon", "--out", place / "runs", "-q")
    assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    """The name of a copy of it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return copy_place(made, tmp_path)


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_table(path, rows):
    """Write a csv, parquet or jsonl table, as its name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        write_jsonl(path, rows)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def words(run, *more, items="new.jsonl"):
    place = ("--judge", "lexicon", "--items", items, "--out", "runs", "-q")
    return ("estimate", run, *place, *more)


def estimated(run, *more, items="new.jsonl"):
    result = invoke(*words(run, *more, "--json", items=items))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(run, place, *more, items="new.jsonl"):
    """What a command says that is refused, before the judge is asked about anything."""
    done = call_harness(*words(run, *more, items=items), cwd=place)
    assert done.returncode == 2, done.stdout + done.stderr
    assert not (place / "runs" / run / "estimates").exists()
    return done.stderr


@pytest.mark.slow
def test_labels_count_by_the_unlabelled_items_of_their_stratum(run, tmp_path):
    """By hand: the mean of the strata's means, each weighted by its unlabelled items."""
    found = estimated(run, "--strata", "language")
    assert found["strata"]["n_unlabelled"] == UNLABELLED
    assert found["strata"]["n_labelled"] == dict.fromkeys(LANGUAGES, RATED)
    value = {row["item"]: row["value"] == "A" for row in read(tmp_path / "small/ratings.jsonl")}
    means = {name: np.mean([value[f"r{name}{i}"] for i in range(RATED)]) for name in LANGUAGES}
    wanted = sum(n * means[name] for name, n in UNLABELLED.items()) / sum(UNLABELLED.values())
    alone = found["mean"]["labels_alone"]
    assert alone["value"] == pytest.approx(wanted)
    assert alone["value"] < estimated(run)["mean"]["labels_alone"]["value"]
    text = " ".join(invoke(*words(run, "--strata", "language")).stdout.split())
    assert "60 rated items, weighted by language, and" in text
    assert (
        "Rated items and share of the unlabelled items by language: de 20, 12.5%; en 20, 62.5%; "
        "fr 20, 25.0%." in text
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["new.csv", "new.parquet", "parts"])
def test_strata_are_the_same_in_every_format(run, tmp_path, name):
    """A csv file, a parquet file, and a folder of parts of all kinds."""
    rows = read(tmp_path / "new.jsonl")
    if name == "parts":
        for part, ending in enumerate(("csv", "parquet", "jsonl")):
            (tmp_path / "parts").mkdir(exist_ok=True)
            write_table(tmp_path / "parts" / f"{part}.{ending}", rows[part::3])
    else:
        write_table(tmp_path / name, rows)
    found, wanted = (
        estimated(run, "--strata", "language", items=items) for items in (name, "new.jsonl")
    )
    assert found["mean"]["estimate"] == pytest.approx(wanted["mean"]["estimate"])
    assert found["strata"] == wanted["strata"]


@pytest.mark.slow
def test_languages_of_no_unlabelled_item_are_left_out(run, tmp_path):
    """They say nothing of these items, and are counted."""
    rows = [row for row in read(tmp_path / "new.jsonl") if row["language"] != "fr"]
    write_jsonl(tmp_path / "fewer.jsonl", rows)
    found = estimated(run, "--strata", "language", items="fewer.jsonl")
    assert (found["mean"]["n_labelled"], found["n_left_out"]) == (2 * RATED, RATED)
    text = " ".join(invoke(*words(run, "--strata", "language", items="fewer.jsonl")).stdout.split())
    assert (
        "20 of the task's items have no rating or no answer from this judge, or a language" in text
    )


def test_items_are_compared_within_strata(run, tmp_path):
    """Another mix of strata is weighted and no difference; longer texts of one stratum are."""
    assert estimated(run)["likeness"]["differs"] == ["verdicts"]
    assert estimated(run, "--strata", "language")["likeness"]["differs"] == []
    rows = [
        row | {"text": row["text"] + " long" * 40 * (row["language"] == "de")}
        for row in read(tmp_path / "new.jsonl")
    ]
    write_jsonl(tmp_path / "longer.jsonl", rows)
    found = estimated(run, "--strata", "language", items="longer.jsonl")
    assert found["likeness"]["differs"] == ["lengths"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--until-width", "0.2"), "there's no valid sequence for items weighted by strata"),
        (("--paired-beta",), "there's no valid interval of beta for items weighted by strata"),
    ],
)
def test_options_that_conflict_with_strata_are_rejected(run, tmp_path, more, message):
    """Each with its reason, and what to leave out."""
    said = refusal(run, tmp_path, "--strata", "language", *more)
    assert message in said
    assert f"Leave out {more[0]} or --strata" in said


def test_strata_that_nobody_rated_are_refused_before_the_judge_is_asked(run, tmp_path):
    """With the value, how many items have it, and what to do."""
    rows = [*read(tmp_path / "new.jsonl"), {"id": "x", "language": "it", "text": "bella"}]
    write_jsonl(tmp_path / "more.jsonl", rows)
    said = refusal(run, tmp_path, "--strata", "language", items="more.jsonl")
    assert "1 unlabelled items have language 'it', but only 0 rated. Rate at least 2" in said


def test_fields_that_items_lack_are_refused(run, tmp_path):
    """A field of no item, one of unlabelled items alone, and an empty value."""
    assert "has no 'tongue'" in refusal(run, tmp_path, "--strata", "tongue")
    rows = read(tmp_path / "new.jsonl")
    write_jsonl(tmp_path / "more.jsonl", [row | {"place": "here"} for row in rows])
    said = refusal(run, tmp_path, "--strata", "place", items="more.jsonl")
    assert "task small: item 'rde0' has no 'place'" in said
    write_jsonl(tmp_path / "hole.jsonl", [*rows[1:], rows[0] | {"language": ""}])
    said = refusal(run, tmp_path, "--strata", "language", items="hole.jsonl")
    assert f"item '{rows[0]['id']}' has no 'language'" in said


@pytest.mark.slow
def test_python_takes_strata(run):
    """And returns the numbers of the command."""
    found = harness.estimate(f"runs/{run}", judge="lexicon", items="new.jsonl", strata="language")
    assert (
        found.mean.estimate.value
        == estimated(run, "--strata", "language")["mean"]["estimate"]["value"]
    )
    assert found.strata.n_unlabelled == UNLABELLED


@pytest.mark.slow
def test_planned_labels_allow_for_groups(run, tmp_path):
    """Regression: items of a group that are rated alike were planned as if independent."""
    folder = tmp_path / "small"
    items = read(folder / "items.jsonl")
    alone = estimated(run, "--n-labels", "0.3")["needed"]["n"]
    positive = {row["id"]: i % 10 < 5 for i, row in enumerate(items)}
    rows = [row | {"group": f"g{i // 5}"} for i, row in enumerate(items)]
    write_jsonl(folder / "items.jsonl", rows)
    ratings = [
        {"item": name, "rater": "r0", "value": "A" if is_positive else "B"}
        for name, is_positive in positive.items()
    ]
    write_jsonl(folder / "ratings.jsonl", ratings)
    assert (
        invoke("run", "--task", folder, "--judges", "lexicon", "--out", "other", "-q").exit_code
        == 0
    )
    grouped = next((tmp_path / "other").iterdir())
    needed = estimated(grouped, "--n-labels", "0.3")["needed"]["n"]
    assert needed > 3 * alone


def test_one_sentence_says_what_the_interval_is_about(run):
    """A population; the items are a sample of it, and the rated ones within each stratum."""
    samples = "random samples of that population."
    assert (
        "The interval is for a population, not only these items: the 400 unlabelled items and "
        f"the rated ones must be {samples}" in " ".join(invoke(*words(run)).stdout.split())
    )
    text = " ".join(invoke(*words(run, "--strata", "language")).stdout.split())
    assert f"items, and the rated ones of each language, must be {samples}" in text


def test_strata_have_no_other_estimates(run):
    """PPI++ and Rogan-Gladen take all items together, which rare strata don't survive."""
    shown = estimated(run, "--strata", "language")["mean"]
    assert (shown["powered"], shown["corrected"], shown["corrected_profile"]) == (None,) * 3
    assert "PPI++" not in invoke(*words(run, "--strata", "language")).stdout


@pytest.mark.slow
def test_rare_stratum_without_positive_ratings_keeps_a_wide_interval(run, tmp_path):
    """Twenty negative labels leave a share of up to a tenth in the common stratum."""
    rows = read(tmp_path / "new.jsonl")
    ratings = [row | {"value": "B"} for row in read(tmp_path / "small/ratings.jsonl")]
    write_jsonl(tmp_path / "small/ratings.jsonl", ratings)
    write_jsonl(tmp_path / "few.jsonl", [row for row in rows if row["language"] != "fr"])
    done = invoke("run", "--task", tmp_path / "small", "--judges", "random", "--out", "runs", "-q")
    assert done.exit_code == 0, done.output
    shown = json.loads(
        invoke(
            *("estimate", "--judge", "random", "--items", "few.jsonl", "--out", "runs", "-q"),
            *("--strata", "language", "--json"),
        ).stdout
    )
    assert shown["mean"]["labels_alone"]["high"] > 0.1
    assert shown["mean"]["estimate"]["low"] < 0.001


@pytest.mark.slow
def test_groups_of_unlabelled_items_are_read_from_the_file(run, tmp_path):
    """400 verdicts in 20 groups say less than 400 of independent items."""
    rows = read(tmp_path / "new.jsonl")
    rows.sort(key=lambda row: "bad" in row["text"])
    grouped = [row | {"group": f"g{i // 20}"} for i, row in enumerate(rows)]
    write_jsonl(tmp_path / "grouped.jsonl", grouped)
    shown, apart = estimated(run, items="grouped.jsonl"), estimated(run)
    assert (shown["n_groups"], apart["n_groups"]) == (20, 0)
    assert shown["mean"]["judge_alone"] == apart["mean"]["judge_alone"]
    widths = [
        one["mean"]["estimate"]["high"] - one["mean"]["estimate"]["low"] for one in (shown, apart)
    ]
    assert widths[0] > 1.1 * widths[1]
    text = " ".join(invoke(*words(run, items="grouped.jsonl")).stdout.split())
    assert "400 unlabelled items in 20 groups and" in text


@pytest.mark.slow
def test_each_value_of_a_field_gets_an_estimate(run, tmp_path):
    """Slices have the rated and unlabelled items of a value, and wider intervals than alone."""
    found = estimated(run, "--by", "language")
    assert found["by_slice"]["field"] == "language"
    slices = {row["value"]: row for row in found["by_slice"]["slices"]}
    assert {name: row["n_unlabelled"] for name, row in slices.items()} == UNLABELLED
    assert {name: row["n_rated"] for name, row in slices.items()} == dict.fromkeys(LANGUAGES, RATED)
    assert found["mean"] == estimated(run)["mean"]
    value = {row["item"]: row["value"] == "A" for row in read(tmp_path / "small/ratings.jsonl")}
    for name, row in slices.items():
        alone = row["mean"]["labels_alone"]["value"]
        assert alone == pytest.approx(np.mean([value[f"r{name}{i}"] for i in range(RATED)]))
        assert row["mean"]["level"] == pytest.approx(1 - 0.05 / len(LANGUAGES))
    text = " ".join(invoke(*words(run, "--by", "language")).stdout.split())
    assert "By language, with simultaneous 95% intervals for 3 values:" in text


@pytest.mark.slow
def test_items_with_a_new_value_are_in_no_slice(run, tmp_path):
    """They are counted; the mean over all items keeps them."""
    rows = read(tmp_path / "new.jsonl")
    more = [row | {"id": f"x{i}", "language": "it"} for i, row in enumerate(rows[:7])]
    write_jsonl(tmp_path / "more.jsonl", [*rows, *more])
    text = " ".join(invoke(*words(run, "--by", "language", items="more.jsonl")).stdout.split())
    assert "7 unlabelled items have a rare value, a value without rated items, or no value." in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--by", "tongue"), "rated items have no field with this name. Use one of language"),
        (("--by", "language", "--strata", "language"), "Leave out --strata or --by"),
        (("--by", "language", "--until-width", "0.2"), "Leave out --until-width or --by"),
    ],
)
def test_slices_that_cannot_be_estimated_are_refused(run, tmp_path, more, message):
    """Before the judge is asked, with what to do."""
    assert message in refusal(run, tmp_path, *more)
