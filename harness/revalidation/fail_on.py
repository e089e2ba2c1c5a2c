"""Conditions on which a re-validation fails: verdicts, outcome rates, metrics, cost, latency."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.choice_checks import check_metric
from harness.analysis.slice_names import SliceName, check_slice
from harness.errors import RunError
from harness.report.formatting import p_value, percent, reason_words
from harness.revalidation.records import ALARMS, ANSWERED, BETA, UNITS, reported
from harness.revalidation.watched_judges import judges_in_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.revalidation.asking import Sitting
    from harness.revalidation.records import Baseline, InUse, JudgeLook, Look

VERDICTS = ("changed", "worse", "underpowered", "not comparable")
NAMED = (*VERDICTS, "decision", "model")
OUTCOME_RATE = "outcome-rate"
DECISION = "decision"  # the judge in use is shown to fail what it was chosen for
MODEL = "model"  # the provider reports a model version or fingerprint that the baseline lacks
RELATIVE = ("cost", "latency")  # to the baseline's
LIMIT = re.compile(r"(?P<name>.*\S)\s*(?P<sign>[<>])\s*(?P<limit>[-+.0-9e]+)(?P<times>x?)")
SEPARATOR = re.compile(r",(?![^()]*\))")  # no comma within the name of a metric


@dataclass(frozen=True, slots=True)
class Condition:
    """A verdict, or a number and its limit with ``>`` or ``<``.

    The number is ``outcome-rate``, a metric, that of a slice, which may end in ``:lower`` or
    ``:upper``, or ``cost`` or ``latency`` as a multiple of the baseline's.
    """

    name: str
    sign: str = ""
    limit: float = 0.0

    def __str__(self) -> str:
        times = "x" if self.name in RELATIVE else ""
        return f"{self.name}{self.sign}{self.limit:g}{times}" if self.sign else self.name

    def holds(self, value: float, unit: float = 1.0) -> bool:
        """Whether a number is beyond the limit, which is a multiple of ``unit``."""
        limit = self.limit * unit
        return value > limit if self.sign == ">" else value < limit


def read_conditions(text: str) -> tuple[Condition, ...]:
    """Read ``--fail-on``.

    Raises
    ------
    RunError
        If a part is neither a verdict nor a number with a limit.
    """
    return tuple(_condition(part.strip()) for part in SEPARATOR.split(text))


def _condition(text: str) -> Condition:
    name = text.replace("_", " ").replace("-", " ")
    if name in NAMED:
        return Condition(name)
    match = LIMIT.fullmatch(text)
    if match is not None and bool(match["times"]) == (match["name"] in RELATIVE):
        try:
            number = SliceName.read(match["name"])
            return Condition(str(number or match["name"]), match["sign"], float(match["limit"]))
        except ValueError:
            pass
    raise RunError(
        f"--fail-on: {text!r} is neither one of {', '.join(NAMED)} nor a limit "
        f"such as {OUTCOME_RATE}>0.05, 'mse(srs/srs)>0.1', 'slice(FIELD=VALUE).agreement<0.6' or, "
        "beside the baseline, cost>1.5x or latency>3x."
    )


def check_conditions(conditions: tuple[Condition, ...], sitting: Sitting) -> None:
    """Refuse a limit on a metric, or a test of a judge in use, that no look at a run will have."""
    run = sitting.run
    if any(condition.name == DECISION for condition in conditions):
        in_use = judges_in_use(run)
        if not in_use or in_use[0] not in [spec.name for spec in sitting.watched]:
            reason = f"{in_use[0]} is in use and isn't watched" if in_use else "No judge of it is"
            raise RunError(f"{run.path}: --fail-on {DECISION} needs a judge in use. {reason}.")
    for number in slices_of(conditions):
        check_slice(number, sitting.setup.task)
    for name in sorted({c.name for c in conditions if c.sign} - {OUTCOME_RATE, BETA, *RELATIVE}):
        if SliceName.read(name) is None:
            check_metric(sitting.setup.task, run.manifest.config.choices, name)


def slices_of(conditions: Iterable[Condition]) -> tuple[SliceName, ...]:
    """Return the numbers by slice that conditions are about."""
    names = (SliceName.read(condition.name) for condition in conditions)
    return tuple(dict.fromkeys(name for name in names if name))


def failures(conditions: tuple[Condition, ...], look: Look, baseline: Baseline) -> list[str]:
    """Return why a look fails, a line per judge and condition; empty if it does not.

    A judge that is worse is changed too, and fails both once. A number that is undefined fails its
    limit. Judges that were not asked have no numbers.
    """
    lines: list[str] = []
    for condition in conditions:
        if condition.name == DECISION:
            lines += _decision_failures(look)
        elif condition.name == MODEL:
            lines += [text for j in look.judges if (text := model_change(j, baseline))]
        elif condition.sign:
            lines += [line for j in look.judges for line in _beyond(condition, j, baseline)]
        else:
            names = ALARMS if condition.name == "changed" else {condition.name}
            lines += [f"{j.judge} is {j.verdict}" for j in look.judges if j.verdict in names]
    return list(dict.fromkeys(lines))


def model_change(judge: JudgeLook, baseline: Baseline) -> str:
    """Say which model version or fingerprint of a judge's provider is new since the baseline."""
    before, now = baseline.providers.get(judge.judge), judge.provider
    if before is None:
        return ""
    if before.models and not set(now.models) <= set(before.models):
        old, new = ", ".join(before.models), ", ".join(now.models)
        return f"{judge.judge}: model version {old} before, {new} now"
    if before.fingerprints and not set(now.fingerprints) <= set(before.fingerprints):
        return f"{judge.judge}: the provider reports a different system fingerprint"
    return ""


def _decision_failures(look: Look) -> Iterator[str]:
    test = look.in_use
    if test is None or test.reason:
        reason = test.reason if test else "the judge in use has not replied"
        yield f"{DECISION} is NA ({reason})"
        return
    judge = look.judge(test.judge)
    if judge is not None and judge.verdict in ALARMS and (test.fails or judge.answers_nothing):
        what = shown(test) if test.fails else "no longer gives any answer"
        yield f"{test.judge}, the judge in use, {what} ({DECISION})"


def shown(test: InUse) -> str:
    """Say what is shown of a judge in use that fails."""
    p, p_human = test.p_values
    rival = f'always answering "{test.constant}"'
    if p_human < p:
        rival = f"one human by more than {percent(test.margin)} of the metric's range"
    text = p_value(min(p, p_human))
    return f"has been shown to be worse than {rival} (p {text if text[0] == '<' else f'= {text}'})"


def _beyond(condition: Condition, judge: JudgeLook, baseline: Baseline) -> Iterator[str]:
    """Yield why a number of a judge is beyond its limit, or undefined."""
    answered = [f for f in judge.figures if f.name == ANSWERED and f.n]
    if condition.name == OUTCOME_RATE:
        for figure in answered:
            rate = 1.0 - (figure.look or 0.0)
            if condition.holds(rate):
                yield (
                    f"{judge.judge}, {figure.elicitation}: {rate:.3g} of {figure.n} replies are "
                    f"not answers ({condition})"
                )
    elif condition.name in RELATIVE and answered:
        figure = next(f for f in reported(judge, baseline) if f.name == condition.name)
        if figure.baseline is None or figure.look is None:
            where = "of the baseline" if figure.baseline is None else "of this look"
            yield f"{judge.judge}: {condition.name} is NA (that {where} is unknown; {condition})"
        elif condition.holds(figure.look, figure.baseline):
            yield (
                f"{judge.judge}: {UNITS[figure.name].text}: {figure.look:.3g}, "
                f"{figure.baseline:.3g} at the baseline ({condition})"
            )
    elif (metric := judge.figure(condition.name)) is not None:
        if metric.look is None:
            why = reason_words(metric.reason)
            yield f"{judge.judge}: {condition.name} is NA ({why}; {condition})"
        elif condition.holds(metric.look):
            yield (
                f"{judge.judge}: {condition.name} is {metric.look:.4g} on {metric.n} items "
                f"({condition})"
            )
