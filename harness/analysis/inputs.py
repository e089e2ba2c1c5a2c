"""Inputs of a validation: a task, verdicts and choices, response sets and weights of items."""

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
DIGITS = 12  # of an error probability
WORTH = 0.05  # the smallest difference that matters, as a share of the metric's range


class JudgeFacts(Frozen):
    """Facts about a judge besides its verdicts.

    Attributes
    ----------
    kind : str
        How it was reached; ``external`` if its verdicts come from another tool.
    is_control : bool
        Whether it is a control, such as random answers or a word list: shown, never recommended.
    max_tokens : int or None
        Tokens that a reply may have; None if it is not limited or not known.
    other_strategies : tuple of str
        Strategies that it could be asked with, too, and that leave less to parse.
    fingerprint : str
        Hash of all its verdicts if they come from another tool; that of a judge of a run stands in
        the manifest.
    """

    name: str
    kind: str = "external"
    is_control: bool = False
    model: str = ""
    max_tokens: int | None = None
    other_strategies: tuple[str, ...] = ()
    fingerprint: str = ""


class TriedJudges(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the judges of a validation stand among all that were tried on some of its items.

    Attributes
    ----------
    number : int
        Number of the validation in its series; see `share_of_validation`.
    n : int
        Judges that were tried so far, these included.
    n_before : int
        Those of them that aren't among these.
    n_now : int
        These, including judges that can't be compared.
    n_contending : int
        Judges of ``n_before`` that one of these can have been chosen among: all of them, if one of
        these was tried before.
    earlier : dict of str to tuple of (float, float)
        By judge, its earlier tests; see `level_after`.
    n_forgotten : int
        Judges that were tried before the ledger was started anew, and not since.
    forgets : bool
        Whether any validation was forgotten then.
    limited : bool
        Whether items were left out by --limit: such a validation spends nothing and can't
        recommend a judge.
    held_out : bool
        Whether it is one judge, on items that no judge was tried on.
    share : float
        Of the error probability, the part that the recommendation has; see `share_after_gain`.
    validation : str
        Digest of what was validated; "" if it isn't in a ledger.
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
        """Return the error probability of each test of a judge, if so many can be the best."""
        share = self.share * share_of_validation(self.number)
        spent = alpha * share / max(n_contenders, 1)
        return level_after(spent, self.earlier.get(judge, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that the numbers depend on besides the data.

    Attributes
    ----------
    tau : float or None
        Cut-off; None for the task's.
    metric : str or None
        What ranks; None for the metric of the ratings that rank.
    ranks_by : str or None
        The ratings that rank where no metric is named; None for those that the task names.
    beta : float or None
        beta of the humans that is assumed where they gave forced choices alone; None for none.
    mode : str
        How CANNOT_ASSESS enters: left out, taken for the opposite of the positive options, or an
        option of its own. Counts are unaffected.
    level : str
        What is averaged where a task has several criteria: decisions, criteria, or items.
    confidence : float
        Level of the intervals.
    replies : int or "inf" or None
        Replies per item at which judges are compared; None for as many as every judge has of at
        least ``min_answered`` of the items.
    min_answered : float
        Share of the items that a ranked judge must have answered.
    worth : float
        Smallest difference that matters, as a share of the metric's range.
    humans : str or None
        Where the raters' response sets come from; None to decide by `human_sets`.
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
    """Replies of a judge that gives numbers.

    Attributes
    ----------
    better : {"higher", "lower", "found"}
        Which numbers are better: declared, or found on other items than those judged.
    verdicts : sequence of Verdict
        Their values are the numbers as it gave them.
    """

    better: ScoreDirection
    verdicts: Sequence[Verdict]


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
    verdicts_hash : str
        SHA-256 of the verdict log of a run.
    vectors : mapping of str to array, or None
        Of texts, where the task compares them by embeddings; of length 1.
    tried : TriedJudges or None
        The count of a ledger; None to count these judges alone.
    race : RaceResult or None
        Of a run in which judges raced: how that ended. Of its judges, only one that was asked
        about all items is among these.
    reply_dates : ReplyDates
        When the replies of a run were received, by day.
    checks : mapping of str to JudgeCheck
        The last check without labels of each judge that was checked.
    location : Location
        How commands name task and run.
    scores : mapping of str to JudgeScores
        Of judges that give numbers; ``verdicts`` has what these become.
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
        """The cut-off tau: the user's or the task's."""
        return self.task.tau if self.settings.tau is None else self.settings.tau

    @property
    def ranking_elicitation(self) -> RanksBy:
        """Which ratings rank unless a metric is named."""
        return ranking_elicitation(self.task, self.settings.ranks_by, self.settings.humans)

    @property
    def tried_judges(self) -> TriedJudges:
        """Where its judges stand among all that were tried, by the ledger where there is one."""
        n = max(1, len(self.judges))
        return self.tried or TriedJudges(n=n, n_now=n)

    @property
    def alpha(self) -> float:
        """Probability of a wrong recommendation in a series of validations, at most."""
        return round(1.0 - self.settings.confidence, DIGITS)

    def level_of(self, judge: str, n_contenders: int) -> float:
        """Return the error probability of each test of a judge; see `TriedJudges.level_of`."""
        return self.tried_judges.level_of(judge, alpha=self.alpha, n_contenders=n_contenders)

    @property
    def n_contenders(self) -> int:
        """Judges that can be the best, if none is left out by a screen."""
        return self.tried_judges.n_now + self.tried_judges.n_contending

    @property
    def baseline_level(self) -> float:
        """Confidence level of the comparisons of all judges with all baselines together."""
        n = self.n_contenders
        levels = [self.level_of(judge.name, n) for judge in self.judges]
        return 1.0 - min(levels, default=self.alpha / n) * self.tried_judges.n_now

    @property
    def n_raced(self) -> int | None:
        """Judges that raced, of which the one that was returned is validated."""
        return len(self.race.judges) if self.race else None

    def with_settings(self, **changed: Any) -> Source:  # noqa: ANN401 -- checked by Settings
        """Return it with other settings."""
        return replace(self, settings=replace(self.settings, **changed))

    def own_replies(self, judge: str) -> Sequence[Verdict]:
        """Return a judge's verdicts on single replies; those of an ensemble are its members'."""
        if judge not in self.replies_voted_on:
            return self.verdicts[judge]
        return [verdict for verdict in self.replies_voted_on[judge] if verdict.judge == judge]

    @property
    def asks_again(self) -> bool:
        """Whether any judge was asked a second question, after a reply that could not be read."""
        own = (columns_of(self.own_replies(facts.name)) for facts in self.judges)
        return any(kind.is_reasked for columns in own for kind in columns.kinds)


def ranking_elicitation(task: Task, ranks_by: RanksBy | None, humans: Humans | None) -> RanksBy:
    """Return which ratings rank: the user's choice, sets where they are reconstructed, the task's.

    What was collected does not matter.
    """
    return ranks_by or ("response_set" if humans == "reconstructed" else task.ranks_by)


def shared_items(first: Sequence[Item], second: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items of the second run that are in the first, with the same text where kept."""
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
    """Where the response sets of the raters come from, and which pairs there are.

    Attributes
    ----------
    origin : {"rated", "reconstructed", "modelled", "assumed"}
        The sets that raters gave; those that the forced choices of all imply by the F' of the pairs
        of some, and the same with decisions at a cut-off by a model of how sets spread between
        items; those that they imply by an assumed beta.
    by_default : bool
        Whether nobody asked for this origin.
    missing_pairs : str
        What the pairs lack to stand for the choices without a set; "" if they suffice.
    n_pairs, n_paired_items, n_paired_raters : int
        Pairs whose choice is in their set, the items that have any, and the raters who gave both
        forms on an item.
    """

    origin: Origin
    by_default: bool
    missing_pairs: str
    n_pairs: int
    n_paired_items: int
    n_paired_raters: int

    @property
    def from_pairs(self) -> bool:
        """Whether the pairs of some stand for the sets of all."""
        return self.origin in {"reconstructed", "modelled"}


def human_sets(source: Source, human: RatingTable, *, sets_rank: bool) -> HumanSets:
    """Decide where the response sets of the raters come from, whose abstentions are resolved.

    Unless the user says so, they are reconstructed only where they do not rank, the pairs suffice
    (see `missing_pairs`), and beta is assumed or most forced choices have no set beside them.
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
    """Return the smallest difference that matters in a range of losses; None if it is infinite.

    Raises
    ------
    ValueError
        If the range is infinite, and the user names a share of it.
    """
    if isfinite(loss_range):
        return Margin(settings.worth * loss_range, loss_range)
    if settings.worth != WORTH:
        raise ValueError(
            "worth is a share of the metric's range, and this metric has no upper bound. Leave "
            "worth out, or rank by a bounded metric such as js_divergence(s/s)"
        )
    return None


def check_open_choices(task: Task, choices: Mapping[str, object]) -> None:
    """Refuse choices that mean something among options alone, and metrics of other scales."""
    where, scale = f"task {task.name}", f"a {task.scale} scale"
    for name in OF_OPTIONS:
        if name in choices:
            option = f"--{name}".replace("_", "-")
            raise TaskError(f"{where}: {option} has no meaning on {scale}. Leave it out.")
    if choices.get("replies", 1) != 1:
        raise TaskError(f"{where}: judges are compared at one reply on {scale}. Drop --replies.")
    metric, names = choices.get("metric"), [row.name for row in metrics_of(task)]
    if metric == ADVANTAGE.name and metric not in names:
        raise TaskError(
            f"{where}: {metric} compares judges with people, and rater_ids is positional. Leave "
            "--metric out."
        )
    if metric is not None and metric not in names:
        raise TaskError(f"{where}: {metric!r} is not a metric of {scale}. Use {', '.join(names)}.")


def metrics_of(task: Task) -> tuple[Metric, ...]:
    """Return what can rank judges on an open scale; raters must be named for the advantage."""
    rows = common_metrics(task)
    return rows if task.rater_ids == "positional" else (*rows, ADVANTAGE)


def common_metrics(task: Task) -> tuple[Metric, ...]:
    """Return the metrics that are computed for every task on an open scale."""
    if task.scale == "text":
        return (SIMILARITY,)
    width = inf if task.bounds is None else task.bounds[1] - task.bounds[0]
    return numeric_metrics(width)


@cache
def metric_definitions(
    scale: Scale | Literal[""], options: tuple[str, ...], positive: tuple[str, ...]
) -> dict[str, Metric]:
    """Return the metrics of a scale by name, those of plug-ins aside."""
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
    """Return the weights of items whose field ``inclusion_probability`` tells how likely they were.

    None if no item has the field, or all were equally likely.

    Raises
    ------
    ValueError
        If some items lack the field, or a value is no probability above 0.
    """
    probabilities = _probabilities(items)
    return None if probabilities is None else inverse_probability_weights(probabilities)


def on_sampling(items: Sequence[Item], *, is_weighted: bool) -> str:
    """Say what the numbers of sampled items describe; "" if items count alike."""
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
        f"{WEIGHTED} weight items by 1/{INCLUSION_PROBABILITY}: {len(items)} items stand for "
        f"{(1.0 / probabilities).sum():.0f} that could be sampled, and are worth "
        f"{effective_number(weights):.0f} equally likely ones; {UNWEIGHTED}"
    )


def _probabilities(items: Sequence[Item]) -> FloatArray | None:
    if not any(INCLUSION_PROBABILITY in item.fields for item in items):
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
