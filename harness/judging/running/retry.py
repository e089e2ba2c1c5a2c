"""Retries of calls. Requests are repeated only here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_random_exponential

from harness.judging.judges.response_errors import is_retryable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from harness.errors import CallFailed

T = TypeVar("T")

PAID_ATTEMPTS = 2  # maximum requests per call if unreadable replies are paid for


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Policy for retrying calls.

    Attributes
    ----------
    attempts : int
        Maximum requests per call; `PAID_ATTEMPTS` if the replies cannot be read.
    backoff_s, backoff_max_s : float
        First and maximum upper bound of the random wait between attempts, in seconds.
    """

    attempts: int = 6
    backoff_s: float = 0.5
    backoff_max_s: float = 30.0

    async def call_again(
        self,
        failure: CallFailed,
        attempt: Callable[[], Awaitable[T]],
        sleep: Callable[[float], Awaitable[None]],
    ) -> T:
        """Retry a failed call until it succeeds, fails for good or has no attempts left.

        Raises
        ------
        CallFailed
            The last failure.
        """
        failures, n_paid = [failure], 0

        async def next_attempt() -> T:
            if failures:  # the first attempt, made without tenacity's overhead
                raise failures.pop()
            return await attempt()

        def was_last(state: RetryCallState) -> bool:
            nonlocal n_paid
            n_paid += bool(getattr(_failure_of(state), "paid", False))
            return state.attempt_number >= self.attempts or n_paid >= PAID_ATTEMPTS

        retrying = AsyncRetrying(
            retry=retry_if_exception(is_retryable),
            stop=was_last,
            wait=self._wait_s,
            sleep=sleep,
            reraise=True,
        )
        return await retrying(next_attempt)

    def _wait_s(self, state: RetryCallState) -> float:
        """Return a random wait in seconds (full jitter), at least the wait the server requested."""
        requested_s = getattr(_failure_of(state), "retry_after_s", None) or 0.0
        jitter = wait_random_exponential(self.backoff_s, self.backoff_max_s)
        return max(requested_s, jitter(state))


def _failure_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None
