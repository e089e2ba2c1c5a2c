"""Assess a round: find changed, worse and undecided judges, and compute their figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from msgspec.structs import replace

from harness.report.html.item_table import option_labels
from harness.revalidation.changed_answers import MAX_STORED, AnswerChanges
from harness.revalidation.judge_in_use import in_use
from harness.revalidation.metric_changes import Scorer, compare_metrics, decision_on
from harness.revalidation.records import (
    Baseline,
    Figure,
    InUse,
    JudgeLook,
    Look,
    StreamEvidence,
)
from harness.revalidation.reply_categories import (
    counts_of,
    no_replies,
    replies_per_item,
)
from harness.revalidation.stream import Stream
from harness.stats.drift.changed_judges import changed_judges, common_changes
from harness.stats.drift.score_change import largest_margin, worse_path
from harness.stats.drift.stream_path import StreamPath, stream_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.revalidation.metric_changes import Yardstick
    from harness.revalidation.records import ChangedItem
    from harness.revalidation.reply_categories import StreamReplies
    from harness.stats.drift.changed_judges import JudgeChange
    from harness.stats.drift.stream_path import LookResult
    from harness.tasks.item import Elicitation


PARTLY_LEFT_OUT = ", on items that are now partly left out"


def assess(baseline: Baseline, earlier: Sequence[Look], look: Look, yardstick: Yardstick) -> Look:
    """Return a round with its results from the comparison with its baseline.

    Parameters
    ----------
    baseline : Baseline
        Baseline to compare with.
    earlier : sequence of Look
        Earlier rounds since the baseline.
    look : Look
        The round. Its judges are those to assess, with a reason if they are ``not comparable`` or
        were not run. A round that was assessed before keeps its metrics.
    yardstick : Yardstick
        Contains the unchanged items of the baseline, on which all replies are compared.
    """
    assessed, is_new = look, not look.evidence
    if not look.causes:
        baseline, earlier, look = _on_comparable_items(baseline, earlier, look)
    metrics: Mapping[str, tuple[Figure, ...]]
    if is_new:
        metrics, scorer = compare_metrics(yardstick, baseline.streams, look.streams)
        n_replies = replies_per_item(look.streams)
        decision = decision_on(yardstick, look.streams, n_replies) if n_replies else None
        assessed = replace(assessed, decision=decision)
    else:
        metrics = {j.judge: tuple(f for f in j.figures if not f.elicitation) for j in look.judges}
        scorer = Scorer.on(yardstick, baseline.streams)
    streams = [_stream(earlier, look, stream) for stream in baseline.streams]
    p_values: dict[str, dict[str, float]] = {judge: {} for judge in baseline.judges}
    for stream in streams:
        p_values[stream.judge][stream.elicitation] = stream.p_value
    changes = changed_judges(p_values, alpha=baseline.alpha)
    alarms = _alarms(streams, changes)
    watched = [judge.judge for judge in look.judges]
    judges = tuple(
        DriftEvidence(
            baseline,
            (*earlier, look),
            judge,
            [stream for stream in streams if stream.judge == judge.judge],
            {e: alarm for (name, e), alarm in alarms.items() if name == judge.judge},
            changes[judge.judge],
            scorer,
        ).result(metrics.get(judge.judge, ()), option_labels(yardstick.task))
        for judge in look.judges
    )
    return replace(
        assessed,
        judges=judges,
        evidence=tuple(
            StreamEvidence(judge=s.judge, elicitation=s.elicitation, evidence=s.path.looks[-1])
            for s in streams
        ),
        all_alike=_all_alike(alarms, watched),
        in_use=_in_use(baseline, earlier, streams, scorer, yardstick),
    )


def without_look(looks: Sequence[Look], number: int, because: str) -> list[Look]:
    """Return the rounds for a new assessment without the replies of one round.

    The round keeps its position and weight in the tests. Alarms from earlier rounds stay open, and
    so do alarms from later rounds that the other replies raise without it.
    """
    reason = f"the round is excluded: {because}"
    again = []
    for look in looks:
        row = replace(look, excluded=look.excluded | {number: because})
        if look.number == number:
            judges = tuple(
                JudgeLook(judge=judge.judge, reason=reason, provider=judge.provider)
                for judge in look.judges
            )
            row = replace(row, streams=(), decision=None, judges=judges)
        again.append(row)
    return again


class _WhatChanged(TypedDict):
    """Fields of a `JudgeLook` that say when and how a judge changed."""

    since: int
    since_at: str
    what: str
    n_changed: int
    changed_items: tuple[ChangedItem, ...]


@dataclass(frozen=True, slots=True)
class DriftEvidence:
    """Evidence on one judge from all rounds since the baseline.

    Attributes
    ----------
    looks : sequence of Look
        Rounds since the baseline; the last one is assessed.
    row : JudgeLook
        The judge in that round, with a reason if it was not run or isn't comparable.
    alarms : mapping of str to LookResult
        Evidence from the alarm's round, by changed elicitation.
    """

    baseline: Baseline
    looks: Sequence[Look]
    row: JudgeLook
    streams: Sequence[Stream]
    alarms: Mapping[str, LookResult]
    change: JudgeChange
    scorer: Scorer | None

    def result(self, metrics: tuple[Figure, ...], labels: Mapping[str, str]) -> JudgeLook:
        """Return the judge's results in this round."""
        row, scorer, threshold = self.row, self.scorer, self.change.threshold
        figures = tuple(f for stream in self.streams for f in stream.figures()) + metrics
        result = JudgeLook(
            judge=row.judge,
            verdict="underpowered" if not self._has_power() else "stable",
            reason=row.reason,
            outcomes=row.outcomes,
            shortfall=row.shortfall,
            p=self.change.p_value,
            provider=row.provider,
            figures=figures,
        )
        if row.shortfall:
            result = replace(result, verdict=row.shortfall)
        elif row.reason:
            is_comparable = row.verdict != "not comparable"
            result = replace(result, verdict="not asked" if is_comparable else "not comparable")
        found = (stream.scores(scorer) for stream in self.streams) if scorer else ()
        scores, margin = next(filter(None, found), None), self.looks[-1].margin
        if scorer and scores:
            result = replace(result, sequence=scorer.sequence(scores, alpha=threshold))
        if not self.alarms:
            return result
        worse = (
            any(j.verdict == "worse" for look in self.looks[:-1] if (j := look.judge(row.judge)))
            or result.answers_nothing
            or bool(scores and worse_path(scores, margin=margin).first_look_at(threshold))
        )
        verdict = "worse" if worse else "changed"
        changed = replace(
            result,
            verdict=result.verdict if result.verdict == "not comparable" else verdict,
            **self._what_changed(labels),
        )
        if scores is None or not worse:
            return changed
        return replace(changed, margin=largest_margin(scores, threshold))

    def _what_changed(self, labels: Mapping[str, str]) -> _WhatChanged:
        """Return the fields that say when and how the judge changed."""
        own = [(stream, self.alarms.get(stream.elicitation)) for stream in self.streams]
        stream, alarm = min(
            ((s, a) for s, a in own if a is not None), key=lambda changed: changed[1].look
        )
        strongest, largest = alarm.strongest, alarm.strongest.largest
        outcome = largest.category if largest.category in stream.counts.outcomes else None
        first_look = strongest.window.first_look
        looks = self.looks[first_look - 1 :]
        since = next(look for look in looks if look.stream(stream.judge, stream.elicitation))
        answers = AnswerChanges.since(
            first_look, stream.counts, stream.replies, self.baseline.items, outcome
        )
        what = answers.in_words(largest, labels)
        if stream.path.looks[-1].p_value > self.change.threshold:  # shown only by earlier rounds
            before = self.looks[-2].judge(self.row.judge)
            told = before.what.removesuffix(PARTLY_LEFT_OUT) if before else ""
            what = f"{told or what}{PARTLY_LEFT_OUT}"
        return {
            "since": since.number,
            "since_at": since.at,
            "what": what,
            "n_changed": len(answers.items),
            "changed_items": answers.items[:MAX_STORED],
        }

    def _has_power(self) -> bool:
        """Return whether the rounds would detect a change of many items.

        After a baseline with one reply per item, the first round completes the basis for comparing
        later rounds.
        """
        power = self.baseline.power[self.row.judge]
        is_completed = power.reason == "one_baseline_reply" and len(self.looks) > 1
        return power.is_enough or is_completed


def _on_comparable_items(
    baseline: Baseline, earlier: Sequence[Look], look: Look
) -> tuple[Baseline, list[Look], Look]:
    """Keep only replies to items that are unchanged since the baseline, in all rounds."""
    places = [i for i, item in enumerate(baseline.items) if item not in look.left_out]
    if len(places) == len(baseline.items):
        return baseline, list(earlier), look

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
    so_far = StreamPath(
        tuple(
            row.evidence
            for before in earlier
            for row in before.evidence
            if (row.judge, row.elicitation) == (judge, elicitation)
        )
    )
    if earlier and earlier[-1].left_out.keys() != look.left_out.keys():
        path = StreamPath((*so_far.looks, stream_path(counts).looks[-1]))
    else:
        path = stream_path(counts, earlier=so_far)
    return Stream(judge, elicitation, rows, counts, path)


def _alarms(
    streams: Sequence[Stream], changes: Mapping[str, JudgeChange]
) -> dict[tuple[str, Elicitation], LookResult]:
    """Return for each changed stream the evidence in the round that raised its alarm."""
    n_streams = Counter(stream.judge for stream in streams)
    alarms = {}
    for stream in streams:
        change = changes[stream.judge]
        if stream.elicitation in change.elicitations:
            strict = change.threshold / n_streams[stream.judge]  # for the first; then Holm's
            path = stream.path
            alarm = path.first_look_at(strict) or path.first_look_at(change.threshold)
            if alarm is not None:
                alarms[stream.judge, stream.elicitation] = alarm
    return alarms


def _all_alike(alarms: Mapping[tuple[str, Elicitation], LookResult], judges: Sequence[str]) -> bool:
    """Return whether all judges changed in the same round and window. False for a single judge."""
    common = common_changes(
        {s: (alarm.look, alarm.strongest.window) for s, alarm in alarms.items()}
    )
    hit = [{judge for judge, _ in change.streams} for change in common]
    return len(judges) > 1 and any(judges_hit.issuperset(judges) for judges_hit in hit)


def _in_use(
    baseline: Baseline,
    earlier: Sequence[Look],
    streams: Sequence[Stream],
    scorer: Scorer | None,
    yardstick: Yardstick,
) -> InUse | None:
    """Test the judge in use. Keep the previous test if no judge replied."""
    before = earlier[-1].in_use if earlier else None
    if scorer is None or not baseline.in_use:
        return before
    judge = baseline.in_use[0]
    own = [stream for stream in streams if stream.judge == judge]
    return in_use(judge, own, scorer, yardstick.task, before)
