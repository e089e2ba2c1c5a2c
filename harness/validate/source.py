"""What a validation starts from: a task and verdicts, whoever made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.elicit.prompts import Elicitation
    from harness.elicit.verdicts import Verdict
    from harness.task import Item, Task

N_RESAMPLES = 2000
AbstentionMode: TypeAlias = Literal["exclude", "recode", "third_class"]
AggregationLevel: TypeAlias = Literal["micro", "macro", "item"]
IntervalMethod: TypeAlias = Literal["percentile", "bca", "jackknife"]
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
    tau, metric, beta, mode, level, unanswered, confidence, interval, seed, n_resamples
        As in `harness.validate.result.Settings`; None for the task's own or none.
    """

    task: Task
    items: tuple[Item, ...]
    judges: tuple[JudgeFacts, ...]
    verdicts: Mapping[str, Sequence[Verdict]]
    planned: Mapping[str, Mapping[Elicitation, int]]
    tau: float | None = None
    metric: str | None = None
    beta: float | None = None
    mode: AbstentionMode = "exclude"
    level: AggregationLevel = "micro"
    unanswered: Unanswered = "loss"
    confidence: float = 0.95
    interval: IntervalMethod = "percentile"
    seed: int = 0
    n_resamples: int = N_RESAMPLES
    notes: tuple[str, ...] = ()
