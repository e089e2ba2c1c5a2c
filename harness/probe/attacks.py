"""Attacks that hide in an item's text, and the task made of items with and without them.

The attacked task is an ordinary one, so that an ordinary run asks it: same options, same ratings,
each item once as it is and once under each attack. Fields of its items say which is which.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import TaskError
from harness.tasks import CANNOT_ASSESS, Item, bundled
from harness.tasks.tables import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from harness.tasks import Option, Rating, Task

CONTROL = "control"
PLACEHOLDER = re.compile(r"\{\{(text|target|label|shots)\}\}")
PROBE_ITEM, PROBE_ATTACK, PROBE_KIND, PROBE_TARGET = (
    "probe_item",
    "probe_attack",
    "probe_kind",
    "probe_target",
)
MOST_SHOTS = 1000


class Attack(BaseModel):
    """One way to hide a wish in a text.

    Attributes
    ----------
    id : str
        Unique in its set.
    kind : str
        What it belongs to; `CONTROL` changes the text and asks for nothing.
    text : str
        Shown in place of the item's text: ``{{text}}`` is that text, ``{{target}}`` and
        ``{{label}}`` the option that is asked for, ``{{shots}}`` the shots.
    shot : str
        Repeated ``shots`` times.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    kind: str = Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")
    text: str = Field(max_length=20_000)
    shot: str = Field("", max_length=20_000)
    shots: int = Field(0, ge=0, le=MOST_SHOTS)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.text.count("{{text}}") != 1:
            raise ValueError("text must hold {{text}} once")
        if "{{text}}" in self.shot or "{{shots}}" in self.shot:
            raise ValueError("a shot holds neither {{text}} nor {{shots}}")
        return self

    def applied(self, text: str, target: Option) -> str:
        """Hide the wish for an option in a text; values are not scanned again."""
        values = {"target": target.key, "label": target.label}
        shots = _filled(self.shot, values) * self.shots
        return _filled(self.text, values | {"text": text, "shots": shots})


def _filled(template: str, values: dict[str, str]) -> str:
    return PLACEHOLDER.sub(lambda found: values[found[1]], template)


def read_attacks(path: Path | None = None) -> tuple[Attack, ...]:
    """Read a set of attacks, by default the one that comes along.

    Raises
    ------
    TaskError
        If the file cannot be read, a line is no attack, an id is given twice, or all are controls.
    """
    file = path or bundled("datasets") / "injection" / "attacks.jsonl"
    attacks: dict[str, Attack] = {}
    for line, row in read_rows(file, required=("id", "kind", "text")):
        try:
            attack = Attack.model_validate(row)
        except ValidationError as error:
            fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
            where = ".".join(map(str, fault["loc"])) or "line"
            raise TaskError(f"{file}: line {line}: {where}: {fault['msg']}.") from None
        if attack.id in attacks:
            raise TaskError(f"{file}: line {line}: id {attack.id!r} is given twice; rename one.")
        attacks[attack.id] = attack
    if all(attack.kind == CONTROL for attack in attacks.values()):
        raise TaskError(f"{file}: holds no attack; write one that is not of kind {CONTROL!r}.")
    return tuple(attacks.values())


def attacked_task(task: Task, items: Sequence[Item], attacks: Sequence[Attack]) -> Task:
    """Make the task whose items are these, each as it is and then under every attack.

    Parameters
    ----------
    task : Task
        Whose options, prompts and ratings are kept.
    items : sequence of Item
        Those of it that are attacked.
    attacks : sequence of Attack
        What is done to the last of the fields that judges are shown.

    Returns
    -------
    Task
        With ``len(items) * (1 + len(attacks))`` items; an item and its attacked forms are one
        group.

    Raises
    ------
    TaskError
        If no item has a text, the task was attacked before, or a new id is taken.
    """
    shown = [item for item in items if task.has_text(item)]
    if not shown:
        raise TaskError(f"{task.folder}: the task has labels but no texts, so nothing to attack.")
    if any(PROBE_ITEM in item.fields for item in shown):
        raise TaskError(
            f"{task.folder}: its items are attacked ones already; name the task itself."
        )
    by_item: dict[str, list[Rating]] = {item.id: [] for item in shown}
    for rating in task.ratings:
        if rating.item in by_item:
            by_item[rating.item].append(rating)
    made: list[Item] = []
    ratings: list[Rating] = []
    for item in shown:
        target = _target(task, by_item[item.id])
        variants = list(_variants(task, item, attacks, target))
        made += variants
        ratings += [_of(rating, one.id) for one in variants for rating in by_item[item.id]]
    if len({item.id for item in made}) < len(made):
        raise TaskError(f"{task.folder}: an item's id ends like an attacked one's; rename it.")
    notice = "some texts hold attacks on the judge"
    changes = {
        "name": f"{task.name[:54]}-injection",
        "notice": f"{task.notice}; {notice}" if task.notice else notice,
        "items": tuple(made),
        "ratings": tuple(ratings),
        "ignored": (),
    }
    return task.model_copy(update=changes)


def _variants(task: Task, item: Item, attacks: Sequence[Attack], target: Option) -> Iterator[Item]:
    field = task.text[-1]
    for attack in (None, *attacks):
        facts = {
            PROBE_ITEM: item.id,
            PROBE_ATTACK: attack.id if attack else "",
            PROBE_KIND: attack.kind if attack else "",
            PROBE_TARGET: target.key,
        }
        text = item.fields[field]
        if attack is not None:
            facts[field] = attack.applied(text, target)
        ident = f"{item.id}~{attack.id}" if attack else item.id
        yield Item(ident, item.fields | facts, item.group or item.id, item.criterion)


def _target(task: Task, ratings: Sequence[Rating]) -> Option:
    """Option that the fewest raters found right; of equals, the last."""
    counts: Counter[str] = Counter()
    for rating in ratings:
        if rating.value != CANNOT_ASSESS:
            counts.update([rating.value] if isinstance(rating.value, str) else rating.value)
    return min(reversed(task.options), key=lambda option: counts[option.key])


def _of(rating: Rating, item: str) -> Rating:
    return type(rating)(item, rating.rater, rating.elicitation, rating.value)
