"""State the main result in plain words, for the terminal and the page's first screen.

The lines cover, in this order: whether to use a judge, and which; the reason, in two numbers; its
rate of agreement with another rater; its most common error, with an example; its weakest slice; its
closeness to the raters. Each check of the recommendation fills in a template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from harness.analysis.recommendation_checks import (
    ANNOTATOR_TEST,
    BEATS_BASELINES,
    COPIES_A_RATER,
    INDEPENDENT,
    ONE_HUMAN,
    all_checks,
    check_of_use,
    decides_by_one_human,
)
from harness.files.plain_text import counted, visible
from harness.report.formatting import (
    about,
    level_text,
    listed,
    number,
    percent,
    short_name,
    with_bounds,
)
from harness.report.words import BASELINE_WORDS, REASONS
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.item_slices import ComparedMeasure
    from harness.analysis.recommendation_checks import Check, CheckOfUse, CheckReason
    from harness.stats.reasons import Reason
    from harness.stats.selection.references import HumanReference


def verdict(v: Validation) -> str:
    """State whether to use a judge, and which one. If beta is assumed, add the assumption."""
    leader, assumed = v.decision.leader, ""
    assert leader is not None, "without a leader, nothing is decided"
    if v.settings.beta is not None:
        share_of = f"{100 * v.settings.beta:g} % of the raters who chose a negative option"
        assumed = f" if {share_of} would accept a positive one too"
    alone = _is_alone(v)
    if v.decision.verdict == "use":
        return f"Use {leader}{assumed}."
    if v.decision.verdict == "use_if_independent":
        return f"Use {leader}{assumed}, provided that {INDEPENDENT.open}."
    if v.decision.verdict == "best_not_proven":
        which = "is better than the baselines" if alone else "is the best judge"
        return f"Not yet: {leader} {which}{assumed}, but not proven good enough."
    return f"Don't use {leader if alone else 'any of these'}{assumed}."


def because(v: Validation, *, missing: bool = True) -> str:
    """Compare the best judge with a baseline. If ``missing``, first list what "use" would need."""
    check = v.decision.checks[BEATS_BASELINES.kind]
    assert v.evidence is not None
    parts = []
    if missing and v.decision.verdict == "best_not_proven":
        lacks = listed([missing_words(v, kind) for kind in v.decision.missing])
        parts.append(f"Missing: {lacks}.")
    if v.decision.reason == "control_first":
        return f"{v.decision.leader} comes first, but it's a control, which isn't meant to be used."
    name = short_name(v.evidence.display_name)
    if check.reason == "no_baselines":
        parts.append(f"No baseline has a value to compare the judge with ({name}).")
        return " ".join(parts)
    numbers = f"{number(check.value)} against {number(check.threshold)} ({name})"
    rival = baseline_words(v, check.rival)
    if v.decision.verdict == "none":
        leader = v.decision.leader or ""
        who = "It" if _is_alone(v) else f"The best, {leader},"
        parts.append(f"{who} is not significantly better than {rival}: {numbers}.")
    else:
        parts.append(f"It is better than every baseline, {rival} included: {numbers}.")
    return " ".join(parts)


def baseline_words(v: Validation, name: str) -> str:
    """Describe how a baseline answers. If it always gives the same answer, name this answer."""
    rows = v.evidence.baselines if v.evidence else ()
    answers = next((row.answers for row in rows if row.name == name), ())
    if len(answers) != 1:
        return BASELINE_WORDS[name]
    return f"always answering {listed([quoted_option(v, key) for key in answers[0]])}"


def quoted_option(v: Validation, key: str) -> str:
    """Return an option's label in quotation marks."""
    words = "cannot assess" if key == CANNOT_ASSESS else v.task.options.get(key, key)
    return f'"{words}"'


def quality(v: Validation) -> str:
    """Report how often the top judge agrees with a different rater, else how close it is to one.

    If a judge fails and items have one rater each, report the limits of such ratings.
    """
    if v.decision.verdict == "none" and has_single_ratings(v):
        return "With one rater per item, the ratings can't show how often raters differ."
    return agreement(v) or closeness(v)


def has_single_ratings(v: Validation) -> bool:
    """Return whether items have only one rating each, so that no human rater can be compared."""
    check = v.decision.checks.get(ONE_HUMAN.kind)
    return check is not None and check.reason == "single_rating"


def raters_say(v: Validation) -> str:
    """Return the subject and verb that introduce the raters' answer in a sentence on errors."""
    return "the rater says" if has_single_ratings(v) else "most raters say"


def agreement(v: Validation) -> str:
    """Report how often the top judge agrees with a different rater, and how often a rater does.

    The result is "" if no item has two forced choices and one from the judge.
    """
    agreeing = v.evidence.share_agreeing if v.evidence else None
    if agreeing is None or agreeing.judge is None or agreeing.human is None:
        return ""
    items = counted([agreeing.n_items])
    of_judge, of_rater = (f"{100 * share:.0f}" for share in (agreeing.judge, agreeing.human))
    return (
        f"It agrees with another rater's answer on {of_judge} of 100 items. "
        f"Raters agree with each other on {of_rater} ({_more(v, agreeing)}{items})."
    )


def _more(v: Validation, agreeing: HumanReference) -> str:
    """Return the interval for a rater's agreement minus the judge's, in items per 100."""
    if agreeing.low is None or agreeing.high is None:
        return "no interval: fewer than five items or groups; "
    low, high = round(100 * agreeing.low), round(100 * agreeing.high)
    if low >= 0:
        between = f"{low} to {high} more"
    elif high <= 0:
        between = f"{-high} to {-low} fewer"
    else:
        between = f"{-low} fewer to {high} more"
    return f"{level_text(v.settings.confidence)} interval: {between} than the judge; "


def commonest_error(v: Validation, *, texts: bool = True) -> str:
    """Describe the top judge's most common error with an example item, or return "".

    ``texts`` adds the item's beginning, if the run keeps texts.
    """
    rows = v.errors.judges if v.errors else ()
    row = next((row for row in rows if row.judge == v.decision.leader), None)
    if row is None or row.commonest is None:
        return ""
    error = row.commonest
    judge, human = quoted_option(v, error.judge), quoted_option(v, error.human)
    quoted = f', "{visible(error.text)}"' if texts and error.text else ""
    end = "" if quoted.endswith(('."', '!"', '?"', '…"')) else "."
    return (
        f"Its most common error is {judge} where {raters_say(v)} {human}: "
        f"{about(error.n)} of {counted([row.confusion.n_items])}, such as "
        f"{visible(error.item)}{quoted}{end}"
    )


def worst_slice(v: Validation) -> str:
    """Name the slice with evidence that the top judge agrees less, or return ""."""
    of_judge = v.slices.of(v.decision.leader or "") if v.slices else None
    if v.slices is None or of_judge is None or of_judge.worst_row is None:
        return ""
    row, compared = of_judge.worst_row, v.slices.compared
    judge, human = row.measures[compared], row.human
    assert human is not None, "a slice is the worst beside raters"
    values = (judge.value.value, judge.rest, human.value.value, human.rest)
    numbers = [x for x in values if x is not None]
    assert len(numbers) == len(values), "a slice is the worst only if its differences are defined"
    per_hundred = compared == "agreement"
    there, elsewhere, rater_there, rater_elsewhere = (
        f"{100 * x:.0f}" if per_hundred else number(x, 2) for x in numbers
    )
    where = f"{counted([judge.value.n_used])}, the worst of {v.slices.n_slices} slices"
    return (
        f"It is weakest on {slice_words(row.field, row.value)}. There, "
        f"{WEAKEST[compared].format(there=there, elsewhere=elsewhere)} "
        f"{RATER[compared]} {rater_there} and {rater_elsewhere} ({where})."
    )


WEAKEST: dict[ComparedMeasure, str] = {
    "agreement": "it agrees with another rater's answer on {there} of 100 items, compared with "
    "{elsewhere} of 100 other items.",
    "distance": "it is {there} from the mean of the other raters, compared with {elsewhere} on "
    "other items.",
    "similarity": "its similarity to the raters' texts is {there}, compared with {elsewhere} on "
    "other items.",
}
RATER: dict[ComparedMeasure, str] = {
    "agreement": "A rater does on",
    "distance": "A rater is",
    "similarity": "A rater's similarity is",
}


def slice_words(field: str, value: str) -> str:
    """Describe a slice by the value that its items share."""
    return f'items with {visible(field)} "{visible(value)}"'


def closeness(v: Validation) -> str:
    """Report whether the top judge is closer to the raters than a different rater is."""
    check = v.decision.checks[ONE_HUMAN.kind]
    human = v.evidence.judges[0].human if v.evidence else None
    if human is None or human.difference is None or check.passed is None:
        return human_pair(v)
    assert v.evidence is not None
    pair = f"{_pair(v.evidence, human)}, margin {number(check.threshold)}"
    is_further = human.low is not None and human.low > 0
    if not check.passed and not is_further:
        return f"Too close to call against another rater ({pair})."
    if human.difference <= 0:
        return f"It is closer to the raters than another rater is ({pair})."
    within = ", but within the margin" if check.passed else ""
    return f"It is further from the raters than another rater is{within} ({pair})."


def human_pair(v: Validation) -> str:
    """Compare the top judge with a rater at one reply per item, or return "".

    This is needed only if judges are compared on several replies. The result is "" if judges are
    compared on one reply, because a human rater then is listed among them.
    """
    if v.evidence is None or v.decision.leader is None or not v.evidence.human_is_apart:
        return ""
    human = v.evidence.judges[0].human
    assert human is not None, "it is apart"
    pair = _pair(v.evidence, human)
    return f"{v.decision.leader} compared with a human rater, both at one reply: {pair}."


def _pair(evidence: Evidence, human: HumanReference) -> str:
    """Return the difference from a human rater. Add both values if no table shows them."""
    difference = f"difference {with_bounds(human.difference, human.low, human.high)}"
    on_items = f"{difference} on {counted([human.n_items])}"
    if not evidence.human_is_apart:
        return on_items
    return f"judge {number(human.judge)}, human rater {number(human.human)}, {on_items}"


def _is_alone(v: Validation) -> bool:
    assert v.evidence is not None
    return sum(row.value is not None for row in v.evidence.judges) == 1


NOT_NEEDED = "not_needed"  # because the verdict is "none" anyway
CheckOutcome: TypeAlias = Literal["passed", "failed", "open"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """Row in the recommendation's checklist.

    Attributes
    ----------
    name : str
        Requirement for the judge.
    state : str
        Whether the judge meets it; "open" if undecided.
    why : str
        Numbers of a failed check, or the reason it's undecided; "" if ``name`` is enough.
    """

    name: str
    state: CheckOutcome
    why: str = ""


def check_rows(v: Validation) -> list[CheckRow]:
    """Return a row for each check of the top judge. Empty without a top judge."""
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
    """State that a check failed, or that it is undecided, with the reason."""
    check = v.decision.checks[kind]
    said = _filled(v, check, check_of_use(kind).template(check, v))
    why = why_open(v, check) if check.passed is None else ""
    return f"{said} ({why})" if why else said


def passed_sentences(v: Validation) -> str:
    """Yield a sentence for each passed check that has one."""
    checks = ((row, v.decision.checks.get(row.kind)) for row in all_checks())
    templates = ((c, row.template(c, v)) for row, c in checks if c is not None and c.passed)
    return " ".join(_filled(v, check, template) for check, template in templates if template)


def step_words(v: Validation, kind: str) -> str:
    """Describe what to do about a check that did not pass."""
    check = v.decision.checks[kind]
    return _filled(v, check, check_of_use(kind).step(check, v))


def why_open(v: Validation, check: Check) -> str:
    """Explain why a check cannot be decided. Return "" if the reason is unknown."""
    text = reason_words_of(check_of_use(check.kind), check.reason)
    return _filled(v, check, text)


def reason_words_of(row: CheckOfUse, reason: CheckReason) -> str:
    """Return a template for a reason, in a check's own words if it has them, or ""."""
    return row.why_open.get(reason) or REASONS.get(cast("Reason", reason), "")


def _filled(v: Validation, check: Check, template: str) -> str:
    """Fill numbers and names into a sentence's template."""
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
    """Return the numbers from the top judge's annotator test for use in templates."""
    section = v.replacement
    test = v.evidence.judges[0].annotator_test if v.evidence else None
    if test is None or section is None:
        return {"net_wins": "", "eps": "", "larger_eps": ""}
    least = (row.smallest_eps for row in section.judges if row.judge == v.decision.leader)
    larger = next(least, None)
    passes = "" if larger is None else f"; it would pass with an eps of {number(larger, 2)}"
    net_wins = with_bounds(test.net_wins, test.low, test.high, 2)
    return {"net_wins": net_wins, "eps": f"{section.eps:g}", "larger_eps": passes}
