"""One timer ends every call that takes too long, and no other."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.judge_runs import run_judge
from support.task_folders import make_task_folder

from harness.judging.judges import hosted
from harness.judging.judges.config import new_judge
from harness.judging.running.asker import Deadline
from harness.tasks import load_task

SHORT_S, LONG_S = 0.02, 60


def test_late_calls_end_and_calls_in_time_do_not():
    """Each call has the whole of its time, however many came before."""

    async def call(deadline, seconds):
        try:
            with deadline:
                await asyncio.sleep(seconds)
        except TimeoutError:
            return "late"
        return "in time"

    async def go():
        deadline = Deadline(SHORT_S)
        for _ in range(2):
            ends = await asyncio.gather(*(call(deadline, s) for s in (0, LONG_S, 0, LONG_S)))
            assert ends == ["in time", "late", "in time", "late"]
        assert repr(deadline) == "Deadline(0.02 s, 0 calls)"
        assert not asyncio.current_task().cancelling()

    asyncio.run(go())


def test_a_task_that_is_cancelled_by_others_stays_cancelled():
    """The deadline takes back its own cancellation alone."""

    async def call(deadline):
        with deadline:
            await asyncio.sleep(LONG_S)

    async def go():
        for seconds, late in ((LONG_S, False), (0, True)):
            deadline = Deadline(seconds)
            task = asyncio.create_task(call(deadline))
            await asyncio.sleep(0)
            if late:
                asyncio.get_running_loop().call_soon(task.cancel)
            else:
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(go())


def test_a_call_that_failed_in_time_shows_its_own_error():
    """What goes wrong inside comes out as it is."""

    async def fail():
        await asyncio.sleep(0)
        raise ValueError("its own")

    async def go():
        with Deadline(LONG_S):
            await fail()

    with pytest.raises(ValueError, match="its own"):
        asyncio.run(go())


@pytest.mark.slow
def test_import_of_litellm_does_not_count_against_the_deadline(tmp_path, stub, monkeypatch):
    """On a slow machine it takes longer than a call may; the calls that wait for it are sent
    once."""
    import_s, real, n_imports = 2.0, hosted.load_litellm, []

    def load_slowly():
        if not n_imports:
            time.sleep(import_s)
        n_imports.append(1)
        return real()

    monkeypatch.setenv("STUB_KEY", "sk-x")
    settings = {"kind": "litellm", "model": "openai/stub", "base_url": stub.url()}
    spec = new_judge(name="j", key_env="STUB_KEY", concurrency=2, **settings)
    task = load_task(make_task_folder(tmp_path / "task"))
    options = {"elicitations": ("forced_choice",), "samples": 1}
    run_judge(spec, task, tmp_path / "warm.jsonl", **options)  # litellm's first call takes a second
    stub.reset()
    monkeypatch.setattr(hosted, "load_litellm", load_slowly)
    spec = spec.model_copy(update={"deadline_s": import_s / 2})
    log, end, _ = run_judge(spec, task, tmp_path / "log.jsonl", **options)
    assert end == ""
    assert {verdict.outcome for verdict in log.final.values()} == {"answered"}
    assert stub.stats()["requests"] == len(task.items)
