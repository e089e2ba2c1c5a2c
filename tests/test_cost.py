"""What a run will cost, what it did cost, and what one answered verdict costs."""

from __future__ import annotations

import json

import pytest
from making import command, make_task
from stubbing import start_stub

from harness.elicit.log import read_log, replies_of
from harness.validate import Validation

PRICE = {"input": 1.0, "output": 4.0}


@pytest.fixture(scope="module")
def stub():
    with start_stub() as running:
        yield running


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A folder with a task, from which commands are run in this process."""
    stub.reset()
    make_task(tmp_path / "task", 8)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judges_file(place, **judges: dict) -> str:
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    return "judges.yaml"


def local(stub, **fields) -> dict:
    address = fields.pop("base_url", stub.url())
    return {"model": "stub", "base_url": address, "samples": 3, "price": PRICE} | fields


def test_dry_run_predicts_the_cost_within_a_tenth(place, stub):
    """In all three elicitations; and the run's own account is what the stub counted."""
    file = judges_file(place, far=local(stub))
    words = ("run", "--task", "task", "--judges", "far", "--judges-file", file, "--no-baselines")
    words += ("--elicitation", "forced_choice,response_set,paired", "--json")
    [quote] = json.loads(command(*words, "--dry-run").stdout)
    done = command(*words)
    assert done.exit_code == 0, done.output
    judge = Validation.model_validate_json(done.stdout).judge("far")
    assert quote["expected_usd"] == pytest.approx(judge.cost.usd, rel=0.1)
    assert quote["cost_usd"] >= judge.cost.usd
    assert quote["calls"] == stub.stats()["requests"] == judge.cost.n_paid
    [folder] = (place / "runs").iterdir()
    verdicts = read_log(folder / "verdicts.jsonl").final.values()
    bought = {reply.request: reply for verdict in verdicts for reply in replies_of(verdict)}
    replies = bought.values()
    assert judge.cost.prompt_tokens == sum(reply.prompt_tokens for reply in replies)
    assert judge.cost.cached_tokens == sum(reply.cached_tokens for reply in replies) > 0
    spent = judge.cost.prompt_tokens * 1.0 + judge.cost.completion_tokens * 4.0
    assert judge.cost.usd == pytest.approx(spent / 1e6)


def test_useful_verdicts_carry_the_cost_of_useless_ones(place, stub):
    """A judge of which a fourth is unreadable costs a third more per answered verdict."""
    useless = stub.url(say="I would rather talk of something else")
    file = judges_file(place, far=local(stub), lost=local(stub, base_url=useless))
    words = ("run", "--task", "task", "--judges", "far,lost", "--judges-file", file)
    words += ("--no-baselines", "--elicitation", "forced_choice")
    shown = command(*words)
    assert shown.exit_code == 0, shown.output
    again = command(*words, "--json")
    result = Validation.model_validate_json(again.stdout)
    far, lost = (result.judge(name) for name in ("far", "lost"))
    assert (far.cost.n_paid, far.cost.n_cached, far.cost.usd) == (0, 24, 0.0)
    assert far.cost.usd_per_answered * 24 == pytest.approx(
        sum(r.cost_usd for v in log_of(place, "far") for r in replies_of(v))
    )
    assert lost.cost.usd_per_answered is None, "nothing was answered"
    told = " ".join(shown.stdout.split())
    assert f"24 replies; ${far.cost.usd_per_answered:.3g} per answered verdict" in told
    assert "50% of its prompt tokens" in told


def log_of(place, judge):
    [folder, *_] = sorted((place / "runs").iterdir())
    final = read_log(folder / "verdicts.jsonl").final.values()
    return [verdict for verdict in final if verdict.judge == judge]
