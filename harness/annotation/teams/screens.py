"""Screens for a team in another rating tool, and the raters assigned to them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.annotation.questions import (
    OPEN_QUESTIONS,
    QUESTIONS,
    check_form,
    instructions_version,
    output_of,
    read_queue,
    shown_version,
)
from harness.annotation.rating_session import shown_text
from harness.errors import TaskError
from harness.files.plain_text import visible
from harness.files.tables.writer import csv_text
from harness.tasks.model import ASKED_ON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.files.json_values import JsonObject
    from harness.tasks import Item, Task
    from harness.tasks.item import HumanElicitation
    from harness.tasks.model import JudgeElicitation


@dataclass(frozen=True, slots=True)
class TeamScreen:
    """Items and form of a screen, which are the same for all of its raters.

    Attributes
    ----------
    items : tuple of Item
        One item per criterion. All have the same texts.
    form : str
        Form of the rating.
    swapped : bool
        Whether the two answers of a pairwise item are shown in reverse order.
    raters : tuple of str
        Raters assigned to the screen. Empty for everyone.
    """

    items: tuple[Item, ...]
    form: JudgeElicitation
    swapped: bool = False
    raters: tuple[str, ...] = ()

    @property
    def item(self) -> Item:
        """The first item, which shows the same texts as all others."""
        return self.items[0]


def make_team_screens(
    task: Task,
    *,
    form: JudgeElicitation = "forced_choice",
    queue: Path | None = None,
    raters: Sequence[str] = (),
    per_item: int | None = None,
    seed: int = 0,
) -> tuple[TeamScreen, ...]:
    """Return a team's screens in a random order, with their assigned raters.

    Items that show the same texts under different criteria form one screen if every output has
    the same criteria.

    Parameters
    ----------
    form : str
        Form for items without one in the queue.
    queue : Path, optional
        As for `harness.annotation.questions.make_screens`. Its rows name the raters.
    raters : sequence of str
        Raters who share the screens. Each screen goes to ``per_item`` raters who haven't rated it,
        so that all get equally many. Default: all raters.
    seed : int
        Seed for the orders and the division.

    Raises
    ------
    TaskError
        If the queue doesn't fit the task, an item has no text, or there are fewer raters than an
        item needs.
    """
    rows = read_queue(queue, task, form) if queue else dict.fromkeys(task.by_id, (form, ()))
    for wanted in {asked for asked, _ in rows.values()}:
        check_form(wanted, task)
    rng = np.random.default_rng(seed)
    screens = []
    for group in _outputs(task, rows):
        asked, named = rows[group[0].id]
        task.text_of(group[0])  # raises if there is none
        swapped = task.pairwise is not None and bool(rng.integers(2))
        screens.append(TeamScreen(group, asked, swapped, named))
    ordered = [screens[i] for i in rng.permutation(len(screens))]
    if raters:
        ordered = _divided(ordered, task, raters, per_item or len(raters), rng)
    return tuple(ordered)


def _outputs(
    task: Task, rows: Mapping[str, tuple[JudgeElicitation, tuple[str, ...]]]
) -> list[tuple[Item, ...]]:
    """Group items into screens: one screen per output if all outputs have the same criteria."""
    items = [item for item in task.items if item.id in rows]
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault((rows[item.id], output_of(task, item)), []).append(item)
    criteria = {tuple(item.criterion for item in group) for group in groups.values()}
    if len(criteria) == 1:
        return [tuple(group) for group in groups.values()]
    return [(item,) for item in items]


def _divided(
    screens: Iterable[TeamScreen],
    task: Task,
    raters: Sequence[str],
    per_item: int,
    rng: np.random.Generator,
) -> list[TeamScreen]:
    """Assign each screen to raters who haven't rated it, first those with the fewest screens."""
    if per_item > len(raters):
        raise TaskError(
            f"--per-item {per_item}: there are only {len(raters)} raters. Name more raters "
            "in --raters."
        )
    rated = {(r.item, r.rater, r.elicitation) for r in task.ratings}
    load = dict.fromkeys(raters, 0)
    divided = []
    for screen in screens:
        free = [
            rater
            for rater in raters
            if any(
                (item.id, rater, asked) not in rated
                for item in screen.items
                for asked in ASKED_ON[screen.form]
            )
        ]
        drawn = rng.permutation(len(free)).tolist()
        chosen = sorted(drawn, key=lambda i: load[free[i]])[:per_item]
        names = tuple(free[i] for i in sorted(chosen))
        for name in names:
            load[name] += 1
        if names:
            divided.append(replace(screen, raters=names))
    return divided


def shown_data(task: Task, screen: TeamScreen) -> JsonObject:
    """Return a screen's content, and the data that identify its ratings in an export."""
    data: JsonObject = {
        "harness_task": task.name,
        "harness_form": screen.form,
        "harness_items": [item.id for item in screen.items],
        "harness_shown": [shown_version(task, item) for item in screen.items],
        "harness_instructions": instructions_version(task),
        "harness_swapped": screen.swapped,
        "harness_raters": ", ".join(screen.raters),
        "property": f"Rate {visible(task.property)}",
        "instructions": shown_instructions(task),
    }
    for number, (head, text) in enumerate(headed_texts(task, screen), 1):
        data |= {f"name_{number}": head, f"text_{number}": text}
    for number, item in enumerate(screen.items, 1):
        if item.criterion is not None:
            data[f"criterion_{number}"] = visible(task.criterion_text(item.criterion))
    return data


def shown_instructions(task: Task) -> str:
    """Return the instructions with a line for each option's description."""
    lines = [f"{o.label}: {o.description}" for o in task.options if o.description]
    text = "\n".join(part for part in (task.instructions, *lines) if part)
    return shown_text(text) or visible(task.property)


def headed_texts(task: Task, screen: TeamScreen) -> list[tuple[str, str]]:
    """Return each field's heading and text, with compared answers in the order shown."""
    fields = screen.item.fields
    if task.pairwise and screen.swapped:
        fields = task.pairwise.swapped_fields(fields)
    labels = {option.key: option.label for option in task.options}
    heads = {name: name for name in task.text}
    if task.pairwise:
        first, second = task.pairwise.answers
        heads |= {first: labels[task.pairwise.first], second: labels[task.pairwise.second]}
    return [(visible(heads[name]), shown_text(fields[name])) for name in task.text]


def question_of(task: Task, elicitation: HumanElicitation) -> str:
    """Return the question for an elicitation or an open scale."""
    return OPEN_QUESTIONS[task.scale] if task.is_open else QUESTIONS[elicitation]


def assignments_csv(screens: Sequence[TeamScreen]) -> str:
    """Return the assignments as CSV, which ``harness annotate --queue`` can also read."""
    rows = [
        {
            "item": item.id,
            "elicitation": screen.form,
            "raters": json.dumps(screen.raters, ensure_ascii=False) if screen.raters else "",
        }
        for screen in screens
        for item in screen.items
    ]
    return csv_text(rows, ("item", "elicitation", "raters"))
