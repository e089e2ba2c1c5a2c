"""State of an annotation session: current screen, answers, skips and progress."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypedDict

from harness.annotation.questions import (
    OPEN_QUESTIONS,
    QUESTIONS,
    checked_value,
    instructions_version,
    shown_version,
)
from harness.annotation.rating_log import Answer
from harness.files.plain_text import visible, visible_lines
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import (
    HumanElicitation,  # noqa: TC001 -- readers of a field need it
    Scale,  # noqa: TC001 -- readers of a field's type need it
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.annotation.questions import Screen, Step
    from harness.annotation.rating_log import RatingLog
    from harness.tasks import Task

    AnswerValue = str | tuple[str, ...]
    QuestionKey = tuple[str, str]  # item and elicitation

MAX_COMMENT_CHARS = 2000
MARKS = re.compile("([\t\u061c\u200e\u200f])")


class OutdatedQuestionError(ValueError):
    """Error for an answer to outdated questions, such as from a second window."""


class TextView(TypedDict):
    """A text of an item. ``is_side`` if the text is one of two compared answers."""

    name: str
    text: str
    is_side: bool


class OptionView(TypedDict):
    """An option that a rater can choose."""

    key: str
    label: str
    description: str


class QuestionView(TypedDict):
    """A question with its current answer."""

    item: str
    elicitation: HumanElicitation
    criterion: str
    value: str | list[str] | None
    options: list[OptionView]


class ScreenView(TypedDict):
    """Content of the page for a screen. See `Screen`."""

    number: int
    n_outputs: int
    part: int
    image: str
    texts: list[TextView]
    question: str
    kind: Scale | Literal["one", "several"]
    bounds: tuple[float, float] | None
    questions: list[QuestionView]
    can_change_set: bool
    abstention: str
    is_answered: bool
    is_skipped: bool
    comment: str
    flagged: bool


class View(TypedDict):
    """Content of the page. ``screen`` is None once all items are rated."""

    n_items: int
    n_complete: int
    n_skipped: int
    can_go_back: bool
    screen: ScreenView | None


class RatingSession:
    """A rater's screens and the log of answers.

    Parameters
    ----------
    task : Task
        The rated task.
    screens : tuple of Screen
        The questions, in order; the first without an answer is shown first.
    log : RatingLog
        The rater's open log, which receives each answer.
    """

    def __init__(self, task: Task, screens: tuple[Screen, ...], log: RatingLog) -> None:
        self.task = task
        self.rater = log.logged.rater
        self.screens = screens
        self._log = log
        self._answers = log.logged.answers
        self._version = instructions_version(task)
        self._rated_sets = {
            rating.item: rating.value
            for rating in task.ratings
            if rating.rater == self.rater and rating.elicitation == "response_set"
        }
        self._steps = {step.key: step for screen in screens for step in screen.steps}
        self._place = self._next_open(0)

    @property
    def n_items(self) -> int:
        """Number of items, including attention checks."""
        return len({step.item.id for step in self._steps.values()})

    @property
    def n_complete(self) -> int:
        """Number of items with answers to all questions."""
        return self.n_items - len(self._items_where(lambda answer: not answer or answer.skipped))

    @property
    def n_skipped(self) -> int:
        """Number of items with a skipped question."""
        return len(self._items_where(lambda answer: answer is not None and answer.skipped))

    def _items_where(self, matches: Callable[[Answer | None], bool]) -> set[str]:
        return {item for item, asked in self._steps if matches(self._answers.get((item, asked)))}

    def checks(self) -> tuple[int, int]:
        """Return the numbers of correct and of answered attention checks."""
        steps = [step for step in self._steps.values() if step.expected]
        pairs = [(self._answers.get(step.key), step.expected) for step in steps]
        answered = [(answer.value, expected) for answer, expected in pairs if answer]
        return sum(value == expected for value, expected in answered), len(answered)

    def current(self) -> Screen | None:
        """Return the current screen, or None if all screens are answered."""
        return self.screens[self._place] if self._place < len(self.screens) else None

    def answer(
        self,
        values: Mapping[QuestionKey, str | Sequence[str]],
        *,
        comment: str = "",
        flagged: bool = False,
    ) -> None:
        """Log the answers to the current screen's questions.

        If a changed response set no longer contains the choice, the choice is withdrawn and asked
        again.

        Raises
        ------
        OutdatedQuestionError
            If the current screen has different questions.
        ValueError
            If a value isn't an answer to its question. The message is for the rater.
        TaskError
            If an answer can't be written.
        """
        screen = self._shown(values)
        was_open = self._is_open(screen)
        checked = [(step, self._checked(step, screen, values[step.key])) for step in screen.steps]
        for step, value in checked:
            self._append(step, screen, value, comment, flagged=flagged)
            if step.elicitation == "response_set":
                self._withdraw_choice(step, value)
        self._place = self._next_open(self._place + 1) if was_open else self._place + 1

    def _shown(self, keys: Mapping[QuestionKey, object]) -> Screen:
        """Return the current screen. Raise an error if the keys don't match its questions."""
        screen = self.current()
        if screen is None or {step.key for step in screen.steps} != keys.keys():
            raise OutdatedQuestionError("These questions were answered already.")
        return screen

    def _checked(self, step: Step, screen: Screen, value: str | Sequence[str]) -> AnswerValue:
        """Validate an answer, and return it in the item's order of answers."""
        checked = checked_value(self.task, step.elicitation, self._swapped(value, screen))
        members = self._endorsed(step)
        if members and checked not in (*members, CANNOT_ASSESS):
            raise ValueError("Choose an option from your set, or change the set.")
        return checked

    def _swapped(self, value: str | Sequence[str], screen: Screen) -> str | list[str]:
        """Convert an answer from the order shown to the item's order, or back."""
        pairwise = self.task.pairwise if screen.swapped else None
        if isinstance(value, str):
            return pairwise.swapped_key(value) if pairwise else value
        return [pairwise.swapped_key(key) if pairwise else key for key in value]

    def _withdraw_choice(self, step: Step, value: AnswerValue) -> None:
        choice = self._steps.get((step.item.id, "forced_choice"))
        answer = self._answers.get(choice.key) if choice else None
        if choice is None or answer is None or answer.value is None:
            return
        if isinstance(value, tuple) and answer.value not in (*value, CANNOT_ASSESS):
            screen = next(screen for screen in self.screens if choice in screen.steps)
            self._append(choice, screen, None)

    def _endorsed(self, step: Step) -> tuple[str, ...]:
        """Return the response set that limits the choice, or an empty tuple if nothing does."""
        if step.form != "paired" or step.elicitation != "forced_choice":
            return ()
        answer = self._answers.get((step.item.id, "response_set"))
        value = answer.value if answer else self._rated_sets.get(step.item.id)
        return value if isinstance(value, tuple) else ()

    def skip(
        self, keys: Mapping[QuestionKey, object], *, comment: str = "", flagged: bool = False
    ) -> None:
        """Log all questions about the output as skipped, so that they don't come up again.

        Raises
        ------
        OutdatedQuestionError, TaskError
            As for `answer`.
        """
        shown = self._shown(keys)
        for screen in self.screens:
            if screen.output == shown.output:
                for step in screen.steps:
                    self._append(step, screen, None, comment, flagged=flagged, skipped=True)
        self._place = self._next_open(self._place + 1)

    def back(self) -> None:
        """Show the previous screen with its answers, without withdrawing any."""
        self._place = max(self._place - 1, 0)

    def forward(self) -> None:
        """Show the next screen if the current screen is answered."""
        screen = self.current()
        if screen is not None and not self._is_open(screen):
            self._place += 1

    def show_skipped(self) -> None:
        """Show the first screen with a skipped question, if one exists."""
        skipped = (i for i, screen in enumerate(self.screens) if self._is_skipped(screen))
        self._place = next(skipped, self._place)

    def _is_open(self, screen: Screen) -> bool:
        return any(step.key not in self._answers for step in screen.steps)

    def _is_skipped(self, screen: Screen) -> bool:
        answers = [self._answers.get(step.key) for step in screen.steps]
        return any(answer is not None and answer.skipped for answer in answers)

    def _next_open(self, start: int) -> int:
        """Return the next open screen's index, wrapping around. If none is open, return the end."""
        n = len(self.screens)
        places = (*range(start, n), *range(min(start, n)))
        return next((i for i in places if self._is_open(self.screens[i])), n)

    def _append(
        self,
        step: Step,
        screen: Screen,
        value: AnswerValue | None,
        comment: str = "",
        *,
        flagged: bool = False,
        skipped: bool = False,
    ) -> None:
        before = self._answers.get(step.key)
        given = (value, comment.strip(), flagged, skipped)
        if before and (before.value, before.comment, before.flagged, before.skipped) == given:
            return
        answer = Answer(
            item=step.item.id,
            elicitation=step.elicitation,
            value=value,
            rated_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            form=step.form,
            instructions=self._version,
            is_check=bool(step.expected),
            shown="" if step.expected else shown_version(self.task, step.item),
            swapped=screen.swapped,
            comment=comment.strip()[:MAX_COMMENT_CHARS],
            flagged=flagged,
            skipped=skipped,
        )
        self._log.add(answer)

    def view(self) -> View:
        """Return the page's content as JSON values, with control characters made visible."""
        screen = self.current()
        return {
            "n_items": self.n_items,
            "n_complete": self.n_complete,
            "n_skipped": self.n_skipped,
            "can_go_back": self._place > 0,
            "screen": self._screen_view(screen) if screen else None,
        }

    def _screen_view(self, screen: Screen) -> ScreenView:
        task = self.task
        image = task.images.get(screen.item.id)
        comment, flagged = self._remarks(screen)
        several = screen.elicitation == "response_set"
        kind = task.scale if task.is_open else "several" if several else "one"
        return {
            "number": screen.output,
            "n_outputs": self.screens[-1].output,
            "part": {"paired": 1 + (not several)}.get(screen.form, 0),
            "image": image.digest if image else "",
            "texts": self._texts(screen),
            "question": OPEN_QUESTIONS[kind] if task.is_open else QUESTIONS[screen.elicitation],
            "kind": kind,
            "bounds": task.bounds,
            "questions": [self._question_view(step, screen) for step in screen.steps],
            "can_change_set": any(map(self._can_change_set, screen.steps)),
            "abstention": CANNOT_ASSESS if task.abstain else "",
            "is_answered": not self._is_open(screen),
            "is_skipped": self._is_skipped(screen),
            "comment": comment,
            "flagged": flagged,
        }

    def _can_change_set(self, step: Step) -> bool:
        return bool(self._endorsed(step)) and (step.item.id, "response_set") in self._steps

    def _remarks(self, screen: Screen) -> tuple[str, bool]:
        """Return the comment and flag of the screen, else of the output's other screen."""
        same = [other for other in self.screens if other.output == screen.output]
        answers = [self._answers.get(step.key) for s in (screen, *same) for step in s.steps]
        given = next((answer for answer in answers if answer), None)
        return (given.comment, given.flagged) if given else ("", False)

    def _texts(self, screen: Screen) -> list[TextView]:
        """Return the texts to show.

        Each of two compared answers is labelled with the option for it.
        """
        task, fields = self.task, screen.item.fields
        pairwise = task.pairwise
        sides: tuple[str, ...] = pairwise.answers if pairwise else ()
        labels = {option.key: option.label for option in task.options}
        heads = [labels[pairwise.first], labels[pairwise.second]] if pairwise else []
        shown = {
            name: (heads[sides.index(name)] if name in sides else name, name) for name in task.text
        }
        if screen.swapped:
            first, second = sides
            shown[first] = (shown[first][0], second)
            shown[second] = (shown[second][0], first)
        return [
            {
                "name": visible(head) if len(task.text) > 1 else "",
                "text": shown_text(fields[field]),
                "is_side": name in sides,
            }
            for name, (head, field) in shown.items()
        ]

    def _question_view(self, step: Step, screen: Screen) -> QuestionView:
        endorsed = self._swapped(self._endorsed(step), screen)
        answer = self._answers.get(step.key)
        value = None if answer is None or answer.value is None else answer.value
        return {
            "item": step.item.id,
            "elicitation": step.elicitation,
            "criterion": visible(self.task.criterion_text(step.item.criterion)),
            "value": None if value is None else self._swapped(value, screen),
            "options": [
                {
                    "key": option.key,
                    "label": visible(option.label),
                    "description": visible_lines(option.description),
                }
                for option in self.task.options
                if not endorsed or option.key in endorsed
            ],
        }


def shown_text(text: str) -> str:
    """Make control characters visible, except line breaks and tabs.

    Direction marks stay, because right-to-left texts need them and the page isolates each text.
    Characters that override the direction are replaced.
    """
    parts = MARKS.split(text.replace("\r\n", "\n"))
    return "".join(part if MARKS.fullmatch(part) else visible_lines(part) for part in parts)
