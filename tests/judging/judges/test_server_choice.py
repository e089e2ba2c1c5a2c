"""Several servers of one model: calls are balanced over those that are healthy."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.doc_pages import blocks
from support.judge_runs import run_judge
from support.processes import start_server
from support.task_folders import make_task_folder

from harness.errors import CallFailed
from harness.judging.judges.config import JudgeSpec, load_judges
from harness.judging.judges.http_exchange import Answer
from harness.judging.judges.server_choice import REST_S, ServerChoice
from harness.tasks import load_task


def spec(*urls, **fields):
    options = {"name": "m", "model": "stub", "base_url": list(urls), "samples": 1} | fields
    return JudgeSpec.model_validate(options)


def test_calls_go_to_the_server_with_the_fewest():
    """Calls in flight are even, whatever their order."""
    choice = ServerChoice(["a", "b"])
    with choice.call() as first, choice.call() as second:
        assert {first.url, second.url} == {"a", "b"}


def unreachable(choice, server):
    raise CallFailed("unreachable", retry=True)


def answers_503(choice, server):
    choice.note(server, Answer(503, {}, b""))


@pytest.mark.parametrize("fail", [unreachable, answers_503])
def test_server_that_cannot_be_reached_rests(fail):
    """It gets no call for a while."""
    now = 0.0
    choice = ServerChoice(["a", "b"], lambda: now)
    with suppress(CallFailed), choice.call() as server:
        fail(choice, server)
    assert server.url == "a"
    with choice.call() as first, choice.call() as second:
        assert first.url == second.url == "b"
    now = REST_S
    with choice.call() as first, choice.call() as second:
        assert {first.url, second.url} == {"a", "b"}


def test_list_of_addresses_is_checked():
    """Each is checked as one alone; only endpoints take a list; requests name the first."""
    several = spec("http://127.0.0.1:1/v1/", "http://127.0.0.1:2/v1/")
    assert several.base_url == "http://127.0.0.1:1/v1"
    assert several.other_urls == ("http://127.0.0.1:2/v1",)
    assert JudgeSpec.model_validate(several.model_dump()) == several
    with pytest.raises(ValidationError, match="http://host:port"):
        spec("http://127.0.0.1:1/v1", "ftp://127.0.0.1")
    with pytest.raises(ValidationError, match="not a list"):
        spec("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1", kind="litellm")


def test_example_of_the_docs_can_be_read(tmp_path):
    """The judges.yaml of the page on large runs names two servers."""
    page = Path(__file__).resolve().parents[3] / "docs/how-to/billion.md"
    [block] = [b for b in blocks(page.read_text(encoding="utf-8")) if b.title]
    (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    assert len(load_judges(tmp_path / block.title)["llama"].other_urls) == 1


def test_one_of_three_servers_is_dead(stub, tmp_path):
    """Every unit is answered by the other two, about evenly, and nothing is sent twice."""
    make_task_folder(tmp_path / "task", 40)
    task = load_task(tmp_path / "task")
    stub.reset()
    with start_server() as second:
        judge = spec("http://127.0.0.1:9/v1", stub.url(ms=5), second.url(ms=5), concurrency=4)
        log, end, _ = run_judge(
            judge, task, tmp_path / "log.jsonl", elicitations=("forced_choice",), samples=1
        )
        requests = [server.stats()["requests"] for server in (stub, second)]
    assert end == ""
    assert all(verdict.outcome == "answered" for verdict in log.final.values())
    assert sum(requests) == len(log.final) == 40
    assert min(requests) >= 10
