"""One timer ends every call that takes too long, and no other."""

from __future__ import annotations

import asyncio

import pytest

from harness.judging.running.local_executor import Deadline

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
