"""`harness improve` against a server that counts: what it asks, and what it claims."""

from __future__ import annotations

import html
import json
import random
import shlex
from collections import Counter
from pathlib import Path

import pytest
from support.command_texts import run_command, situation
from support.processes import call_harness
from support.task_folders import make_task_folder, write_jsonl

import harness
from harness.analysis.ratings import is_held_out
from harness.app.judge_search import JudgeSearch
from harness.app.plan import plan_run, request_for
from harness.app.run import validate_run
from harness.errors import JudgeError, RunError
from harness.extras.racing.search_biases import biased_names
from harness.extras.racing.search_moves import example_items, names_to_try
from harness.extras.racing.search_output import write_prompts
from harness.options.concerns import NO_SERVER, RunOptions, RunPlace
from harness.options.search_options import Searching
from harness.runs.ledger import LEDGER, read_ledger
from harness.runs.run_folder import CONFIRMATION, RunFolder
from harness.runs.sources import source_of

N_ITEMS = 150
PRICE = {"input": 1.0, "output": 1.0}
COT = "Reasons, then the last line:"  # only a question for reasons has this line
SAYS = {COT: ["B"], "Answer:": ["A"]}


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A task whose raters say B four times in five, and a judge that does if it gives reasons."""
    stub.reset()
    stub.set_table("far", SAYS)
    make_task_folder(tmp_path / "task", N_ITEMS, response_sets=False)
    rng = random.Random(7)
    items = [{"id": f"i{i}", "text": f"This is comment number {i}."} for i in range(N_ITEMS)]
    write_jsonl(tmp_path / "task" / "items.jsonl", items)
    ratings = [
        {"item": f"i{i}", "rater": f"r{j}", "value": rng.choices("AB", [0.2, 0.8])[0]}
        for i in range(N_ITEMS)
        for j in range(3)
    ]
    write_jsonl(tmp_path / "task" / "ratings.jsonl", ratings)
    judges = {
        "far": {"model": "far", "base_url": stub.url(table="far")},
        "same": {"model": "same", "base_url": stub.url(say="B")},
    }
    shared = {"kind": "endpoint", "samples": 1, "price": PRICE}
    content = {"judges": {name: shared | judge for name, judge in judges.items()}}
    (tmp_path / "judges.yaml").write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", str(tmp_path / "judges.yaml"))
    return tmp_path


def improve(place, *words, judge="far", code=0):
    """Run the command on the task; return its JSON."""
    task = () if words[:1] == ("runs",) else ("--task", "task")
    done = call_harness(
        "improve", *task, "--judge", judge, "--rounds", 1, "--json", *words, cwd=place
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def folders(result):
    path = harness.load_run(f"{result['path']}/round-1").path
    return RunFolder.open(path), RunFolder.open(path / CONFIRMATION)


@pytest.mark.slow
def test_a_better_way_of_asking_is_found_and_shown_on_held_out_items(place, stub):
    """The rounds see development items alone; both ways are asked about the others, once."""
    result = improve(place)
    assert (result["best"], result["ending"]) == ("far@cot", "improved")
    gain = result["gain"]
    assert gain["low"] > 0.3 < gain["after"] - gain["before"]
    task = harness.load_task("task")
    held_out = {item.id for item in task.items if is_held_out(item, 0.3)}
    assert gain["n_items"] == len(held_out) == result["n_held_out"]
    race, confirmation = folders(result)
    asked = {verdict.item for verdict in race.read_verdicts().final.values()}
    assert not asked & held_out
    final = confirmation.read_verdicts().final.values()
    assert sorted((v.judge, v.item) for v in final) == sorted(
        (judge, item) for judge in ("far", "far@cot") for item in held_out
    )
    n_requests = stub.stats()["requests"]
    assert improve(place) == result
    assert stub.stats()["requests"] == n_requests


@pytest.mark.slow
def test_the_winner_alone_is_recommended_at_all_of_alpha_after_a_gain(place):
    """The gain was shown first; the ledger has the search and one confirmed judge."""
    result = improve(place)
    assert result["gain"]["level"] == pytest.approx(0.92)
    evidence = result["validation"]["evidence"]
    assert [row["judge"] for row in evidence["judges"]] == ["far@cot"]
    assert evidence["alpha"] == pytest.approx(0.041)
    assert evidence["held_out"] is True
    lines = read_ledger(folders(result)[1].path / LEDGER)
    assert [tuple(line.confirmed.values()) for line in lines if line.confirmed] == [("far@cot",)]
    tried = {name for line in lines for name in line.judges.values()}
    assert tried == {row["judge"] for row in result["candidates"]}
    assert len({row["fingerprint"] for row in result["candidates"]}) == len(tried)


@pytest.mark.slow
def test_a_gain_that_is_not_shown_leaves_a_fifth_of_alpha(place):
    """Too few items are held out for it, and the report of the run reads the same share."""
    result = improve(place, "--holdout", 0.02)
    assert (result["best"], result["ending"]) == ("far@cot", "not_improved")
    assert result["gain"]["low"] is None
    assert result["validation"]["evidence"]["alpha"] == pytest.approx(0.041 * 0.2)
    again = validate_run(folders(result)[1])
    assert again.evidence.alpha == pytest.approx(0.041 * 0.2)


@pytest.mark.slow
@situation("_with_output: run_command()")
def test_the_prompt_that_won_is_a_folder_that_run_takes(place, stub):
    """Requests about items that the winner was asked about are the same, so none is sent again."""
    result = improve(place)
    race, confirmation = folders(result)
    logs = [log.read_verdicts().final.values() for log in (race, confirmation)]
    asked = {v.item for log in logs for v in log if v.judge == "far@cot"}
    before = len(stub.requests())
    words = shlex.split(result["run"])
    assert words[words.index("--prompts") + 1] == f"{result['path']}/prompts"
    run_command(result["run"], more=("--elicitation", "forced_choice"))
    sent = [request["body"] for request in stub.requests()[before:]]
    n_sent = {item for item in asked if any(f"number {item[1:]}." in body for body in sent)}
    assert asked
    assert n_sent == set()
    assert COT in "".join(result["changes"])
    assert not any("comment number" in line for line in result["changes"])


def test_a_folder_of_templates_is_checked_at_once(place, stub):
    """It must be one, and have a template that is used."""
    (place / "empty").mkdir()
    for folder, problem in (("nowhere", "not a folder"), ("empty", "no template")):
        words = ("run", "--task", "task", "--judges", "far", "--prompts", folder)
        done = call_harness(*words, cwd=place)
        assert (done.returncode, problem in done.stderr) == (2, True), done.stderr
    assert stub.stats()["requests"] == 0


@pytest.mark.slow
def test_the_report_of_the_end_has_every_candidate(place):
    """One report: what was tried, its cost, where it left, and how the prompt differs."""
    result = improve(place)
    page = (place / result["report"]).read_text("utf-8")
    assert result["report"].endswith(f"{CONFIRMATION}/report.html")
    section = page[page.index('id="search"') :]
    for row in result["candidates"]:
        assert f'<th scope="row">{row["judge"]}' in section
    assert "What was tried?" in page
    assert "Improvement found: far@cot." in section
    assert html.escape(f"+{COT}") in section


@pytest.mark.slow
def test_nothing_is_claimed_on_items_that_were_seen(place):
    """The judge was tried on all items: the search goes on, without an interval."""
    harness.run("task", ["far"], out="runs", elicitations="forced_choice")
    [run] = (place / "runs").iterdir()
    done = call_harness("improve", run, "--judge", "far", "--rounds", 1, cwd=place)
    words = " ".join(done.stdout.split())
    assert "but you tried judges on these items before" in words, done.stderr
    assert "newly rated items held out, a gain of 5 of 100 items is detected with 80%" in words
    assert "Improvement found" not in words
    result = improve(place)
    assert (result["ending"], result["no_claim"], result["gain"]["low"]) == (
        "no_claim",
        "seen",
        None,
    )
    assert result["validation"] is None


@pytest.mark.slow
def test_a_second_search_finds_the_holdout_spent(place):
    """It says when and for what, and asks about no held-out item."""
    first = improve(place)
    second = improve(place, "--candidates", 2)
    assert (second["ending"], second["no_claim"]) == ("no_claim", "spent")
    assert "were used at" in second["spent_by"]
    assert second["path"] != first["path"]
    assert not (harness.load_run(f"{second['path']}/round-1").path / CONFIRMATION).exists()


@pytest.mark.slow
def test_no_improvement_leaves_the_holdout_unspent(place):
    """All ways of asking answer alike, so that the first is kept."""
    result = improve(place, judge="same")
    assert (result["best"], result["ending"], result["gain"]) == ("same", "not_improved", None)
    assert improve(place)["ending"] == "improved"


@pytest.mark.slow
def test_later_rounds_show_development_items_alone(place, stub):
    """No request of a round has the text of a held-out item, or an item as its own example."""
    result = improve(place, "--rounds", 2, "--candidates", 2)
    task = harness.load_task("task")
    texts = {item.fields["text"] for item in task.items if is_held_out(item, 0.3)}
    second = RunFolder.open(harness.load_run(f"{result['path']}/round-2").path)
    names = [spec.name for spec in second.manifest.judges]
    assert names[:2] == ["far", "far@cot"]
    assert all("few-shot" in name for name in names[2:])
    shown = (second.prompts / "demonstrations.json").read_text("utf-8")
    assert not [text for text in texts if text in shown]
    examples = {row["item"] for row in json.loads(shown)["forced_choice"]}
    asked = {verdict.item for verdict in second.read_verdicts().final.values()}
    assert len(examples) >= 4
    assert not examples & asked
    check_same_requests(second, names[-1], place, stub)
    for request in stub.requests():
        sent = json.loads(request["body"])
        turns = [m["content"] for m in sent["messages"] if m["role"] == "user"]
        lines = [line for turn in turns for line in turn.split("\n") if "comment number" in line]
        assert len(lines) == len(set(lines))


def check_same_requests(folder, judge, place, stub):
    """The prompts of a judge with examples, written as a winner's, ask as the round did."""
    search = JudgeSearch(
        task=harness.load_task("task"),
        judge="far",
        options=Searching(),
        settings=RunOptions(),
        server=NO_SERVER,
        place=RunPlace(out=place),
        command=(),
    )
    search.path.mkdir()
    path = write_prompts(search, folder, judge)
    options = RunOptions(elicitations="forced_choice", prompts=path)
    plan = plan_run("task", [judge], options)
    sent = [json.loads(request["body"])["messages"] for request in stub.requests()]
    item = next(v.item for v in folder.read_verdicts().final.values() if v.judge == judge)
    assert json.loads(request_for(plan, item).sent_turns()) in sent
    assert len(json.loads(request_for(plan, item).sent_turns())) > 4


def test_examples_are_items_that_the_judge_got_wrong_and_raters_agree_on(place):
    """Of each answer in turn; the judge says A everywhere, so that items of B come first."""
    task = harness.load_task("task")
    run = harness.run("task", ["far"], out="runs", elicitations="forced_choice", holdout=0.3)
    verdicts = list(RunFolder.open(run.path).read_verdicts().final.values())
    chosen = example_items(task, None, 0.3, verdicts)
    shares = {
        item.id: sum(r.value == "B" for r in task.ratings if r.item == item.id) / 3
        for item in chosen.items
    }
    assert len(shares) == 12
    assert {share for share in shares.values() if share > 0.5} == {1.0}
    assert not [item for item in chosen.items if is_held_out(item, 0.3)]


def test_only_strategies_that_apply_to_the_judge_are_tried(place):
    """Only ways of asking that apply, each once; none for a judge that reads no prompt."""
    task = harness.load_task("toxicity")
    first = names_to_try("smollm2", "smollm2", [], task, NO_SERVER, shows_examples=False)
    assert first[0] == "smollm2@verbalised"
    assert "smollm2@cot" not in first
    assert {"smollm2@no-descriptions", "smollm2@logprob@option-orders:2"} <= set(first)
    later = names_to_try("far", "far@cot", first, task, NO_SERVER, shows_examples=True)
    assert "far@few-shot:4@cot" in later
    assert len(later) == len(set(later))
    assert "far@cot" not in later
    with pytest.raises(JudgeError, match="there's no other way to query this judge"):
        harness.improve("toxicity", "lexicon")


@pytest.mark.slow
def test_a_bias_is_fitted_on_development_items_and_carries_over(place, stub):
    """A judge that ranks the items well and says A too often wins with its own biases."""
    task = harness.load_task("task")
    n_for_b = Counter(rating.item for rating in task.ratings if rating.value == "B")
    tokens = [({"A": 0.9, "B": 0.1}, {"A": 0.6, "B": 0.4})[n_for_b[i.id] > 1] for i in task.items]
    says = {f"This is comment number {i}.": [of_item] for i, of_item in enumerate(tokens)}
    stub.set_table("odd", says | {"N/A": [{"A": 0.5, "B": 0.5}]})
    judges = json.loads((place / "judges.yaml").read_text("utf-8"))
    odd = judges["judges"]["far"] | {"model": "odd", "base_url": stub.url(table="odd")}
    judges["judges"] = {"odd": odd}
    (place / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    result = improve(place, "--rounds", 2, "--candidates", 1, judge="odd@logprob")
    assert result["ending"] == "improved"
    assert "@bias:" in result["best"]
    first, second = (RunFolder.open(Path(result["path"]) / f"round-{n}") for n in (1, 2))
    prints = second.manifest.fingerprints
    assert result["best"] in prints
    assert len(set(prints.values())) == len(prints)
    kept = tuple(r for r in task.ratings if not is_held_out(task.by_id[r.item], 0.3))
    assert result["best"] == biased_names(first, task.model_copy(update={"ratings": kept}))[0]
    confirmed = RunFolder.open(second.path / CONFIRMATION)
    assert {v.value for v in source_of(confirmed).verdicts[result["best"]]} == {"A", "B"}
    assert result["validation"]["evidence"]["judges"][0]["judge"] == result["best"]


@pytest.mark.slow
def test_python_searches_like_the_command(place):
    """The same folder, so that the second only reads."""
    there = improve(place)
    here = harness.improve("task", "far", rounds=1)
    assert here.path == there["path"]
    assert (here.best, here.is_improvement) == ("far@cot", True)
    assert "far@cot" in repr(here)
    with pytest.raises(RunError, match="this run has no judge"):
        harness.improve(harness.load_run(f"{here.path}/round-1"), "claude")


def test_wrong_input_is_refused_before_anything_is_asked(place, stub):
    """A run and a task, an unknown judge, a holdout that cannot be."""
    for words in (
        ("some-run", "--task", "task", "--judge", "far"),
        ("--task", "task", "--judge", "nobody"),
        ("--task", "task", "--judge", "far", "--rounds", "0"),
        ("--task", "task", "--judge", "far", "--holdout", "1"),
    ):
        done = call_harness("improve", *words, cwd=place)
        assert done.returncode == 2, words
    assert stub.stats()["requests"] == 0
    dry = call_harness("improve", "--task", "task", "--judge", "far", "--dry-run", cwd=place)
    assert "far@cot" in dry.stdout
    assert stub.stats()["requests"] == 0
    assert not (place / "runs").exists()
