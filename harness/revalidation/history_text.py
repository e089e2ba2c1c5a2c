"""Looks and the history of a run as text for a terminal: verdicts, tables and control charts."""

from __future__ import annotations

from functools import partial
from math import exp
from typing import TYPE_CHECKING

from harness.plain_text import visible
from harness.report.formatting import (
    COMPLETENESS_HEADS,
    basis,
    bounds,
    counted,
    cut,
    estimate,
    number,
    p_value,
    rank_set,
    replies_each,
    share,
    with_bounds,
)
from harness.report.text_table import draw_table, paragraph
from harness.revalidation.fail_on import is_changed, shown
from harness.revalidation.history import COST, LATENCY, TOKENS, Provider
from harness.revalidation.reply_categories import replies_per_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.revalidation.changed_rows import ChangedRow
    from harness.revalidation.history import (
        Baseline,
        DecisionFacts,
        HistoryReading,
        JudgeResult,
        Look,
        MetricChange,
        MetricSequence,
        Rate,
        StreamResult,
    )


BAR = 20  # characters for flip rates from 0 to 100 %
MAX_CHANGED = 10  # changed items of a judge that are listed
MAX_TEXT = 160  # characters of an item or a reply
MAX_NAMED = 5  # items per reason that are left out
MAX_LOG = 20.0  # of an e-value that is written in full
STRIP = 41  # characters for changes of a metric, zero in the middle
HEADS = ("look", "date", "verdict", "flips", "rate", "e-value", "p", "model")
SEQUENCE_HEADS = ("look", "now", "on", "change", "interval", "items", "")
STANDING_HEADS = ("judge", "value", "on", *COMPLETENESS_HEADS, "ranks")
OUTCOMES = ("abstained", "refused", "invalid")
ALL_ALIKE = (
    "All judges changed in the same look: this counts as one change. Look for a cause that they "
    "share, such as a gateway, a provider or the way that items are sent."
)
RETEST = (
    "The baseline has one reply per item: its own noise is unknown, and the first look after it is "
    "a retest, which shows changes of rates but not of single items. Five replies are advised, "
    "with --samples 5 in the run or --baseline-replies 5 in the first look."
)
SAMPLED = (
    "The items were sampled with unequal probabilities. Metrics and the decision weight them by "
    "the inverse; flips, the tests of judges and changes over all looks describe the sample."
)


def history_text(history: HistoryReading) -> str:
    """Render the looks of a run, the newest first.

    A bar shows the flip rate of a look, ``|`` in it the judge's own noise; ``*`` marks a look whose
    model version or fingerprint is not that of the look before. Below the flips of a judge stands
    the change of the metric that ranks, with its confidence sequence.
    """
    parts = ["\n".join(baseline_lines(history))]
    streams = dict.fromkeys(
        (stream.judge, stream.elicitation) for b in history.baselines for stream in b.streams
    )
    for judge in dict.fromkeys(judge for judge, _ in streams):
        elicitations = [elicitation for name, elicitation in streams if name == judge]
        parts += ["\n".join(_chart(history, judge, elicitation)) for elicitation in elicitations]
        parts += ["\n".join(lines) for lines in _metric_charts(history, judge)]
    if history.n_damaged:
        parts.append(f"{history.n_damaged} damaged lines are left out")
    return "\n\n".join(parts)


def baseline_lines(history: HistoryReading) -> Iterator[str]:
    """Yield a line for each baseline."""
    for baseline in history.baselines:
        origin = f"from look {baseline.accepted} on" if baseline.accepted else "the run"
        yield (
            f"baseline {baseline.number} of {baseline.at[:10]}: {origin}, "
            f"{counted([len(baseline.items)])}, "
            f"{_replies(baseline.n_replies)} per item, false alarms at most {baseline.alpha:.0%}"
        )


def model_changes(history: HistoryReading, judge: str) -> frozenset[int]:
    """Return the looks with another model version or fingerprint than the look before."""
    changes, before = set(), None
    for look in history.looks:
        result = look.judge(judge)
        reported = (result.provider.models, result.provider.fingerprints) if result else ((), ())
        if any(reported):
            if before not in {None, reported}:
                changes.add(look.number)
            before = reported
    return frozenset(changes)


def _chart(history: HistoryReading, judge: str, elicitation: str) -> Iterator[str]:
    yield f"{judge}, {elicitation}"
    rows: list[tuple[str, ...]] = [HEADS]
    changes = model_changes(history, judge)
    for look in reversed(history.looks):
        result, stream = look.judge(judge), look.result(judge, elicitation)
        if result is not None:
            rows.append(_row(look, result, stream, marked=look.number in changes))
    yield from _aligned(rows)


def _row(
    look: Look, result: JudgeResult, stream: StreamResult | None, *, marked: bool
) -> tuple[str, ...]:
    was_asked = stream is not None and stream.flip_rate.value is not None
    models = ", ".join(result.provider.models)
    return (
        str(look.number),
        look.at[:10],
        result.verdict,
        _bar(stream) if stream is not None and was_asked else "",
        f"{stream.flip_rate.value:.0%}" if stream is not None and was_asked else "NA",
        _e_value(stream.evidence.log_e_sum) if stream is not None else "NA",
        p_value(stream.evidence.p_value) if stream is not None else "NA",
        f"{models} *" if marked else models,
    )


def _bar(stream: StreamResult) -> str:
    flips, noise = stream.flip_rate.value or 0.0, stream.retest_rate.value
    cells = ["#" if i < round(flips * BAR) else "." for i in range(BAR)]
    if noise is not None:
        cells[min(round(noise * BAR), BAR - 1)] = "|"
    return "".join(cells)


def sequences(history: HistoryReading, judge: str) -> dict[str, dict[int, MetricSequence]]:
    """Return the confidence sequences of a judge by metric, each by look."""
    by_metric: dict[str, dict[int, MetricSequence]] = {}
    for look in history.looks:
        result = look.judge(judge)
        if result is not None and result.sequence is not None:
            by_metric.setdefault(result.sequence.metric, {})[look.number] = result.sequence
    return by_metric


def _metric_charts(history: HistoryReading, judge: str) -> Iterator[list[str]]:
    """Draw the changes of each metric that ranked."""
    decisions = {look.number: look.decision for look in history.looks}
    for metric, changes in sequences(history, judge).items():
        ends = [abs(end) for s in changes.values() for end in (s.low, s.high) if end is not None]
        rows: list[tuple[str, ...]] = [SEQUENCE_HEADS]
        for look, sequence in reversed(changes.items()):
            decision = decisions[look]
            row = decision.standing(judge) if decision else None
            rows.append(
                (
                    str(look),
                    estimate(row.estimate) if row else "NA",
                    basis(row.estimate) if row else "",
                    number(sequence.difference),
                    bounds(sequence.low, sequence.high),
                    str(sequence.n_items) if sequence.n_items else "",
                    _strip(sequence, max(ends, default=1.0)),
                )
            )
        title = f"{judge}, {metric}: look less baseline, intervals for all looks together"
        yield [title, *_aligned(rows)]


def _strip(sequence: MetricSequence, farthest: float) -> str:
    """Draw an interval as dashes and its value as a star, between the farthest ends and 0."""
    if sequence.difference is None or sequence.low is None or sequence.high is None:
        return ""
    low, value, high = (
        round((STRIP // 2) * (1 + end / (farthest or 1.0)))
        for end in (sequence.low, sequence.difference, sequence.high)
    )
    cells = ["-" if low <= i <= high else " " for i in range(STRIP)]
    cells[STRIP // 2] = "|"
    cells[value] = "*"
    return "".join(cells)


def _e_value(log_e: float) -> str:
    return f"{exp(log_e):.3g}" if log_e < MAX_LOG else f"10^{log_e / 2.302585:.0f}"


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def look_text(look: Look, baseline: Baseline, *, details: bool = False) -> str:
    """Render what a look rests on: flips and outcomes, the metric that ranks, the decision.

    Parameters
    ----------
    details : bool
        Whether every metric is shown, and rank sets, costs, latencies and what providers report.
    """
    parts = [headline(look, baseline)]
    parts += [paragraph(line) for line in content_lines(look, baseline)]
    parts += map(paragraph, filter(None, map(partial(_reported, baseline), look.judges)))
    if look.all_alike:
        parts.append(paragraph(ALL_ALIKE))
    if baseline.n_replies == 1:
        parts.append(paragraph(RETEST))
    if baseline.sampled:
        parts.append(paragraph(SAMPLED))
    asked = [result for result in look.results if look.stream(result.judge, result.elicitation)]
    if asked:
        parts += [_flip_table(asked), _metric_table(look, details=details)]
        parts += _report_tables(look, baseline) if details else []
    if look.decision is not None:
        parts.append(paragraph(decision_sentence(look, baseline)))
        parts.append(draw_table(STANDING_HEADS, standing_rows(look.decision)))
    if sentence := in_use_sentence(look):
        parts.append(paragraph(sentence))
    return "\n\n".join(part for part in parts if part)


def changed_text(rows: Sequence[ChangedRow], look: Look) -> str:
    """List changed items of each judge, with the answer before and now."""
    parts = []
    for judge in look.judges:
        own = [row for row in rows if row.judge == judge.judge][:MAX_CHANGED]
        if own:
            parts.append(f"{judge.judge}, {len(own)} of {judge.n_changed} changed answers:")
            parts += [line for row in own for line in _changed_lines(row)]
    return "\n".join(parts)


def _changed_lines(row: ChangedRow) -> Iterator[str]:
    raters = f"; raters: {row.raters}" if row.raters else ""
    yield f"  {visible(row.item)}: {row.before} before, {row.now} now{raters}"
    for name, text in (("item", row.text), ("reply", row.reply)):
        if text:
            yield f"    {name}: {cut(visible(text), MAX_TEXT)}"


def with_command(sentence: str) -> str:
    """Fold a sentence; a command at its end stands on a line of its own, as it is pasted."""
    words, is_advice, command = sentence.partition(": harness ")
    if not is_advice:
        return paragraph(sentence)
    return f"{paragraph(f'{words}:')}\nharness {command.rstrip('.').removesuffix(')')}"


def content_lines(look: Look, baseline: Baseline) -> Iterator[str]:
    """Say which judges, items and looks are left out, and that ratings have changed."""
    if names := unwatched(look, baseline):
        yield f"Not watched: {', '.join(names)}."
    if look.left_out and not look.causes:
        by_reason: dict[str, list[str]] = {}
        for item, reason in look.left_out.items():
            by_reason.setdefault(reason, []).append(item)
        named = "; ".join(
            f"{', '.join(items[:MAX_NAMED])}{' ...' if len(items) > MAX_NAMED else ''}: {reason}"
            for reason, items in by_reason.items()
        )
        n = len(look.left_out)
        verb = "is" if n == 1 else "are"
        yield f"{n} of {counted([len(baseline.items)])} {verb} left out. {named}."
    for excluded, reason in look.excluded.items():
        yield f"The replies of look {excluded} are excluded: {visible(reason)}"
    if look.other_ratings:
        yield (
            "The ratings have changed since the baseline: metrics may differ from those of earlier "
            "looks for that reason. The tests of the judges' answers do not use them."
        )


def headline(look: Look, baseline: Baseline) -> str:
    """Say what was asked, and what it is compared with."""
    items = counted([len(baseline.items)])
    if len(baseline.items) < baseline.n_items_in_run:
        items += f" of {baseline.n_items_in_run}"
    occasions = counted([baseline.n_occasions], "occasion")
    return paragraph(
        f"look {look.number}  {items}  {_replies(replies_per_item(look.streams))} each now  "
        f"baseline {baseline.number}: {_replies(baseline.n_replies)} each on {occasions}"
    )


def _replies(n: int) -> str:
    return "1 reply" if n == 1 else f"{n} replies"


def _reported(baseline: Baseline, judge: JudgeResult) -> str:
    """Name the model version that changed, or the fingerprint."""
    before, now = baseline.providers.get(judge.judge), judge.provider
    if before is None or not now.models:
        return ""
    if before.models and before.models != now.models:
        old, new = ", ".join(before.models), ", ".join(now.models)
        return f"{judge.judge}: model version {old} before, {new} now."
    if before.fingerprints and now.fingerprints and before.fingerprints != now.fingerprints:
        return f"{judge.judge}: the provider reports another system fingerprint."
    return ""


def _flip_table(results: list[StreamResult]) -> str:
    rows = []
    for r in results:
        outcomes = [_moved(r.baseline_outcomes, r.outcomes, outcome) for outcome in OUTCOMES]
        n_items = str(r.flip_rate.n_items)
        p = p_value(r.evidence.p_value)
        rates = [_rate(r.flip_rate), _rate(r.retest_rate), n_items, p]
        rows.append([r.judge, r.elicitation, *rates, *outcomes])
    heads = ["judge", "elicitation", "flips", "own noise", "n", "p", *OUTCOMES]
    shown = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    return draw_table([heads[i] for i in shown], [[row[i] for i in shown] for row in rows])


def _rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "NA"
    return f"{rate.value:.0%} [{rate.low:.0%}, {rate.high:.0%}]"


def _moved(before: Mapping[str, int], now: Mapping[str, int], outcome: str) -> str:
    """Write the share of an outcome before and now; nothing where it never occurred."""
    if not before[outcome] and not now[outcome]:
        return ""
    sizes = [(counts[outcome], sum(counts.values())) for counts in (before, now)]
    return " to ".join(f"{count / n:.0%}" if n else "NA" for count, n in sizes)


def _metric_table(look: Look, *, details: bool) -> str:
    ranks = look.decision.metric if look.decision else ""
    rows = []
    for judge in look.judges:
        names = judge.metrics if details else [n for n in (ranks, "beta") if n in judge.metrics]
        for name in names:
            change = judge.metrics[name]
            if change.look is not None or change.baseline is not None:
                rows.append([judge.judge, name, *_cells(change)])
    heads = ["judge", "metric", "baseline", "look", "difference", "on the same"]
    return draw_table(heads, rows) if rows else ""


def standing_rows(decision: DecisionFacts) -> list[tuple[str, ...]]:
    """Return the value of each judge on an occasion, and what it rests on; see STANDING_HEADS."""
    return [
        (
            row.judge,
            estimate(row.estimate),
            basis(row.estimate),
            share(row.usable_replies, row.n_planned),
            share(row.answered_fraction, decision.n_rated),
            rank_set(row.ranks),
        )
        for row in decision.judges
    ]


def _report_tables(look: Look, baseline: Baseline) -> Iterator[str]:
    """Draw what replies cost, and what else was reported of each judge, before and now."""
    costs, others = [], []
    for judge in look.judges:
        before, now = baseline.providers.get(judge.judge) or Provider(), judge.provider
        paid = "NA" if now.cost_usd is None else f"${now.cost_usd:.4f}"
        ranks = [_ranks(decision, judge.judge) for decision in (baseline.decision, look.decision)]
        costs.append([judge.judge, paid, *map(_changed, _costs(before), _costs(now))])
        versions = map(_changed, _versions(before), _versions(now))
        others.append([judge.judge, _changed(*ranks), *versions])
    yield draw_table(["judge", "cost now", "$/1,000", "tokens", "latency"], costs)
    yield draw_table(["judge", "ranks", "model version", "fingerprint"], others)


def _changed(before: str, now: str) -> str:
    return now if before == now else f"{before} to {now}"


def _ranks(decision: DecisionFacts | None, judge: str) -> str:
    row = decision.standing(judge) if decision else None
    return "NA" if row is None or row.ranks is None else rank_set(row.ranks)


def _costs(provider: Provider) -> Iterator[str]:
    """Write cost per 1,000 answers, and tokens and seconds of a reply."""
    for figure, form in ((COST, "{:.2f}"), (TOKENS, "{:.1f}"), (LATENCY, "{:.2f} s")):
        value = figure.of(provider)
        yield "NA" if value is None else form.format(value)


def _versions(provider: Provider) -> tuple[str, ...]:
    """Write model versions and fingerprints."""
    return tuple(", ".join(names) or "NA" for names in (provider.models, provider.fingerprints))


def _cells(change: MetricChange) -> Iterator[str]:
    yield number(change.baseline)
    yield number(change.look)
    yield with_bounds(change.difference, change.low, change.high)
    replies = "" if change.n_replies is None else f", {replies_each(change.n_replies)}"
    yield f"{counted([change.n_items])}{replies}"


def decision_sentence(look: Look, baseline: Baseline) -> str:
    """Say the decision on the look's replies, if any, and whether it is that of the baseline."""
    now, before = look.decision, baseline.decision
    if now is None:
        return ""
    if unwatched(look, baseline):
        return f"Decision on these replies, among the judges that are watched: {decided(now)}."
    same = before is not None and (before.verdict, before.judge) == (now.verdict, now.judge)
    if same:
        return f"Decision on these replies: {decided(now)}, as at the baseline."
    at_baseline = f"; at the baseline: {decided(before)}" if before else ""
    return f"Decision on these replies: {decided(now)}{at_baseline}."


def in_use_sentence(look: Look) -> str:
    """Say what is shown of the judge in use; nothing unless it fails."""
    test = look.in_use
    if test is None or not test.fails:
        return ""
    no_alarm = "" if is_changed(test, look) else "; it is not shown to have changed: no alarm"
    return f"The judge in use, {test.judge}, {shown(test)}{no_alarm}."


def unwatched(look: Look, baseline: Baseline) -> list[str]:
    """Return the judges of a baseline that a look does not watch."""
    return [judge for judge in baseline.judges if look.judge(judge) is None]


def decided(decision: DecisionFacts) -> str:
    """Return the verdict of a decision, and its judge."""
    verdict = decision.verdict.replace("_", " ")
    return f"{verdict} ({decision.judge})" if decision.judge else verdict
