"""`harness run --race` against a server that counts: fewer calls, resumed, within the limits."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.processes import call_harness, invoke, start_harness
from support.task_folders import make_task_folder, write_jsonl

import harness
from harness.analysis import validate
from harness.analysis.race_result import RACED
from harness.extras.racing.race_pool import pool_of
from harness.judging.storage.verdict_log import read_log
from harness.runs.run_folder import RunFolder
from harness.runs.sources import source_of

N_ITEMS = 240
JUDGES = {"good": "B", "bad": "A", "worse": "A", "coin": ""}  # what each says
COIN = {"table": "coin"}
PRICE = {"input": 1.0, "output": 1.0}


def write_ratings(folder, n=N_ITEMS, *, groups=0, kind="forced_choice"):
    """Write a task whose three raters say B four times in five."""
    make_task_folder(folder, n, response_sets=False)
    rng = random.Random(7)
    items = [{"id": f"i{i}", "text": f"This is comment number {i}."} for i in range(n)]
    if groups:
        items = [item | {"group": f"g{i % groups}"} for i, item in enumerate(items)]
    write_jsonl(folder / "items.jsonl", items)
    ratings = [
        {"item": f"i{i}", "rater": f"r{j}", "value": rng.choices("AB", [0.2, 0.8])[0]}
        for i in range(n)
        for j in range(3)
    ]
    if kind == "response_set":
        ratings = [row | {"elicitation": kind, "value": [row["value"]]} for row in ratings]
    write_jsonl(folder / "ratings.jsonl", ratings)
    return folder


def write_judges(place, stub, names=JUDGES, *, ms=0, **fields):
    judges = {
        name: {
            "kind": "endpoint",
            "model": name,
            "base_url": stub.url(ms=ms, **({"say": JUDGES[name]} if JUDGES[name] else COIN)),
            "samples": 1,
            "concurrency": 4,
            "price": PRICE,
        }
        | fields
        for name in names
    }
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A folder with a task of 240 items and four judges, one of them clearly the best."""
    stub.reset()
    rng = random.Random(3)
    lines = [f"This is comment number {i}." for i in range(N_ITEMS)]
    stub.set_table("coin", {line: [rng.choice("AB")] for line in lines})
    write_ratings(tmp_path / "task")
    write_judges(tmp_path, stub)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", "judges.yaml")
    return tmp_path


def words(*more, judges=JUDGES, task="task"):
    named = ("--judges", ",".join(judges), "--judges-file", "judges.yaml")
    return ("run", "--task", task, *named, "--race", *more)


def runs_of(place):
    return [RunFolder.open(path) for path in sorted((place / "runs").iterdir())]


def race_of(folder):
    return source_of(folder).race


def counts_of(folder):
    """Replies asked for and items drawn in a race."""
    race = race_of(folder)
    return race.n_calls, race.n_drawn


def refusal(place, *command):
    """What a command says that is refused."""
    done = call_harness(*command, cwd=place)
    assert done.returncode == 2, (command, done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1
    return done.stderr


def n_asked(stub):
    """Requests per judge, by what its address says."""
    return Counter(json.loads(seen["body"])["model"] for seen in stub.requests())


def test_race_asks_less_and_returns_the_best(place, stub):
    """The server sees as many calls as the report says, far fewer than all; the others leave."""
    done = invoke(*words())
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "good is within 0.05 of the best of these judges on this pool, at error rate 5%." in text
    assert "all results based on it are NA, because in a race, the answers so far decide" in text
    [folder] = runs_of(place)
    race = race_of(folder)
    assert (race.ending, race.judge, race.n_items) == ("within", "good", N_ITEMS)
    assert race.n_calls == stub.stats()["requests"] == len(read_log(folder.verdicts).final)
    assert race.n_calls < race.n_calls_full / 2 == 4 * N_ITEMS / 2
    assert {row.judge: row.n_calls for row in race.judges} == n_asked(stub)
    assert race.judges[0].left_at_items is None
    left = [row.left_at_calls for row in race.judges[1:]]
    assert left == sorted(left, reverse=True)
    assert left[0] == race.n_calls
    assert 0 < race.usd < race.usd_full / 2
    page = (folder.path / "report.html").read_text(encoding="utf-8")
    assert "Who left the race?" in page
    assert json.loads((folder.path / "metrics.json").read_bytes())["race"]["judge"] == "good"


@pytest.mark.slow
def test_race_is_served_by_the_cache_and_decides_the_same(place, stub):
    """The same race again asks nothing; another seed draws other items."""
    assert invoke(*words()).exit_code == 0
    n_bought = stub.stats()["requests"]
    assert invoke(*words()).exit_code == 0
    assert stub.stats()["requests"] == n_bought
    first, second = map(race_of, runs_of(place))
    assert first == second
    assert invoke(*words("--seed", 1)).exit_code == 0
    assert stub.stats()["requests"] > n_bought


@pytest.mark.slow
def test_killed_race_goes_on_as_it_would_have(place, stub):
    """After two kill -9 it asks for what is missing alone, and ends as one that was not stopped."""
    assert call_harness(*words("--no-store"), cwd=place).returncode == 0
    [whole] = runs_of(place)
    stub.reset()
    write_judges(place, stub, ms=60)
    n_calls = race_of(whole).n_calls
    command = words("--no-store", "--out", "killed")
    process = start_harness(*command, cwd=place)
    for n in (n_calls // 5, n_calls // 2):
        end = time.monotonic() + 60
        log = []
        while time.monotonic() < end and sum(p.read_bytes().count(b"\n") for p in log) <= n:
            time.sleep(0.005)
            log = list(place.glob("killed/*/verdicts.jsonl"))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        process = start_harness("resume", "--no-store", "--out", "killed", cwd=place)
    _, err = process.communicate()
    assert process.returncode == 0, err
    [path] = (place / "killed").iterdir()
    race = race_of(RunFolder.open(path))
    assert race == race_of(whole)
    n_in_flight = 2 * 4 * len(JUDGES)
    assert race.n_calls <= stub.stats()["requests"] <= race.n_calls + n_in_flight
    assert len(read_log(path / "verdicts.jsonl").final) == race.n_calls


@pytest.mark.slow
def test_cost_limit_ends_the_race_first_and_resuming_ends_it(place, stub):
    """No judge is named then; with more money, the race ends as it would have."""
    assert invoke(*words("--no-store")).exit_code == 0
    whole = race_of(runs_of(place)[0])
    cheap = words("--no-store", "--max-cost", whole.usd / 3, "--reply-cap", 4, "--out", "cheap")
    done = invoke(*cheap)
    assert done.exit_code == 4, done.output
    assert "The cost limit ended the race first" in " ".join(done.stdout.split())
    [path] = (place / "cheap").iterdir()
    race = race_of(RunFolder.open(path))
    assert (race.ending, race.judge, race.over_budget) == (None, None, True)
    assert race.usd <= whole.usd / 3
    more = ("resume", path, "--no-store", "--max-cost", 10 * whole.usd)
    assert invoke(*more).exit_code == 0
    ended = race_of(RunFolder.open(path))
    assert (ended.judge, ended.n_calls) == (whole.judge, whole.n_calls)


def test_judge_that_fails_stops_the_race_until_it_answers(place, stub):
    """Nothing is decided on replies that may still come: exit 3, and the rest on resume."""
    judges = json.loads((place / "judges.yaml").read_text("utf-8"))
    judges["judges"]["coin"]["base_url"] = stub.url(fault="401")
    (place / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    done = invoke(*words())
    assert done.exit_code == 3, done.output
    [folder] = runs_of(place)
    assert race_of(folder).ending is None
    assert "The race has not ended" in " ".join(done.stdout.split())
    assert n_asked(stub)["good"] <= 20


NO_SEED = {
    "if": "seed",
    "status": 400,
    "body": {"error": {"message": "seed is not supported", "type": "invalid_request_error"}},
}


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ({"fault": "context"}, "context_length"),
        ({"refuse": json.dumps(NO_SEED)}, "refused_parameter:seed"),
    ],
)
def test_judge_that_can_never_answer_is_dropped_alone(place, stub, server, reason):
    """The others race on, the result says so, and the exit code is 3."""
    judges = json.loads((place / "judges.yaml").read_text("utf-8"))
    judges["judges"]["coin"] |= {"base_url": stub.url(**server), "params": {"seed": 1}}
    (place / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    done = invoke(*words())
    assert done.exit_code == 3, done.output
    [folder] = runs_of(place)
    race = race_of(folder)
    assert (race.ending, race.judge, [*race.dropped]) == ("within", "good", ["coin"])
    text = " ".join(done.stdout.split())
    assert f"coin was dropped, so the result is about the other judges. {reason}: the " in text
    assert "coin was dropped from the race, which continues without it (" in done.stderr
    assert n_asked(stub)["coin"] <= 20 <= n_asked(stub)["good"] < N_ITEMS
    failed = {v.judge for v in read_log(folder.verdicts).final.values() if v.outcome == "failed"}
    assert failed == {"coin"}


@pytest.mark.slow
def test_failing_request_of_a_judge_that_left_does_not_stop_a_resumed_race(place, stub):
    """`bad` answers the items, but its request without content always fails."""
    lines = [f"This is comment number {i}." for i in range(N_ITEMS)]
    stub.set_table("bad", {line: [{"A": 0.9, "B": 0.1}] for line in lines})
    judges = json.loads((place / "judges.yaml").read_text("utf-8"))
    judges["judges"]["bad"] |= {"base_url": stub.url(table="bad"), "deadline_s": 1}
    (place / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    done = invoke(*words(judges=("good", "bad@logprob-calibrated")))
    assert done.exit_code == 3, done.output
    n_before = n_asked(stub)["bad"]
    done = invoke("resume", "--judges-file", "judges.yaml")
    [folder] = runs_of(place)
    assert race_of(folder).ending is not None, done.output
    assert n_asked(stub)["bad"] == n_before


@pytest.mark.slow
def test_unreachable_server_delays_the_race_and_changes_nothing(place, stub):
    """Replies that came late decide as they would have in time."""
    assert invoke(*words("--no-store")).exit_code == 0
    [whole] = runs_of(place)
    judges = json.loads((place / "judges.yaml").read_text("utf-8"))
    judges["judges"]["bad"]["base_url"] = stub.url(say="A", fault="403*1")
    (place / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    done = invoke(*words("--no-store", "--out", "late"))
    assert done.exit_code == 3, done.output
    [path] = (place / "late").iterdir()
    for _ in range(60):
        if (code := invoke("resume", path, "--no-store", "-q").exit_code) == 0:
            break
        assert code == 3
    ended = race_of(RunFolder.open(path))
    assert (ended.judge, ended.n_calls, ended.n_drawn) == ("good", *counts_of(whole))


REFUSED = [
    (("--batch",), "Drop --batch or --race"),
    (("--store", "postgresql://127.0.0.1:1/none"), "Drop --store or --race"),
    (("--metric", "js_divergence(s/s)"), "hit_rate(h/h), mse(s/s), mse(srs/srs)"),
    (("--mode", "recode"), "Leave out --mode or --race"),
    (("--elicitation", "paired"), "Leave out --elicitation"),
    (("--pairs", "7"), "Leave out --pairs"),
    (("--within", "1"), "--within"),
    (("--ranks-by", "response_set"), "has a rating of the kind response_set"),
]


@pytest.mark.parametrize(("more", "advice"), REFUSED, ids=lambda value: str(value)[:20])
def test_options_that_conflict_with_a_race_are_rejected(place, stub, more, advice):
    """In one line, with exit 2, before anything is asked or written."""
    assert advice in refusal(place, *words(*more))
    assert stub.stats()["requests"] == 0
    assert not (place / "runs").exists()


def test_options_of_a_race_need_one(place):
    """--within and --complete-winner are refused elsewhere, 0 as well; one judge cannot race."""
    without = [word for word in words() if word != "--race"]
    for more in (("--within", 0), ("--complete-winner",)):
        assert f"{more[0]} works only with a race" in refusal(place, *without, *more)
    assert "two judges or more" in refusal(place, *words(judges=["good"]))


@pytest.mark.slow
def test_completed_winner_is_validated_alone(place, stub):
    """It is asked about the rest; the others stay out of every number, but count as tried."""
    assert invoke(*words()).exit_code == 0
    [folder] = runs_of(place)
    n_raced = stub.stats()["requests"]
    done = invoke("resume", folder.path, "--complete-winner", "--details")
    assert done.exit_code == 0, done.output
    source = source_of(RunFolder.open(folder.path))
    assert source.race.completed
    assert [facts.name for facts in source.judges] == list(source.verdicts) == ["good"]
    assert len(source.verdicts["good"]) == N_ITEMS
    winner = next(row for row in source.race.judges if row.judge == "good")
    assert stub.stats()["requests"] - n_raced == N_ITEMS - winner.n_items
    assert source.tried.n == len(JUDGES)
    metrics = json.loads((folder.path / "metrics.json").read_bytes())
    assert [row["judge"] for row in metrics["ranking"]["rows"]] == ["good"]
    assert metrics["decision"]["leader"] == "good"
    text = " ".join(done.stdout.split())
    assert "Only good was run on the remaining items" in text
    assert "Its interval accounts for selecting it from 4 judges." in text
    chosen = next(iter(metrics["evidence"]["judges"]))["estimate"]["interval"]
    alone = validate(replace(source, race=None)).ranked_judges[0]
    interval = alone.metrics[metrics["ranking"]["metric"]].interval
    assert chosen["low"] < interval.low < interval.high < chosen["high"]
    again = invoke(*words("--complete-winner", "--out", "at-once"))
    assert again.exit_code == 0, again.output
    [path] = (place / "at-once").iterdir()
    assert race_of(RunFolder.open(path)) == source.race
    gate = invoke("gate", folder.path, "--require", "hit_rate(h/h)>0.5", "--json")
    assert json.loads(gate.stdout)["requirements"][0]["judge"] in {"good", None}
    other = invoke("gate", folder.path, "--require", "bad: hit_rate(h/h)>0", "--json")
    assert RACED in other.stdout


@pytest.mark.slow
def test_nothing_compares_judges_that_raced(place, tmp_path):
    """What rests on a ranking is NA with the reason, or refused with it; never computed."""
    assert invoke(*words()).exit_code == 0
    [folder] = runs_of(place)
    write_ratings(tmp_path / "other")
    text = (tmp_path / "other" / "task.yaml").read_text("utf-8").replace("small", "other")
    (tmp_path / "other" / "task.yaml").write_text(text, encoding="utf-8")
    full = ("run", "--task", "other", "--judges", "good,bad", "--judges-file", "judges.yaml")
    assert invoke(*full, "--out", "full").exit_code == 0
    [other] = (place / "full").iterdir()
    for metric in ((), ("--metric", "hit_rate(h/h)")):
        shown = json.loads(invoke("validate", folder.path, *metric, "--json").stdout)
        assert (shown["judges"], shown["ranking"], shown["evidence"]) == ([], None, None)
        assert shown["decision"]["reason"] == "raced"
    for requirement in ("decision=none", "good: hit_rate(h/h)>0", "hit_rate(h/h)>0"):
        gate = invoke("gate", folder.path, "--require", requirement, "--json")
        assert gate.exit_code == 1, gate.output
        assert RACED in gate.stdout
    study = invoke("lab", "study", folder.path, other, "--json")
    assert study.exit_code == 0, study.output
    raced, compared = json.loads(study.stdout)["tasks"]
    assert (raced["raced"], raced["leader"], compared["raced"]) == (True, None, False)
    assert "(judges" in invoke("lab", "study", folder.path, other).stdout
    assert invoke("lab", "study", folder.path, other, "--page", "study.html").exit_code == 0
    assert "NA (judges raced)" in (place / "study.html").read_text(encoding="utf-8")
    more = ("--budget", "5", "--items", "task/items.jsonl", "--as", "new")
    refused = [
        ("report", folder.path, other),
        ("report", other, folder.path),
        ("estimate", folder.path, "--judge", "good", "--items", "task/items.jsonl"),
        ("curate", "draw", "task", "--judge", "good", *more),
        ("revalidate", folder.path),
        ("plan", "difference", "0.1", "--task", "task", "--verdicts", folder.verdicts),
        ("validate", "--task", "task", "--verdicts", folder.verdicts),
        ("lab", "probe", "self-preference", folder.path, "--own", "good=x"),
    ]
    for command in refused:
        message = refusal(place, *command)
        assert RACED in message
        assert "--complete-winner" in message


def test_unique_winner_is_named(place):
    """--within 0 ends with the one best judge."""
    done = invoke(*words("--within", 0))
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "good is the best of these judges on this pool, at error rate 5%." in text
    assert race_of(runs_of(place)[0]).ending == "unique"


def test_groups_are_drawn_whole(place, tmp_path):
    """Items of a group are asked about together, or not at all."""
    write_ratings(tmp_path / "grouped", groups=60)
    assert invoke(*words(task="grouped")).exit_code == 0
    [folder] = runs_of(place)
    race = race_of(folder)
    assert race.n_groups == 60
    asked = Counter(
        int(v.item[1:]) % 60 for v in read_log(folder.verdicts).final.values() if v.judge == "good"
    )
    assert set(asked.values()) == {4}
    assert 0 < len(asked) < 60


def test_strategies_and_ensembles_race(place, stub):
    """A vote of two judges is in the race; its members are asked for it as long as it is."""
    names = ["good", "bad", "coin@cot", "good+coin+bad"]
    done = invoke(*words("--samples", 1, judges=names))
    assert done.exit_code == 0, done.output
    [folder] = runs_of(place)
    race = race_of(folder)
    rows = {row.judge: row for row in race.judges}
    ensemble = rows["good+coin+bad"]
    assert ensemble.n_calls == ensemble.n_calls_full == 0
    assert min(rows[name].n_items for name in ("good", "bad", "coin")) >= ensemble.n_items > 0
    assert race.n_calls == len(read_log(folder.verdicts).final)


@pytest.mark.slow
def test_ensemble_that_wins_is_validated_with_its_members(place, stub):
    """Three judges that err on different items are beaten by their vote."""
    rng = random.Random(5)
    lines = [f"This is comment number {i}." for i in range(N_ITEMS)]
    judges = json.loads((place / "judges.yaml").read_text("utf-8"))["judges"]
    names = ["first", "second", "third"]
    for name in names:
        stub.set_table(name, {line: rng.choices("AB", [0.35, 0.65]) for line in lines})
        judges[name] = judges["good"] | {"model": name, "base_url": stub.url(table=name)}
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    ensemble = "+".join(names)
    command = words("--within", 0.01, "--complete-winner", judges=[*names, ensemble])
    done = invoke(*command)
    assert done.exit_code == 0, done.output
    [folder] = runs_of(place)
    source = source_of(folder)
    assert (source.race.judge, source.race.completed) == (ensemble, True)
    assert list(source.verdicts) == [ensemble]
    metrics = json.loads((folder.path / "metrics.json").read_bytes())
    assert [row["judge"] for row in metrics["ranking"]["rows"]] == [ensemble]


@pytest.mark.parametrize("metric", ["mse(srs/srs)", None])
def test_response_sets_race_by_squared_error(place, tmp_path, metric):
    """Where response sets rank, judges are asked for sets alone."""
    write_ratings(tmp_path / "sets", kind="response_set")
    yaml = (tmp_path / "sets" / "task.yaml").read_text("utf-8")
    yaml = yaml.replace("ranks_by: forced_choice", "ranks_by: response_set")
    (tmp_path / "sets" / "task.yaml").write_text(yaml, encoding="utf-8")
    done = invoke(*words(*(["--metric", metric] if metric else []), task="sets"))
    assert done.exit_code == 0, done.output
    [folder] = runs_of(place)
    assert race_of(folder).loss == "squared"
    assert {v.elicitation for v in read_log(folder.verdicts).final.values()} == {"response_set"}


def test_losses_are_those_of_the_answers_by_hand(place):
    """The share of raters who answered otherwise, and 1 for a reply without an answer."""
    assert invoke(*words("--within", 0.3)).exit_code == 0
    [folder] = runs_of(place)
    task = folder.load_task()
    pool = pool_of(task, folder.manifest.judges, folder.manifest.config)
    replies = {spec.name: [] for spec in folder.manifest.judges}
    for verdict in read_log(folder.verdicts).final.values():
        replies[verdict.judge].append(verdict)
    losses = pool.losses_on(slice(None), replies)
    said = {(v.judge, v.item): v.value for v in read_log(folder.verdicts).final.values()}
    ratings = [(rating.item, rating.value) for rating in task.ratings]
    for j, spec in enumerate(pool.specs):
        for i, item in enumerate(pool.items[:40]):
            value = said.get((spec.name, item.id))
            counts = Counter(answer for rated, answer in ratings if rated == item.id)
            expected = np.nan if value is None else 1.0 - counts[value] / 3
            np.testing.assert_allclose(losses[j, i], expected)
    first = replies["good"][0]
    silent = [v for v in replies["good"] if v is not first]
    from msgspec.structs import replace

    replies["good"] = [*silent, replace(first, outcome="abstained", value=None)]
    place_of = next(i for i, item in enumerate(pool.items) if item.id == first.item)
    assert pool.losses_on(slice(place_of, place_of + 1), replies)[0, 0] == 1.0


@pytest.mark.slow
def test_race_from_python(place):
    """`harness.run(race=True)` is the same race; its options are in the manifest."""
    run = harness.run("task", list(JUDGES), judges_file="judges.yaml", race=True, within=0.1)
    assert run.exit_code == 0
    assert "good is within 0.1 of the best" in run._repr_html_()
    assert run.validation.race.judge == "good"
    assert run.validation.decision.reason == "raced"
    assert RunFolder.open(run.path).manifest.config.within == 0.1
    completed = harness.run(resume=run.path, complete_winner=True)
    assert [judge.name for judge in completed.validation.judges] == ["good"]
    with pytest.raises(harness.HarnessError, match=r"works only with a race\. Add race"):
        harness.run("task", ["good"], judges_file="judges.yaml", within=0.1)
