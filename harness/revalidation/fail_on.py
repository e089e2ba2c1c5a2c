"""Conditions on which a re-validation fails: verdicts, outcome rates, metrics, cost, latency."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.estimates import check_metric
from harness.errors import RunError
from harness.report.formatting import p_value, percent
from harness.revalidation.causes import setup_of
from harness.revalidation.history import COST, LATENCY, Provider
from harness.revalidation.watched_judges import judges_in_use

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from harness.revalidation.history import Baseline, InUse, Look, StreamResult
    from harness.runs import RunFolder

VERDICTS = ("changed", "worse", "underpowered", "not comparable")
OUTCOME_RATE = "outcome-rate"
DECISION = "decision"  # the judge in use is shown to fail what it was chosen for
RELATIVE = {figure.name: figure for figure in (COST, LATENCY)}  # to the baseline's
LIMIT = re.compile(r"(?P<name>.*\S)\s*(?P<sign>[<>])\s*(?P<limit>[-+.0-9e]+)(?P<times>x?)")
SEPARATOR = re.compile(r",(?![^()]*\))")  # no comma within the name of a metric


@dataclass(frozen=True, slots=True)
class Condition:
    """A verdict, or a number and its limit with ``>`` or ``<``.

    The number is ``outcome-rate``, a metric, or ``cost`` or ``latency`` as a multiple of the
    baseline's.
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
    ValueError
        If a part is neither a verdict nor a number with a limit.
    """
    return tuple(_condition(part.strip()) for part in SEPARATOR.split(text))


def _condition(text: str) -> Condition:
    name = text.replace("_", " ").replace("-", " ")
    if name in {*VERDICTS, DECISION}:
        return Condition(name)
    match = LIMIT.fullmatch(text)
    if match is not None and bool(match["times"]) == (match["name"] in RELATIVE):
        try:
            return Condition(match["name"], match["sign"], float(match["limit"]))
        except ValueError:
            pass
    raise ValueError(
        f"{text!r} is neither one of {', '.join((*VERDICTS, DECISION))} nor a limit such as "
        f"{OUTCOME_RATE}>0.05, 'mse(srs/srs)>0.1' or, beside the baseline, cost>1.5x or latency>3x"
    )


def check_conditions(
    conditions: tuple[Condition, ...], run: RunFolder, task: str | None, watched: Collection[str]
) -> None:
    """Refuse a limit on a metric, or a test of a judge in use, that no look at a run will have."""
    if any(condition.name == DECISION for condition in conditions):
        in_use = judges_in_use(run)
        if not in_use or in_use[0] not in watched:
            reason = f"{in_use[0]}, which is, is not watched" if in_use else "none is its best"
            raise RunError(f"{run.path}: --fail-on {DECISION} needs a judge in use; {reason}.")
    names = {c.name for c in conditions if c.sign} - {OUTCOME_RATE, "beta", *RELATIVE}
    if names:
        setup = setup_of(run, task)
        for name in sorted(names):
            check_metric(setup.task, run.manifest.config.choices, name)


def failures(conditions: tuple[Condition, ...], look: Look, baseline: Baseline | None) -> list[str]:
    """Return why a look fails, a line per judge and condition; empty if it does not.

    A judge that is worse is changed too, and fails both once. A number that is undefined fails its
    limit. Judges that were not asked have no numbers.
    """
    return list(dict.fromkeys(line for c in conditions for line in _failures(c, look, baseline)))


def _failures(condition: Condition, look: Look, baseline: Baseline | None) -> Iterator[str]:
    if condition.name == DECISION:
        yield from _decision_failures(look)
    elif not condition.sign:
        names = {condition.name, "worse"} if condition.name == "changed" else {condition.name}
        yield from (f"{j.judge} is {j.verdict}" for j in look.judges if j.verdict in names)
    elif condition.name == OUTCOME_RATE:
        yield from _outcome_failures(condition, look)
    elif condition.name in RELATIVE:
        yield from _relative_failures(condition, look, baseline)
    else:
        yield from _metric_failures(condition, look)


def _decision_failures(look: Look) -> Iterator[str]:
    test = look.in_use
    if test is None or test.reason:
        reason = test.reason if test else "the judge in use has not replied"
        yield f"{DECISION} is NA ({reason})"
    elif is_changed(test, look) and (test.fails or look.answers_nothing(test.judge)):
        what = shown(test) if test.fails else "gives no answer any more"
        yield f"{test.judge}, the judge in use, {what} ({DECISION})"


def is_changed(test: InUse, look: Look) -> bool:
    """Whether the judge in use is shown to have changed."""
    judge = look.judge(test.judge)
    return judge is not None and judge.verdict in {"changed", "worse"}


def shown(test: InUse) -> str:
    """Say what is shown of a judge in use that fails."""
    rival, p = f'always answering "{test.constant}"', test.p_constant
    if test.p_human < p:
        margin = percent(test.margin)
        rival, p = f"one human by more than {margin} of the metric's range", test.p_human
    return f"has been shown to be worse than {rival} ({_p(p)})"


def _p(value: float) -> str:
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _outcome_failures(condition: Condition, look: Look) -> Iterator[str]:
    for result in look.results:
        rate = outcome_rate(result)
        if rate is not None and condition.holds(rate):
            n = sum(result.outcomes.values())
            yield (
                f"{result.judge}, {result.elicitation}: {rate:.3g} of {n} replies are no answers "
                f"({condition})"
            )


def _relative_failures(
    condition: Condition, look: Look, baseline: Baseline | None
) -> Iterator[str]:
    figure = RELATIVE[condition.name]
    asked = {r.judge for r in look.results if sum(r.outcomes.values())}
    for judge in look.judges:
        if judge.judge not in asked:
            continue
        provider = baseline.providers.get(judge.judge) if baseline else None
        before, now = figure.of(provider or Provider()), figure.of(judge.provider)
        if before is None or now is None:
            where = "of the baseline" if before is None else "of this look"
            yield f"{judge.judge}: {condition.name} is NA (that {where} is unknown; {condition})"
        elif condition.holds(now, before):
            yield (
                f"{judge.judge}: {figure.unit}: {now:.3g}, {before:.3g} at the baseline "
                f"({condition})"
            )


def outcome_rate(result: StreamResult) -> float | None:
    """Return the share of a look's replies that are no answers; None without replies."""
    n = sum(result.outcomes.values())
    return 1.0 - result.outcomes["answered"] / n if n else None


def _metric_failures(condition: Condition, look: Look) -> Iterator[str]:
    for judge in look.judges:
        change = judge.metrics.get(condition.name)
        if change is None:
            continue
        if change.look is None:
            yield f"{judge.judge}: {condition.name} is NA ({change.reason}; {condition})"
        elif condition.holds(change.look):
            yield (
                f"{judge.judge}: {condition.name} is {change.look:.4g} on {change.n_items} items "
                f"({condition})"
            )
