"""Inputs of a validation: a task, verdicts and choices."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from harness.stats.data.resolved_tables import AbstentionMode
from harness.stats.indeterminacy.translation import SweepVariant
from harness.stats.inference.interval_methods import IntervalMethod
from harness.stats.selection.footing import Abstention
from harness.stats.selection.shared_items import MIN_ANSWERED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Elicitation
    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Item, Task

N_RESAMPLES = 2000
AggregationLevel: TypeAlias = Literal["micro", "macro", "item"]
Humans: TypeAlias = Literal["rated", "reconstructed"]
Unanswered: TypeAlias = Literal["loss", "exclude"]
WORTH = 0.05  # the smallest difference that matters, as a share of the metric's range


def _parse_replies(number: object) -> int | Literal["inf"] | None:
    """Read a number of replies; infinity is a word, as JSON has no number for it."""
    if number is None:
        return None
    if number in ("inf", inf):
        return "inf"
    if isinstance(number, int | str) and not isinstance(number, bool):
        with suppress(ValueError):
            if (n_replies := int(number)) >= 1:
                return n_replies
    raise ValueError("expected a whole number from 1, or inf")


Replies: TypeAlias = Annotated[int | Literal["inf"] | None, BeforeValidator(_parse_replies)]


class Frozen(BaseModel):
    """A frozen model without further fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeFacts(Frozen):
    """Facts about a judge besides its verdicts.

    Attributes
    ----------
    kind : str
        How it was reached; ``external`` if its verdicts were made elsewhere.
    """

    name: str
    kind: str = "external"
    model: str = ""


class Choices(Frozen):
    """Choices of a user about the numbers; None for the task's or the default.

    Attributes
    ----------
    replies : int or "inf" or None
        Replies per item at which judges are compared; "inf" removes reply noise, None takes the
        smallest number of samples among the judges.
    min_answered : float or None
        Share of the rated items that a judge must have answered to be ranked.
    worth : float or None
        The smallest difference that matters, as a share of the metric's range.
    abstention : str or None
        "exclude": judges are compared on the items that all ranked ones answered; "loss": on all
        rated items, unanswered ones counted like the worst answer.
    humans : str or None
        "rated": the response sets that raters gave, or an assumed beta implies; "reconstructed":
        of all raters who chose, as their choices and the pairs of some imply them. None for the
        latter where the pairs suffice and beta is assumed or most choices have no set; see
        `harness.analysis.human_sets`.
    """

    tau: float | None = None
    metric: str | None = None
    beta: float | None = Field(None, ge=0, le=1)
    family: SweepVariant | None = None
    mode: AbstentionMode | None = None
    level: AggregationLevel | None = None
    unanswered: Unanswered | None = None
    confidence: float | None = None
    interval: IntervalMethod | None = None
    replies: Replies = None
    min_answered: float | None = Field(None, ge=0, le=1)
    worth: float | None = Field(None, gt=0, le=1)
    abstention: Abstention | None = None
    humans: Humans | None = None

    def explicit(self) -> dict[str, Any]:
        """Return the choices that are not None."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True, slots=True)
class Source:
    """Verdicts, and the task and settings to validate them with.

    Attributes
    ----------
    items : tuple of Item
        Items that the verdicts are about, in the task's order.
    verdicts : mapping of str to sequence of Verdict
        Final verdicts per judge, one per unit.
    planned : mapping of str to mapping of Elicitation to int
        How many units each judge was to be asked.
    replies_voted_on : mapping of str to sequence of Verdict
        Of judges whose verdicts are votes: the verdicts on the replies that were asked for.
    tau, metric, beta, family, mode, level, unanswered, confidence, interval, seed, n_resamples
        As in `harness.analysis.result.Settings`; None for the task's own or none.
    replies, min_answered, worth, abstention, humans
        As in `Choices`.
    verdicts_hash : str
        SHA-256 of the verdict log of a run.
    vectors : mapping of str to array, or None
        Of texts, where the task compares them by embeddings; of length 1.
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
    interval: IntervalMethod = "score"
    replies: int | Literal["inf"] | None = None
    min_answered: float = MIN_ANSWERED
    worth: float = WORTH
    abstention: Abstention = "exclude"
    humans: Humans | None = None
    seed: int = 0
    n_resamples: int = N_RESAMPLES
    notes: tuple[str, ...] = ()
    replies_voted_on: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    verdicts_hash: str = ""
    vectors: Mapping[str, FloatArray] | None = None

    def own_replies(self, judge: str) -> Sequence[Verdict]:
        """Return a judge's verdicts on single replies; those of an ensemble are its members'."""
        replies = self.replies_voted_on.get(judge, self.verdicts[judge])
        return [verdict for verdict in replies if verdict.judge == judge]


def shared_items(first: Sequence[Item], second: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items of the second run that are in the first, with the same text where kept."""
    earlier = {item.id: item.fields for item in first}
    return tuple(
        item
        for item in second
        if item.id in earlier
        and all(item.fields.get(name, text) == text for name, text in earlier[item.id].items())
    )
