"""An audit as text for a terminal and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.curation.audit.rating_checks import is_low
from harness.files.plain_text import counted
from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.formatting import number, p_value
from harness.report.html.rendering import render
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis.decision import DecisionVerdict
    from harness.curation.audit.finding import Audit, Effect, Finding, RaterFacts
    from harness.report.charts import Chart


SHOWN = 5  # ids shown for a finding
MAX_SHORT = 2  # findings in words in the short output
MORE = "Add --details for every finding in words, the raters, and what wasn't checked."
MOST_RATERS = 20
TITLES = {
    "duplicate_items": "duplicate items",
    "duplicates_across_groups": "duplicates across groups",
    "near_duplicate_items": "near duplicates",
    "single_rater_items": "items with a single rater",
    "few_items_per_rater": "raters with few items",
    "unused_options": "unused options",
    "options_spelt_twice": "options with two spellings",
    "labels_one_letter_apart": "labels one letter apart",
    "answers_without_content": "answers without content",
    "choice_outside_set": "choices outside the rater's set",
    "sets_of_everything": "sets of all options",
    "sets_of_one_option": "sets of one option",
    "identical_raters": "raters with the same answers",
    "same_answer_raters": "raters with only one answer",
    "deviating_raters": "raters unlike the others",
    "excess_agreement": "raters who agree unusually often",
    "excess_agreement_with_judge": "raters who agree unusually often with a judge",
    "drifting_raters": "raters who change over time",
    "suspected_rating_errors": "suspected rating errors",
    "secrets_or_personal_data": "secrets or personal data",
    "not_fully_specified": "task not fully specified",
    "low_annotator_power": "low power of the annotator test",
    "wide_intervals": "wide intervals",
    "too_few_items": "too few items",
}
SHOWN_ON_PAGE = 200  # ids shown for a finding on the page
SECTIONS = (("summary", "Summary"), ("findings", "Findings"), ("raters", "Raters"))


def audit_text(audit: Audit, *, details: bool = False) -> str:
    """Render an audit as a table of findings, with instructions for the first findings.

    ``details`` adds every finding in words, the raters, and the checks that couldn't run.
    """
    parts = [f"{audit.task}: {counts_of(audit)}"]
    if audit.decision is not None:
        parts.append(
            "Decision on all items and ratings: "
            f"{outcome_words(audit.decision, audit.equals)}\nVerdicts: {audit.verdicts}"
        )
    if audit.findings:
        parts.append(_table(audit))
        n_shown = len(audit.findings) if details else MAX_SHORT
        parts += [
            _words(i, finding, details=details)
            for i, finding in enumerate(audit.findings[:n_shown], 1)
        ]
    else:
        parts.append("No findings.")
    if not details:
        return "\n\n".join([*parts, MORE])
    if audit.raters:
        parts.append(_raters(audit.raters))
    lines = [paragraph(f"Not checked: {row.check}; {row.reason}.") for row in audit.not_checked]
    parts += ["\n".join(lines)] if lines else []
    return "\n\n".join(parts)


def counts_of(audit: Audit) -> str:
    """Format the numbers of items, raters and ratings as a phrase."""
    counts = ((audit.n_items, "item"), (audit.n_raters, "rater"), (audit.n_ratings, "rating"))
    return ", ".join(counted([n], noun) for n, noun in counts)


def _table(audit: Audit) -> str:
    measured = audit.decision is not None
    heads = ["", "finding", "n", *(["decision without"] if measured else [])]
    rows = [
        [str(i), TITLES[f.kind], f"{f.n:,}", *([_effect(f.effect)] if measured else [])]
        for i, f in enumerate(audit.findings, 1)
    ]
    return draw_table(heads, rows)


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return "-"
    shift = "" if effect.largest_change is None else f" ({effect.largest_change:.3f})"
    if not (effect.changes_verdict or effect.changes_equals):
        return f"same{shift}"
    return f"{outcome_words(effect.verdict, effect.equals)}{shift}"


def outcome_words(verdict: DecisionVerdict, equals: Sequence[str]) -> str:
    """Format a verdict as a phrase, with the judges that are not significantly different."""
    return f"{verdict} {first_names(equals, ' or ')}" if equals else verdict


def decision_words(verdict: DecisionVerdict, judge: str | None) -> str:
    """Format a verdict and its judge as a phrase."""
    return verdict if judge is None else f"{verdict} {judge}"


def _words(number: int, finding: Finding, *, details: bool) -> str:
    where = [f"{noun} {first_names(ids)}" for noun, ids in places_of(finding)]
    lines = [
        f"{number}. {capitalized(finding.what)}.",
        *([f"Where: {'; '.join(where)}."] if where else []),
        *([f"Why it matters: {finding.why}"] if details else []),
        f"What to do: {finding.action}",
    ]
    return "\n".join([*map(paragraph, lines), f"Run: {finding.command}"])


def places_of(finding: Finding) -> list[tuple[str, tuple[str, ...]]]:
    """Return the ids in a finding, grouped into items, raters and options."""
    places = {
        "items": finding.left_out_items,
        "raters": finding.raters,
        "options": finding.options,
    }
    return [(noun, ids) for noun, ids in places.items() if ids]


def first_names(names: Sequence[str], separator: str = ", ") -> str:
    """List the first names and the number of remaining names."""
    more = f" and {len(names) - SHOWN:,} more (--json)" if len(names) > SHOWN else ""
    return f"{separator.join(names[:SHOWN])}{more}"


def capitalized(text: str) -> str:
    """Return a text with its first letter capitalized."""
    return text[0].upper() + text[1:]


def compared_raters(raters: Sequence[RaterFacts]) -> list[RaterFacts]:
    """Return the raters who share items with two others, lowest excess agreement first."""
    compared = [fact for fact in raters if fact.agreement is not None]
    return sorted(compared, key=lambda fact: (fact.agreement or 0.0) - (fact.expected or 0.0))


def _raters(raters: Sequence[RaterFacts]) -> str:
    ordered = compared_raters(raters)
    if not ordered:
        return "No rater shares an item with two others, so raters can't be compared."
    rows = [list(_rater_row(fact)) for fact in ordered[:MOST_RATERS]]
    heads = ["rater", "items", "agreement", "expected", "p", ""]
    more = len(raters) - len(rows)
    note = f"\n{counted([more], 'more rater')} in --json" if more else ""
    title = "Each rater against the others on the same items (p adjusted by Holm):"
    return f"{title}\n{draw_table(heads, rows)}{note}"


def _rater_row(fact: RaterFacts) -> Iterator[str]:
    yield fact.rater
    yield str(fact.n_items)
    yield f"{fact.agreement:.2f} [{fact.low:.2f}, {fact.high:.2f}]"
    yield f"{fact.expected:.2f}"
    yield p_value(fact.p_adjusted)
    yield remark_of(fact)


def remark_of(fact: RaterFacts) -> str:
    """Describe the findings about a rater, or return "" if there are none."""
    return f"always {fact.always}" if fact.always else "lower" if is_low(fact) else ""


def audit_page(audit: Audit) -> str:
    """Render an audit as a page that contains no text of an item."""
    compared = compared_raters(audit.raters)
    n = len(audit.findings)
    return render(
        "audit.html.jinja",
        {
            "audit": audit,
            "counts": counts_of(audit),
            "headline": counted([n], "finding") if n else "No findings",
            "summary": list(_summary(audit)),
            "findings": [_row(finding) for finding in audit.findings],
            "chart": _chart(compared) if compared else None,
            "raters": [(fact, remark_of(fact)) for fact in compared],
        },
        block={"grid": None, "items": None},
        title=f"Audit of {audit.task}",
        sections=SECTIONS,
    )


def _summary(audit: Audit) -> Iterator[str]:
    if audit.decision is None:
        yield (
            "The effect of the findings on the decision wasn't measured, because there are no "
            "verdicts (--verdicts)."
        )
        return
    effects = [finding.effect for finding in audit.findings if finding.effect]
    changing = sum(effect.changes_verdict or effect.changes_equals for effect in effects)
    yield f"Decision on all items and ratings: {outcome_words(audit.decision, audit.equals)}."
    verb = "changes" if changing == 1 else "change"
    yield (
        f"{changing} of the findings {verb} the decision if you leave out their items or raters, "
        "one finding at a time."
    )
    yield f"Verdicts: {audit.verdicts}."


def _row(finding: Finding) -> dict[str, object]:
    effect = finding.effect
    decision, change = "not measured", ""
    if effect is not None:
        words = outcome_words(effect.verdict, effect.equals)
        is_other = effect.changes_verdict or effect.changes_equals
        decision = words if is_other else f"same ({words})"
        change = "NA" if effect.largest_change is None else number(effect.largest_change)
    return {
        "finding": finding,
        "title": TITLES[finding.kind],
        "what": f"{capitalized(finding.what)}.",
        "decision": decision,
        "change": change,
        "places": [
            (noun.capitalize(), ids[:SHOWN_ON_PAGE], max(len(ids) - SHOWN_ON_PAGE, 0))
            for noun, ids in places_of(finding)
        ],
    }


def _chart(raters: Sequence[RaterFacts]) -> Chart:
    """Draw the actual and expected agreement of the raters who agree least."""
    rows = [
        row
        for fact in raters[:MOST_RATERS]
        for row in (
            IntervalRow(fact.rater, fact.agreement, fact.low, fact.high, "rater", line=fact.rater),
            IntervalRow(f"{fact.rater}, expected", fact.expected, kind="baseline", line=fact.rater),
        )
    ]
    shown = f", the {MOST_RATERS} lowest of {len(raters)}" if len(raters) > MOST_RATERS else ""
    titles = Titles(
        "raters",
        f"Agreement with the other raters{shown}",
        f"{'; '.join(row.description for row in rows)}.",
        x="agreement; grey: expected",
    )
    return interval_chart(titles, rows, within=(0.0, 1.0))
