"""Format a search for a better way to run a judge, as text and as a section of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.errors import in_sentences
from harness.files.plain_text import counted
from harness.report.formatting import level_text, percent
from harness.report.recommendation import summary, verdict_and_step
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.improvement import Candidate, Improvement

HEADS = ("way of asking", "round", "items", "replies", "cost", "dropped after")
SAME_COST = 0.05  # ratios closer to 1 count as the same cost
SECTION = "search.json"  # file in the folder of the run with the section
MOST_LINES = 8  # lines of the wording in a terminal


class SearchSection(msgspec.Struct, frozen=True, kw_only=True):
    """Section of a run's report on the search that produced the run."""

    lead: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wording: tuple[str, ...]


def section_of(improvement: Improvement) -> SearchSection:
    """Return a section with the candidates, their costs, and the gain of the best one."""
    return SearchSection(
        lead=tuple(_gained(improvement)),
        heads=HEADS,
        rows=tuple(tuple(_row(row)) for row in improvement.candidates),
        wording=improvement.changes,
    )


def render(improvement: Improvement, *, details: bool = False) -> str:
    """Return the candidates, the gain and the recommendation as text.

    ``details`` adds the wording and the full recommendation.
    """
    blocks = [
        _headline(improvement),
        draw_table(HEADS, [_row(row) for row in improvement.candidates]),
    ]
    parts = (
        _gained(improvement),
        _wording(improvement) if details else (),
        _recommended(improvement, details=details),
    )
    blocks += [_block(lines) for lines in map(list, parts) if lines]
    return "\n\n".join(blocks)


def _block(lines: list[str]) -> str:
    return "\n".join(map(paragraph, lines))


def _headline(improvement: Improvement) -> str:
    held_out = f"{improvement.n_held_out} held out" if improvement.n_held_out else "none held out"
    development = counted([improvement.n_development], "development item")
    return paragraph(f"{improvement.task}  {development}, {held_out}  {improvement.judge}")


def _row(row: Candidate) -> list[str]:
    left = f"{row.left_at_items} items" if row.left_at_items is not None else ""
    cost = "unknown" if row.usd is None else f"${row.usd:.4f}"
    name = f"{row.judge} (best)" if row.is_best else row.judge
    return [name, str(row.round), str(row.n_items), str(row.n_calls), cost, left]


def _gained(improvement: Improvement) -> Iterator[str]:
    asked = percent(improvement.n_calls / max(improvement.n_calls_full, 1))
    yield (
        f"The search used {improvement.n_calls:,} replies, which is {asked} of the replies "
        "needed to try every way of asking on every development item."
    )
    if improvement.ending == "stopped":
        yield in_sentences(
            "The search hasn't ended",
            *improvement.stopped_by,
            f"Continue with: `{improvement.resume}`",
        )
        return
    if improvement.ending == "improved":
        yield f"Improvement found: {improvement.best}. {_share(improvement)}"
    elif improvement.ending == "no_claim":
        yield from _unclaimed(improvement)
    elif improvement.gain is None:
        unused = " The held-out items weren't used." if improvement.n_held_out else ""
        yield (
            f"No improvement found: {_others(improvement)} no better than {improvement.judge} on "
            f"the development items.{unused}"
        )
    else:
        yield (
            f"No improvement found: {improvement.best} was the best on the development items, and "
            f"its gain on the held-out items isn't significant. {_share(improvement)}"
        )


def _others(improvement: Improvement) -> str:
    n = len({row.judge for row in improvement.candidates} - {improvement.judge})
    return f"{n} other way of asking is" if n == 1 else f"{n} other ways of asking are"


def _share(improvement: Improvement) -> str:
    """Describe on how many of 100 items the judge agrees with a rater, before and after."""
    gain = improvement.gain
    assert gain is not None
    before, after = (f"{100 * share:.0f}" for share in (gain.before, gain.after))
    place = "development item" if improvement.no_claim else "held-out item"
    items = counted([gain.n_items], place)
    between = f"{_between(improvement)}; {items}" if not improvement.no_claim else items
    return (
        f"It agrees with another rater's answer on {after} of 100 items instead of {before} "
        f"({between}){_cost(improvement)}."
    )


def _between(improvement: Improvement) -> str:
    gain = improvement.gain
    assert gain is not None
    if gain.low is None or gain.high is None:
        few = "there are fewer than five items or groups"
        changed = "fewer than six answers are better or worse"
        return f"no interval, because {few if gain.reason == 'too_few_items' else changed}"
    low, high = (f"{abs(100 * end):.0f}" for end in (gain.low, gain.high))
    if gain.low > 0.0:
        between = f"{low} to {high} more"
    elif gain.high < 0.0:
        between = f"{high} to {low} fewer"
    else:
        between = f"between {low} fewer and {high} more"
    return f"{between}, {level_text(gain.level)}"


def _cost(improvement: Improvement) -> str:
    ratio = improvement.cost_ratio
    if ratio is None or abs(ratio - 1.0) < SAME_COST:
        return ""
    return f", at {ratio:.2g} times the cost"


def _unclaimed(improvement: Improvement) -> Iterator[str]:
    why = (
        "but you tried judges on these items before"
        if improvement.no_claim == "seen"
        else "but the held-out items were used before"
    )
    text = f"{improvement.best} is the best on the development items, {why}."
    if improvement.gain is not None:
        text += f" {_share(improvement)}"
    yield text
    if improvement.no_claim == "seen":
        yield (
            "You can't claim a gain on these items, because a judge that did badly on them "
            "tends to do better in the next try by chance."
        )
    else:
        yield f"{improvement.spent_by[:1].upper()}{improvement.spent_by[1:]}."
    if improvement.n_needed is not None:
        yield (
            f"To claim a gain, get new ratings: with {improvement.n_needed:,} newly rated items "
            f"held out, a gain of {100 * improvement.worth:g} of 100 items is detected with 80% "
            "power."
        )


def _wording(improvement: Improvement) -> Iterator[str]:
    """Yield the changes in the best candidate's prompt."""
    changes = improvement.changes
    if changes:
        yield f"The prompt of {improvement.best} differs from the prompt of {improvement.judge}:"
        yield from changes[:MOST_LINES]
        if len(changes) > MOST_LINES:
            rest = counted([len(changes) - MOST_LINES], "more line")
            yield f"... and {rest} in wording.diff"


def _recommended(improvement: Improvement, *, details: bool) -> list[str]:
    v = improvement.validation
    if v is None:
        return []
    return [*(summary(v) if details else verdict_and_step(v)), _shares(improvement)]


def _shares(improvement: Improvement) -> str:
    """Describe the error rates used to test the gain and the recommendation."""
    gain = "The gain was tested at an error rate of 0.04."
    if improvement.is_improvement:
        return f"{gain} It's significant, so the recommendation is tested at 0.05."
    return f"{gain} It isn't significant, so the recommendation is tested at 0.01."
