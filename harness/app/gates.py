"""Requirements on a run's numbers: read from text, checked, and reported."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias
from xml.etree import ElementTree as ET

from harness.analysis.decision import VERDICTS
from harness.analysis.inputs import metric_definitions
from harness.analysis.race_result import RACED
from harness.analysis.slice_names import PREFIX, SliceName, slice_estimate, slice_names
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


End: TypeAlias = Literal["value", "lower", "upper"]

BETA, ANNOTATOR_TEST = "beta", "annotator_test"
OTHER_NUMBERS = (*COMPLETENESS, BETA, ANNOTATOR_TEST)  # beside the metrics
SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
ENDS: dict[str, End] = {"": "value", "lower": "lower", "upper": "upper"}
DECISION = re.compile(r"decision\s*(?P<sign>=|>=)\s*(?P<verdicts>[a-z_]+(\|[a-z_]+)*)")
LIMIT = re.compile(
    r"(?P<name>.*?\S)(:(?P<near>lower|upper))?\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<limit>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)(:(?P<end>lower|upper))?",
    re.IGNORECASE,
)
ABSOLUTE = re.compile(r"abs\((?P<name>.*)\)")
FORM = (
    "Write it as decision=use, 'decision>=use_if_independent', 'mse(srs/srs)<0.1', "
    "'cohen_kappa(h/h)>0.6:lower', 'abs(prevalence_bias)<0.1', "
    "'slice(FIELD=VALUE).agreement:lower>0.6' or 'JUDGE: usable_replies>=0.95'"
)
HEADS = ("requirement", "judge", "value", "n", "result")
SUITE = "harness gate"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is required of one number, or of the verdict; ``text`` is as the user wrote it.

    ``verdicts`` are those of which the decision must be any; empty for a number. ``judge`` is None
    for that of the decision. ``name`` is a metric, one of `OTHER_NUMBERS`
    (``annotator_test`` is its p-value); ``end`` says whether the number or an end of its interval
    is compared; ``is_absolute`` whether that is done without its sign.
    """

    text: str
    verdicts: tuple[str, ...] = ()
    judge: str | None = None
    name: str = ""
    sign: str = ""
    limit: float = 0.0
    end: End = "value"
    is_absolute: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Whether one requirement is met.

    Attributes
    ----------
    requirement : str
        As the user wrote it.
    passed : bool
        False, too, where the number is NA.
    judge : str or None
        Whose number; None where no judge is recommended.
    value : float or str or None
        The number or the verdict; None for NA.
    interval : Interval or None
        Of the number; None where there is none.
    n : int or None
        Items, or replies for ``usable_replies``; None for a verdict.
    n_replies : float or None
        Replies per item at which a metric is evaluated; None where they are not set.
    reason : str
        Why the number, or the end of its interval, is NA; "" otherwise.
    """

    requirement: str
    passed: bool
    judge: str | None
    value: float | str | None
    interval: Interval | None = None
    n: int | None = None
    n_replies: float | None = None
    reason: str = ""


def check_requirements(validation: Validation, texts: Iterable[str]) -> tuple[GateResult, ...]:
    """Check requirements on a validation.

    Parameters
    ----------
    validation : Validation
        The numbers of a run.
    texts : iterable of str
        Such as ``decision=use`` or ``cohen_kappa(h/h)>0.6:lower``.

    Raises
    ------
    HarnessError
        If a requirement cannot be read, or names a judge or metric that the run does not have.
    """
    judges = {judge.name: judge for judge in validation.judges}
    metrics = {name for judge in validation.judges for name in judge.metrics}
    metrics |= slice_names(validation.slices)
    names = set(judges)
    if race := validation.race:
        names |= {row.judge for row in race.judges}
        task = validation.task
        metrics |= metric_definitions(task.scale, tuple(task.options), task.positive).keys()
    requirements = [read_requirement(text, names, metrics) for text in texts]
    return tuple(_check(validation, judges, requirement) for requirement in requirements)


def read_requirement(text: str, judges: Collection[str], metrics: Collection[str]) -> Requirement:
    """Read a requirement, given the judges and metrics that a run has.

    ``decision=VERDICT``, several verdicts separated by ``|``, or ``decision>=VERDICT`` for that or
    a stronger one; or a number's name, a sign and a
    limit, after ``JUDGE:`` if it is not the decision's judge's, and with ``:lower`` or ``:upper``
    (after the number's name or the limit) if it is about an end of the interval; ``abs(NAME)`` is
    the number without its sign, and ``slice(FIELD=VALUE).MEASURE`` that of a slice. Raises
    `HarnessError` for another form, or an unknown name.
    """
    decision = DECISION.fullmatch(text.strip())
    if decision is not None:
        verdicts = tuple(decision["verdicts"].split("|"))
        for verdict in verdicts:
            _check_name(text, verdict, VERDICTS, "verdict")
        if decision["sign"] == ">=":
            verdicts = VERDICTS[: 1 + max(map(VERDICTS.index, verdicts))]
        return Requirement(text, verdicts)
    match = LIMIT.fullmatch(text.strip())
    if match is None:
        raise HarnessError(f"requirement {text!r} cannot be read. {FORM}.")
    judge, name = _split_judge(match["name"], {*metrics, *OTHER_NUMBERS})
    absolute = ABSOLUTE.fullmatch(name)
    name = absolute["name"].strip() if absolute else name
    if judge is not None:
        _check_name(text, judge, judges, "judge")
    if of_slice := SliceName.read(name):
        name = str(of_slice)
        _check_name(text, name, {known for known in metrics if SliceName.read(known)}, "slice")
    else:
        _check_name(text, name, {*metrics, *OTHER_NUMBERS}, "metric")
    end = ENDS[(match["near"] or match["end"] or "").lower()]
    limit, is_absolute = float(match["limit"]), absolute is not None
    return Requirement(text, (), judge, name, match["sign"], limit, end, is_absolute)


def _split_judge(name: str, numbers: Collection[str]) -> tuple[str | None, str]:
    """Return the judge, if there is one before the last colon, and the number's name."""
    start = name.find(PREFIX)  # a slice may have a colon
    before, of_slice = (name, "") if start < 0 else (name[:start].rstrip(), name[start:])
    judge, colon, number = before.rpartition(":")
    if not colon or name in numbers:
        return None, name
    return judge.strip(), (number + of_slice).strip()


def _check_name(text: str, name: str, names: Collection[str], noun: str) -> None:
    if name in names:
        return
    close = get_close_matches(name, names, n=3, cutoff=0.4) or sorted(names)[:3]
    hint = f". Did you mean {' or '.join(close)}?" if close else ". The run has none."
    raise HarnessError(f"requirement {text!r}: no {noun} {name!r}{hint}")


def _check(
    validation: Validation, judges: Mapping[str, JudgeResult], requirement: Requirement
) -> GateResult:
    decision = validation.decision
    result = partial(GateResult, requirement=requirement.text)
    if requirement.verdicts:
        if decision.reason == "raced":
            return result(passed=False, judge=None, value=None, reason=RACED)
        passed = decision.verdict in requirement.verdicts
        return result(passed=passed, judge=decision.judge, value=decision.verdict)
    name = requirement.judge or decision.judge
    if name is None or name not in judges:
        raced = name is not None or decision.reason == "raced"
        reason = RACED if raced else "the decision names no judge"
        return result(passed=False, judge=name, value=None, reason=reason)
    estimate = _estimate(validation, judges[name], requirement.name)
    compared = (_absolute_end if requirement.is_absolute else _end)(estimate, requirement.end)
    reason = estimate.reason
    if compared is None and not reason:
        reason = estimate.interval_reason or "no_interval"
    return result(
        passed=compared is not None and bool(SIGNS[requirement.sign](compared, requirement.limit)),
        judge=name,
        value=estimate.value,
        interval=estimate.interval,
        n=estimate.n_used,
        n_replies=estimate.n_replies,
        reason=reason_words(reason),
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
    """Return the p-value of the deciding annotator test, on the raters that could be tested."""
    assert validation.evidence is not None, "a validation with judges has evidence"
    test = validation.evidence_of(judge.name).annotator_test
    if test is None:
        reason = validation.evidence.annotator_reason or "not_tested"
        return Estimate(value=None, reason=reason, n_used=0)
    panel = test.panel
    return Estimate(value=panel.p, reason=panel.reason, n_used=panel.n_tested)


def _end(estimate: Estimate, end: End) -> float | None:
    if end == "value":
        return estimate.value
    if estimate.interval is None:
        return None
    return estimate.interval.low if end == "lower" else estimate.interval.high


def _absolute_end(estimate: Estimate, end: End) -> float | None:
    """Return the number without its sign, or an end of the interval of that."""
    if end == "value":
        return None if estimate.value is None else abs(estimate.value)
    if estimate.interval is None:
        return None
    low, high = estimate.interval.low, estimate.interval.high
    ends = abs(low), abs(high)
    if end == "upper":
        return max(ends)
    return 0.0 if low <= 0.0 <= high else min(ends)


def gate_table(results: Sequence[GateResult]) -> str:
    """Return the results as a table for a terminal."""
    return draw_table(HEADS, [_cells(result) for result in results])


def gate_summary(run: str, results: Sequence[GateResult]) -> str:
    """Return the results as Markdown, as for the summary of a pipeline's job."""
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
    """Return the results as JUnit XML, a test case for each requirement."""
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
    """Return what was measured, on one line: judge, value with interval, and n."""
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
