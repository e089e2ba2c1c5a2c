"""Requirements on a run's results: parsing, checking and reporting."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from xml.etree import ElementTree as ET

from harness.analysis.conditions import DIFFERENCE, Condition
from harness.analysis.decision import VERDICTS
from harness.analysis.inputs import metric_definitions
from harness.analysis.race_result import RACED
from harness.analysis.slice_names import SliceName, slice_estimate, slice_names
from harness.errors import HarnessError
from harness.files.plain_text import visible
from harness.report.formatting import (
    COMPLETENESS,
    completeness,
    number,
    reason_words,
    replies_each,
    span,
)
from harness.report.text_table import draw_table
from harness.stats import Estimate, Interval

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.judge_result import JudgeResult


BETA, ANNOTATOR_TEST = "beta", "annotator_test"
OTHER_NUMBERS = (*COMPLETENESS, BETA, ANNOTATOR_TEST)  # in addition to the metrics
FORM = (
    "Write it as decision=use, 'decision>=use_if_independent', 'mse(srs/srs)<0.1', "
    "'cohen_kappa(h/h)>0.6:lower', 'abs(prevalence_bias)<0.1', "
    "'slice(FIELD=VALUE).agreement:lower>0.6', 'difference(B,A):lower>0' or "
    "'JUDGE: usable_replies>=0.95'"
)
HEADS = ("requirement", "judge", "value", "n", "result")
SUITE = "harness gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Result of one requirement.

    Attributes
    ----------
    requirement : str
        The requirement as written by the user.
    passed : bool
        Whether the requirement is met. False if the number is NA.
    judge : str or None
        Judge that the number is for, or None if no judge is recommended.
    value : float or str or None
        The number or the recommendation, or None for NA.
    interval : Interval or None
        Interval for the number, or None if it has none.
    n : int or None
        Number of items, or of replies for ``usable_replies``. None for a recommendation.
    n_replies : float or None
        Replies per item that a metric uses, or None if not set.
    reason : str
        Reason if the number, or the end of its interval, is NA, else "".
    """

    requirement: str
    passed: bool
    judge: str | None
    value: float | str | None
    interval: Interval | None = None
    n: int | None = None
    n_replies: float | None = None
    reason: str = ""


Differences: TypeAlias = "Mapping[str, Mapping[str, Estimate]]"  # by judge and by name


def check_requirements(
    validation: Validation, texts: Iterable[str], differences: Differences | None = None
) -> tuple[GateResult, ...]:
    """Check requirements on a validation.

    Parameters
    ----------
    validation : Validation
        The numbers of a run.
    texts : iterable of str
        Requirements such as ``decision=use`` or ``cohen_kappa(h/h)>0.6:lower``.
    differences : mapping of str to mapping of str to Estimate, optional
        Estimated differences between systems, by judge and by name.

    Raises
    ------
    HarnessError
        If a requirement can't be read, or names a judge or metric that the run doesn't have.
    """
    judges = {judge.name: judge for judge in validation.judges}
    metrics = {name for judge in validation.judges for name in judge.metrics}
    metrics |= slice_names(validation.slices)
    names = set(judges)
    if race := validation.race:
        names |= {row.judge for row in race.judges}
        task = validation.task
        metrics |= metric_definitions(task.scale, tuple(task.options), task.positive).keys()
    estimated = differences or {}
    metrics |= {name for of_judge in estimated.values() for name in of_judge}
    requirements = [(text, read_requirement(text, names, metrics)) for text in texts]
    return tuple(_check(validation, judges, estimated, *row) for row in requirements)


def read_requirement(text: str, judges: Collection[str], metrics: Collection[str]) -> Condition:
    """Parse a condition, given a run's judges and metrics.

    Raises
    ------
    HarnessError
        If the text isn't a condition on a number or the decision, or contains an unknown name.
    """
    condition = Condition.read(text)
    if condition is None or condition.word or condition.is_multiple:
        raise HarnessError(f"requirement {text!r} cannot be read. {FORM}.")
    if condition.quantity is None:
        for verdict in condition.verdicts:
            _check_name(text, verdict, VERDICTS, "verdict")
        return condition
    if condition.judge is not None:
        _check_name(text, condition.judge, judges, "judge")
    name = condition.quantity.name
    if name.startswith(DIFFERENCE):
        _check_difference(text, name, metrics)
    elif SliceName.read(name):
        _check_name(text, name, {known for known in metrics if SliceName.read(known)}, "slice")
    else:
        _check_name(text, name, {*metrics, *OTHER_NUMBERS}, "metric")
    return condition


def _check_difference(text: str, name: str, metrics: Collection[str]) -> None:
    estimated = {known for known in metrics if known.startswith(DIFFERENCE)}
    if not estimated:
        raise HarnessError(
            f"requirement {text!r}: the run has no estimate by a field",
            "Run an estimate with --by for that field first",
        )
    _check_name(text, name, estimated, "difference")


def _check_name(text: str, name: str, names: Collection[str], noun: str) -> None:
    if name in names:
        return
    close = get_close_matches(name, names, n=3, cutoff=0.4) or sorted(names)[:3]
    hint = f". Did you mean {' or '.join(close)}?" if close else ". The run has none."
    raise HarnessError(f"requirement {text!r}: no {noun} {name!r}{hint}")


def _check(
    validation: Validation,
    judges: Mapping[str, JudgeResult],
    differences: Differences,
    text: str,
    condition: Condition,
) -> GateResult:
    decision = validation.decision
    result = partial(GateResult, requirement=text)
    if condition.quantity is None:
        if decision.reason == "raced":
            return result(passed=False, judge=None, value=None, reason=RACED)
        passed = condition.accepts(decision.verdict)
        return result(passed=passed, judge=decision.judge, value=decision.verdict)
    if condition.quantity.name.startswith(DIFFERENCE):
        return _check_estimated(differences, text, condition, decision.judge)
    name = condition.judge or decision.judge
    if name is None or name not in judges:
        raced = name is not None or decision.reason == "raced"
        reason = RACED if raced else "the decision doesn't name a judge"
        return result(passed=False, judge=name, value=None, reason=reason)
    estimate = _estimate(validation, judges[name], condition.quantity.name)
    return _compared(text, condition, name, estimate)


def _check_estimated(
    differences: Differences, text: str, condition: Condition, chosen: str | None
) -> GateResult:
    """Check a difference for the named judge, else the only judge, else ``chosen``."""
    assert condition.quantity is not None, "the caller checks that it's about a number"
    name = condition.judge or (next(iter(differences)) if len(differences) == 1 else chosen)
    estimate = differences.get(name or "", {}).get(condition.quantity.name)
    if name is None or estimate is None:
        reason = "this judge has no such estimate" if name else "the decision doesn't name a judge"
        return GateResult(requirement=text, passed=False, judge=name, value=None, reason=reason)
    return _compared(text, condition, name, estimate)


def _compared(text: str, condition: Condition, name: str, estimate: Estimate) -> GateResult:
    """Compare an estimate for a judge with the limit."""
    assert condition.quantity is not None, "the caller checks that it's about a number"
    compared = condition.quantity.of(estimate)
    return GateResult(
        requirement=text,
        passed=compared.value is not None and condition.holds(compared.value),
        judge=name,
        value=estimate.value,
        interval=estimate.interval,
        n=estimate.n_used,
        n_replies=estimate.n_replies,
        reason=reason_words(estimate.reason or compared.reason),
    )


def _estimate(validation: Validation, judge: JudgeResult, name: str) -> Estimate:
    if name == BETA:
        return validation.beta_hat(judge.name)[0]
    if name in COMPLETENESS:
        return completeness(validation, judge.name, name)
    if name == ANNOTATOR_TEST:
        return _annotator_test(validation, judge)
    if of_slice := SliceName.read(name):
        return slice_estimate(validation.slices, judge.name, of_slice)
    return judge.metrics.get(name) or Estimate(value=None, reason="not_computed", n_used=0)


def _annotator_test(validation: Validation, judge: JudgeResult) -> Estimate:
    """Return the p-value of the deciding annotator test, over the raters that it can test."""
    assert validation.evidence is not None, "a validation with judges has evidence"
    test = validation.evidence_of(judge.name).annotator_test
    if test is None:
        reason = validation.evidence.annotator_reason or "not_tested"
        return Estimate(value=None, reason=reason, n_used=0)
    panel = test.panel
    return Estimate(value=panel.p, reason=panel.reason, n_used=panel.n_tested)


def gate_table(results: Sequence[GateResult]) -> str:
    """Format the results as a table for a terminal."""
    return draw_table(HEADS, [_cells(result) for result in results])


def gate_summary(run: str, results: Sequence[GateResult]) -> str:
    """Format the results as Markdown, for example for a CI job's summary."""
    n_failed = sum(not result.passed for result in results)
    title = f"{n_failed} of {len(results)} requirements failed" if n_failed else "All passed"
    lines = [
        f"### Judge gate: {title}",
        "",
        f"Run `{_code(run)}`",
        "",
        f"| {' | '.join(HEADS)} |",
        "| --- | --- | --- | --: | --- |",
        *(f"| {' | '.join(map(_escaped, _cells(result)))} |" for result in results),
    ]
    return "\n".join(lines) + "\n"


def gate_junit(run: str, results: Sequence[GateResult]) -> str:
    """Format the results as JUnit XML, with a test case per requirement."""
    n_failed = sum(not result.passed for result in results)
    counts = {"tests": str(len(results)), "failures": str(n_failed), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": SUITE, **counts})
    for result in results:
        case = ET.SubElement(
            suite,
            "testcase",
            {"classname": visible(run), "name": visible(result.requirement), "time": "0"},
        )
        if not result.passed:
            ET.SubElement(case, "failure", {"message": visible(failure(result))})
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def failure(result: GateResult) -> str:
    """Format the measured value on one line, with judge, interval and n."""
    n = "" if result.n is None else f" on n = {_n(result)}"
    judge = f"{result.judge}: " if result.judge else ""
    return f"{judge}{_value(result)}{n}; required: {result.requirement}"


def _cells(result: GateResult) -> tuple[str, ...]:
    n = "" if result.n is None else _n(result)
    verdict = "passed" if result.passed else "failed"
    return result.requirement, result.judge or "", _value(result), n, verdict


def _n(result: GateResult) -> str:
    if result.n_replies is None:
        return str(result.n)
    return f"{result.n}, {replies_each(result.n_replies)}"


def _value(result: GateResult) -> str:
    if isinstance(result.value, str):
        return result.value
    text = f"{number(result.value)} {span(result.interval)}".rstrip()
    return f"{text} ({result.reason})" if result.reason else text


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return visible(text).replace("`", "'")
