"""Chain of thought from the request to the verdict: only the last line counts."""

from __future__ import annotations

import json

import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

from harness.app.plan import estimate_costs, plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import run_plan
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.running.cost_estimate import REASONING_TOKENS
from harness.judging.strategies.chain_of_thought import COT_MAX_TOKENS
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import Place, RunOptions, Server
from harness.runs.run_folder import RunFolder
from harness.tasks import load_task

REASONS = "Option A: it insults nobody.\nI would not say A.\n\nVerdict: B\n"


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", 6)))


def parsed(task, text, elicitation="forced_choice", finish_reason="stop"):
    reply = Reply(request="0" * 64, text=text, finish_reason=finish_reason)
    unit = Unit(task.items[0].id, elicitation)
    verdict = ReplyReader(task, named("cot")).verdict(reply, unit, "m@cot")
    return verdict.outcome, verdict.value or verdict.reason


def test_the_last_line_decides(task):
    """Options that the reasons name are no verdict, not even on a line of their own."""
    assert parsed(task, REASONS) == ("answered", "B")
    assert parsed(task, "A\nNo, B is right.\nB") == ("answered", "B")
    assert parsed(task, "B") == ("answered", "B")
    assert parsed(task, "Both fit.\nA, B", "response_set") == ("answered", ("A", "B"))
    assert parsed(task, "<think>\nA\n</think>\nIt is rude.\nB") == ("answered", "B")
    assert parsed(task, "Some say:\nA\nThat is their view of it.")[0] == "invalid"
    assert parsed(task, "<think>\nMaybe\nA")[0] == "invalid"
    assert parsed(task, "")[0] == "invalid"


def test_a_truncated_reply_has_no_verdict(task):
    """The last line of reasons that were cut off is not the verdict, whatever it says."""
    assert parsed(task, "It is either\nA", finish_reason="length") == ("invalid", "cut_off")


def test_a_run_ranks_both_strategies_and_resumes(task, stub, tmp_path):
    """The stub reads prompt and limit of each; a resumed run asks nothing again."""
    stub.reset()
    stub.set_table("reasons", {f"Property to rate: {task.property}": [REASONS]})
    plan = plan_run(
        str(task.folder),
        ["stub", "stub@cot"],
        RunOptions(samples=2, elicitations=("forced_choice",)),
        server=Server(base_url=stub.url(table="reasons")),
    )
    result = run_plan(
        plan, observer=RecordingObserver(), out=tmp_path / "runs", place=Place(no_store=True)
    )
    limits = [json.loads(request["body"])["max_tokens"] for request in stub.requests()]
    assert sorted(limits) == [32] * 12 + [COT_MAX_TOKENS] * 12
    judges = {judge.name for judge in result.validation.judges}
    assert {"stub", "stub@cot"} <= judges
    verdicts = result.folder.read_verdicts().final.values()
    outcomes = {(v.judge, v.outcome, v.value) for v in verdicts}
    assert outcomes == {("stub@cot", "answered", "B"), ("stub", "answered", "B")}

    folder = RunFolder.open(result.folder.path)
    folder.update(state="stopped")
    stub.reset()
    resumed = run_plan(
        plan_resumed_run(
            RunFolder.open(folder.path), server=Server(base_url=stub.url(table="reasons"))
        ),
        observer=RecordingObserver(),
        place=Place(no_store=True),
    )
    assert stub.requests() == []
    assert {judge.name for judge in resumed.validation.judges} == judges


def test_reasons_are_priced(task, stub):
    """The expected cost of chain of thought assumes a length of its reasons, within the limit."""
    plan = plan_run(
        str(task.folder), ["m@cot"], RunOptions(samples=1), server=Server(base_url=stub.url())
    )
    [quote] = estimate_costs(plan)
    assert quote.judge == "m@cot"
    per_reply = quote.expected_completion_tokens / quote.calls
    assert REASONING_TOKENS < per_reply < REASONING_TOKENS + 10
    assert quote.completion_tokens == 2 * quote.calls * COT_MAX_TOKENS, "each may be asked again"
