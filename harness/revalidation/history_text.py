"""The history of a run as control charts for a terminal, one per judge and elicitation."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from harness.report.formatting import counted, number, p_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.revalidation.history import (
        Baseline,
        HistoryReading,
        JudgeResult,
        Look,
        MetricSequence,
        StreamResult,
    )

BAR = 20  # characters for flip rates from 0 to 100 %
MAX_LOG = 20.0  # of an e-value that is written in full
STRIP = 41  # characters for changes of a metric, zero in the middle
HEADS = ("look", "date", "verdict", "flips", "rate", "e-value", "p", "model")
SEQUENCE_HEADS = ("look", "now", "change", "interval", "")


def history_text(history: HistoryReading) -> str:
    """Render every look of a run.

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


def replies_per_item(n_replies: int) -> str:
    """Return a number of replies per item with its noun."""
    return f"{'1 reply' if n_replies == 1 else f'{n_replies} replies'} per item"


def baseline_lines(history: HistoryReading) -> Iterator[str]:
    """Yield a line for each baseline."""
    for baseline in history.baselines:
        origin = f"from look {baseline.accepted} on" if baseline.accepted else "the run"
        yield (
            f"baseline {baseline.number} of {baseline.at[:10]}: {origin}, "
            f"{counted([len(baseline.items)])}, "
            f"{replies_per_item(baseline.n_replies)}, false alarms at most {baseline.alpha:.0%}"
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
    for look in history.looks:
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
    values = {look.number: look.judge(judge) for look in history.looks}
    for metric, changes in sequences(history, judge).items():
        ends = [abs(end) for s in changes.values() for end in (s.low, s.high) if end is not None]
        rows: list[tuple[str, ...]] = [SEQUENCE_HEADS]
        for look, sequence in changes.items():
            result = values[look]
            change = result.metrics.get(metric) if result else None
            rows.append(
                (
                    str(look),
                    number(change.look if change else None),
                    number(sequence.difference),
                    _bounds(sequence),
                    _strip(sequence, max(ends, default=1.0)),
                )
            )
        title = f"{judge}, {metric}: look less baseline, intervals for all looks together"
        yield [title, *_aligned(rows)]


def _bounds(sequence: MetricSequence) -> str:
    if sequence.low is None or sequence.high is None:
        return ""
    return f"[{number(sequence.low)}, {number(sequence.high)}]"


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


def baseline_facts(baseline: Baseline) -> dict[str, object]:
    """Return a baseline without its replies, for JSON."""
    return {
        "number": baseline.number,
        "at": baseline.at,
        "accepted": baseline.accepted,
        "n_items": len(baseline.items),
        "n_replies": baseline.n_replies,
        "n_occasions": baseline.n_occasions,
        "alpha": baseline.alpha,
    }
