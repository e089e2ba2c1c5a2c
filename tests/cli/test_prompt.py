"""`harness prompt` prints what a judge is sent, and sends nothing."""

from __future__ import annotations

import json

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.errors import ExitCode, TaskError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_task_folder(tmp_path / "small")


@pytest.mark.parametrize("judge", ["stub", "stub@cot"])
@pytest.mark.parametrize("elicitation", ["forced_choice", "response_set"])
def test_printed_prompts_equal_the_requests_of_a_run(folder, stub, judge, elicitation):
    """Messages, model and parameters are those that the server receives."""
    stub.reset()
    how = ("--elicitation", elicitation, "--base-url", stub.url())
    printed = invoke("prompt", folder, "--judge", judge, "--item", "i0", *how, "--json")
    text = invoke("prompt", folder, "--judge", judge, "--item", "i0", *how).output
    assert stub.requests() == []

    run = ("--task", folder, "--judges", judge, "--limit", "1", "--samples", "1", "--no-store")
    invoke("run", *run, *how, "--quiet")
    [request] = stub.requests()
    received = json.loads(request["body"])
    sent = json.loads(printed.output)
    assert sent["messages"] == received["messages"]
    assert {"model": sent["model"]} | sent["params"] | {"messages": sent["messages"]} == received
    turns = [f"[{turn['role']}]\n{turn['content']}" for turn in received["messages"]]
    assert text == "\n\n".join(turns) + "\n"


def test_the_options_of_a_run_choose_demonstrations_and_order(folder, stub):
    """With the same limit, seed and shuffle, every sample is printed as it is sent."""
    stub.reset()
    how = ("--elicitation", "forced_choice", "--base-url", stub.url())
    same = ("--limit", "2", "--seed", "3", "--shuffle-options", *how)
    judge = "stub@few-shot:1"
    printed = [
        invoke("prompt", folder, "--judge", judge, "--item", item, *same, "--sample", s, "--json")
        for item in ("i0", "i1")
        for s in (0, 1)
    ]
    run = ("--task", folder, "--judges", judge, "--samples", 2, "--no-store", "--quiet")
    invoke("run", *run, *same)
    sent = [json.loads(request["body"])["messages"] for request in stub.requests()]
    shown = [json.loads(result.output)["messages"] for result in printed]
    assert len(sent) == len(shown) == 4
    assert all(messages in sent for messages in shown)
    result = invoke("prompt", folder, "--judge", judge, "--item", "i5", *same)
    assert "'i5' is left out by" in str(result.exception)


def test_a_pair_begins_with_the_set(folder):
    """Its first turn is printed; hosted judges need no key for that."""
    options = ("--judge", "gpt", "--item", "i1", "--elicitation")
    first, endorsed = (
        invoke("prompt", folder, *options, name) for name in ("paired", "response_set")
    )
    assert first.exit_code == 0
    assert first.output == endorsed.output
    assert "comment number 1." in first.output


def test_unknown_items_are_named(folder):
    """The error says which item is missing; its exit code is that of wrong input."""
    result = invoke("prompt", folder, "--judge", "gpt", "--item", "none-such")
    assert isinstance(result.exception, TaskError)
    assert result.exception.exit_code == ExitCode.WRONG_INPUT
    assert "no item has id 'none-such'" in str(result.exception)
