"""What a run says of a server that cuts prompts, hides answers or uses words of its own."""

from __future__ import annotations

import json

import pytest
from support.judge_runs import n_lines
from support.processes import invoke
from support.task_folders import make_task_folder, write_jsonl

N_ITEMS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A task of long texts."""
    folder = make_task_folder(tmp_path_factory.mktemp("warned") / "task", N_ITEMS)
    items = [{"id": f"i{i}", "text": f"Comment {i} " + "and so on " * 500} for i in range(N_ITEMS)]
    write_jsonl(folder / "items.jsonl", items)
    return folder


@pytest.fixture
def run(folder, tmp_path, stub):
    """Run a judge whose server patches its replies; return what is printed, on one line."""

    def go(**patch):
        url = stub.url(say="B", patch=json.dumps(patch))
        done = invoke(
            *("run", "--task", folder, "--judges", "stub", "--base-url", url, "--samples", 1),
            *("--elicitation", "forced_choice", "--no-store", "--out", tmp_path / "runs"),
        )
        assert done.exit_code in {0, 3}, done.output
        return " ".join(done.stdout.split())

    return go


def test_cut_prompts_are_warned_of(run):
    """The warning has the two numbers and what to raise; a full count has none."""
    said = run(usage={"prompt_tokens": 64, "total_tokens": 65, "prompt_tokens_details": {}})
    assert f"Warning: stub's server cut {N_ITEMS} of {N_ITEMS} prompts" in said
    assert "it counted 64 tokens of a prompt that has at least 1" in said
    assert "context length" in said
    assert "Warning" not in run(usage={"prompt_tokens": 1600, "total_tokens": 1601})


def test_unknown_word_for_an_end_is_said_once(run):
    """However many replies have it."""
    said = run(choice={"finish_reason": "OTHER"})
    assert said.count("OTHER") == 1
    assert f"{N_ITEMS} replies ended with finish_reason 'OTHER'" in said


def test_reasoning_without_an_answer_is_the_cause_and_is_kept(run, tmp_path):
    """With what to do: more tokens, or the server's parser."""
    said = run(message={"content": "", "reasoning_content": "The note is calm, so B"})
    assert f"Causes: reasoning without an answer ({N_ITEMS})" in said
    assert "--max-tokens 512" in said
    assert "reasoning parser" in said
    assert "- The note is calm, so B" in said
    [log] = (tmp_path / "runs").glob("*/verdicts.jsonl")
    assert n_lines(log) == N_ITEMS
    replies = [json.loads(line)["reply"] for line in log.read_text().splitlines()[1:]]
    assert {reply["reasoning"] for reply in replies} == {"The note is calm, so B"}


def test_replies_of_several_models_are_warned_of(folder, tmp_path, stub):
    """A gateway's fallback answered half of the items, and nothing said so."""
    urls = [
        stub.url(say="B", patch=json.dumps({"top": {"model": model}}))
        for model in ("large-1", "small-2")
    ]
    judges = {"judges": {"gateway": {"model": "large-1", "base_url": urls, "samples": 1}}}
    (tmp_path / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    done = invoke(
        *("run", "--task", folder, "--judges", "gateway", "--out", tmp_path / "runs"),
        *("--judges-file", tmp_path / "judges.yaml", "--elicitation", "forced_choice"),
    )
    said = " ".join(done.stdout.split())
    assert "Warning: gateway's replies come from 2 models, such as large-1 (2)" in said
    assert "and small-2 (2), but count as replies of one judge" in said
