"""The history of a run as a page: verdicts, changed answers, and charts over the looks' dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import inf, log, log10
from statistics import median
from typing import TYPE_CHECKING

from harness.report.charts import Gap, Region, Series, Titles, line_chart
from harness.report.date_axis import days
from harness.report.formatting import number
from harness.report.html.page import render
from harness.revalidation.history import COST, LATENCY, TOKENS, Provider
from harness.revalidation.history_text import (
    STANDING_HEADS,
    baseline_lines,
    decided,
    decision_sentence,
    in_use_sentence,
    model_changes,
    sequences,
    standing_rows,
)
from harness.revalidation.verdict_sentences import lead

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.report.charts import Chart
    from harness.revalidation.changed_rows import ChangedRow
    from harness.revalidation.history import (
        Baseline,
        HistoryReading,
        JudgeResult,
        Look,
        MetricChange,
        MetricSequence,
        StreamResult,
    )

SECTIONS = (
    ("decision", "Verdicts"),
    ("changed", "Changed answers"),
    ("charts", "Charts"),
    ("looks", "Looks"),
)
N_SHOWN = 10  # changed items, before they are filtered
N_DESCRIBED = 50  # looks whose values are in a chart's description, the newest
MAX_POWER = 6.0  # of ten, of the e-values that are drawn
MIN_P = 1e-300
LONG_WAIT = 3.0  # times the usual time between looks, from which on lines are broken
OUTCOMES = {"invalid": "unreadable", "refused": "refused", "abstained": "abstained"}
Values = Mapping[int, float | None]  # by number of a look


def history_page(
    name: str,
    history: HistoryReading,
    changed: Sequence[ChangedRow] = (),
    *,
    n_left_out: int = 0,
) -> str:
    """Render the history of a run of some name, with the changed items of the last look.

    ``n_left_out`` is the number of earlier looks that it lacks.
    """
    latest = history.looks[-1] if history.looks else None
    baselines = {baseline.number: baseline for baseline in history.baselines}
    baseline = baselines.get(latest.baseline) if latest else None
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
            "decision": f"{decision_sentence(latest, baseline)} {in_use_sentence(latest)}".strip()
            if latest and baseline
            else "",
            "standing_heads": STANDING_HEADS,
            "standing": standing_rows(latest.decision) if latest and latest.decision else [],
            "looks": [
                (look, decided(look.decision) if look.decision else "no decision")
                for look in reversed(history.looks)
            ],
            "charts": {
                judge: list(JudgeCharts.of(history, judge).charts(elicitations))
                for judge, elicitations in _judges(history).items()
            },
        },
        block={"grid": None, "items": None},
        title=f"Looks at {name}",
        sections=[section for section in SECTIONS if changed or section[0] != "changed"],
    )


def _judges(history: HistoryReading) -> dict[str, list[str]]:
    """Return the elicitations of each judge."""
    judges: dict[str, list[str]] = {}
    for baseline in history.baselines:
        for stream in baseline.streams:
            elicitations = judges.setdefault(stream.judge, [])
            if stream.elicitation not in elicitations:
                elicitations.append(stream.elicitation)
    return judges


@dataclass(frozen=True, slots=True)
class JudgeCharts:
    """Charts of one judge over the dates of the looks.

    Attributes
    ----------
    results : dict of int to JudgeResult
        By number of the look.
    x : dict of int to float
        Dates of the looks, in days since 1970.
    gaps : tuple of Gap
        Where the judge was not asked.
    """

    judge: str
    history: HistoryReading
    results: dict[int, JudgeResult]
    x: dict[int, float]
    gaps: tuple[Gap, ...]

    @classmethod
    def of(cls, history: HistoryReading, judge: str) -> JudgeCharts:
        """Collect the results of a judge, and where it was not asked."""
        looks = history.looks
        results = {look.number: result for look in looks if (result := look.judge(judge))}
        x = {look.number: days(look.at) for look in looks}
        gaps = (*_gaps(judge, looks, results), *(Gap(wait, "no look") for wait in _waits(looks)))
        return cls(judge, history, results, x, gaps)

    def charts(self, elicitations: Sequence[str]) -> Iterator[Chart]:
        """Draw outcomes, flips and evidence of each elicitation, then metrics, cost and latency."""
        for elicitation in elicitations:
            results = {
                look.number: result
                for look in self.history.looks
                if (result := look.result(self.judge, elicitation)) is not None
            }
            yield self._outcome_chart(elicitation, results)
            yield self._flip_chart(elicitation, results)
            yield self._evidence_chart(elicitation, results)
        for metric in dict.fromkeys(
            look.decision.metric for look in self.history.looks if look.decision
        ):
            yield self._value_chart(metric)
        by_metric: Mapping[str, Mapping[int, MetricSequence | MetricChange]]
        by_metric = sequences(self.history, self.judge)
        for metric, changes in by_metric.items():
            yield self._metric_chart(metric, changes, "all looks together")
        for metric, alone in self._paired_changes().items():
            yield self._metric_chart(metric, alone, "each look alone")
        yield from self._provider_charts()

    def _outcome_chart(self, elicitation: str, results: Mapping[int, StreamResult]) -> Chart:
        """Draw the share of replies without an answer, by outcome."""
        rates = {
            outcome: {n: _rate(r.outcomes, outcome) for n, r in results.items()}
            for outcome in OUTCOMES
        }
        lines = {OUTCOMES[outcome]: values for outcome, values in rates.items()}
        total = [r.outcomes for r in results.values()]
        title = f"{elicitation}: replies without an answer"
        alt = f"Share of replies of {self.judge} that are no answers, of {_n_replies(total)}"
        titles = self._titles(f"outcomes {elicitation}", title, alt, "share")
        return self._chart(titles, lines, reach=(0.0, 0.1))

    def _flip_chart(self, elicitation: str, results: Mapping[int, StreamResult]) -> Chart:
        """Draw flip rate and own noise of a stream."""
        lines = {
            "flip rate": {n: r.flip_rate.value for n, r in results.items()},
            "own noise": {n: r.retest_rate.value for n, r in results.items()},
        }
        title = f"{elicitation}: flips and own noise"
        alt = (
            f"Share of replies of {self.judge} that differ from the baseline's, beside its own "
            "noise"
        )
        titles = self._titles(f"flips {elicitation}", title, alt, "share")
        return self._chart(titles, lines, reach=(0.0, 1.0))

    def _evidence_chart(self, elicitation: str, results: Mapping[int, StreamResult]) -> Chart:
        """Draw e-value and p-value of a stream as powers of ten, and what calls it changed."""
        e_values = {n: r.evidence.log_e_sum / log(10) for n, r in results.items()}
        p_values = {n: -log10(max(r.evidence.p_value, MIN_P)) for n, r in results.items()}
        lines: dict[str, Values] = {
            "1 / p, both tests": {n: min(power, MAX_POWER) for n, power in p_values.items()},
            "e-value": {n: min(power, MAX_POWER) for n, power in e_values.items()},
            "changed from here on": self._thresholds(),
        }
        title, y = f"{elicitation}: evidence of a change", f"power of ten, at most {MAX_POWER:.0f}"
        alt = f"Powers of ten of 1 / p and of the e-value, over all looks of {self.judge} since"
        titles = self._titles(f"evidence {elicitation}", title, f"{alt} the baseline", y)
        within = (-2.0, MAX_POWER)
        return self._chart(titles, lines, reach=(0.0, 2.0), within=within)

    def _thresholds(self) -> dict[int, float | None]:
        """Return the power of 1 / p at which an elicitation changed, by look."""

        def power(baseline: Baseline) -> float:
            n_elicitations = sum(stream.judge == self.judge for stream in baseline.streams)
            return -log10(baseline.alpha / len(baseline.judges) / max(n_elicitations, 1))

        powers = {baseline.number: power(baseline) for baseline in self.history.baselines}
        return {look.number: powers[look.baseline] for look in self.history.looks}

    def _value_chart(self, metric: str) -> Chart:
        """Draw a metric of agreement with the raters beside that of the baseline."""
        changes = {n: r.metrics[metric] for n, r in self.results.items() if metric in r.metrics}
        lines = {
            "look": {n: change.look for n, change in changes.items()},
            "baseline": {n: change.baseline for n, change in changes.items()},
        }
        title = f"{metric} on the items that both answered, at equal replies"
        alt = f"{metric} of {self.judge}"
        titles = self._titles(f"agreement {metric}", title, alt, metric)
        return self._chart(titles, lines, within=(-inf, inf))

    def _paired_changes(self) -> dict[str, dict[int, MetricChange]]:
        """Return the changes of metrics that ranked and are no means over items, by look."""
        by_metric: dict[str, dict[int, MetricChange]] = {}
        for look in self.history.looks:
            result = self.results.get(look.number)
            if result is not None and look.decision is not None and result.sequence is None:
                metric = look.decision.metric
                if metric in result.metrics:
                    by_metric.setdefault(metric, {})[look.number] = result.metrics[metric]
        return by_metric

    def _metric_chart(
        self, metric: str, changes: Mapping[int, MetricSequence | MetricChange], coverage: str
    ) -> Chart:
        """Draw how far a metric lies from its baseline at each look, with its interval."""
        lines = {
            "difference": {n: change.difference for n, change in changes.items()},
            f"upper end, {coverage}": {n: change.high for n, change in changes.items()},
            f"lower end, {coverage}": {n: change.low for n, change in changes.items()},
        }
        title = f"{metric}: look less baseline"
        alt = f"Paired differences of {self.judge} on the same items, with intervals for {coverage}"
        titles = self._titles(f"metric {metric}", title, alt, "difference")
        styles = ("j0", "j1", "j1")
        return self._chart(titles, lines, reach=(0.0,), within=(-inf, inf), styles=styles)

    def _provider_charts(self) -> Iterator[Chart]:
        """Draw cost, length and latency of replies beside the baseline's, where they are known."""
        providers = {
            b.number: b.providers.get(self.judge, Provider()) for b in self.history.baselines
        }
        for figure in (COST, TOKENS, LATENCY):
            looks: Values = {n: figure.of(r.provider) for n, r in self.results.items()}
            before: Values = {
                look.number: figure.of(providers[look.baseline]) for look in self.history.looks
            }
            if any(looks.values()):
                name, unit = figure.name, figure.unit
                titles = self._titles(name, name, f"{unit} of {self.judge}", unit)
                lines = {"look": looks, "baseline": before}
                yield self._chart(titles, lines, reach=(0.0,), within=(0.0, inf))

    def _titles(self, name: str, title: str, alt: str, y: str) -> Titles:
        named = "".join(c if c.isascii() and c.isalnum() else "-" for c in f"{name} {self.judge}")
        return Titles(named, title, alt, "date", y)

    def _chart(
        self,
        titles: Titles,
        lines: Mapping[str, Values],
        *,
        reach: tuple[float, ...] = (),
        within: tuple[float, float] = (0.0, 1.0),
        styles: Sequence[str] = ("j0", "j1", "j2"),
    ) -> Chart:
        """Draw values over dates, with verdicts above and changes of the model below."""
        newest = list(next(iter(lines.values())).items())[-N_DESCRIBED:]
        described = ", ".join(f"look {n} {number(value)}" for n, value in newest)
        changes = sorted(model_changes(self.history, self.judge))
        rug = [(self.x[n], "another model version or fingerprint", "j3") for n in changes]
        key = [Series("another model version", (), "j3")] if rug else []
        return line_chart(
            replace(titles, alt=f"{titles.alt}: {described or 'no looks yet'}."),
            [
                *(
                    Series(line, tuple(self._points(values)), style)
                    for (line, values), style in zip(lines.items(), styles, strict=False)
                ),
                *key,
            ],
            rug=rug,
            regions=list(self._verdicts()),
            gaps=self.gaps,
            reach=reach,
            within=within,
            is_dated=True,
        )

    def _points(self, values: Values) -> list[tuple[float, float | None]]:
        """Return values by date; None within gaps, so that lines are broken there."""
        points: list[tuple[float, float | None]] = [(sum(gap.x) / 2, None) for gap in self.gaps]
        for n, value in values.items():
            is_inside = any(low < self.x[n] < high for low, high in (gap.x for gap in self.gaps))
            points.append((self.x[n], None if is_inside else value))
        return sorted(points, key=lambda point: point[0])

    def _verdicts(self) -> Iterator[Region]:
        spans = _spans([self.x[n] for n in self.results])
        for (n, result), span in zip(self.results.items(), spans, strict=True):
            yield Region(span, result.verdict.replace(" ", "-"), f"look {n}: {result.verdict}")


def _spans(xs: Sequence[float]) -> list[tuple[float, float]]:
    """Return a range around each point, halfway to its neighbours; a usual step wide at most."""
    usual = _usual_step(xs) or 1.0
    steps = [usual, *(min(after - before, usual) for before, after in pairwise(xs)), usual]
    halves = pairwise(step / 2 for step in steps)
    return [(x - left, x + right) for x, (left, right) in zip(xs, halves, strict=False)]


def _usual_step(xs: Sequence[float]) -> float:
    return median([after - before for before, after in pairwise(xs)] or [0.0])


def _gaps(judge: str, looks: Sequence[Look], results: Mapping[int, JudgeResult]) -> Iterator[Gap]:
    """Yield where a judge was not asked in looks that others may have been asked in, and why."""
    looks = [look for look in looks if look.number in results]
    spans = _spans([days(look.at) for look in looks])

    def reason(row: tuple[Look, tuple[float, float]]) -> str:
        look = row[0]
        if any(stream.judge == judge for stream in look.streams):
            return ""
        return "; ".join(look.causes) or results[look.number].reason or "not asked"

    for text, rows in groupby(zip(looks, spans, strict=True), key=reason):
        if text:
            covered = [span for _, span in rows]
            yield Gap((covered[0][0], covered[-1][1]), text)


def _waits(looks: Sequence[Look]) -> Iterator[tuple[float, float]]:
    """Yield the times without a look that are much longer than usual."""
    xs = [days(look.at) for look in looks]
    usual = _usual_step(xs)
    for before, after in pairwise(xs):
        if after - before > max(LONG_WAIT * usual, 1.0):
            yield before + usual / 2, after - usual / 2


def _rate(outcomes: Mapping[str, int], outcome: str) -> float | None:
    n = sum(outcomes.values())
    return outcomes[outcome] / n if n else None


def _n_replies(outcomes: Sequence[Mapping[str, int]]) -> str:
    n = max((sum(counts.values()) for counts in outcomes), default=0)
    return f"{n} replies each at most"
