"""History of re-validations: ``history.jsonl`` in the run folder, append-only.

Each line is a baseline or a look, with its checksum. A line holds the replies as categories, item
by item, so that every test can be replayed from the history alone; it holds no text.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import datetime
from math import exp
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from harness.checksummed_log import ChecksummedLog, DamagedLine, with_checksum, without_checksum
from harness.errors import RunError
from harness.files import read_file
from harness.revalidation.baseline_design import DetectionPower
from harness.revalidation.reply_categories import (
    Category,
    StreamReplies,
    answers_nothing,
    replies_per_item,
)
from harness.stats import Estimate
from harness.stats.drift.changed_judges import ALPHA
from harness.stats.drift.stream_path import LookResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path
    from typing import Self

SCHEMA_VERSION = 3
FILE = "history.jsonl"
KEPT = "the replies are kept. Free some space, then repeat the command."
JudgeVerdict = Literal["stable", "changed", "worse", "underpowered", "not comparable", "not asked"]
_ENCODER = msgspec.json.Encoder()


class Provider(Struct, frozen=True, kw_only=True):
    """What the provider of a judge reported about the replies of one occasion.

    Attributes
    ----------
    models, fingerprints : tuple of str
        Model versions and system fingerprints, sorted.
    cost_usd : float or None
        Paid for the replies; None where a price is unknown.
    usd_per_answered : float or None
        What the replies cost, also those from the cache, per answer.
    reply_tokens : float or None
        Mean number of tokens of a reply, as the provider counts them.
    latency_s : float or None
        Median seconds of a reply.
    n_failed : int
        Units without a reply.
    """

    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    cost_usd: float | None = None
    usd_per_answered: float | None = None
    reply_tokens: float | None = None
    latency_s: float | None = None
    n_failed: int = 0


class Figure(NamedTuple):
    """A number that is shown of the replies of an occasion.

    Attributes
    ----------
    name, unit : str
        As shown.
    field : str
        Of `Provider`.
    factor : float
        From the field to the unit.
    """

    name: str
    unit: str
    field: str
    factor: float = 1.0

    def of(self, provider: Provider) -> float | None:
        """Return it in its unit; None where it is not known."""
        value = getattr(provider, self.field)
        return None if value is None else self.factor * value


COST = Figure("cost", "USD per 1,000 answers", "usd_per_answered", 1000.0)
TOKENS = Figure("tokens", "mean tokens of a reply", "reply_tokens")
LATENCY = Figure("latency", "median seconds of a reply", "latency_s")


class ComparedJudge(Struct, frozen=True, kw_only=True):
    """A judge among those of one occasion, as in `harness.analysis.evidence.JudgeEvidence`.

    Attributes
    ----------
    usable_replies, answered_fraction : float or None
        Of ``n_planned`` replies, and of the rated items.
    estimate : Estimate
        The metric that ranks, on the items and at the replies at which judges are compared.
    ranks : (int, int) or None
        Best and worst rank that it may have.
    """

    judge: str
    usable_replies: float | None
    n_planned: int
    answered_fraction: float | None
    estimate: Estimate
    ranks: tuple[int, int] | None = None


class DecisionFacts(Struct, frozen=True, kw_only=True):
    """The decision on the replies of one occasion.

    Attributes
    ----------
    metric : str
        The metric that ranks.
    verdict, judge
        As in `harness.analysis.decision.Decision`.
    n_rated : int
        Items that the raters rated as the metric needs.
    judges : tuple of ComparedJudge
        Ranked ones first, best first.
    """

    metric: str
    verdict: str
    judge: str | None
    n_rated: int = 0
    judges: tuple[ComparedJudge, ...] = ()

    def standing(self, judge: str) -> ComparedJudge | None:
        """Return the value and the completeness of a judge; None if it was not asked."""
        return next((row for row in self.judges if row.judge == judge), None)


class MetricChange(Struct, frozen=True, kw_only=True):
    """A metric of a judge in a look beside its baseline, at the same number of replies.

    Attributes
    ----------
    baseline, look : float or None
        Values; None where undefined.
    difference, low, high : float or None
        Look less baseline on the same items, and its interval over resamples of the items.
    n_items : int
        Items behind the look's value.
    n_replies : float or None
        Replies per item of either side; None for beta, of all replies.
    reason : str
        Why a value is None.
    """

    baseline: float | None
    look: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    n_items: int = 0
    n_replies: float | None = None
    reason: str = ""


class MetricSequence(Struct, frozen=True, kw_only=True):
    """Change of the metric that ranks, over single replies, at a look.

    Attributes
    ----------
    metric : str
        That metric.
    difference, low, high : float or None
        Look less baseline, and its interval, which holds for all looks since the baseline and all
        judges together.
    n_items : int
        Items with replies on both sides.
    reason : str
        Why they are None.
    """

    metric: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    n_items: int = 0
    reason: str = ""


class Rate(Struct, frozen=True):
    """A share of items, its interval, and the items behind it; None where undefined."""

    value: float | None
    low: float | None
    high: float | None
    n_items: int


class StreamResult(Struct, frozen=True, kw_only=True):
    """One judge and elicitation in a look.

    Attributes
    ----------
    flip_rate : Rate
        Chance that a reply of the look differs from a reply of the baseline to the same item.
    retest_rate : Rate
        Chance that two replies of the baseline to the same item differ: the judge's own noise.
    outcomes, baseline_outcomes : dict of str to int
        Replies by outcome, in the look and in the baseline.
    evidence : LookResult
        Evidence of all looks since the baseline; it continues from here at the next look.
    """

    judge: str
    elicitation: str
    flip_rate: Rate
    retest_rate: Rate
    outcomes: dict[str, int]
    baseline_outcomes: dict[str, int]
    evidence: LookResult


class ChangedItem(Struct, frozen=True, kw_only=True):
    """An item whose usual answer changed.

    Attributes
    ----------
    before, now : Category
        The most frequent reply before the look since which the judge changed, and from then on.
    share_before, share_now : (int, int)
        How many replies were that one, of how many.
    """

    item: str
    elicitation: str
    before: Category
    now: Category
    share_before: tuple[int, int]
    share_now: tuple[int, int]


class JudgeResult(Struct, frozen=True, kw_only=True):
    """One judge in a look.

    Attributes
    ----------
    verdict : str
        ``changed`` and ``worse`` last until a new baseline.
    reason : str
        Why it is not comparable or was not asked.
    p : float
        Anytime-valid p-value of no change since the baseline, over its elicitations.
    since : int or None
        The look since which it changed: an estimate.
    since_at : str
        UTC time of that look.
    what : str
        What changed most, in words: an estimate.
    n_changed : int
        Items whose usual answer changed since then: a description.
    changed_items : tuple of ChangedItem
        Those that speak most for a change.
    margin : float or None
        The largest worsening of the metric that ranks that is proven, as a share of its range.
    better : bool
        Whether the metric that ranks is proven to be better now than at the baseline.
    recovered_at : str
        UTC time of the look since which a judge that is worse is shown to agree more with the
        raters again: an estimate. Empty where it is not.
    metrics : dict of str to MetricChange
        Every metric, and ``beta``.
    sequence : MetricSequence or None
        Of the metric that ranks; None where that is not a mean over items, or in a look without
        replies.
    """

    judge: str
    verdict: JudgeVerdict
    reason: str = ""
    p: float = 1.0
    since: int | None = None
    since_at: str = ""
    what: str = ""
    n_changed: int = 0
    changed_items: tuple[ChangedItem, ...] = ()
    margin: float | None = None
    better: bool = False
    recovered_at: str = ""
    provider: Provider = Provider()
    metrics: dict[str, MetricChange] = {}
    sequence: MetricSequence | None = None


class InUse(Struct, frozen=True, kw_only=True):
    """Whether the judge in use is worse than a constant answer or than one human, after a look.

    Attributes
    ----------
    judge : str
        Its name.
    constant : str
        The constant answer that is best.
    margin : float
        How much worse than one human it may be, as a share of the metric's range.
    log_e_constant, log_e_human : float or None
        Log evidence that it is worse than a constant answer, and than one human by more than the
        margin, summed over the looks since the baseline. None where there is no test.
    reason : str
        Why there is no test; "" where there is.
    """

    judge: str
    constant: str = ""
    margin: float = 0.0
    log_e_constant: float | None = None
    log_e_human: float | None = None
    reason: str = ""

    @property
    def p_constant(self) -> float:
        """Anytime-valid p-value that it is no worse than any constant answer."""
        return _p_of_half(self.log_e_constant)

    @property
    def p_human(self) -> float:
        """Anytime-valid p-value that it is no worse than one human, but for the margin."""
        return _p_of_half(self.log_e_human)

    @property
    def fails(self) -> bool:
        """Whether one of them is at most alpha, of which each has half."""
        return min(self.p_constant, self.p_human) <= ALPHA


def _p_of_half(log_e: float | None) -> float:
    return 1.0 if log_e is None else min(1.0, 2.0 * exp(-max(log_e, 0.0)))


class Baseline(Struct, frozen=True, kw_only=True, tag_field="kind", tag="baseline"):
    """What looks are compared with.

    Attributes
    ----------
    number : int
        From 1.
    at : str
        UTC time.
    occasion : int
        Number of the occasion on which more replies were asked for; 0 if none were.
    accepted : int
        The look that was accepted as the start of this baseline; 0 for the run itself.
    n_occasions : int
        On how many occasions its replies were asked.
    items : tuple of str
        Ids of the anchor's items.
    n_items_in_run : int
        Of which the anchor is a part.
    sampled : bool
        Whether these were sampled with unequal probabilities.
    hashes : dict of str to str
        Of the question and of the prompts.
    item_hashes : tuple of str
        Of the content of each item.
    ratings_hash : str
        Of the ratings of the items.
    grammar_version : int
        Of the reading of replies.
    alpha : float
        Chance of any false alarm over the life of this baseline.
    power : dict of str to DetectionPower
        By judge, what later looks can find.
    fitted : dict of str to dict of str to dict of str to float
        By judge, what its strategy took from all replies of the run: the probabilities on
        content-free items, or the weights of an ensemble's members. Later verdicts take the same.
    in_use : tuple of str
        The best judge of the run, and those that are not significantly different from it; empty
        where none is better than the baseline judges.
    streams : tuple of StreamReplies
        The replies.
    """

    schema_version: int = SCHEMA_VERSION
    number: int
    at: str
    occasion: int = 0
    accepted: int = 0
    n_occasions: int = 1
    items: tuple[str, ...]
    n_items_in_run: int
    hashes: dict[str, str]
    item_hashes: tuple[str, ...]
    ratings_hash: str
    grammar_version: int
    providers: dict[str, Provider]
    alpha: float
    decision: DecisionFacts | None
    power: dict[str, DetectionPower] = {}
    fitted: dict[str, dict[str, dict[str, float]]] = {}
    in_use: tuple[str, ...] = ()
    streams: tuple[StreamReplies, ...]
    sampled: bool = False

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges, in the order of the run."""
        return tuple(dict.fromkeys(stream.judge for stream in self.streams))

    def items_with_replies(self, elicitation: str) -> frozenset[str]:
        """Return the items that some judge replied to in an elicitation."""
        replied = [s.replies for s in self.streams if s.elicitation == elicitation]
        return frozenset(
            item
            for replies in replied
            for item, own in zip(self.items, replies, strict=True)
            if own
        )

    @property
    def n_replies(self) -> int:
        """Replies per item; the most where some are missing."""
        return replies_per_item(self.streams)


class Look(Struct, frozen=True, kw_only=True, tag_field="kind", tag="look"):
    """One look at the judges, with what it showed.

    Attributes
    ----------
    number : int
        From 1, over all baselines.
    occasion : int
        Number of the occasion on which its replies were asked; part of each request's key.
    baseline : int
        Number of the baseline it is compared with.
    causes : tuple of str
        Why no judge is comparable with the baseline; empty if they are.
    judges : tuple of JudgeResult
        Of the judges that are watched.
    left_out : dict of str to str
        Items of the baseline that are not as they were, each with the reason: they were not asked,
        and enter no test of this look.
    excluded : dict of int to str
        Looks since the baseline, up to this, whose replies were excluded, each with the reason.
    margin : float
        How much worse a judge may become without being ``worse``.
    other_ratings : bool
        Whether the ratings are not those of the baseline, so that metrics changed for that reason.
    streams : tuple of StreamReplies
        The replies of the judges that were asked.
    results : tuple of StreamResult
        Of every stream of the baseline, also of those that were not asked.
    ended : dict of str to str
        Judges that are incomplete, with the reason.
    all_alike : bool
        Whether all judges changed at the same time.
    in_use : InUse or None
        Test of the judge in use; None before it replied, and where no judge is in use.
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
    judges: tuple[JudgeResult, ...]
    results: tuple[StreamResult, ...] = ()
    all_alike: bool = False
    ended: dict[str, str] = {}
    decision: DecisionFacts | None = None
    in_use: InUse | None = None
    streams: tuple[StreamReplies, ...] = ()

    def stream(self, judge: str, elicitation: str) -> StreamReplies | None:
        """Return the replies of a judge to an elicitation; None if it was not asked."""
        return _of_stream(self.streams, judge, elicitation)

    def result(self, judge: str, elicitation: str) -> StreamResult | None:
        """Return the result of a judge and elicitation."""
        return _of_stream(self.results, judge, elicitation)

    def answers_nothing(self, judge: str) -> bool:
        """Whether a judge replied, and no reply is an answer."""
        return answers_nothing([row.outcomes for row in self.results if row.judge == judge])

    def judge(self, name: str) -> JudgeResult | None:
        """Return the result of a judge."""
        return next((result for result in self.judges if result.judge == name), None)


Row = TypeVar("Row", StreamReplies, StreamResult)


def _of_stream(rows: Sequence[Row], judge: str, elicitation: str) -> Row | None:
    matches = (row for row in rows if (row.judge, row.elicitation) == (judge, elicitation))
    return next(matches, None)


@dataclass(slots=True)
class HistoryReading:
    """Contents of a history, in the order of the file; damaged lines are left out and counted."""

    baselines: list[Baseline] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    n_damaged: int = 0

    def add(self, record: Baseline | Look) -> None:
        """Add a line; it replaces one of the same number.

        That is a baseline that had fewer replies, or a look before another was excluded.
        """
        if isinstance(record, Look):
            self.looks = [look for look in self.looks if look.number != record.number]
            self.looks.append(record)
            self.looks.sort(key=lambda look: look.number)
            return
        if self.baselines and self.baselines[-1].number == record.number:
            self.baselines.pop()
        self.baselines.append(record)

    @property
    def baseline(self) -> Baseline | None:
        """The newest baseline."""
        return self.baselines[-1] if self.baselines else None

    @property
    def looks_since_baseline(self) -> list[Look]:
        """The looks that are compared with the newest baseline."""
        number = self.baselines[-1].number if self.baselines else 0
        return [look for look in self.looks if look.baseline == number]

    def last_look_at(self, judges: Collection[str]) -> Look | None:
        """Return the last look, of any baseline, that watched some judges, perhaps among others."""
        looks = (look for look in reversed(self.looks) if all(map(look.judge, judges)))
        return next(looks, None)

    def last(self, n: int | None) -> HistoryReading:
        """Return the same history with the last ``n`` looks alone; with all of them for None."""
        looks = self.looks if n is None else self.looks[max(len(self.looks) - n, 0) :]
        return HistoryReading(self.baselines, looks, self.n_damaged)

    @property
    def next_occasion(self) -> int:
        """Number of the next occasion on which judges are asked."""
        asked = [line.occasion for line in self.baselines] + [look.occasion for look in self.looks]
        return (
            1 + max(asked, default=0) + self.n_damaged
        )  # replies of a lost line are not used again


def read_history(path: Path) -> HistoryReading:
    """Read a history; a torn last line and damaged lines are left out.

    Raises
    ------
    RunError
        If the file cannot be read or was written by another version.
    """
    reading = HistoryReading()
    try:
        content = read_file(path)
    except FileNotFoundError:
        return reading
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}).") from None
    for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
        try:
            record = _decoded(without_checksum(line), path)
        except DamagedLine:
            reading.n_damaged += 1
        else:
            reading.add(record)
    return reading


class OlderHistory(RunError):  # noqa: N818 -- a state of the file
    """A history was written by another version; what can be done without it is said."""

    def __init__(self, path: Path) -> None:
        folder, aside = path.parent, path.parent.with_name(f"{path.parent.name}.old")
        old = [file for file in (path, folder / "looks") if file.exists()]
        mkdir, move = (
            shlex.join(["mkdir", str(aside)]),
            shlex.join(["mv", *map(str, old), str(aside)]),
        )
        again = shlex.join(["harness", "revalidate", str(folder)])
        super().__init__(
            f"{path}: another version of judge-harness wrote this baseline; make a new one"
            + (
                f": {mkdir} && {move} && {again}"
                if (folder / "verdicts.jsonl").exists()
                else " from a finished run, by harness baseline export"
            )
        )


class HistoryFile(ChecksummedLog):
    """An open history; only one process can have it open, until it ends."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open or create the history of a run folder, lock it and cut off a torn last line.

        Raises
        ------
        RunError
            If another process re-validates this run, or the file cannot be written.
        """
        path = folder / FILE
        try:
            return cls(path)
        except BlockingIOError:
            raise RunError(
                f"{folder}: another process is re-validating this run; nothing was asked here."
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}).") from None

    def append(self, *records: Baseline | Look) -> None:
        """Write lines, at once.

        Raises
        ------
        RunError
            If it cannot be written; earlier lines stay as they are.
        """
        try:
            self.write(b"".join(with_checksum(_ENCODER.encode(record)) for record in records))
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written ({error.strerror}); {KEPT}") from None


_DECODER = msgspec.json.Decoder(Baseline | Look)


def _decoded(body: bytes, path: Path) -> Baseline | Look:
    try:
        record: Baseline | Look = _DECODER.decode(body)
        for time in _times(record):
            datetime.fromisoformat(time)
    except ValueError:
        raise OlderHistory(path) from None
    if isinstance(record, Baseline) and record.schema_version != SCHEMA_VERSION:
        raise OlderHistory(path)
    return record


def _times(record: Baseline | Look) -> Iterator[str]:
    """Yield the times that a line must have."""
    yield record.at
    if isinstance(record, Look):
        yield from (judge.since_at for judge in record.judges if judge.since is not None)


def without_replies(look: Look) -> Look:
    """Return a look without the replies that it rests on."""
    return replace(look, streams=())
