"""What a validation starts from: a task and verdicts, whoever made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from harness.stats.data.resolved_tables import AbstentionMode
from harness.stats.indeterminacy.translation import SweepVariant
from harness.stats.inference.interval_methods import IntervalMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Elicitation
    from harness.tasks import Item, Task

N_RESAMPLES = 2000
AggregationLevel: TypeAlias = Literal["micro", "macro", "item"]
Unanswered: TypeAlias = Literal["loss", "exclude"]


class Frozen(BaseModel):
    """A value that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeFacts(Frozen):
    """What is known of a judge before its verdicts are read.

    Attributes
    ----------
    kind : str
        How it was reached; ``external`` if its verdicts were made elsewhere.
    baseline : bool
        Whether it is there to be beaten.
    """

    name: str
    kind: str = "external"
    model: str = ""
    baseline: bool = False


class Choices(Frozen):
    """What a user may choose about the numbers; None leaves it to the task or the default."""

    tau: float | None = None
    metric: str | None = None
    beta: float | None = Field(None, ge=0, le=1)
    family: SweepVariant | None = None
    mode: AbstentionMode | None = None
    level: AggregationLevel | None = None
    unanswered: Unanswered | None = None
    confidence: float | None = None
    interval: IntervalMethod | None = None

    def given(self) -> dict[str, Any]:
        """Return those that were made."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True, slots=True)
class Source:
    """Verdicts and what is needed to read them.

    Attributes
    ----------
    items : tuple of Item
        Those that the verdicts are about, in the task's order.
    verdicts : mapping of str to sequence of Verdict
        Final verdicts per judge, one per unit.
    planned : mapping of str to mapping of Elicitation to int
        How many units each judge was to be asked.
    tau, metric, beta, family, mode, level, unanswered, confidence, interval, seed, n_resamples
        As in `harness.analysis.result.Settings`; None for the task's own or none.
    """

    task: Task
    items: tuple[Item, ...]
    judges: tuple[JudgeFacts, ...]
    verdicts: Mapping[str, Sequence[Verdict]]
    planned: Mapping[str, Mapping[Elicitation, int]]
    tau: float | None = None
    metric: str | None = None
    beta: float | None = None
    family: SweepVariant = "keeps_choice"
    mode: AbstentionMode = "exclude"
    level: AggregationLevel = "micro"
    unanswered: Unanswered = "loss"
    confidence: float = 0.95
    interval: IntervalMethod = "percentile"
    seed: int = 0
    n_resamples: int = N_RESAMPLES
    notes: tuple[str, ...] = ()
