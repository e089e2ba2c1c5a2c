"""Calls to servers that may ignore the token limit: first ones in turn, then ever more at once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from harness.errors import CallFailed
from harness.judging.running.budget import CapTrials, Trial

CHOICE, SETS = Trial("j", "forced_choice"), Trial("j", "response_set")
N_CALLS = 20


class Server:
    """Counts calls in flight; each keeps to its limit, or fails."""

    def __init__(self, trials: CapTrials) -> None:
        self.trials = trials
        self.in_flight: Counter[Trial | None] = Counter()
        self.n_kept: Counter[Trial | None] = Counter()
        self.n_first = 0
        self.rounds: list[int] = []

    async def call(self, trial: Trial | None, *, fails: bool = False) -> None:
        async with self.trials.admit(trial) as is_first:
            self.in_flight[trial] += 1
            self.n_first += is_first
            assert self.n_first <= 1, "another first call is in flight"
            self.rounds.append(self.in_flight[trial])
            assert trial is None or self.in_flight[trial] <= 1 + self.n_kept[trial]
            await asyncio.sleep(0.001)
            self.in_flight[trial] -= 1
            self.n_first -= is_first
            if fails:
                raise CallFailed("timeout")
            self.n_kept[trial] += 1
            self.trials.keep(trial)


def play(*calls: tuple[Trial | None, bool]) -> Server:
    """Make all calls at once."""

    async def run() -> Server:
        server = Server(CapTrials())
        tasks = [server.call(trial, fails=fails) for trial, fails in calls]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert not any(isinstance(end, AssertionError) for end in ends)
        return server

    return asyncio.run(run())


def test_first_calls_of_all_judges_are_sent_one_after_another():
    """Thirty judges that ignored their limits billed 27 times --max-cost."""
    judges = [Trial(f"j{number}", "forced_choice") for number in range(30)]
    server = play(*[(judge, False) for judge in judges])
    assert server.rounds == [1] * 30


def test_each_elicitation_of_a_judge_is_tried():
    """A server whose choices are short may write sets of any length."""
    server = play(*[(trial, False) for trial in (CHOICE, SETS) * N_CALLS])
    assert server.rounds[:2] == [1, 1]
    assert len(server.rounds) == 2 * N_CALLS


def test_calls_in_flight_double_with_the_replies_that_kept_to_their_limit():
    """So one that ignores its limit in some replies is found out by few of them."""
    server = play(*[(CHOICE, False)] * N_CALLS)
    assert server.rounds[:2] == [1, 1]
    assert max(server.rounds) >= N_CALLS // 4


@pytest.mark.parametrize("fails", [True, False])
def test_a_first_call_that_fails_is_followed_by_another_alone(fails):
    """What a reply costs is still unknown."""
    server = play(*[(CHOICE, True)] * 5, (CHOICE, fails))
    assert server.rounds == [1] * 6


def test_a_judge_that_fails_does_not_keep_others_from_their_turn():
    """Its calls wait for their own turn; each judge has one call in the queue of first calls."""
    order: list[str] = []
    trials = CapTrials()

    async def call(judge: str) -> None:
        async with trials.admit(Trial(judge, "forced_choice")):
            order.append(judge)
            await asyncio.sleep(0.001)

    async def run() -> None:
        await asyncio.gather(*(call(judge) for judge in ["slow"] * 5 + ["other"] * 2))

    asyncio.run(run())
    assert order[:4] == ["slow", "other", "slow", "other"]


def test_calls_that_cannot_exceed_their_reserve_wait_for_nothing():
    """Free ones, and those in batches."""
    server = play((CHOICE, False), *[(None, False)] * N_CALLS)
    assert max(server.rounds) == N_CALLS
