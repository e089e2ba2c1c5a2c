"""The results of a gate as a table, JUnit XML and a Markdown summary."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from harness.plain_text import visible
from harness.report.formatting import number, span
from harness.report.text_table import draw_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.gates.requirements import GateResult

HEADS = ("requirement", "judge", "value", "n", "result")
SUITE = "harness gate"


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
    n = "" if result.n is None else f" on n = {result.n}"
    judge = f"{result.judge}: " if result.judge else ""
    return f"{judge}{_value(result)}{n}; required: {result.requirement}"


def _cells(result: GateResult) -> tuple[str, ...]:
    n = "" if result.n is None else str(result.n)
    verdict = "passed" if result.passed else "failed"
    return result.requirement, result.judge or "", _value(result), n, verdict


def _value(result: GateResult) -> str:
    if isinstance(result.value, str):
        return result.value
    text = f"{number(result.value)} {span(result.interval)}".rstrip()
    return f"{text} ({result.reason})" if result.reason else text


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return visible(text).replace("`", "'")
