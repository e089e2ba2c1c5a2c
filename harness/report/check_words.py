"""What is said of a check of the recommendation: its templates, filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from harness.analysis.recommendation_checks import (
    ANNOTATOR_TEST,
    COPIES_A_RATER,
    INDEPENDENT,
    ONE_HUMAN,
    all_checks,
    check_of_use,
    decides_by_one_human,
)
from harness.report.formatting import counted, listed, number, percent, with_bounds
from harness.report.words import REASONS

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.recommendation_checks import Check, CheckOfUse, CheckReason
    from harness.stats.reasons import Reason


NOT_NEEDED = "not_needed"  # as the verdict is "none" anyway
CheckOutcome: TypeAlias = Literal["passed", "failed", "open"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A row of the checklist of the recommendation.

    Attributes
    ----------
    name : str
        What the judge must do.
    state : str
        Whether it does; "open" if that can't be decided.
    why : str
        Numbers of a failed check, or why it can't be decided; "" if ``name`` says enough.
    """

    name: str
    state: CheckOutcome
    why: str = ""


def check_rows(v: Validation) -> list[CheckRow]:
    """Return the checks that decide about the first judge; none if no judge comes first."""
    checks = v.decision.checks
    if v.decision.leader is None or not checks:
        return []
    stands_in = ONE_HUMAN if decides_by_one_human(checks) else ANNOTATOR_TEST
    tests_copies = bool(v.evidence and not v.evidence.untested_copies)
    left_out = {
        (ANNOTATOR_TEST if stands_in is ONE_HUMAN else ONE_HUMAN).kind,
        (INDEPENDENT if tests_copies else COPIES_A_RATER).kind,
    }
    left_out |= {kind for kind, check in checks.items() if check.reason == NOT_NEEDED}
    kinds = (row for row in all_checks() if row.kind in checks and row.kind not in left_out)
    return [_check_row(v, row) for row in kinds]


def _check_row(v: Validation, row: CheckOfUse) -> CheckRow:
    check = v.decision.checks[row.kind]
    if check.passed is None:
        return CheckRow(row.name, "open", missing_words(v, row.kind))
    if check.passed:
        return CheckRow(row.name, "passed")
    has_numbers = "{" in row.template(check, v)
    return CheckRow(row.name, "failed", missing_words(v, row.kind) if has_numbers else "")


def missing_words(v: Validation, kind: str) -> str:
    """Say that a check is not passed, or why it cannot be decided."""
    check = v.decision.checks[kind]
    said = _filled(v, check, check_of_use(kind).template(check, v))
    why = why_open(v, check) if check.passed is None else ""
    return f"{said} ({why})" if why else said


def passed_sentences(v: Validation) -> str:
    """Say what is shown by checks that are passed and have a sentence for that."""
    checks = ((row, v.decision.checks.get(row.kind)) for row in all_checks())
    templates = ((c, row.template(c, v)) for row, c in checks if c is not None and c.passed)
    return " ".join(_filled(v, check, template) for check, template in templates if template)


def step_words(v: Validation, kind: str) -> str:
    """Say what would settle a check that is not passed."""
    check = v.decision.checks[kind]
    return _filled(v, check, check_of_use(kind).step(check, v))


def why_open(v: Validation, check: Check) -> str:
    """Say why a check cannot be decided; "" if nothing is known."""
    text = reason_words_of(check_of_use(check.kind), check.reason)
    return _filled(v, check, text)


def reason_words_of(row: CheckOfUse, reason: CheckReason) -> str:
    """Return a reason in the words of a check, to be filled in; "" for none."""
    return row.why_open.get(reason) or REASONS.get(cast("Reason", reason), "")


def _filled(v: Validation, check: Check, template: str) -> str:
    """Put numbers and names into a template."""
    return template.format(
        n=check.n,
        items=counted([check.n]),
        n_raters=counted([check.n], "rater"),
        share=percent(check.value),
        rival=check.rival,
        raters=listed(check.raters or [""]),
        any_rater=listed(check.raters or [""], "or"),
        needed=v.evidence.n_items_for_human if v.evidence else "",
        **_of_annotator_test(v),
    )


def _of_annotator_test(v: Validation) -> dict[str, str]:
    """Return wins less losses of the leader, and the eps with which it passes."""
    section = v.replacement
    test = v.evidence.judges[0].annotator_test if v.evidence else None
    if test is None or section is None:
        return {"net_wins": "", "eps": "", "larger_eps": ""}
    least = (row.smallest_eps for row in section.judges if row.judge == v.decision.leader)
    larger = next(least, None)
    passes = "" if larger is None else f"; it would pass with an eps of {number(larger, 2)}"
    net_wins = with_bounds(test.net_wins, test.low, test.high, 2)
    return {"net_wins": net_wins, "eps": f"{section.eps:g}", "larger_eps": passes}
