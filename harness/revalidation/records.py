"""Records in a history: baselines, rounds, and each judge's figures."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Struct

from harness.analysis.completeness import Shortfall
from harness.analysis.decision import DecisionVerdict
from harness.analysis.ratings import OutcomeCounts
from harness.revalidation import Period
from harness.revalidation.baseline_design import DetectionPower
from harness.revalidation.reply_categories import Category, StreamReplies, replies_per_item
from harness.stats import Estimate
from harness.stats.drift.changed_judges import ALPHA
from harness.stats.drift.stream_path import LookResult
from harness.stats.modes import MadeBy
from harness.stats.reasons import Reason
from harness.tasks.item import Elicitation

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION = 4
JudgeVerdict = Literal[
    "stable",
    "changed",
    "worse",
    "underpowered",
    "incomplete",
    "not assessed",
    "not comparable",
    "not asked",
]
ALARMS = frozenset({"changed", "worse"})
FLIPS, ANSWERED, BETA = "flips", "answered", "beta"


class FigureUnit(NamedTuple):
    """A figure's unit as text in sentences and charts, and its number format in tables."""

    text: str
    form: str


UNITS = {
    FLIPS: FigureUnit("share of replies that differ from the baseline's", "{:.0%}"),
    ANSWERED: FigureUnit("share of replies that are answers", "{:.0%}"),
    "abstained": FigureUnit("share of replies that abstain", "{:.0%}"),
    "refused": FigureUnit("share of replies that refuse", "{:.0%}"),
    "invalid": FigureUnit("share of replies that are unreadable", "{:.0%}"),
    "cost": FigureUnit("USD per 1,000 answers", "{:.2f}"),
    "tokens": FigureUnit("mean tokens of a reply", "{:.1f}"),
    "latency": FigureUnit("median seconds of a reply", "{:.2f}"),
}
NO_ANSWER = ("abstained", "refused", "invalid")
REPORTED = ("cost", "tokens", "latency")


class Figure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number about a judge in a round, with the baseline's value.

    Attributes
    ----------
    name : str
        A key of `UNITS`, a metric, or ``beta``.
    elicitation : str
        Elicitation of flips and shares of replies.
    baseline, look : float or None
        Values; None if undefined. For flips in a round, the baseline value is the probability that
        two baseline replies to one item differ, which is the judge's usual noise.
    difference : float or None
        For a metric: round minus baseline, on the same items.
    low, high : float or None
        Ends of the interval for the difference, or for a round's flips.
    n : int
        Number of items in the round's value, or of replies if it is a share of them.
    n_replies : float or None
        Replies per item on both sides, for a metric; None for beta, which uses all replies.
    reason : str
        Reason if a value is None.
    """

    name: str
    elicitation: Elicitation | Literal[""] = ""
    baseline: float | None = None
    look: float | None = None
    difference: float | None = None
    low: Annotated[float | None, MadeBy("score", "exact")] = None
    high: Annotated[float | None, MadeBy("score", "exact")] = None
    n: int = 0
    n_replies: float | None = None
    reason: Reason = ""


class ProviderReport(Struct, frozen=True, kw_only=True):
    """Provider's report about a judge's replies on one occasion.

    Attributes
    ----------
    models, fingerprints : tuple of str
        Model versions and system fingerprints, sorted.
    cost, tokens, latency : float or None
        Values in their `UNITS`; ``cost`` includes the cost of stored replies.
    """

    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    cost: float | None = None
    tokens: float | None = None
    latency: float | None = None


class ComparedJudge(Struct, frozen=True, kw_only=True):
    """Judge's value, completeness and rank on one occasion. See `JudgeEvidence` in the analysis.

    Attributes
    ----------
    usable_replies, answered_fraction : float or None
        Share of the ``n_planned`` replies, and of the rated items.
    estimate : Estimate
        The ranking metric, on the items and number of replies for comparing judges.
    ranks : (int, int) or None
        Best and worst possible rank.
    """

    judge: str
    usable_replies: float | None
    n_planned: int
    answered_fraction: float | None
    estimate: Estimate
    ranks: tuple[int, int] | None = None


class DecisionFacts(Struct, frozen=True, kw_only=True):
    """Recommendation from the replies of one occasion.

    Attributes
    ----------
    metric : str
        The ranking metric.
    verdict, judge
        As in `harness.analysis.decision.Decision`.
    n_rated : int
        Number of items with the ratings that the metric needs.
    judges : tuple of ComparedJudge
        Ranked judges first, best first.
    """

    metric: str
    verdict: DecisionVerdict
    judge: str | None
    n_rated: int = 0
    judges: tuple[ComparedJudge, ...] = ()

    def standing(self, judge: str) -> ComparedJudge | None:
        """Return a judge's row, or None if the judge was not run."""
        return next((row for row in self.judges if row.judge == judge), None)


class ChangedItem(Struct, frozen=True, kw_only=True):
    """An item for which the judge's usual answer changed.

    Attributes
    ----------
    before, now : Category
        The most common reply before the round in which the judge changed, and from then on.
    share_before, share_now : (int, int)
        Number of these replies, and of all replies.
    """

    item: str
    elicitation: Elicitation
    before: Category
    now: Category
    share_before: tuple[int, int]
    share_now: tuple[int, int]


class JudgeLook(Struct, frozen=True, kw_only=True):
    """Results for one judge in a round.

    Attributes
    ----------
    verdict : str
        ``changed`` and ``worse`` last until a new baseline.
    reason : str
        Reason why it isn't comparable, was not run, or isn't complete.
    outcomes : tuple of OutcomeCounts
        Counts of its replies in this round, by elicitation; empty if it was not run.
    shortfall : str
        Its state in `Completeness` unless it is complete; else "".
    p : float
        Anytime-valid p-value of no change since the baseline, over its elicitations.
    since, since_at : int or None, str
        Estimated round in which it changed, and its UTC time.
    what : str
        Estimate of what changed most, in words.
    n_changed, changed_items : int, tuple of ChangedItem
        Items whose usual answer changed since then (a description): their number, and those with
        the strongest evidence.
    margin : float or None
        The largest fall of the ranking metric for which there is evidence, as a share of its range.
    figures : tuple of Figure
        Flips and shares of replies by elicitation, then every metric, and ``beta``.
    sequence : Figure or None
        Change of the ranking metric, over single replies. Its interval is simultaneously valid for
        all rounds since the baseline and all judges. None if the metric isn't a mean over items, or
        in a round without replies.
    """

    judge: str
    verdict: JudgeVerdict = "stable"
    reason: str = ""
    outcomes: tuple[OutcomeCounts, ...] = ()
    shortfall: Shortfall = ""
    p: float = 1.0
    since: int | None = None
    since_at: str = ""
    what: str = ""
    n_changed: int = 0
    changed_items: tuple[ChangedItem, ...] = ()
    margin: float | None = None
    provider: ProviderReport = ProviderReport()
    figures: tuple[Figure, ...] = ()
    sequence: Figure | None = None

    def figure(self, name: str, elicitation: Elicitation | Literal[""] = "") -> Figure | None:
        """Return a figure by name, or None if there is none."""
        wanted = name, elicitation
        return next((f for f in self.figures if (f.name, f.elicitation) == wanted), None)

    @property
    def may_bring_more(self) -> bool:
        """Whether a new request could still return a missing planned reply."""
        return not self.outcomes or any(c.failed or c.not_asked for c in self.outcomes)

    @property
    def answers_nothing(self) -> bool:
        """Whether the judge replied, but without any answer."""
        answered = [f for f in self.figures if f.name == ANSWERED and f.n]
        return bool(answered) and not any(f.look for f in answered)


class InUse(Struct, frozen=True, kw_only=True):
    """Test of whether the judge in use is worse than a constant answer or a human rater.

    Attributes
    ----------
    constant : str
        The best constant answer.
    margin : float
        Allowed deficit against a human rater, as a share of the metric's range.
    log_e_constant, log_e_human : float or None
        Log evidence that it is worse than a constant answer, and than a human rater by more than
        the margin, summed over the rounds since the baseline. None if there is no test.
    reason : str
        Reason if there is no test; else "".
    """

    judge: str
    constant: str = ""
    margin: float = 0.0
    log_e_constant: float | None = None
    log_e_human: float | None = None
    reason: str = ""

    @property
    def p_values(self) -> tuple[float, float]:
        """Anytime-valid p-values for being worse than a constant answer, and than a human rater.

        Each uses half of alpha.
        """
        log_e = (self.log_e_constant, self.log_e_human)
        p_constant, p_human = (min(1.0, 2.0 * exp(-max(e or 0.0, 0.0))) for e in log_e)
        return p_constant, p_human

    @property
    def fails(self) -> bool:
        """Whether there is evidence that the judge is worse than a constant answer or a rater."""
        return min(self.p_values) <= ALPHA


class Baseline(Struct, frozen=True, kw_only=True, tag_field="kind", tag="baseline"):
    """Replies of the judges that later rounds are compared with.

    Attributes
    ----------
    number : int
        Number from 1.
    at : str
        UTC time.
    occasion : int
        Number of the occasion on which more replies were requested; 0 if there was none.
    accepted : int
        The round accepted as the start of this baseline; 0 for the run itself.
    n_occasions : int
        Number of occasions on which its replies were requested.
    received : (str, str)
        UTC times of its oldest and newest reply, which can be older than the run; "" if unknown.
    items : tuple of str
        Ids of the anchor's items.
    n_items_in_run : int
        Number of items in the run, of which the anchor is a part.
    sampled : bool
        Whether the run's items were sampled with unequal probabilities.
    hashes : dict of str to str
        Hashes of the question and of the prompts.
    item_hashes : tuple of str
        Hash of the content of each item.
    ratings_hash : str
        Hash of the items' ratings.
    grammar_version : int
        Version of the reading of replies.
    alpha : float
        Probability of any false alarm over the life of this baseline.
    power : dict of str to DetectionPower
        By judge, what later rounds can detect.
    fitted : dict of str to dict of str to dict of str to float
        By judge, the values that its strategy computed from all replies of the run: the
        probabilities on content-free items, or the weights of an ensemble's members. Later verdicts
        use the same values.
    in_use : tuple of str
        The best judge of the run, and those not significantly different from it; empty if none is
        better than the baseline judges.
    streams : tuple of StreamReplies
        The replies.
    """

    schema_version: int = SCHEMA_VERSION
    number: int
    at: str
    occasion: int = 0
    accepted: int = 0
    n_occasions: int = 1
    received: tuple[str, str] = ("", "")
    items: tuple[str, ...]
    n_items_in_run: int
    hashes: dict[str, str]
    item_hashes: tuple[str, ...]
    ratings_hash: str
    grammar_version: int
    providers: dict[str, ProviderReport]
    alpha: float
    decision: DecisionFacts | None
    power: dict[str, DetectionPower] = {}
    fitted: dict[str, dict[str, dict[str, float]]] = {}
    in_use: tuple[str, ...] = ()
    streams: tuple[StreamReplies, ...]
    sampled: bool = False

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges, in the run's order."""
        return tuple(dict.fromkeys(stream.judge for stream in self.streams))

    @property
    def n_replies(self) -> int:
        """Number of replies per item, or the largest number if some replies are missing."""
        return replies_per_item(self.streams)


class StreamEvidence(Struct, frozen=True, kw_only=True):
    """Evidence on one judge and elicitation from all rounds since the baseline.

    The next round continues from it.
    """

    judge: str
    elicitation: Elicitation
    evidence: LookResult


class Look(Struct, frozen=True, kw_only=True, tag_field="kind", tag="look"):
    """A round: the judges' replies and the results.

    Attributes
    ----------
    number : int
        Number from 1, over all baselines.
    occasion : int
        Number of the occasion on which its replies were requested; part of each request's key.
    baseline : int
        Number of the baseline to compare with.
    causes : tuple of str
        Reasons why no judge is comparable with the baseline; empty if they are.
    judges : tuple of JudgeLook
        Results of the watched judges.
    left_out : dict of str to str
        Items of the baseline that have changed, each with the reason. They were not requested, and
        don't enter any test of this round.
    excluded : dict of int to str
        Rounds since the baseline, up to this one, whose replies were excluded, each with the
        reason.
    margin : float
        Maximum fall of a judge that doesn't count as ``worse``.
    other_ratings : bool
        Whether the ratings differ from the baseline's, so that metrics can change for that reason.
    streams : tuple of StreamReplies
        The replies of the judges that were run.
    evidence : tuple of StreamEvidence
        Evidence for every stream of the baseline, including those without requests.
    ended : dict of str to str
        Judges that are incomplete, with the reason.
    all_alike : bool
        Whether all judges changed at the same time.
    in_use : InUse or None
        Test of the judge in use; None before it has replied, or if no judge is in use.
    every : {"day", "week", "month"} or None
        The period of ``--if-due``, which every schedule uses; None without it.
    lost : str
        Sentence about earlier rounds that the history lost, so that an alarm may be forgotten; ""
        if there are none.
    """

    number: int
    occasion: int
    baseline: int
    at: str
    causes: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    excluded: dict[int, str] = {}
    margin: float = 0.0
    other_ratings: bool = False
    judges: tuple[JudgeLook, ...]
    evidence: tuple[StreamEvidence, ...] = ()
    all_alike: bool = False
    ended: dict[str, str] = {}
    decision: DecisionFacts | None = None
    in_use: InUse | None = None
    every: Period | None = None
    lost: str = ""
    streams: tuple[StreamReplies, ...] = ()

    def stream(self, judge: str, elicitation: Elicitation) -> StreamReplies | None:
        """Return a judge's replies in an elicitation, or None if the judge was not run."""
        wanted = judge, elicitation
        return next((s for s in self.streams if (s.judge, s.elicitation) == wanted), None)

    def judge(self, name: str) -> JudgeLook | None:
        """Return the results for a judge."""
        return next((result for result in self.judges if result.judge == name), None)

    @property
    def times(self) -> Iterator[str]:
        """Times that a valid record must contain."""
        yield self.at
        yield from (judge.since_at for judge in self.judges if judge.since is not None)


def reported(judge: JudgeLook, baseline: Baseline | None) -> Iterator[Figure]:
    """Yield what the provider reported for a round's replies next to the baseline's values."""
    before = baseline.providers.get(judge.judge) if baseline else None
    for name in REPORTED:
        yield Figure(
            name=name, baseline=getattr(before, name, None), look=getattr(judge.provider, name)
        )


def model_changes(looks: Iterator[Look] | list[Look], judge: str) -> frozenset[int]:
    """Return the rounds whose model version or fingerprint differs from the previous round's."""
    changes, before = set(), None
    for look in looks:
        result = look.judge(judge)
        models = (result.provider.models, result.provider.fingerprints) if result else ((), ())
        if any(models):
            if before not in {None, models}:
                changes.add(look.number)
            before = models
    return frozenset(changes)
