"""A team's answers from another rating tool, for merging into a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.annotation.merged_ratings import Collected
from harness.annotation.questions import checked_value
from harness.annotation.rating_log import Answer, LoggedAnswers
from harness.files.tables.checks import short
from harness.tasks import CANNOT_ASSESS
from harness.tasks.model import ASKED_ON, JudgeElicitation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.tasks import Task
    from harness.tasks.item import HumanElicitation

MOST_SHOWN = 5  # most problems to show


class ScreenData(Struct, frozen=True):
    """Data that identify a screen's ratings. See `harness.annotation.teams.screens.shown_data`."""

    harness_task: str
    harness_form: JudgeElicitation
    harness_items: tuple[str, ...]
    harness_shown: tuple[str, ...]
    harness_instructions: str
    harness_swapped: bool = False
    harness_raters: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAnswer:
    """A rater's answers on a screen.

    Attributes
    ----------
    where : str
        Location in the export, for messages.
    values : dict of (int, str) to object
        Values as the tool writes them, by number of the item on the screen, from 0, and
        elicitation.
    made_at : str
        Time as ISO 8601, or "" if the tool records none.
    """

    where: str
    screen: ScreenData
    rater: str
    values: Mapping[tuple[int, HumanElicitation], object]
    made_at: str = ""
    comment: str = ""
    flagged: bool = False
    skipped: bool = False


@dataclass(slots=True)
class TeamAnswers:
    """Answers by rater, and problems with values that aren't answers.

    Attributes
    ----------
    collected : list of Collected
        For `harness.annotation.merge_ratings`.
    n_replaced : int
        Number of answers that the same rater's later answer replaces.
    unassigned : tuple of str
        Raters who rated screens assigned to others.
    problems : list of str
        One line for each value that isn't an answer, with its location.
    """

    collected: list[Collected] = field(default_factory=list)
    n_replaced: int = 0
    unassigned: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)


def collected_answers(task: Task, source: str, given: Sequence[TeamAnswer]) -> TeamAnswers:
    """Convert a team's answers for merging. Each rater's latest answer to a question counts."""
    result = TeamAnswers()
    by_rater: dict[str, LoggedAnswers] = {}
    strangers: dict[str, None] = {}
    for one in sorted(given, key=lambda answer: answer.made_at):
        logged = by_rater.setdefault(one.rater, LoggedAnswers(one.rater))
        named = [name for name in one.screen.harness_raters.split(", ") if name]
        if named and one.rater not in named:
            strangers[one.rater] = None
        for answer in _answers(task, one, result.problems):
            result.n_replaced += answer.key in logged.answers
            logged.add(answer)
    result.collected = [Collected(source, logged) for logged in by_rater.values()]
    result.unassigned = tuple(strangers)
    return result


def _answers(task: Task, given: TeamAnswer, problems: list[str]) -> list[Answer]:
    screen = given.screen
    answers = []
    for number, item in enumerate(screen.harness_items):
        for elicitation in ASKED_ON[screen.harness_form]:
            raw = given.values.get((number, elicitation))
            value: str | tuple[str, ...] | None = None
            if not given.skipped:
                if raw is None:
                    continue
                try:
                    value = _value(task, screen, elicitation, raw)
                except ValueError as error:
                    problems.append(f"{given.where}: {given.rater}: {short(raw)}: {error}")
                    continue
            answers.append(
                Answer(
                    item=item,
                    elicitation=elicitation,
                    value=value,
                    rated_at=utc_time(given.made_at),
                    form=screen.harness_form,
                    instructions=screen.harness_instructions,
                    shown=screen.harness_shown[number],
                    swapped=screen.harness_swapped,
                    comment=given.comment.strip(),
                    flagged=given.flagged,
                    skipped=given.skipped,
                )
            )
    return answers


def _value(
    task: Task, screen: ScreenData, elicitation: HumanElicitation, value: object
) -> str | tuple[str, ...]:
    """Validate a tool's value, and convert it to the form used in the task's ratings."""
    names = [str(name) for name in value] if isinstance(value, list | tuple) else [str(value)]
    if task.is_open:
        [text] = names if len(names) == 1 else ["\n".join(names)]
        return checked_value(task, elicitation, text)
    keys = [_key(task, screen, name) for name in names]
    if CANNOT_ASSESS in keys:
        if len(keys) > 1:
            raise ValueError(
                "'Cannot assess' is selected together with other options. Choose either 'Cannot "
                "assess' or options"
            )
        return checked_value(task, elicitation, CANNOT_ASSESS)
    if elicitation == "response_set":
        return checked_value(task, elicitation, keys)
    if len(keys) > 1:
        raise ValueError("found several options. Choose one")
    return checked_value(task, elicitation, keys[0])


def _key(task: Task, screen: ScreenData, name: str) -> str:
    keys = {option.label: option.key for option in task.options}
    keys |= {option.key: option.key for option in task.options}
    key = CANNOT_ASSESS if name == CANNOT_ASSESS else keys.get(name)
    if key is None:
        raise ValueError("the answer isn't one of the task's options")
    return task.pairwise.swapped_key(key) if task.pairwise and screen.harness_swapped else key


def utc_time(text: str) -> str:
    """Convert an ISO 8601 time to UTC, to the second. Return "" for any other text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return ""
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def problems_in_words(problems: Sequence[str]) -> list[str]:
    """Return the first problems and a line with the number of further problems."""
    more = len(problems) - MOST_SHOWN
    return [*problems[:MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
