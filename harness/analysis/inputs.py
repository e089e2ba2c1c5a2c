"""Inputs of a validation: task, verdicts and settings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec
import numpy as np

from harness.analysis.location import NOWHERE, Location
from harness.analysis.reply_dates import NO_DATES, ReplyDates
from harness.errors import TaskError
from harness.judging.storage.verdict_columns import columns_of
from harness.options.concerns import AggregationLevel, Humans, RanksBy
from harness.stats import OptionSpace, metrics_for
from harness.stats.indeterminacy.reconstruction import missing_pairs
from harness.stats.indeterminacy.translation import pairs_by_item
from harness.stats.inference.alpha_spending import level_after, share_of_validation
from harness.stats.inference.cluster_robust import effective_number, inverse_probability_weights
from harness.stats.inference.non_inferiority import Margin
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.modes import AbstentionMode
from harness.stats.open_scales.open_metrics import numeric_metrics
from harness.stats.open_scales.text_answers import SIMILARITY
from harness.stats.selection.replies import MIN_ANSWERED
from harness.tasks.model import INCLUSION_PROBABILITY
from harness.tasks.options import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.check_result import JudgeCheck
    from harness.analysis.race_result import RaceResult
    from harness.judging.parsing.verdict import Verdict
    from harness.stats import Metric, RatingTable
    from harness.stats.data.arrays import FloatArray
    from harness.stats.scores.score_map import ScoreDirection
    from harness.tasks import Item, Task
    from harness.tasks.item import ClosedScale, Elicitation, Scale


N_RESAMPLES = 2000
DIGITS = 12  # digits of an error probability
WORTH = 0.05  # smallest difference that matters, as a share of the metric's range


class JudgeFacts(Frozen):
    """Facts about a judge that are not part of its verdicts.

    Attributes
    ----------
    kind : str
        How the judge is reached; ``external`` if its verdicts come from another tool.
    is_control : bool
        Whether it is a control, such as random answers or a word list. Controls are shown but never
        recommended.
    max_tokens : int or None
        Most tokens in a reply; None if unlimited or unknown.
    other_strategies : tuple of str
        Other strategies that it supports and whose replies need less parsing.
    fingerprint : str
        Hash of all its verdicts if they come from another tool. For a judge of a run, the manifest
        has the fingerprint.
    """

    name: str
    kind: str = "external"
    is_control: bool = False
    model: str = ""
    max_tokens: int | None = None
    other_strategies: tuple[str, ...] = ()
    fingerprint: str = ""


class TriedJudges(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of judges in a validation, and of judges tried earlier on some of its items.

    Attributes
    ----------
    number : int
        Number of the validation in its series; see `share_of_validation`.
    n : int
        Judges tried so far, including those in this validation.
    n_before : int
        Judges tried earlier that aren't in this validation.
    n_now : int
        Judges in this validation, including those that can't be compared.
    n_contending : int
        Judges in ``n_before`` that this validation's judges could have been selected from: all of
        them, if one of this validation's judges was tried before.
    earlier : dict of str to tuple of (float, float)
        Earlier tests by judge; see `level_after`.
    n_forgotten : int
        Judges that were tried before a new ledger was started, and not since.
    forgets : bool
        Whether the new ledger dropped any validation.
    limited : bool
        Whether items were left out by --limit: such a validation uses no error probability and
        can't recommend a judge.
    held_out : bool
        Whether this is one judge on items that no judge was tried on before.
    share : float
        Share of the error probability for the recommendation; see `share_after_gain`.
    validation : str
        Digest of the validated data; "" if it isn't in a ledger.
    """

    number: int = 1
    n: int = 1
    n_before: int = 0
    n_now: int = 1
    n_contending: int = 0
    earlier: dict[str, tuple[tuple[float, float], ...]] = {}
    n_forgotten: int = 0
    forgets: bool = False
    limited: bool = False
    held_out: bool = False
    share: float = 1.0
    validation: str = ""

    def level_of(self, judge: str, *, alpha: float, n_contenders: int) -> float:
        """Return the error rate of each test of a judge, given the number of contenders."""
        share = self.share * share_of_validation(self.number)
        spent = alpha * share / max(n_contenders, 1)
        return level_after(spent, self.earlier.get(judge, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that the numbers depend on.

    Attributes
    ----------
    tau : float or None
        Cut-off; None for the task's.
    metric : str or None
        The metric that ranks; None for the default of the ratings that rank.
    ranks_by : str or None
        The ratings that rank if no metric is named; None for the task's choice.
    beta : float or None
        Assumed beta of the raters if they gave only forced choices; None for no assumption.
    mode : str
        Treatment of CANNOT_ASSESS: left out, counted as the opposite of the positive options, or a
        separate option. Counts are unaffected.
    level : str
        The unit that is averaged if a task has several criteria: decisions, criteria, or items.
    confidence : float
        Confidence level of the intervals.
    replies : int or "inf" or None
        Replies per item at which judges are compared; None for the number that every judge has for
        at least ``min_answered`` of the items.
    min_answered : float
        Share of the items that a ranked judge must have answered.
    worth : float
        Smallest difference that matters, as a share of the metric's range.
    humans : str or None
        Source of the raters' response sets; None to let `human_sets` decide.
    """

    tau: float | None = None
    metric: str | None = None
    ranks_by: RanksBy | None = None
    beta: float | None = None
    mode: AbstentionMode = "exclude"
    level: AggregationLevel = "micro"
    confidence: float = 0.95
    replies: int | Literal["inf"] | None = None
    min_answered: float = MIN_ANSWERED
    worth: float = WORTH
    humans: Humans | None = None
    seed: int = 0
    n_resamples: int = N_RESAMPLES


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """Numeric replies from a judge.

    Attributes
    ----------
    better : {"higher", "lower", "found"}
        The better direction of the numbers: declared, or estimated on items that are not judged
        here.
    verdicts : sequence of Verdict
        Verdicts whose values are the judge's original numbers.
    """

    better: ScoreDirection
    verdicts: Sequence[Verdict]


@dataclass(frozen=True, slots=True)
class Source:
    """Verdicts with the task and settings for validating them.

    Attributes
    ----------
    items : tuple of Item
        Items that the verdicts cover, in the task's order.
    verdicts : mapping of str to sequence of Verdict
        Final verdicts per judge, one per unit.
    planned : mapping of str to mapping of Elicitation to int
        Number of planned units per judge and elicitation.
    replies_voted_on : mapping of str to sequence of Verdict
        For judges whose verdicts are votes, the verdicts on the replies that were voted on.
    verdicts_hash : str
        SHA-256 of a run's verdict log.
    vectors : mapping of str to array, or None
        Unit vectors of texts, if the task compares texts by embeddings.
    tried : TriedJudges or None
        Counts from a ledger; None to count only these judges.
    race : RaceResult or None
        Result of the race, if the run's judges raced. Only a judge that was run on all items is
        then among this source's judges.
    reply_dates : ReplyDates
        Days on which a run's replies were received.
    checks : mapping of str to JudgeCheck
        The last check without labels of each judge that was checked.
    location : Location
        Names of the task and the run for commands.
    scores : mapping of str to JudgeScores
        Original replies of judges that give numbers; ``verdicts`` has the resulting verdicts.
    """

    task: Task
    items: tuple[Item, ...]
    judges: tuple[JudgeFacts, ...]
    verdicts: Mapping[str, Sequence[Verdict]]
    planned: Mapping[str, Mapping[Elicitation, int]]
    settings: Settings = DEFAULTS
    notes: tuple[str, ...] = ()
    replies_voted_on: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    verdicts_hash: str = ""
    vectors: Mapping[str, FloatArray] | None = None
    tried: TriedJudges | None = None
    race: RaceResult | None = None
    reply_dates: ReplyDates = NO_DATES
    checks: Mapping[str, JudgeCheck] = field(default_factory=dict)
    location: Location = NOWHERE
    scores: Mapping[str, JudgeScores] = field(default_factory=dict)

    @property
    def cutoff(self) -> float:
        """The cut-off tau from the user, or else from the task."""
        return self.task.tau if self.settings.tau is None else self.settings.tau

    @property
    def ranking_elicitation(self) -> RanksBy:
        """Ratings that rank the judges, if no metric is specified."""
        return ranking_elicitation(self.task, self.settings.ranks_by, self.settings.humans)

    @property
    def tried_judges(self) -> TriedJudges:
        """Counts of these judges and of all tried judges, from the ledger if there is one."""
        n = max(1, len(self.judges))
        return self.tried or TriedJudges(n=n, n_now=n)

    @property
    def alpha(self) -> float:
        """Maximum probability of a wrong recommendation over a series of validations."""
        return round(1.0 - self.settings.confidence, DIGITS)

    def level_of(self, judge: str, n_contenders: int) -> float:
        """Return the error rate of each test of a judge. See `TriedJudges.level_of`."""
        return self.tried_judges.level_of(judge, alpha=self.alpha, n_contenders=n_contenders)

    @property
    def n_contenders(self) -> int:
        """Number of judges that could be the best, if a screen does not exclude any."""
        return self.tried_judges.n_now + self.tried_judges.n_contending

    @property
    def baseline_level(self) -> float:
        """Simultaneous confidence level for all comparisons between judges and baselines."""
        n = self.n_contenders
        levels = [self.level_of(judge.name, n) for judge in self.judges]
        return 1.0 - min(levels, default=self.alpha / n) * self.tried_judges.n_now

    @property
    def n_raced(self) -> int | None:
        """Number of judges in the race, or None without a race. Only its winner is validated."""
        return len(self.race.judges) if self.race else None

    def with_settings(self, **changed: Any) -> Source:  # noqa: ANN401 -- checked by Settings
        """Return a copy with changed settings."""
        return replace(self, settings=replace(self.settings, **changed))

    def own_replies(self, judge: str) -> Sequence[Verdict]:
        """Return a judge's verdicts on single replies, or the verdicts of an ensemble's members."""
        if judge not in self.replies_voted_on:
            return self.verdicts[judge]
        return [verdict for verdict in self.replies_voted_on[judge] if verdict.judge == judge]

    @property
    def asks_again(self) -> bool:
        """Whether any judge got a second question after an unreadable reply."""
        own = (columns_of(self.own_replies(facts.name)) for facts in self.judges)
        return any(kind.is_reasked for columns in own for kind in columns.kinds)


def ranking_elicitation(task: Task, ranks_by: RanksBy | None, humans: Humans | None) -> RanksBy:
    """Return the ratings that rank judges: the user's, reconstructed sets, or the task's default.

    The collected ratings do not matter.
    """
    return ranks_by or ("response_set" if humans == "reconstructed" else task.ranks_by)


def shared_items(first: Sequence[Item], second: Sequence[Item]) -> tuple[Item, ...]:
    """Return the second run's items that are also in the first run, with equal texts if stored."""
    earlier = {item.id: item.fields for item in first}
    return tuple(
        item
        for item in second
        if item.id in earlier
        and all(item.fields.get(name, text) == text for name, text in earlier[item.id].items())
    )


Origin: TypeAlias = Literal["rated", "reconstructed", "modelled", "assumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanSets:
    """Origin of the raters' response sets, and the available pairs.

    Attributes
    ----------
    origin : {"rated", "reconstructed", "modelled", "assumed"}
        Sets that raters gave ("rated"); sets implied by all forced choices and the F' of some pairs
        ("reconstructed"); the same, but with decisions at a cut-off from a model of how sets vary
        between items ("modelled"); or sets implied by forced choices and an assumed beta
        ("assumed").
    by_default : bool
        Whether this origin is the default and not the user's choice.
    missing_pairs : str
        Description of the pairs that are missing to represent the choices without a set; "" if the
        pairs suffice.
    n_pairs, n_paired_items, n_paired_raters : int
        Pairs whose choice is in their set, items with such pairs, and raters who gave both forms on
        an item.
    """

    origin: Origin
    by_default: bool
    missing_pairs: str
    n_pairs: int
    n_paired_items: int
    n_paired_raters: int

    @property
    def from_pairs(self) -> bool:
        """Whether the sets on all items are estimated from pairs on some items."""
        return self.origin in {"reconstructed", "modelled"}


def human_sets(source: Source, human: RatingTable, *, sets_rank: bool) -> HumanSets:
    """Choose the origin of the raters' response sets, after the abstention mode is applied.

    By default, sets are reconstructed only if they do not rank, the pairs suffice (see
    `missing_pairs`), and either beta is assumed or most forced choices have no set from the same
    rater.
    """
    pairs, missing = pairs_by_item(human), missing_pairs(human)
    n_pairs = int(pairs.sum())
    wanted = source.settings.beta is not None or 2 * n_pairs < human.forced_choice.sum()
    origin: Origin = "rated" if source.settings.beta is None else "assumed"
    if source.settings.humans == "modelled":
        origin = "modelled"
    elif source.settings.humans == "reconstructed" or (
        source.settings.humans is None
        and not sets_rank
        and source.settings.level != "item"
        and not missing
        and wanted
    ):
        origin = "reconstructed"
    return HumanSets(
        origin=origin,
        by_default=source.settings.humans is None,
        missing_pairs=missing,
        n_pairs=n_pairs,
        n_paired_items=int(pairs.any(axis=(1, 2)).sum()),
        n_paired_raters=_n_paired_raters(source),
    )


def _n_paired_raters(source: Source) -> int:
    columns = source.task.rating_columns
    if not any(form == "response_set" for form, _ in columns.answers):
        return 0
    rows = columns.rows_of(item.id for item in source.items)
    unit = rows * len(columns.raters) + columns.rater
    is_set = columns.of_answers(lambda form, _: form == "response_set")
    sets, choices = unit[(rows >= 0) & is_set], unit[(rows >= 0) & ~is_set]
    return len(np.unique(np.intersect1d(sets, choices) % max(len(columns.raters), 1)))


OF_OPTIONS = ("tau", "ranks_by", "beta", "mode", "level", "humans")


def margin_in(loss_range: float, settings: Settings) -> Margin | None:
    """Return the smallest relevant difference for a range of losses, or None if it is infinite.

    Raises
    ------
    ValueError
        If the range is infinite and the user specifies a share of it.
    """
    if isfinite(loss_range):
        return Margin(settings.worth * loss_range, loss_range)
    if settings.worth != WORTH:
        raise ValueError(
            "worth is a share of the metric's range, and this metric has no upper bound. Leave "
            "out worth, or rank by a bounded metric such as js_divergence(s/s)"
        )
    return None


def check_open_choices(task: Task, choices: Mapping[str, object]) -> None:
    """Reject settings that apply only to options, and metrics for other scales."""
    where, scale = f"task {task.name}", f"a {task.scale} scale"
    for name in OF_OPTIONS:
        if name in choices:
            option = f"--{name}".replace("_", "-")
            raise TaskError(f"{where}: {option} has no meaning on {scale}. Leave out {option}.")
    if choices.get("replies", 1) != 1:
        raise TaskError(
            f"{where}: judges are compared at one reply per item on {scale}. Drop --replies."
        )
    metric, names = choices.get("metric"), [row.name for row in metrics_of(task)]
    if metric == ADVANTAGE.name and metric not in names:
        raise TaskError(
            f"{where}: {metric} compares judges with people, but rater_ids is positional, so its "
            "names don't identify people. Leave out --metric."
        )
    if metric is not None and metric not in names:
        raise TaskError(f"{where}: {metric!r} is not a metric of {scale}. Use {', '.join(names)}.")


def metrics_of(task: Task) -> tuple[Metric, ...]:
    """Return the metrics that can rank on an open scale. The advantage requires named raters."""
    rows = common_metrics(task)
    return rows if task.rater_ids == "positional" else (*rows, ADVANTAGE)


def common_metrics(task: Task) -> tuple[Metric, ...]:
    """Return the metrics computed for every task on an open scale."""
    if task.scale == "text":
        return (SIMILARITY,)
    width = inf if task.bounds is None else task.bounds[1] - task.bounds[0]
    return numeric_metrics(width)


@cache
def metric_definitions(
    scale: Scale | Literal[""], options: tuple[str, ...], positive: tuple[str, ...]
) -> dict[str, Metric]:
    """Return a scale's metrics by name, without metrics from plug-ins."""
    if scale == "text":
        rows: tuple[Metric, ...] = (SIMILARITY, ADVANTAGE)
    elif scale == "continuous":
        rows = (*numeric_metrics(inf), ADVANTAGE)
    else:
        space = OptionSpace.singletons(options)
        closed = cast("ClosedScale", scale)
        rows = (*metrics_for(space, scale=closed, positive=positive), ADVANTAGE)
    return {row.name: row for row in rows}


WEIGHTED = "metrics, ranking, baselines, human agreement and regret"
UNWEIGHTED = (
    "beta, F, the annotator test, strata, error analysis and sensitivity describe the sample"
)


def sampling_weights(items: Sequence[Item]) -> FloatArray | None:
    """Return item weights: the inverses of the sampling probabilities (``inclusion_probability``).

    The result is None if no item has the field, or all were equally likely.

    Raises
    ------
    ValueError
        If some items lack the field, or a value isn't a probability above 0.
    """
    probabilities = _probabilities(items)
    return None if probabilities is None else inverse_probability_weights(probabilities)


def on_sampling(items: Sequence[Item], *, is_weighted: bool) -> str:
    """Describe which items the numbers apply to, or return "" if items were sampled equally."""
    probabilities = _probabilities(items)
    weights = sampling_weights(items)
    if probabilities is None or weights is None:
        return ""
    if not is_weighted:
        return (
            f"items were sampled with unequal probabilities ({INCLUSION_PROBABILITY}). At level "
            "item they aren't weighted, so numbers describe the sample"
        )
    return (
        f"{WEIGHTED} weight items by 1/{INCLUSION_PROBABILITY}: {len(items)} items represent "
        f"{(1.0 / probabilities).sum():.0f} items that could be sampled, and are as informative as "
        f"{effective_number(weights):.0f} equally likely items; {UNWEIGHTED}"
    )


def _probabilities(items: Sequence[Item]) -> FloatArray | None:
    if not any(INCLUSION_PROBABILITY in item.field_names for item in items):
        return None
    return np.array([_probability(item, item.fields.get(INCLUSION_PROBABILITY)) for item in items])


def _probability(item: Item, text: str | None) -> float:
    with suppress(ValueError, TypeError):
        if 0.0 < (probability := float(text or "")) <= 1.0:
            return probability
    raise ValueError(
        f"{INCLUSION_PROBABILITY} of item {item.id} is {text!r}. Give every item a number above 0 "
        "and at most 1, or remove the field"
    )
