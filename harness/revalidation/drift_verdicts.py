"""Drift verdicts of a look: changed, worse, or undecided judges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from harness.report.html.item_table import option_labels
from harness.revalidation.changed_answers import MAX_STORED, AnswerChanges
from harness.revalidation.history import JudgeResult, Provider, Rate, StreamResult
from harness.revalidation.judge_in_use import in_use
from harness.revalidation.metric_changes import Scorer, compare_metrics, decision_on, item_scores
from harness.revalidation.reply_categories import (
    answers_nothing,
    categories_of,
    counts_of,
    no_replies,
    outcome_counts,
    replies_per_item,
)
from harness.stats.drift.changed_judges import changed_judges, common_changes
from harness.stats.drift.reply_counts import look_flips, retest_flip_rate
from harness.stats.drift.score_change import is_better, largest_margin, recovered_since, worse_path
from harness.stats.drift.stream_path import StreamPath, stream_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.revalidation.history import Baseline, InUse, JudgeVerdict, Look, MetricChange
    from harness.revalidation.metric_changes import Yardstick
    from harness.revalidation.reply_categories import StreamReplies
    from harness.stats import Estimate
    from harness.stats.drift.changed_judges import JudgeChange
    from harness.stats.drift.reply_counts import ReplyCounts
    from harness.stats.drift.score_change import ItemScores
    from harness.stats.drift.stream_path import LookResult


@dataclass(frozen=True, slots=True)
class Stream:
    """Evidence about one judge and elicitation since the baseline."""

    judge: str
    elicitation: str
    replies: tuple[StreamReplies, ...]
    counts: ReplyCounts
    path: StreamPath

    @property
    def p_value(self) -> float:
        """The smallest so far: an alarm stays when items that raised it are left out later."""
        return min(look.p_value for look in self.path.looks)


def assess_look(
    baseline: Baseline,
    earlier: Sequence[Look],
    look: Look,
    yardstick: Yardstick,
    *,
    providers: Mapping[str, Provider],
    watched: Sequence[str],
    left_out: Mapping[str, tuple[JudgeVerdict, str]],
    margin: float = 0.0,
) -> Look:
    """Return a look with what it shows, compared with its baseline.

    ``look`` holds what was asked; ``earlier`` are those since the baseline; ``yardstick`` has the
    items of the baseline that are as they were, on which all replies are compared; ``watched`` are
    the judges that get a verdict, and ``left_out`` those of them without replies, ``not
    comparable`` or ``not asked``, with the reason; ``margin`` is how much worse a judge may become,
    as a share of the metric's range.
    """
    assessed = look
    shown = evidence_at(baseline, earlier, look)
    baseline, earlier, look = shown.baseline, shown.earlier, shown.look
    metrics, scorer = compare_metrics(yardstick, baseline.streams, look.streams)
    evidence = Assessment(shown, yardstick, metrics, scorer, margin)
    n_replies = replies_per_item(look.streams)
    decision = decision_on(yardstick, look.streams, n_replies) if n_replies else None
    assessed = replace(assessed, margin=margin, decision=decision)
    return evidence.shown_by(assessed, watched, providers, left_out)


def assess_again(
    baseline: Baseline, earlier: Sequence[Look], look: Look, yardstick: Yardstick
) -> Look:
    """Return a look with what it shows after replies of it, or of one before it, were dropped.

    Verdicts are those of the replies that are left; its metrics are the same.
    """
    shown = evidence_at(baseline, earlier, look)
    excluded = look.excluded.get(look.number)
    left_out: dict[str, tuple[JudgeVerdict, str]] = {}
    for row in look.judges:
        if row.reason:
            verdict = row.verdict if row.verdict == "not comparable" else "not asked"
            left_out[row.judge] = verdict, row.reason
    if excluded is not None:
        reason = f"the look is excluded: {excluded}"
        left_out = {row.judge: ("not asked", reason) for row in look.judges}
    metrics = {row.judge: row.metrics for row in look.judges if row.judge not in left_out}
    scorer = Scorer.on(yardstick, shown.baseline.streams)
    evidence = Assessment(shown, yardstick, metrics, scorer, look.margin)
    providers = {row.judge: row.provider for row in look.judges}
    return evidence.shown_by(look, list(providers), providers, left_out)


def evidence_at(baseline: Baseline, earlier: Sequence[Look], look: Look) -> LookEvidence:
    """Test a look and those before it on the items that it can compare."""
    if not look.causes:
        baseline, earlier, look = _on_comparable_items(baseline, earlier, look)
    streams = [_stream(earlier, look, stream) for stream in baseline.streams]
    p_values: dict[str, dict[str, float]] = {judge: {} for judge in baseline.judges}
    for stream in streams:
        p_values[stream.judge][stream.elicitation] = stream.p_value
    changes = changed_judges(p_values, alpha=baseline.alpha)
    alarms = _alarms(streams, changes)
    return LookEvidence(baseline, earlier, look, streams, changes, alarms)


@dataclass(frozen=True, slots=True)
class LookEvidence:
    """What a look and those before it show about changes of all judges.

    Attributes
    ----------
    alarms : mapping of (judge, elicitation) to LookResult
        The streams that changed, at the look of the alarm.
    """

    baseline: Baseline
    earlier: Sequence[Look]
    look: Look
    streams: Sequence[Stream]
    changes: Mapping[str, JudgeChange]
    alarms: Mapping[tuple[str, str], LookResult]

    def first_alarm(self, judge: str) -> tuple[Stream, LookResult] | None:
        """Return the stream of a judge that changed first, and the evidence then."""
        own = [
            (stream, self.alarms[judge, stream.elicitation])
            for stream in self.streams
            if stream.judge == judge and stream.elicitation in self.changes[judge].elicitations
        ]
        return min(own, key=lambda alarm: alarm[1].look, default=None)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a look shows about all judges.

    Attributes
    ----------
    metrics : mapping of str to mapping of str to MetricChange
        By judge and metric.
    """

    shown: LookEvidence
    yardstick: Yardstick
    metrics: Mapping[str, dict[str, MetricChange]]
    scorer: Scorer | None
    margin: float

    def shown_by(
        self,
        look: Look,
        watched: Sequence[str],
        providers: Mapping[str, Provider],
        left_out: Mapping[str, tuple[JudgeVerdict, str]],
    ) -> Look:
        """Return a look with the results of the judges that are watched and of all streams."""
        return replace(
            look,
            judges=tuple(
                self.judge_result(
                    judge,
                    providers.get(judge, Provider()),
                    *left_out.get(judge, ("stable", "")),
                )
                for judge in watched
            ),
            results=tuple(_stream_result(stream) for stream in self.shown.streams),
            all_alike=_all_alike(self.shown.alarms, watched),
            in_use=self._in_use(),
        )

    def _in_use(self) -> InUse | None:
        """Test the judge in use; where no judge replied, the last test stands."""
        baseline, earlier = self.shown.baseline, self.shown.earlier
        before = earlier[-1].in_use if earlier else None
        if self.scorer is None or not baseline.in_use:
            return before
        judge = baseline.in_use[0]
        streams = [stream for stream in self.shown.streams if stream.judge == judge]
        return in_use(judge, streams, self.scorer, self.yardstick.task, before)

    def judge_result(
        self, judge: str, provider: Provider, verdict: JudgeVerdict, reason: str
    ) -> JudgeResult:
        """Return the result of a judge; its verdict is given where it has no replies."""
        change, alarm = self.shown.changes[judge], self.shown.first_alarm(judge)
        streams = [stream for stream in self.shown.streams if stream.judge == judge]
        scorer, threshold = self.scorer, change.threshold
        scores = _scores_of(streams, scorer) if scorer else None
        before = (look.judge(judge) for look in self.shown.earlier)
        worse = any(result and result.verdict == "worse" for result in before) or bool(
            alarm
            and (
                answers_nothing([outcome_counts(stream.replies[-1]) for stream in streams])
                or (scores and worse_path(scores, margin=self.margin).first_look_at(threshold))
            )
        )
        if verdict == "stable" and not self._has_power(judge):
            verdict = "underpowered"
        if alarm and verdict != "not comparable":
            verdict = "worse" if worse else "changed"
        return JudgeResult(
            judge=judge,
            verdict=verdict,
            reason=reason,
            p=change.p_value,
            margin=largest_margin(scores, threshold) if scores and worse else None,
            better=bool(alarm and not worse and scores and is_better(scores, threshold)),
            recovered_at=self._recovered_at(scores, threshold) if scores and worse else "",
            provider=provider,
            metrics=self.metrics.get(judge, {}),
            sequence=scorer.sequence(scores, alpha=threshold) if scorer and scores else None,
            **(self._change(*alarm) if alarm else {}),
        )

    def _recovered_at(self, scores: ItemScores, threshold: float) -> str:
        """Return the time of the look since which a judge recovered; "" if it has not."""
        since = recovered_since(scores, threshold, margin=self.margin)
        return "" if since is None else (*self.shown.earlier, self.shown.look)[since - 1].at

    def _change(self, stream: Stream, alarm: LookResult) -> dict[str, Any]:
        """Return the fields of a result that say since when a judge changed, and what."""
        strongest = alarm.strongest
        first_look = strongest.window.first_look
        looks = (*self.shown.earlier, self.shown.look)[first_look - 1 :]
        since = next(look for look in looks if look.stream(stream.judge, stream.elicitation))
        changes = AnswerChanges.since(
            first_look, stream.counts, stream.replies, self.shown.baseline.items
        )
        return {
            "since": since.number,
            "since_at": since.at,
            "what": changes.in_words(strongest.largest, option_labels(self.yardstick.task)),
            "n_changed": len(changes.items),
            "changed_items": changes.items[:MAX_STORED],
        }

    def _has_power(self, judge: str) -> bool:
        """Return whether a change of many items would be found.

        After a baseline of one reply per item, the first look completes what later looks compare
        with.
        """
        power = self.shown.baseline.power[judge]
        return power.is_enough or (
            power.reason == "one_baseline_reply" and bool(self.shown.earlier)
        )


def _on_comparable_items(
    baseline: Baseline, earlier: Sequence[Look], look: Look
) -> tuple[Baseline, list[Look], Look]:
    """Keep the replies to items that are as they were in the baseline, also in earlier looks."""
    places = [i for i, item in enumerate(baseline.items) if item not in look.left_out]

    def kept(streams: Sequence[StreamReplies]) -> tuple[StreamReplies, ...]:
        return tuple(stream.at(places) for stream in streams)

    items = tuple(baseline.items[i] for i in places)
    return (
        replace(baseline, items=items, streams=kept(baseline.streams)),
        [replace(row, streams=kept(row.streams)) for row in earlier],
        replace(look, streams=kept(look.streams)),
    )


def _stream(earlier: Sequence[Look], look: Look, first: StreamReplies) -> Stream:
    judge, elicitation = first.judge, first.elicitation
    later = [row.stream(judge, elicitation) for row in (*earlier, look)]
    rows = tuple(stream or no_replies(first) for stream in (first, *later))
    counts = counts_of(rows)
    results = [row.result(judge, elicitation) for row in earlier]
    so_far = StreamPath(tuple(result.evidence for result in results if result))
    if earlier and earlier[-1].left_out.keys() != look.left_out.keys():
        path = StreamPath((*so_far.looks, stream_path(counts).looks[-1]))
    else:
        path = stream_path(counts, earlier=so_far)
    return Stream(judge, elicitation, rows, counts, path)


def _alarms(
    streams: Sequence[Stream], changes: Mapping[str, JudgeChange]
) -> dict[tuple[str, str], LookResult]:
    """Return, for each stream that changed, the evidence at the look of its alarm."""
    n_streams = Counter(stream.judge for stream in streams)
    alarms = {}
    for stream in streams:
        change = changes[stream.judge]
        if stream.elicitation in change.elicitations:
            strict = change.threshold / n_streams[stream.judge]  # for the first; Holm for others
            path = stream.path
            alarm = path.first_look_at(strict) or path.first_look_at(change.threshold)
            if alarm is not None:
                alarms[stream.judge, stream.elicitation] = alarm
    return alarms


def _all_alike(alarms: Mapping[tuple[str, str], LookResult], judges: Sequence[str]) -> bool:
    """Return whether all judges, two or more, changed in the same look and overlapping windows."""
    common = common_changes(
        {s: (alarm.look, alarm.strongest.window) for s, alarm in alarms.items()}
    )
    hit = [{judge for judge, _ in change.streams} for change in common]
    return len(judges) > 1 and any(judges_hit.issuperset(judges) for judges_hit in hit)


def _stream_result(stream: Stream) -> StreamResult:
    flips = look_flips(stream.counts, stream.counts.n_looks)
    return StreamResult(
        judge=stream.judge,
        elicitation=stream.elicitation,
        flip_rate=_rate(flips.flip_rate),
        retest_rate=_rate(retest_flip_rate(stream.counts)),
        outcomes=outcome_counts(stream.replies[-1]),
        baseline_outcomes=outcome_counts(stream.replies[0]),
        evidence=stream.path.looks[-1],
    )


def _rate(estimate: Estimate) -> Rate:
    interval = estimate.interval
    if estimate.value is None or interval is None:
        return Rate(None, None, None, 0)
    return Rate(estimate.value, interval.low, interval.high, estimate.n_used)


def _scores_of(streams: Sequence[Stream], scorer: Scorer) -> ItemScores | None:
    """Return a judge's scores on the metric that ranks; None where no reply has any."""
    for stream in streams:
        categories = categories_of(stream.replies)
        scores = scorer.scores(categories, stream.replies[0].elicitation)
        if scores is not None:
            return item_scores(stream.counts, scores)
    return None
