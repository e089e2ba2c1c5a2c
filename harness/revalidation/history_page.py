"""Render a run's history as a page, with verdicts, changed answers and charts over time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import inf, log, log10
from typing import TYPE_CHECKING, Literal

from harness.report.charts import Gap, Overlay, Region, Series, Titles, line_chart
from harness.report.date_axis import days, long_waits, steps_around
from harness.report.formatting import number
from harness.report.html.rendering import render
from harness.revalidation.history_text import STANDING_HEADS, baseline_lines, standing_rows
from harness.revalidation.records import (
    FLIPS,
    NO_ANSWER,
    REPORTED,
    UNITS,
    Figure,
    model_changes,
    reported,
)
from harness.revalidation.sentences import decided, decision_sentences, lead
from harness.stats.drift.changed_judges import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.report.charts import Chart
    from harness.revalidation.changed_rows import ChangedRow
    from harness.revalidation.history import HistoryReading
    from harness.revalidation.records import Baseline, JudgeLook, Look
    from harness.tasks.item import Elicitation


SECTIONS = (
    ("decision", "Verdicts"),
    ("changed", "Changed answers"),
    ("charts", "Charts"),
    ("looks", "Rounds"),
)
N_SHOWN = 10  # changed items shown before filtering
N_DESCRIBED = 50  # newest rounds with values in a chart's description
MAX_POWER = 6.0  # largest drawn power of ten of e-values
MIN_P = 1e-300
ENDS = ("j0", "j1", "j1")  # a value, and the ends of its interval


def history_page(
    name: str,
    history: HistoryReading,
    changed: Sequence[ChangedRow] = (),
    *,
    n_left_out: int = 0,
) -> str:
    """Render a run's history as a page, including the last round's changed items.

    ``n_left_out`` is the number of earlier rounds that it doesn't include.
    """
    baselines = {baseline.number: baseline for baseline in history.baselines}
    latest = history.looks[-1] if history.looks else None
    baseline = baselines[latest.baseline] if latest else None
    decision = latest.decision if latest else None
    return render(
        "history.html.jinja",
        {
            "name": name,
            "baselines": list(baseline_lines(history)),
            "latest": latest,
            "sentences": lead(latest, baseline) if latest and baseline else [],
            "changed": changed,
            "n_shown": N_SHOWN,
            "n_left_out": n_left_out,
            "decision": " ".join(
                decision_sentences(latest, baseline) if latest and baseline else ()
            ),
            "standing_heads": STANDING_HEADS,
            "standing": standing_rows(decision) if decision else [],
            "looks": [
                (look, decided(look.decision) if look.decision else "no decision")
                for look in reversed(history.looks)
            ],
            "charts": {
                judge: list(JudgeCharts.of(history, judge).charts())
                for judge in dict.fromkeys(judge for b in history.baselines for judge in b.judges)
            },
        },
        block={"grid": None, "items": None},
        title=f"Rounds of {name}",
        sections=[section for section in SECTIONS if changed or section[0] != "changed"],
    )


@dataclass(frozen=True, slots=True)
class JudgeCharts:
    """Charts for one judge, with the rounds' dates on the x axis.

    Attributes
    ----------
    baselines : dict of int to Baseline
        Baselines by number.
    looks : list of tuple of (Look, JudgeLook)
        Rounds that watched the judge.
    x : dict of int to float
        Dates of all rounds, in days since 1970.
    gaps : tuple of Gap
        Periods in which the judge was not run.
    """

    judge: str
    baselines: dict[int, Baseline]
    looks: list[tuple[Look, JudgeLook]]
    x: dict[int, float]
    gaps: tuple[Gap, ...]

    @classmethod
    def of(cls, history: HistoryReading, judge: str) -> JudgeCharts:
        """Collect a judge's results in each round, and the periods without a run."""
        looks = [(look, result) for look in history.looks if (result := look.judge(judge))]
        x = {look.number: days(look.at) for look in history.looks}
        waits = (Gap(wait, "no round") for wait in long_waits(list(x.values())))
        baselines = {baseline.number: baseline for baseline in history.baselines}
        return cls(judge, baselines, looks, x, (*_gaps(looks, x), *waits))

    def charts(self) -> Iterator[Chart]:
        """Draw a judge's charts: replies, flips and evidence, then metrics, cost and latency."""
        streams = [s for b in self.baselines.values() for s in b.streams if s.judge == self.judge]
        for elicitation in dict.fromkeys(stream.elicitation for stream in streams):
            shares = {name: self._figures(name, elicitation) for name in NO_ANSWER}
            shares["unreadable"] = shares.pop("invalid")
            n = max((f.n for figures in shares.values() for f in figures.values()), default=0)
            yield self._chart(
                f"outcomes {elicitation}",
                f"{elicitation}: replies without an answer",
                f"share of {n} replies" if n else "share of replies",
                {name: _looks(figures) for name, figures in shares.items()},
                reach=(0.0, 0.1),
            )
            flips = self._figures(FLIPS, elicitation)
            yield self._chart(
                f"flips {elicitation}",
                f"{elicitation}: replies that differ from the baseline's",
                "share of replies",
                {"of this round": _looks(flips), "own noise": _baselines(flips)},
                reach=(0.0, 0.5),
            )
            yield self._evidence_chart(elicitation)
        for metric in dict.fromkeys(
            look.decision.metric for look, _ in self.looks if look.decision
        ):
            figures = self._figures(metric)
            yield self._chart(
                f"agreement {metric}",
                f"{metric} on the items that both answered, at equal numbers of replies",
                metric,
                {"round": _looks(figures), "baseline": _baselines(figures)},
                within=(-inf, inf),
            )
            sequences = {
                look.number: judge.sequence
                for look, judge in self.looks
                if judge.sequence and judge.sequence.name == metric
            }
            covered = "all rounds together" if sequences else "each round by itself"
            changes = sequences or figures
            lines = {
                "difference": {n: f.difference for n, f in changes.items()},
                f"upper end, {covered}": {n: f.high for n, f in changes.items()},
                f"lower end, {covered}": {n: f.low for n, f in changes.items()},
            }
            title = f"{metric}: round minus baseline"
            yield self._chart(
                f"metric {metric}",
                title,
                "difference",
                lines,
                reach=(0.0,),
                within=(-inf, inf),
                styles=ENDS,
            )
        yield from self._in_use_chart()
        for i, name in enumerate(REPORTED):
            figures = {
                look.number: list(reported(judge, self.baselines[look.baseline]))[i]
                for look, judge in self.looks
            }
            if any(figure.look for figure in figures.values()):
                lines = {"round": _looks(figures), "baseline": _baselines(figures)}
                unit = UNITS[name].text
                yield self._chart(name, name, unit, lines, reach=(0.0,), within=(0.0, inf))

    def _figures(self, name: str, elicitation: Elicitation | Literal[""] = "") -> dict[int, Figure]:
        """Return a figure in each round, by round number."""
        found = {look.number: judge.figure(name, elicitation) for look, judge in self.looks}
        return {n: figure for n, figure in found.items() if figure is not None}

    def _evidence_chart(self, elicitation: Elicitation) -> Chart:
        """Draw a stream's e-value and p-value on a log10 scale, with the threshold for a change."""
        evidence = {
            look.number: row.evidence
            for look, _ in self.looks
            for row in look.evidence
            if (row.judge, row.elicitation) == (self.judge, elicitation)
        }
        lines: dict[str, dict[int, float | None]] = {
            "1 / p, from both tests": {n: _power(row.p_value) for n, row in evidence.items()},
            "e-value": {n: min(row.log_e_sum / log(10), MAX_POWER) for n, row in evidence.items()},
            "changed since this round": {
                look.number: self._threshold(self.baselines[look.baseline])
                for look, _ in self.looks
            },
        }
        title = f"{elicitation}: evidence of a change"
        return self._power_chart(f"evidence {elicitation}", title, lines)

    def _in_use_chart(self) -> Iterator[Chart]:
        """Draw the tests of the judge in use on a log10 scale, with the threshold."""
        tests = {look.number: look.in_use for look, _ in self.looks}
        p_values = {n: t.p_values for n, t in tests.items() if t and t.judge == self.judge}
        if p_values:
            lines: dict[str, dict[int, float | None]] = {
                "1 / p, against a constant answer": {
                    n: _power(p) for n, (p, _) in p_values.items()
                },
                "1 / p, against a human rater": {n: _power(p) for n, (_, p) in p_values.items()},
                "worse since this round": dict.fromkeys(p_values, _power(ALPHA)),
            }
            title = "the judge in use: evidence that it is worse"
            yield self._power_chart("in use", title, lines)

    def _power_chart(
        self, name: str, title: str, lines: Mapping[str, Mapping[int, float | None]]
    ) -> Chart:
        """Draw a chart on a log10 scale."""
        y, within = f"power of ten, at most {MAX_POWER:.0f}", (-2.0, MAX_POWER)
        return self._chart(name, title, y, lines, reach=(0.0, 2.0), within=within)

    def _threshold(self, baseline: Baseline) -> float:
        """Return the value of log10(1 / p) above which an elicitation counts as changed."""
        n_elicitations = sum(stream.judge == self.judge for stream in baseline.streams)
        return -log10(baseline.alpha / len(baseline.judges) / max(n_elicitations, 1))

    def _chart(
        self,
        name: str,
        title: str,
        y: str,
        lines: Mapping[str, Mapping[int, float | None]],
        *,
        reach: tuple[float, ...] = (),
        within: tuple[float, float] = (0.0, 1.0),
        styles: Sequence[str] = ("j0", "j1", "j2"),
    ) -> Chart:
        """Draw values by date, with verdicts above the lines and model changes below them."""
        named = "".join(c if c.isascii() and c.isalnum() else "-" for c in f"{name} {self.judge}")
        newest = list(next(iter(lines.values())).items())[-N_DESCRIBED:]
        values = ", ".join(f"round {n} {number(value)}" for n, value in newest) or "no rounds yet"
        alt = f"{self.judge}, {title} ({y}): {values}."
        changes = sorted(model_changes([look for look, _ in self.looks], self.judge))
        rug = [(self.x[n], "new model version or fingerprint", "j3") for n in changes]
        series = [
            Series(line, tuple(self._points(values)), style)
            for (line, values), style in zip(lines.items(), styles, strict=False)
        ]
        return line_chart(
            Titles(named, title, alt, "date", y),
            [*series, *([Series("new model version", (), "j3")] if rug else [])],
            overlay=Overlay(rug=rug, regions=list(self._verdicts())),
            gaps=self.gaps,
            reach=reach,
            within=within,
            is_dated=True,
        )

    def _points(self, values: Mapping[int, float | None]) -> list[tuple[float, float | None]]:
        """Return values by date. Values within gaps are None, to break the lines."""
        points: list[tuple[float, float | None]] = [(sum(gap.x) / 2, None) for gap in self.gaps]
        for n, value in values.items():
            is_inside = any(low < self.x[n] < high for low, high in (gap.x for gap in self.gaps))
            points.append((self.x[n], None if is_inside else value))
        return sorted(points, key=lambda point: point[0])

    def _verdicts(self) -> Iterator[Region]:
        spans = steps_around([self.x[look.number] for look, _ in self.looks])
        for (look, judge), span in zip(self.looks, spans, strict=True):
            kind = judge.verdict.replace(" ", "-")
            yield Region(span, kind, f"round {look.number}: {judge.verdict}")


def _power(p: float) -> float:
    """Return log10(1 / p), limited to the range of the chart."""
    return min(-log10(max(p, MIN_P)), MAX_POWER)


def _looks(figures: Mapping[int, Figure]) -> dict[int, float | None]:
    return {n: figure.look for n, figure in figures.items()}


def _baselines(figures: Mapping[int, Figure]) -> dict[int, float | None]:
    return {n: figure.baseline for n, figure in figures.items()}


def _gaps(looks: Sequence[tuple[Look, JudgeLook]], x: Mapping[int, float]) -> Iterator[Gap]:
    """Yield the rounds in which a judge was not run, and the reason for each."""
    spans = steps_around([x[look.number] for look, _ in looks])
    reasons = [
        ""
        if any(stream.judge == judge.judge for stream in look.streams)
        else "; ".join(look.causes) or judge.reason or "not asked"
        for look, judge in looks
    ]
    for reason, rows in groupby(zip(reasons, spans, strict=True), key=lambda row: row[0]):
        if reason:
            covered = [span for _, span in rows]
            yield Gap((covered[0][0], covered[-1][1]), reason)
