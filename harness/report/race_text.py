"""Describe a race between judges: its result, the dropped judges, and what it saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.race_result import NAMES
from harness.files.plain_text import counted
from harness.report.formatting import listed, percent

if TYPE_CHECKING:
    from harness.analysis.location import Location
    from harness.analysis.race_result import RacedJudge, RaceResult

HEADS = ("judge", "items", "replies", "of", "dropped after", "replies so far", "cost", "full run")


def found(race: RaceResult) -> str:
    """Describe a race's result with its error rate, or say that the race has not ended."""
    if race.unfit:
        why = "is a control" if race.unfit == "control" else f"is {race.unfit}"
        return f"The race returned no judge: {race.leader} has the lowest loss, but it {why}."
    error = f"at error rate {race.alpha * 100:.3g}%"
    pool = f"on this pool{_with_one_reply(race)}"
    if race.ending == "unique":
        return f"{race.judge} is the best of these judges {pool}, {error}."
    if race.ending is not None and race.within:
        within = f"within {race.within:g} of the best of these judges {pool}"
        return f"{race.judge} is {within}, {error}."
    if race.ending is not None:
        asked = f"all {race.n_items:,} items were used"
        return f"No judge is better than {race.judge} {pool}, {error} ({asked})."
    left = [row.judge for row in race.judges if row.left_at_items is not None]
    others = [row.judge for row in race.judges if row.left_at_items is None]
    why = "The cost limit ended the race first" if race.over_budget else "The race has not ended"
    so_far = f"{listed(left)} left, and " if left else ""
    return f"{why}: {so_far}the best judge could be any of {listed(others)}."


def _with_one_reply(race: RaceResult) -> str:
    """Return a phrase if a race compared single replies although judges give several, else ""."""
    return " with one reply per item" if race.n_replies > 1 else ""


def saved(race: RaceResult) -> str:
    """Compare the race's replies and cost with running all judges on all items."""
    text = f"Used {race.n_calls:,} ({share_asked(race)}) of the "
    text += f"{race.n_calls_full:,} replies needed to run every judge on all "
    text += f"{race.n_items:,} rated items"
    if race.usd and race.usd_full:
        text += f": ${race.usd:.4f} instead of ${race.usd_full:.4f}, priced like these replies"
    return f"{text}."


def share_asked(race: RaceResult) -> str:
    """Format the share of all judges' replies that the race requested."""
    return percent(race.n_calls / race.n_calls_full)


def basis(race: RaceResult) -> str:
    """Describe how the race defines the loss, and which items it used."""
    drawn = f"{counted([race.n_items])}"
    if race.n_groups is not None:
        drawn += f" in {counted([race.n_groups], 'group')}, drawn whole"
    text = f"Loss: {NAMES[race.loss]}, mean over {drawn}."
    text += " A reply without an answer has a loss of 1."
    if race.n_unrated:
        text += f" Left out: {counted([race.n_unrated])} without a rating of this kind."
    return text


def not_compared(race: RaceResult) -> str:
    """Explain why the judges cannot be compared on all items after the race."""
    if race.completed:
        return (
            f"Only {race.judge} was run on the remaining items, so only {race.judge} is "
            f"validated on all of them. Its interval accounts for selecting it from "
            f"{len(race.judges)} judges. You can't compare the others with it."
        )
    return (
        "The ranking and all results based on it are NA, because in a race, the answers so far "
        "decide which items a judge sees."
    )


def next_step(race: RaceResult, location: Location) -> str:
    """Return the next step after a race without a validation."""
    if race.unfit:
        return (
            "Start a race between judges that answer, or fix the cause that keeps these judges "
            "from answering."
        )
    command = location.command_to_resume()
    if race.ending is None:
        higher = ", with a higher `--max-cost`" if race.over_budget else ""
        return f"Go on: `{command}`{higher}."
    return (
        f"Validate {race.judge} on all items: `{command} --complete-winner` runs it on the "
        "remaining items."
    )


def race_lines(race: RaceResult) -> list[str]:
    """Describe the race in sentences, starting with its result."""
    return [found(race), *_dropped(race), saved(race), basis(race), not_compared(race)]


def optional_lines(race: RaceResult) -> list[str]:
    """Return the sentences about a race that can be omitted to save space."""
    return [saved(race), basis(race), *([not_compared(race)] if race.completed else [])]


def _dropped(race: RaceResult) -> list[str]:
    """Yield a sentence for each dropped judge, with the reason."""
    return [
        f"{name} was dropped, so the result is about the other judges. {why}."
        for name, why in race.dropped.items()
    ]


def race_table(race: RaceResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows of a table with each judge's replies and when it was dropped."""
    return HEADS, [_row(row) for row in race.judges]


def _row(row: RacedJudge) -> tuple[str, ...]:
    left_at, calls = row.left_at_items, row.left_at_calls
    return (
        row.judge,
        f"{row.n_items:,}",
        f"{row.n_calls:,}",
        f"{row.n_calls_full:,}",
        "" if left_at is None else counted([left_at]),
        "" if calls is None else f"{calls:,}",
        _usd(row.usd),
        _usd(row.usd_full),
    )


def _usd(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f}"
