"""What --dry-run says about costs: a total, reasoning, and what a cost limit buys."""

from __future__ import annotations

import json
import re

import pytest
from support.each_case import fast_first
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.judging.judges.config import load_judges
from harness.judging.judges.pricing import price_of

PRICE = {"input": 1.0, "output": 4.0}


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A folder with a task of eight items, from which commands are run in this process."""
    stub.reset()
    make_task_folder(tmp_path / "task", 8)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def words(place, **judges: dict) -> tuple[str, ...]:
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    named = ("--judges", ",".join(judges), "--judges-file", "judges.yaml")
    return ("run", "--task", "task", *named, "--elicitation", "forced_choice")


def local(stub, **fields) -> dict:
    return {"model": "stub", "base_url": stub.url(), "samples": 3, "price": PRICE} | fields


def costs_of(output: str, judge: str) -> list[float]:
    [line] = [line for line in output.splitlines() if line.startswith(f"{judge} ")]
    return [float(amount) for amount in re.findall(r"\$([\d.]+)", line)]


def test_dry_run_sums_the_costs_of_all_judges(place, stub):
    """In three columns, of those whose price is known; the others are named."""
    judges = {"a": local(stub), "b": local(stub, samples=1), "c": local(stub, price=None)}
    shown = invoke(*words(place, **judges), "--dry-run").stdout
    a, b, total = (costs_of(shown, judge) for judge in ("a", "b", "total"))
    assert len(total) == 3
    assert total == pytest.approx([x + y for x, y in zip(a, b, strict=True)], abs=2e-4)
    assert "The total doesn't include c, whose price is unknown." in " ".join(shown.split())
    assert max(map(len, shown.splitlines()[:5])) <= 80


def test_a_reasoning_model_is_expected_to_cost_more_if_it_reasons(place, stub):
    """`gpt` "cost $0.0549, at most $44.43": one function decided for the estimate, another for the
    limit. Now a column between assumes 500 tokens of reasoning in each of 24 replies."""
    judges = {"plain": local(stub), "thinks": local(stub, model="openai/o3")}
    shown = invoke(*words(place, **judges), "--dry-run").stdout
    expected, reasoned, most = costs_of(shown, "thinks")
    assert reasoned - expected == pytest.approx(24 * 500 * 4 / 1e6, abs=2e-4)
    assert most > 24 * 4096 * 4 / 1e6
    assert costs_of(shown, "plain")[0] == costs_of(shown, "plain")[1]
    assert "assumes 500 tokens of reasoning in each reply from thinks" in " ".join(shown.split())
    specs = load_judges(place / "judges.yaml")
    assert [specs[name].params["max_tokens"] for name in judges] == [32, 4096]


def test_parameters_turn_reasoning_off_in_the_estimate_too(place, stub):
    """And on, as they do in the limit of a reply."""
    off = local(stub, model="openai/gpt-5.4-mini", params={"reasoning_effort": "none"})
    on = local(stub, params={"reasoning_effort": "low"})
    quotes = json.loads(invoke(*words(place, off=off, on=on), "--dry-run", "--json").stdout)
    assert [quote["reasons"] for quote in quotes] == [False, True]
    assert [quote["reply_cap"] for quote in quotes] == [32, 4096]
    assert [quote["reasoning_usd"] > quote["expected_usd"] for quote in quotes] == [False, True]


def test_dry_run_says_why_a_judge_gets_so_many_replies(place, stub):
    """Ten where replies vary, one where they don't, and what was set."""
    far = local(stub)
    del far["samples"]
    command = words(place, far=far, own=far | {"samples": 7})
    command = tuple(word.replace("far,own", "far,own,smollm2") for word in command)
    shown = invoke(*command, "--dry-run").stdout
    assert "10 replies per item from far, because replies vary (the default)." in shown
    assert "7 replies per item from own, set in judges.yaml." in shown
    assert "1 reply per item from smollm2, because replies don't vary." in shown
    shown = invoke(*command, "--samples", 2, "--dry-run").stdout
    assert "2 replies per item from far, own, smollm2, set by --samples." in shown


def test_costs_of_several_tasks_are_one_table_with_one_total(place, stub):
    """There was a table for each task, none of which named it."""
    command = list(words(place, far=local(stub)))
    command[2] = "toxicity,coherence"
    lines = invoke(*command, "--dry-run").stdout.splitlines()
    rows = [
        line.split() for line in lines if line.startswith(("toxicity ", "coherence ", "total "))
    ]
    assert [row[:2] for row in rows[:2]] == [["toxicity", "far"], ["coherence", "far"]]
    assert int(rows[2][1]) == sum(int(row[4]) for row in rows[:2])
    assert len(rows) == 3


@pytest.mark.parametrize("n_per_request", fast_first(1, [3, 1]))
def test_least_limit_that_is_printed_sends_a_call_and_less_sends_none(place, stub, n_per_request):
    """It's printed without a limit, and with one that is too small."""
    command = words(place, far=local(stub, n_per_request=n_per_request))
    shown = invoke(*command, "--dry-run").stdout
    [least] = re.findall(r"--max-cost needs at least ([\d.]+) to send one call\.", shown)
    less = f"{float(least) * 0.98:.8f}"
    shown = " ".join(invoke(*command, "--dry-run", "--max-cost", less).stdout.split())
    assert f"sends nothing. Pass at least {least} to send one call." in shown
    for limit, sends in ((less, False), (least, True)):
        stub.reset()
        invoke(*command, "--max-cost", limit, "--no-store")
        assert (stub.stats()["requests"] > 0) == sends


def test_dry_run_says_how_many_calls_a_limit_buys(place, stub):
    """About as many as a run under that limit sends, or all."""
    command = words(place, far=local(stub, base_url=stub.url(bill="1")))
    [quote] = json.loads(invoke(*command, "--dry-run", "--json").stdout)
    limit = quote["first_call_usd"] + quote["expected_usd"] / 2
    shown = invoke(*command, "--dry-run", "--max-cost", limit).stdout
    assert "buys about 12 of 24 calls at the expected cost." in " ".join(shown.split())
    limit = quote["first_call_usd"] + quote["expected_usd"] * 1.01
    shown = invoke(*command, "--dry-run", "--max-cost", limit).stdout
    assert "buys all 24 calls at the expected cost." in " ".join(shown.split())
    shown = invoke(*command, "--dry-run", "--max-cost", quote["cost_usd"] * 1.01).stdout
    assert "buys all 24 calls, whatever their replies cost." in " ".join(shown.split())
    assert stub.stats()["requests"] == 0


def test_bundled_judges_have_a_price():
    """So that a newcomer's first dry run has a total."""
    assert all(price_of(spec) for name, spec in load_judges().items() if name in {"gpt", "claude"})
