"""The history of a run as a page: control charts, and the decision of each look."""

from __future__ import annotations

from math import inf, log, log10
from typing import TYPE_CHECKING

from harness.report.charts import Region, Series, Titles, line_chart
from harness.report.formatting import number
from harness.report.html.page import render
from harness.revalidation.history_text import (
    baseline_lines,
    decided,
    decision_sentence,
    model_changes,
    sequences,
)
from harness.revalidation.verdict_sentences import lead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.report.charts import Chart
    from harness.revalidation.changed_rows import ChangedRow
    from harness.revalidation.history import (
        HistoryReading,
        MetricChange,
        MetricSequence,
        StreamResult,
    )

SECTIONS = (
    ("decision", "Verdicts"),
    ("changed", "Changed answers"),
    ("charts", "Control charts"),
    ("looks", "Looks"),
)
N_SHOWN = 10  # changed items, before they are filtered
N_DESCRIBED = 50  # looks whose values are in a chart's description, the newest
MAX_POWER = 6.0  # of ten, of the e-values that are drawn
MIN_P = 1e-300


def history_page(name: str, history: HistoryReading, changed: Sequence[ChangedRow] = ()) -> str:
    """Render the history of a run of some name, with the changed items of the last look."""
    latest = history.looks[-1] if history.looks else None
    matches = [b for b in history.baselines if latest and b.number == latest.baseline]
    baseline = matches[-1] if matches else None
    return render(
        "history.html.jinja",
        {
            "name": name,
            "baselines": list(baseline_lines(history)),
            "latest": latest,
            "sentences": lead(latest, baseline) if latest and baseline else [],
            "changed": changed,
            "n_shown": N_SHOWN,
            "decision": decision_sentence(latest.decision, baseline.decision)
            if latest and latest.decision and baseline
            else "",
            "looks": [
                (look, decided(look.decision) if look.decision else "no decision")
                for look in reversed(history.looks)
            ],
            "charts": {judge: list(_charts(history, judge)) for judge in _judges(history)},
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


def _charts(history: HistoryReading, judge: str) -> Iterator[Chart]:
    """Draw flips and evidence of each elicitation of a judge, and the metrics that ranked."""
    elicitations = _judges(history)[judge]
    for elicitation in elicitations:
        results = dict(_results(history, judge, elicitation))
        yield _flip_chart(history, judge, elicitation, results)
        yield _evidence_chart(history, judge, elicitation, results)
    by_metric: Mapping[str, Mapping[int, MetricSequence | MetricChange]] = sequences(history, judge)
    for metric, changes in by_metric.items():
        yield _metric_chart(history, judge, metric, changes, "all looks together")
    for metric, alone in _paired_changes(history, judge).items():
        yield _metric_chart(history, judge, metric, alone, "each look alone")


def _results(
    history: HistoryReading, judge: str, elicitation: str
) -> Iterator[tuple[int, StreamResult]]:
    for look in history.looks:
        result = look.result(judge, elicitation)
        if result is not None:
            yield look.number, result


def _flip_chart(
    history: HistoryReading, judge: str, elicitation: str, results: Mapping[int, StreamResult]
) -> Chart:
    """Draw flip rate and own noise of a stream."""
    flips = {look: r.flip_rate.value for look, r in results.items()}
    titles = _titles(
        ("flips", judge, elicitation),
        f"{elicitation}: flips and own noise",
        f"Share of replies of {judge} that differ from the baseline's, by look, beside its own "
        f"noise: {_described(flips)}.",
        "share",
    )
    lines = [
        _line("flip rate", flips, "j0"),
        _line("own noise", {look: r.retest_rate.value for look, r in results.items()}, "j1"),
    ]
    return _control_chart(history, judge, titles, lines, reach=(0.0, 1.0), within=(0.0, 1.0))


def _evidence_chart(
    history: HistoryReading, judge: str, elicitation: str, results: Mapping[int, StreamResult]
) -> Chart:
    """Draw e-value and p-value of a stream as powers of ten, and what calls it changed."""
    e_values = {look: r.evidence.log_e_sum / log(10) for look, r in results.items()}
    p_values = {look: -log10(max(r.evidence.p_value, MIN_P)) for look, r in results.items()}
    titles = _titles(
        ("evidence", judge, elicitation),
        f"{elicitation}: evidence of a change",
        f"Powers of ten of the e-value and of 1 / p, over all looks of {judge} since the baseline: "
        f"1 / p is {_described(p_values)}.",
        f"power of ten, at most {MAX_POWER:.0f}",
    )
    lines = [
        _line("1 / p, both tests", _capped(p_values), "j0"),
        _line("e-value", _capped(e_values), "j1"),
        _line("changed from here on", _thresholds(history, judge), "j2"),
    ]
    reach = (0.0, 2.0)
    return _control_chart(history, judge, titles, lines, reach=reach, within=(-2.0, MAX_POWER))


def _thresholds(history: HistoryReading, judge: str) -> dict[int, float]:
    """Return the power of 1 / p at which an elicitation of a judge changed, by look."""
    powers = {}
    for baseline in history.baselines:
        n_elicitations = sum(stream.judge == judge for stream in baseline.streams)
        share = baseline.alpha / len(baseline.judges) / max(n_elicitations, 1)
        powers[baseline.number] = -log10(share)
    return {look.number: powers[look.baseline] for look in history.looks}


def _capped(powers: Mapping[int, float]) -> dict[int, float]:
    return {look: min(power, MAX_POWER) for look, power in powers.items()}


def _paired_changes(history: HistoryReading, judge: str) -> dict[str, dict[int, MetricChange]]:
    """Return the changes of metrics that ranked and are no means over items, by look."""
    by_metric: dict[str, dict[int, MetricChange]] = {}
    for look in history.looks:
        result = look.judge(judge)
        if result is not None and look.decision is not None and result.sequence is None:
            metric = look.decision.metric
            if metric in result.metrics:
                by_metric.setdefault(metric, {})[look.number] = result.metrics[metric]
    return by_metric


def _metric_chart(
    history: HistoryReading,
    judge: str,
    metric: str,
    changes: Mapping[int, MetricSequence | MetricChange],
    coverage: str,
) -> Chart:
    """Draw how far a metric lies from its baseline at each look, with its interval."""
    differences = {look: change.difference for look, change in changes.items()}
    titles = _titles(
        ("metric", judge, metric),
        f"{metric}: look less baseline",
        f"Paired differences of {judge} on the same items, with intervals for {coverage}: "
        f"{_described(differences)}.",
        "difference",
    )
    lines = [
        _line("difference", differences, "j0"),
        _line(f"upper end, {coverage}", {look: c.high for look, c in changes.items()}, "j1"),
        _line(f"lower end, {coverage}", {look: c.low for look, c in changes.items()}, "j1"),
    ]
    return _control_chart(history, judge, titles, lines, reach=(0.0,), within=(-inf, inf))


def _control_chart(
    history: HistoryReading,
    judge: str,
    titles: Titles,
    lines: list[Series],
    *,
    reach: tuple[float, ...],
    within: tuple[float, float],
) -> Chart:
    """Draw lines over the looks, and where the judge's model changed."""
    regions: list[Region] = [
        Region((look - 0.3, look + 0.3), "j3", f"another model version or fingerprint: look {look}")
        for look in sorted(model_changes(history, judge))
    ]
    key = [Series("another model version", (), "j3")] if regions else []
    return line_chart(
        titles, [*lines, *key], regions=regions, reach=reach, within=within, whole=True
    )


def _line(name: str, values: Mapping[int, float | None], style: str) -> Series:
    return Series(name, tuple((float(look), value) for look, value in values.items()), style)


def _described(values: Mapping[int, float | None]) -> str:
    newest = list(values.items())[-N_DESCRIBED:]
    return ", ".join(f"look {look} {number(value)}" for look, value in newest) or "no looks yet"


def _titles(names: Sequence[str], title: str, description: str, y: str) -> Titles:
    plain = ["".join(c if c.isascii() and c.isalnum() else "-" for c in name) for name in names]
    return Titles("-".join(plain), title, description, x="look", y=y)
