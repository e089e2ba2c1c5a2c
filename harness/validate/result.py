"""What a validation ends in: every number of a run, as ``metrics.json`` holds it."""

from __future__ import annotations

from typing import Literal

from harness.elicit.prompts import Elicitation  # noqa: TC001 -- pydantic reads it when it runs
from harness.ratings import OutcomeCounts  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.intervals import Estimate  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.ranking import Difference  # noqa: TC001 -- pydantic reads it when it runs
from harness.validate.source import Frozen

SCHEMA_VERSION = 1


class TaskFacts(Frozen):
    """The task as far as the numbers need it."""

    name: str
    property: str
    notice: str
    content_hash: str
    options: dict[str, str]
    positive: tuple[str, ...]
    n_items: int
    n_items_in_task: int


class Settings(Frozen):
    """What the numbers depend on besides the data.

    Attributes
    ----------
    abstention : str
        How replies without a value enter: ``exclude`` leaves them out of the metrics, not of the
        counts.
    unit : str
        What the bootstrap resamples: items, or groups of them.
    """

    tau: float
    metric: str
    seed: int
    n_resamples: int
    level: float
    abstention: Literal["exclude"] = "exclude"
    unit: str


class HumanResult(Frozen):
    """What the human ratings say by themselves."""

    n_raters: int
    rater_ids: str
    n_forced_choice: int
    n_response_sets: int
    n_pairs: int
    n_abstained: int
    ignored_labels: dict[str, int]
    agreement: dict[str, Estimate]
    beta: Estimate
    F: tuple[tuple[float | None, ...], ...] | None


class Cost(Frozen):
    """What a judge's replies cost; ``usd`` is None where a price is unknown."""

    usd: float | None
    n_paid: int
    n_cached: int


class JudgeResult(Frozen):
    """All numbers of one judge.

    Attributes
    ----------
    derived : tuple of str
        Elicitations whose replies were made by rule from another, not asked for.
    answered_fraction : float or None
        Answered share of the units planned in the elicitation that the ranking metric reads.
    """

    name: str
    kind: str
    model: str
    baseline: bool
    reported_models: tuple[str, ...]
    derived: tuple[Elicitation, ...]
    outcomes: tuple[OutcomeCounts, ...]
    answered_fraction: float | None
    metrics: dict[str, Estimate]
    beta: Estimate
    cross_call_beta: Estimate
    F: tuple[tuple[float | None, ...], ...] | None
    cost: Cost


class RankedJudge(Frozen):
    """A judge's place.

    Attributes
    ----------
    rank : int or None
        1 is best; None where the metric is NA.
    difference : Difference or None
        How much worse than the best judge, on the same resamples; None for the best and where NA.
    """

    judge: str
    baseline: bool
    rank: int | None
    difference: Difference | None


class Ranking(Frozen):
    """Judges in order of one metric, NA last."""

    metric: str
    better: str
    unit: str
    rows: tuple[RankedJudge, ...]


class Validation(Frozen):
    """Everything that a run reports; ``metrics.json`` holds exactly this."""

    schema_version: int = SCHEMA_VERSION
    task: TaskFacts
    settings: Settings
    humans: HumanResult
    judges: tuple[JudgeResult, ...]
    ranking: Ranking | None
    notes: tuple[str, ...]

    def judge(self, name: str) -> JudgeResult:
        """One judge's numbers."""
        return next(judge for judge in self.judges if judge.name == name)
