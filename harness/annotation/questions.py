"""A rater's questions: screens, elicitations and attention checks."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.tables import parse_json, read_rows
from harness.files.tables.checks import as_text, identifier, short
from harness.tasks import CANNOT_ASSESS, Item
from harness.tasks.answer_rules import AnswerRules, BadAnswerError
from harness.tasks.model import ASKED_ON
from harness.tasks.schema import MAX_ANSWER_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.tasks import Task
    from harness.tasks.item import HumanElicitation
    from harness.tasks.model import JudgeElicitation

QUESTIONS: dict[HumanElicitation, str] = {
    "forced_choice": "Which option fits best? Choose one.",
    "response_set": "Which options do you find reasonable? Choose all of them.",
}
OPEN_QUESTIONS: dict[str, str] = {
    "continuous": "Which number fits best?",
    "text": "What is your answer?",
}
VERSION_CHARS = 12


@dataclass(frozen=True, slots=True)
class Step:
    """A question about an item.

    Attributes
    ----------
    item : Item
        The rated item.
    elicitation : str
        ``forced_choice`` or ``response_set``.
    form : str
        The item's form. ``paired`` has two steps.
    expected : str
        The right answer to an attention check, or "" for a rating.
    """

    item: Item
    elicitation: HumanElicitation
    form: JudgeElicitation
    expected: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The item's id and the elicitation."""
        return self.item.id, self.elicitation


@dataclass(frozen=True, slots=True)
class Screen:
    """Questions that a rater answers together, one for each criterion of an output.

    Attributes
    ----------
    steps : tuple of Step
        Questions with the same elicitation, in the order of the items.
    output : int
        Number of the rated output, from 1, in the rater's order.
    swapped : bool
        Whether the two answers of a pairwise item are shown in reverse order.
    """

    steps: tuple[Step, ...]
    output: int
    swapped: bool = False

    @property
    def item(self) -> Item:
        """The first item. All items on the screen show the same texts."""
        return self.steps[0].item

    @property
    def elicitation(self) -> HumanElicitation:
        """The elicitation, which all questions on the screen share."""
        return self.steps[0].elicitation

    @property
    def form(self) -> JudgeElicitation:
        """The form, which all items on the screen share."""
        return self.steps[0].form


def make_screens(
    task: Task,
    rater: str,
    *,
    form: JudgeElicitation,
    queue: Path | None = None,
    checks: Path | None = None,
    seed: int = 0,
) -> tuple[Screen, ...]:
    """Return a rater's screens. Their order depends only on the rater and the seed.

    For set-then-choice pairs, items with exactly one pair, from another rater, come first.

    Items that show the same texts under different criteria are on one screen. The two answers of
    a pairwise item are also shown in a random order.

    Parameters
    ----------
    task : Task
        The task. Its items don't need ratings.
    rater : str
        Name of the rater.
    form : str
        Form for items without one in the queue.
    queue : Path, optional
        Table with the columns ``item`` and, optionally, ``elicitation`` and ``raters``; without it,
        all items. A row with raters is only for those raters. Other columns are ignored.
    checks : Path, optional
        Table of attention checks: ``id``, the fields that raters see, and ``answer``.
    seed : int
        Seed for the order.

    Returns
    -------
    tuple of Screen
        The screens, except those that the rater already answered in the task's ratings.

    Raises
    ------
    TaskError
        If the queue or the checks don't fit the task, an item has no text, or nothing is left.
    """
    forms = _of_rater(queue, task, rater, form) if queue else dict.fromkeys(task.by_id, form)
    for wanted in set(forms.values()):
        check_form(wanted, task)
    rated = {(r.item, r.elicitation) for r in task.ratings if r.rater == rater}
    steps = [
        Step(task.by_id[item], elicitation, form_)
        for item, form_ in forms.items()
        for elicitation in ASKED_ON[form_]
        if (item, elicitation) not in rated
    ]
    if not steps:
        raise TaskError(
            f"task {task.name}: {rater} has rated all of these items, so none are left."
        )
    for step in steps:
        task.text_of(step.item)  # raises if there is none
    steps += _read_checks(checks, task) if checks else ()

    return tuple(_on_screens(task, steps, f"{seed}\0{rater}\0", _with_one_pair(task)))


def _with_one_pair(task: Task) -> set[str]:
    """Return the items for which exactly one rater gave both a choice and a response set."""
    asked = ASKED_ON["paired"]
    answered = Counter((r.item, r.rater) for r in task.ratings if r.elicitation in asked)
    n_pairs = Counter(item for (item, _), n in answered.items() if n == len(asked))
    return {item for item, n in n_pairs.items() if n == 1}


def _on_screens(
    task: Task, steps: Sequence[Step], seed: str, once_paired: set[str]
) -> Iterator[Screen]:
    """Yield the screens, with outputs in random order and each output's screens together.

    For set-then-choice pairs, items with one pair come first, because a second pair shows how much
    response sets vary.
    """
    outputs: dict[object, list[Step]] = {}
    for step in steps:
        outputs.setdefault((step.form, output_of(task, step.item)), []).append(step)

    def drawn(step: Step) -> bytes:
        return sha256(f"{seed}{step.item.id}".encode()).digest()

    def place(of_output: list[Step]) -> tuple[bool, bytes]:
        step = of_output[0]
        is_second = step.form == "paired" and any(s.item.id in once_paired for s in of_output)
        return not is_second, drawn(step)

    ordered = sorted(outputs.values(), key=place)
    for number, of_output in enumerate(ordered, 1):
        swapped = task.pairwise is not None and bool(drawn(of_output[0])[-1] % 2)
        for elicitation in ASKED_ON[of_output[0].form]:
            asked = tuple(step for step in of_output if step.elicitation == elicitation)
            if asked:
                yield Screen(asked, number, swapped)


def output_of(task: Task, item: Item) -> object:
    """Return a key that is equal for items with the same texts under different criteria."""
    if item.criterion is None:
        return item.id
    image = item.fields.get(task.image) if task.image else None
    return item.group, image, tuple(item.fields.get(name) for name in task.text)


def check_form(form: JudgeElicitation, task: Task) -> None:
    """Reject a form that the task doesn't support. The `TaskError` says what to do."""
    if task.is_open and form != "forced_choice":
        raise TaskError(
            f"task {task.name}: a {task.scale} scale has no options, so it doesn't support {form}. "
            f"Leave out the form."
        )
    if form not in task.elicitations:
        raise TaskError(
            f"task {task.name}: with {len(task.options)} options the form {form} needs a list of "
            f"possible sets. List the response_sets in task.yaml, or use forced_choice."
        )


def _of_rater(
    path: Path, task: Task, rater: str, form: JudgeElicitation
) -> dict[str, JudgeElicitation]:
    """Return the items that a queue assigns to a rater, with the form for each."""
    rows = read_queue(path, task, form)
    forms = {item: asked for item, (asked, named) in rows.items() if not named or rater in named}
    if not forms:
        whose = (
            f"all {len(rows)} items are assigned to raters other than {rater!r}"
            if rows
            else "no items"
        )
        raise TaskError(f"{path}: {whose}, so there are no questions.")
    return forms


def read_queue(
    path: Path, task: Task, form: JudgeElicitation
) -> dict[str, tuple[JudgeElicitation, tuple[str, ...]]]:
    """Read each item's form and raters from a queue. An item with two forms becomes ``paired``.

    Raises
    ------
    TaskError
        If the task has no such item or form. The message names the line.
    """
    rows: dict[str, tuple[JudgeElicitation, tuple[str, ...]]] = {}
    for line, row in read_rows(path, required=("item",)):
        where = f"{path}: line {line}"
        item = identifier(row["item"], "item", where)
        if item not in task.by_id:
            raise TaskError(f"{where}: task {task.name} has no item {short(item)}.")
        text = as_text(row.get("elicitation")) or form
        wanted = next((name for name in ASKED_ON if name == text), None)
        if wanted is None:
            raise TaskError(
                f"{where}: elicitation: found {short(text)}. Write {', '.join(ASKED_ON)}."
            )
        named = tuple(_named_raters(row.get("raters")))
        before, raters = rows.get(item, (wanted, named))
        asked = wanted if before == wanted else "paired"
        rows[item] = asked, tuple(dict.fromkeys((*raters, *named))) if raters and named else ()
    return rows


def _named_raters(cell: object) -> list[str]:
    """Read names from a list, a JSON array or a comma-separated text. A blank cell has no names."""
    if isinstance(cell, list):
        return [as_text(name) for name in cell]
    text = as_text(cell).strip()
    if text.startswith("["):
        with suppress(ValueError):
            names = parse_json(text)
            return [as_text(name) for name in names] if isinstance(names, list) else []
    return [name.strip() for name in text.split(",") if name.strip()]


def _read_checks(path: Path, task: Task) -> Iterator[Step]:
    keys = {option.key for option in task.options}
    ids = set(task.by_id)
    task.require_options("an attention check")
    for line, row in read_rows(path, required=("id", "answer")):
        where = f"{path}: line {line}"
        check_id = identifier(row.pop("id"), "id", where)
        expected = as_text(row.pop("answer"))
        if check_id in ids:
            raise TaskError(
                f"{where}: id {check_id!r} is already the id of an item or check. Choose a new id."
            )
        if expected not in keys:
            raise TaskError(
                f"{where}: answer: found {short(expected)}. Write one of {', '.join(sorted(keys))}."
            )
        ids.add(check_id)
        item = Item(check_id, {name: as_text(value) for name, value in row.items()})
        task.text_of(item)  # raises if there is none
        yield Step(item, "forced_choice", "forced_choice", expected)


def instructions_version(task: Task) -> str:
    """Return a SHA-256 prefix as the version of the instructions, options and questions."""
    names = {"property", "instructions", "options", "response_sets", "abstain"}
    questions = {task.scale: OPEN_QUESTIONS[task.scale]} if task.is_open else QUESTIONS
    return _version({**{name: task.described()[name] for name in names}, "questions": questions})


def shown_version(task: Task, item: Item) -> str:
    """Return a SHA-256 prefix as the version of an item and its options as shown."""
    image = task.images.get(item.id)
    names = ("scale", "options", "response_sets", "bounds", "abstain")
    described = task.described()
    return _version(
        {
            **{name: described.get(name) for name in names},
            "texts": [item.fields.get(name) for name in task.text],
            "image": image.digest if image else None,
            "criterion": task.criterion_text(item.criterion),
        }
    )


def _version(content: Mapping[str, object]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:VERSION_CHARS]


def checked_value(
    task: Task, elicitation: HumanElicitation, value: str | Sequence[str]
) -> str | tuple[str, ...]:
    """Validate an answer, and return it in the form used in ratings."""
    members = value if isinstance(value, str) else list(dict.fromkeys(value))
    try:
        answer, is_foreign = AnswerRules.of(task).read(members, elicitation)
    except BadAnswerError as error:
        raise ValueError(_request(task, elicitation, value, error.reason)) from None
    if is_foreign:
        raise ValueError(_request(task, elicitation, value, "unknown_label"))
    return answer


def _request(
    task: Task, elicitation: HumanElicitation, value: str | Sequence[str], reason: str
) -> str:
    """Return a message that asks the rater for a valid answer."""
    if value == CANNOT_ASSESS:
        return "This task does not allow leaving an item without an answer."
    if task.scale == "text":
        return f"Write an answer of at most {MAX_ANSWER_CHARS} characters."
    if task.scale == "continuous":
        return f"Write a number{' from {:g} to {:g}'.format(*task.bounds) if task.bounds else ''}."
    if elicitation == "forced_choice":
        return "Choose one option."
    if reason != "set_not_admissible" or task.response_sets == "all":
        return "Choose at least one option."
    labels = {option.key: option.label for option in task.options}
    combinations = "; ".join(
        " + ".join(labels[key] for key in labels if key in endorsed)
        for endorsed in task.response_sets
        if len(endorsed) > 1
    )
    return f"This combination is not possible. Possible combinations: {combinations or 'none'}."
