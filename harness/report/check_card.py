"""Format the card of a checked judge as text for a terminal and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import ExitCode
from harness.files.plain_text import counted
from harness.judging.judges.response_errors import explain
from harness.report.formatting import percent, percent_with_interval
from harness.report.html.rendering import render
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.check_result import JudgeCheck

SECTIONS = (("flips", "Flips"), ("replies", "Replies"))
HEADS = ("change", "answers that differ", "pairs", "items")
NAMES = {
    "repeats": "none, asked again",
    "orders": "another order",
    "control": "harmless edits",
    "verbosity": "padding",
    "format": "formatting",
    "injection": "instructions in the text",
}
OUTCOMES = {
    "invalid": "unreadable reply",
    "abstained": "abstention",
    "refused": "refusal",
    "failed": "failed call",
}


def card_text(check: JudgeCheck) -> str:
    """Return the card as text for a terminal."""
    parts = [paragraph(headline(check))]
    if check.rows:
        parts.append(draw_table(HEADS, table_rows(check)))
    parts.append("\n".join(map(paragraph, facts(check))))
    return "\n\n".join(parts)


def headline(check: JudgeCheck) -> str:
    """Return a sentence that states how often the judge's answer flips for no reason."""
    flipped = check.flipped
    where = f"{counted([check.n_items])} of {check.task}"
    if flipped.value is None:
        return f"{check.judge} on {where}: NA, because no two answers can be compared."
    n = f"{flipped.counts['n']:.0f} pairs of replies about {counted([flipped.n_used])}"
    often = percent_with_interval(flipped, 1)
    return f"{check.judge} on {where}: its answer flips for no reason in {often} of {n}."


def table_rows(check: JudgeCheck) -> list[tuple[str, ...]]:
    """Return a table row for each change of the prompt or item."""
    return [
        (
            NAMES[row.change],
            percent_with_interval(row.flipped, 1),
            f"{row.flipped.counts['n']:.0f}",
            f"{row.flipped.n_used}",
        )
        for row in check.rows
    ]


def facts(check: JudgeCheck) -> Iterator[str]:
    """Yield sentences on instructions, on readable replies, on parameters and on cost."""
    for row in check.rows:
        if row.to_target is not None and row.to_target.value is not None:
            n = f"{row.to_target.counts['n']:.0f}"
            often = percent_with_interval(row.to_target, 1)
            yield f"It follows instructions in the text in {often} of {n} cases."
    answered = check.outcomes.get("answered", 0)
    others = [
        counted([check.outcomes[outcome]], name)
        for outcome, name in OUTCOMES.items()
        if check.outcomes.get(outcome)
    ]
    if check.n_replies:
        rest = f" ({', '.join(others)})" if others else ""
        yield (
            f"Readable answers: {answered} of {counted([check.n_replies], 'reply')} "
            f"({percent(answered / check.n_replies)}){rest}."
        )
    for refused in check.refused_parameters:
        yield f"Parameters: {refused}."
    if answered and not check.refused_parameters:
        yield "Parameters: the server accepted all that were sent."
    yield _cost(check)
    if check.stopped:
        yield f"The check ended early: {explain(check.stopped)}. Run the check again to continue."
    elif check.exit_code == ExitCode.INCOMPLETE:
        yield "The check ended early, because too few replies could be read."


def _cost(check: JudgeCheck) -> str:
    if check.cost_usd is None:
        return f"Cost: the price of its {counted([check.n_replies], 'reply')} isn't known."
    each = f", ${1000 * check.cost_usd / check.n_replies:.2f} per 1,000" if check.n_replies else ""
    return f"Cost: ${check.cost_usd:.4f} for {counted([check.n_replies], 'reply')}{each}."


def card_page(check: JudgeCheck) -> str:
    """Return the card as an HTML page."""
    return render(
        "check.html.jinja",
        {
            "judge": check.judge,
            "headline": headline(check),
            "heads": HEADS,
            "rows": table_rows(check),
            "facts": tuple(facts(check)),
        },
        block={"grid": None, "items": None},
        title=f"Check of {check.judge}",
        sections=SECTIONS,
    )
