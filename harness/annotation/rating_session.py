"""State of an annotation session: current question, answers, undo and progress."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.annotation.questions import QUESTIONS, checked_value, instructions_version
from harness.annotation.rating_log import Answer
from harness.plain_text import visible, visible_lines
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.annotation.questions import Step
    from harness.annotation.rating_log import RatingLog
    from harness.tasks import Task


class OutdatedQuestionError(ValueError):
    """An answer to a question that is not the current question, as from a second window."""


class RatingSession:
    """The questions of a rater, and the log of the answers.

    Parameters
    ----------
    task : Task
        What is rated.
    steps : tuple of Step
        The questions, in order; the first without an answer is the current question.
    log : RatingLog
        Of the rater, open; gets each answer.
    """

    def __init__(self, task: Task, steps: tuple[Step, ...], log: RatingLog) -> None:
        self.task = task
        self.rater = log.logged.rater
        self.steps = steps
        self._log = log
        self._answers = log.logged.answers
        self._version = instructions_version(task)
        self._step_keys = {step.key for step in steps}
        self._rated_sets = {
            rating.item: rating.value
            for rating in task.ratings
            if rating.rater == self.rater and rating.elicitation == "response_set"
        }
        ids = dict.fromkeys(step.item.id for step in steps)
        self._numbers = {item: number for number, item in enumerate(ids, start=1)}

    @property
    def n_items(self) -> int:
        """Number of items, attention checks included."""
        return len(self._numbers)

    @property
    def n_complete(self) -> int:
        """Number of items with all their answers."""
        open_items = {step.item.id for step in self.steps if step.key not in self._answers}
        return len(self._numbers) - len(open_items)

    def checks(self) -> tuple[int, int]:
        """Return how many attention checks were answered as expected, and how many answered."""
        pairs = [(self._answers.get(s.key), s.expected) for s in self.steps if s.expected]
        answered = [(answer.value, expected) for answer, expected in pairs if answer]
        return sum(value == expected for value, expected in answered), len(answered)

    def current(self) -> Step | None:
        """Return the first question without an answer; None if all are answered."""
        return next((step for step in self.steps if step.key not in self._answers), None)

    def answer(self, key: tuple[str, str], value: str | Sequence[str]) -> None:
        """Log the answer to the current question.

        Raises
        ------
        OutdatedQuestionError
            If the current question is another.
        ValueError
            If the value is no answer to it; the message is for the rater.
        TaskError
            If it cannot be written.
        """
        step = self.current()
        if step is None or step.key != key:
            raise OutdatedQuestionError("This question was answered already.")
        checked = checked_value(self.task, step.elicitation, value)
        members = self._endorsed(step)
        if members and checked not in (*members, CANNOT_ASSESS):
            raise ValueError("Choose an option of your set, or change the set.")
        self._append(step, checked)

    def _endorsed(self, step: Step) -> tuple[str, ...]:
        """Return the set from which a choice is made; empty where none was given before."""
        if step.form != "paired" or step.elicitation != "forced_choice":
            return ()
        answer = self._answers.get((step.item.id, "response_set"))
        value = answer.value if answer else self._rated_sets.get(step.item.id)
        return value if isinstance(value, tuple) else ()

    def change_set(self) -> None:
        """Withdraw the set of the current item, as none of its options fits best."""
        step = self.current()
        if step is not None and self._can_change_set(step):
            answered = next(s for s in self.steps if s.key == (step.item.id, "response_set"))
            self._append(answered, None)

    def _can_change_set(self, step: Step) -> bool:
        key = (step.item.id, "response_set")
        return bool(self._endorsed(step)) and key in self._answers and key in self._step_keys

    def undo(self) -> None:
        """Withdraw the latest answer to one of the questions, if there is any."""
        key = self._latest()
        if key is not None:
            self._append(next(step for step in self.steps if step.key == key), None)

    def _latest(self) -> tuple[str, str] | None:
        return next((key for key in reversed(self._answers) if key in self._step_keys), None)

    def _append(self, step: Step, value: str | tuple[str, ...] | None) -> None:
        answer = Answer(
            item=step.item.id,
            elicitation=step.elicitation,
            value=value,
            rated_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            form=step.form,
            instructions=self._version,
            is_check=bool(step.expected),
        )
        self._log.append(answer)

    def view(self) -> dict[str, Any]:
        """Return what the page shows, as JSON values; control characters are pictures."""
        shown: dict[str, Any] = {
            "n_items": self.n_items,
            "n_complete": self.n_complete,
            "can_undo": self._latest() is not None,
            "step": None,
        }
        if step := self.current():
            shown["step"] = self._step_view(step)
        return shown

    def _step_view(self, step: Step) -> dict[str, Any]:
        item, task, endorsed = step.item, self.task, self._endorsed(step)
        image = task.images.get(item.id)
        return {
            "item": item.id,
            "elicitation": step.elicitation,
            "number": self._numbers[item.id],
            "part": {"paired": 1 + (step.elicitation == "forced_choice")}.get(step.form, 0),
            "criterion": visible(task.criterion_text(item.criterion)),
            "image": image.digest if image else "",
            "texts": [
                {"name": visible(name) if len(task.text) > 1 else "", "text": shown_text(text)}
                for name, text in ((name, item.fields[name]) for name in task.text)
            ],
            "question": QUESTIONS[step.elicitation],
            "options": [
                {
                    "key": option.key,
                    "label": visible(option.label),
                    "description": visible_lines(option.description),
                }
                for option in task.options
                if not endorsed or option.key in endorsed
            ],
            "can_change_set": self._can_change_set(step),
            "abstention": CANNOT_ASSESS if task.abstain else "",
        }


def shown_text(text: str) -> str:
    """Return a text with pictures for its control characters, but with line breaks and tabs."""
    lines = text.replace("\r\n", "\n")
    return "\t".join(map(visible_lines, lines.split("\t")))
