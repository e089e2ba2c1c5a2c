"""`harness estimate --by`: differences between systems, and gates on them."""

from __future__ import annotations

import json
import random

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder, write_jsonl

from harness.analysis.conditions import Condition
from harness.analysis.model_families import of_same_family
from harness.errors import HarnessError
from harness.runs.estimated_differences import read_differences
from harness.runs.run_folder import RunFolder

SYSTEMS = {"old": 0.2, "new, big": 0.7}  # share of bad texts
RATED, UNLABELLED = 60, 200
BIG, OLD = "difference(new, big,old)", "difference(old,new, big)"


def outputs(n, prefix, rng, *, grouped, systems=SYSTEMS):
    """The texts of both systems for n prompts."""
    rows = []
    for i in range(n):
        hard = rng.random()
        for system, share in systems.items():
            text = f"{'bad' if hard < share else 'good'} day {i:03}"
            row = {"id": f"{prefix}{system[:3]}{i}", "system": system, "text": text}
            rows.append(row | ({"group": f"{prefix}{i}"} if grouped else {}))
    return rows


def make(place, *, grouped, systems=SYSTEMS):
    rng = random.Random(2)
    folder = make_task_folder(place / "small", 2, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: A, negative: B}\n")
    items = outputs(RATED, "r", rng, grouped=grouped, systems=systems)
    write_jsonl(folder / "items.jsonl", items)
    ratings = [
        {"item": row["id"], "rater": "r0", "value": "A" if "bad" in row["text"] else "B"}
        for row in items
    ]
    write_jsonl(folder / "ratings.jsonl", ratings)
    new = outputs(UNLABELLED, "u", rng, grouped=grouped, systems=systems)
    write_jsonl(place / "new.jsonl", new)
    done = invoke("run", "--task", folder, "--judges", "lexicon", "--out", place / "runs", "-q")
    assert done.exit_code == 0, done.output
    [run] = (place / "runs").iterdir()
    return run


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make(tmp_path, grouped=True)


def estimated(run, *more):
    words = ("estimate", run, "--judge", "lexicon", "--items", "new.jsonl", "-q", *more)
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


@pytest.mark.slow
def test_systems_are_compared_on_the_prompts_that_both_answered(run):
    """The difference has its own interval, which a text and JSON have alike."""
    [row] = json.loads(estimated(run, "--by", "system", "--json"))["by_slice"]["differences"]
    assert {row["first"], row["second"]} == set(SYSTEMS)
    sign = 1 if row["second"] == "new, big" else -1
    assert 0.35 < sign * row["estimate"]["value"] < 0.65
    assert (row["n_rated"], row["n_shared"]) == (2 * RATED, RATED)
    text = estimated(run, "--by", "system")
    assert " With 95% confidence: difference " in text
    assert f"{row['second']} - {row['first']}" in text
    assert "corrected separately for each value" in text


@pytest.mark.slow
def test_shared_prompts_narrow_the_interval(run, tmp_path_factory, monkeypatch):
    """As what is hard for one system is hard for the other."""
    apart = make(tmp_path_factory.mktemp("apart"), grouped=False)
    widths = []
    for folder in (run, apart):
        monkeypatch.chdir(folder.parent.parent)
        shown = json.loads(estimated(folder, "--by", "system", "--json"))
        [row] = shown["by_slice"]["differences"]
        widths.append(row["estimate"]["high"] - row["estimate"]["low"])
        assert row["n_shared"] == (RATED if folder is run else 0)
    assert widths[0] < 0.95 * widths[1]


@pytest.mark.slow
def test_labels_are_planned_for_the_difference(run):
    """With the interval that is reported, and its chance; for the mean without a field."""
    words = ("--by", "system", "--n-labels", "0.15")
    shown = json.loads(estimated(run, *words, "--json"))
    needed, [row] = shown["needed"], shown["by_slice"]["differences"]
    assert row["estimate"]["high"] - row["estimate"]["low"] > 0.15
    assert needed["n_now"] == 2 * RATED
    assert 2 * RATED < needed["n"] <= needed["n_items"] == 2 * (RATED + UNLABELLED)
    assert needed["chance"] >= 0.8
    text = estimated(run, *words)
    assert "Each difference's interval is then no wider than 15.0% with a chance of" in text
    assert "isn't wider than 90.0%" in estimated(run, "--by", "system", "--n-labels", "0.9")


@pytest.mark.slow
def test_a_system_of_the_judges_family_is_named(tmp_path, monkeypatch):
    """Judges can prefer answers of their own family, which text and JSON say."""
    monkeypatch.chdir(tmp_path)
    systems = {"Vader, new": 0.2, "other": 0.7}
    run = make(tmp_path, grouped=True, systems=systems)
    assert "same model family as Vader, new." in estimated(run, "--by", "system")
    shown = json.loads(estimated(run, "--by", "system", "--json"))
    assert shown["by_slice"]["same_family"] == ["Vader, new"]


def two_files(place):
    """The outputs of each system in a file of its own, with the prompts as ids; rated ones, too."""
    tables = (place / "small" / "items.jsonl", place / "new.jsonl")
    rated, new = ([json.loads(line) for line in path.read_text().splitlines()] for path in tables)
    for system, file in zip(SYSTEMS, ("old.jsonl", "other.jsonl"), strict=True):
        named = {"system": system} if file == "other.jsonl" else {}
        own = [row for row in (*rated[:20], *new) if row["system"] == system]
        rows = [{"id": row["group"], "text": row["text"], **named} for row in own]
        write_jsonl(place / file, rows)


@pytest.mark.slow
def test_two_files_of_outputs_are_paired_by_their_ids(run):
    """As one file with a field; what's rated is left out. Names come from file or field."""
    two_files(run.parent.parent)
    one = json.loads(estimated(run, "--by", "system", "--json"))["by_slice"]
    words = ("estimate", run, "--judge", "lexicon", "-q", "--items", "old.jsonl")
    both = json.loads(invoke(*words, "--against", "other.jsonl", "--json").stdout)
    assert both["n_rated_too"] == 20
    [of_one], [of_two] = one["differences"], both["by_slice"]["differences"]
    assert of_two == of_one
    assert (
        "20 outputs are already rated and therefore left"
        in invoke(*words, "--against", "other.jsonl").stdout
    )


def test_two_files_that_rated_items_dont_match_are_refused(run):
    two_files(run.parent.parent)
    write_jsonl(run.parent.parent / "third.jsonl", [{"id": "p1", "text": "a day"}])
    old, other = ("--items", "old.jsonl"), ("--against", "other.jsonl")
    for options, problem in (
        (("--items", "none.jsonl", "--against", "old.jsonl"), "none.jsonl"),
        ((*old, "--against", "old.jsonl"), "of system 'old' appears twice"),
        ((*old, "--against", "third.jsonl"), "system 'third' has no"),
        ((*old, *other, "--by", "group"), "no field 'group'"),
        ((*old, *other, "--strata", "system"), "strata"),
    ):
        refused = invoke("estimate", run, "--judge", "lexicon", "-q", *options)
        assert problem in f"{refused.output}{refused.exception}"
    assert not (run / "estimates").exists()


@pytest.mark.slow
def test_a_gate_reads_the_last_estimate(run):
    """Either way round, of the judge that estimated it."""
    refused = invoke("gate", run, "--require", f"{BIG}:lower > 0")
    assert "Run an estimate with --by for that field first" in str(refused.exception)
    estimated(run, "--by", "system")
    passed = invoke("gate", run, "--require", f"{BIG}:lower > 0")
    assert passed.exit_code == 0, passed.output
    assert invoke("gate", run, "--require", f"lexicon: {OLD}:upper < 0").exit_code == 0
    assert invoke("gate", run, "--require", f"{BIG}:lower > 0.9").exit_code == 1
    wrong = invoke("gate", run, "--require", "difference(new,mid):lower > 0")
    assert "no difference 'difference(new,mid)'" in str(wrong.exception)
    both = read_differences(RunFolder.open(run))["lexicon"]
    one, other = (both[name.replace(", ", ",")] for name in (BIG, OLD))
    assert one.value == -other.value
    assert (one.interval.low, one.interval.high) == (-other.interval.high, -other.interval.low)


def test_kept_differences_that_are_damaged_are_refused(run):
    (run / "differences.json").write_text("[{}]")
    with pytest.raises(HarnessError, match="Run the estimate again with --by"):
        read_differences(RunFolder.open(run))


def test_differences_are_in_the_grammar_of_conditions():
    """Values may hold colons; spaces around the comma don't matter."""
    condition = Condition.read("gpt: difference(http://b, a):lower > 0")
    assert condition.judge == "gpt"
    assert condition.quantity.name == "difference(http://b,a)"
    assert (condition.quantity.end, condition.sign, condition.limit) == ("lower", ">", 0.0)
    assert Condition.read("difference(B,A):lower > 0").judge is None


@pytest.mark.slow
def test_no_difference_rests_on_beta(run):
    """No interval of it was simulated."""
    shown = json.loads(estimated(run, "--by", "system", "--json", "--beta-range", "0.1,0.2"))
    assert shown["by_slice"]["differences"] == []


@pytest.mark.parametrize(
    ("model", "systems"),
    [("openai/gpt-4o", ("gpt-4o-mini", "our GPT")), ("ollama/llama3", ("llama-2",)), ("o3", ())],
)
def test_systems_of_the_judges_family_are_named(model, systems):
    named = of_same_family(model, ["gpt-4o-mini", "our GPT", "llama-2", "o3"])
    assert named == systems
