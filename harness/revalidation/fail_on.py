"""Conditions under which a re-validation fails, on verdicts, rates, metrics, cost and latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.choice_checks import check_metric
from harness.analysis.conditions import DECISION, ComparedQuantity, Condition, read_conditions
from harness.analysis.slice_names import SliceName, check_slice
from harness.errors import RunError, use_one_of
from harness.report.formatting import p_value, percent, reason_words
from harness.revalidation.records import ALARMS, ANSWERED, BETA, UNITS, reported
from harness.revalidation.watched_judges import judges_in_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.revalidation.asking import Sitting
    from harness.revalidation.records import Baseline, InUse, JudgeLook, Look

VERDICTS = ("changed", "worse", "underpowered", "not comparable")
OUTCOME_RATE = "outcome-rate"
MODEL = "model"  # the provider reports a model version or fingerprint that the baseline lacks
NAMED = (*VERDICTS, DECISION, MODEL)  # DECISION: the judge in use is worse than its rivals
RELATIVE = ("cost", "latency")  # limits relative to the baseline
PLAIN = {OUTCOME_RATE, *RELATIVE}  # numbers that rounds report without an interval
OTHER_NUMBERS = {BETA, *PLAIN}  # besides metrics


def read_fail_on(text: str) -> tuple[Condition, ...]:
    """Read the conditions of ``--fail-on``.

    Raises
    ------
    RunError
        If a part is neither a verdict nor a number with a limit.
    """
    return tuple(_checked(condition) for condition in read_conditions(text))


def _checked(condition: Condition | str) -> Condition:
    if isinstance(condition, Condition):
        quantity = condition.quantity
        if condition.word in NAMED or _is_verdict(condition):
            return condition
        if quantity and condition.is_multiple == (quantity.name in RELATIVE):
            if quantity.name in PLAIN and str(quantity) != quantity.name:
                raise RunError(
                    f"--fail-on: {str(condition)!r}: {quantity.name} has neither a sign nor an "
                    f"interval. Write only {quantity.name}."
                )
            return condition
    raise RunError(
        f"--fail-on: {str(condition)!r} is neither one of {', '.join(NAMED)} nor a limit "
        f"such as {OUTCOME_RATE}>0.05, 'mse(srs/srs)>0.1', 'slice(FIELD=VALUE).agreement<0.6' "
        "or, compared with the baseline, cost>1.5x or latency>3x."
    )


def _is_verdict(condition: Condition) -> bool:
    return bool(condition.verdicts) and condition.unknown_verdict is None


def check_conditions(conditions: tuple[Condition, ...], sitting: Sitting) -> None:
    """Reject a condition that no round of this run can evaluate, such as on an unknown metric."""
    run = sitting.run
    if any(condition.word == DECISION for condition in conditions):
        in_use = judges_in_use(run)
        if not in_use or in_use[0] not in [spec.name for spec in sitting.watched]:
            reason = (
                f"{in_use[0]} is in use, but isn't watched" if in_use else "No judge in the run is"
            )
            raise RunError(f"{run.path}: --fail-on {DECISION} needs a judge in use. {reason}.")
    names = [spec.name for spec in sitting.watched]
    for condition in conditions:
        if condition.judge is not None and condition.judge not in names:
            raise RunError(
                f"--fail-on: no watched judge {condition.judge!r}. "
                + use_one_of(condition.judge, names, none="No judge is watched.")
            )
    for name in sorted({c.quantity.name for c in conditions if c.quantity} - OTHER_NUMBERS):
        if (of_slice := SliceName.read(name)) is not None:
            check_slice(of_slice, sitting.setup.task)
        else:
            check_metric(sitting.setup.task, run.manifest.config.choices, name)


def watched_quantities(conditions: Iterable[Condition]) -> tuple[ComparedQuantity, ...]:
    """Return quantities in conditions that a round does not compute by default."""
    quantities = (condition.quantity for condition in conditions)
    return tuple(dict.fromkeys(q for q in quantities if q and _is_watched(q)))


def _is_watched(quantity: ComparedQuantity) -> bool:
    return SliceName.read(quantity.name) is not None or str(quantity) != quantity.name


def failures(conditions: tuple[Condition, ...], look: Look, baseline: Baseline) -> list[str]:
    """Return a line for each judge and condition that fails.

    A worse judge has also changed, and fails each condition once. An undefined number fails its
    limit. Judges that weren't run have no numbers.
    """
    lines: list[str] = []
    for condition in conditions:
        if condition.word == DECISION:
            lines += _decision_failures(look)
        elif condition.word == MODEL:
            lines += [text for j in look.judges if (text := model_change(j, baseline))]
        elif condition.verdicts:
            lines += _verdict_failures(condition, look)
        elif condition.quantity:
            judges = [j for j in look.judges if condition.judge in {None, j.judge}]
            lines += [
                line for j in judges for line in _beyond(condition, condition.quantity, j, baseline)
            ]
        else:
            names = ALARMS if condition.word == "changed" else {condition.word}
            lines += [f"{j.judge} is {j.verdict}" for j in look.judges if j.verdict in names]
    return list(dict.fromkeys(lines))


def model_change(judge: JudgeLook, baseline: Baseline) -> str:
    """Describe a model version or fingerprint that is new since the baseline."""
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


def _verdict_failures(condition: Condition, look: Look) -> Iterator[str]:
    """Yield a sentence if a round's recommendation meets the condition for failure."""
    if look.decision is None:
        yield f"the decision is NA (no judge has replied; {condition})"
    elif condition.accepts(look.decision.verdict):
        yield f"the decision is {look.decision.verdict} ({condition})"


def shown(test: InUse) -> str:
    """Describe the evidence against a failing judge in use."""
    p, p_human = test.p_values
    rival = f'always answering "{test.constant}"'
    if p_human < p:
        rival = f"a human rater by more than {percent(test.margin)} of the metric's range"
    text = p_value(min(p, p_human))
    return f"has been shown to be worse than {rival} (p {text if text[0] == '<' else f'= {text}'})"


def _beyond(
    condition: Condition, quantity: ComparedQuantity, judge: JudgeLook, baseline: Baseline
) -> Iterator[str]:
    """Yield a sentence if a judge's number is beyond the limit or undefined."""
    answered = [f for f in judge.figures if f.name == ANSWERED and f.n]
    if quantity.name == OUTCOME_RATE:
        for figure in answered:
            rate = 1.0 - (figure.look or 0.0)
            if condition.holds(rate):
                yield (
                    f"{judge.judge}, {figure.elicitation}: {rate:.3g} of {figure.n} replies are "
                    f"not answers ({condition})"
                )
    elif quantity.name in RELATIVE and answered:
        figure = next(f for f in reported(judge, baseline) if f.name == quantity.name)
        if figure.baseline is None or figure.look is None:
            where = "of the baseline" if figure.baseline is None else "of this round"
            yield f"{judge.judge}: {quantity} is NA (the value {where} is unknown; {condition})"
        elif condition.holds(figure.look, figure.baseline):
            yield (
                f"{judge.judge}: {UNITS[figure.name].text}: {figure.look:.3g}, "
                f"{figure.baseline:.3g} at the baseline ({condition})"
            )
    elif (metric := judge.figure(str(quantity))) is not None:
        if metric.look is None:
            why = reason_words(metric.reason)
            yield f"{judge.judge}: {quantity} is NA ({why}; {condition})"
        elif condition.holds(metric.look):
            yield (
                f"{judge.judge}: {quantity} is {metric.look:.4g} on {metric.n} items ({condition})"
            )
