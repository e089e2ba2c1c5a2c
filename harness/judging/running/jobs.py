"""What a run is made of: what each judge is asked, how calls are retried, and who watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.judging.prompts.requests import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.judging.judges.base import Judge
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Elicitation
    from harness.tasks import Item


@dataclass(frozen=True, slots=True)
class Job:
    """All that one judge is asked in a run."""

    judge: Judge
    items: tuple[Item, ...]
    elicitations: tuple[Elicitation, ...]
    samples: int

    def units(self) -> Iterator[Unit]:
        """Units in the order of asking: by elicitation first, so that prompts share prefixes."""
        for elicitation in self.elicitations:
            for item in self.items:
                for sample in range(self.samples):
                    yield Unit(item=item.id, elicitation=elicitation, sample=sample)

    @property
    def planned(self) -> dict[Elicitation, int]:
        """How many units each elicitation has."""
        return dict.fromkeys(self.elicitations, len(self.items) * self.samples)


@dataclass(frozen=True, slots=True)
class Settings:
    """How calls are retried.

    Attributes
    ----------
    attempts : int
        Most requests sent for one call.
    backoff_s, backoff_max_s : float
        First and largest bound of the random wait between attempts, in seconds.
    """

    attempts: int = 6
    backoff_s: float = 0.5
    backoff_max_s: float = 30.0


class Observer(Protocol):
    """Who watches a run: progress bars, plain lines, nobody."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """These verdicts stand in the log, just written or since an earlier start of the run."""

    def ended(self, judge: str, reason: str) -> None:
        """A judge is at its end; ``reason`` is empty if it was asked all it was to be asked."""

    def say(self, line: str) -> None:
        """Something happened that the user should know."""
