"""Perturbations of item texts, and the task with perturbed and unperturbed items.

The perturbed task has the original's options and ratings, and contains each item unchanged and with
each perturbation. Its items' fields name the probe, the original item, the perturbation, its kind
and its target.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import TaskError, fault_of
from harness.files.tables import read_rows
from harness.judging.parsing.verdict import mirrored
from harness.tasks import CANNOT_ASSESS, Item, bundled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from harness.tasks import Option, Rating, Task

TextProbe = Literal["injection", "authority", "verbosity", "format"]
ProbeName = Literal["injection", "authority", "verbosity", "format", "position"]
TEXT_PROBES: tuple[TextProbe, ...] = ("injection", "authority", "verbosity", "format")
PROBES: tuple[ProbeName, ...] = (*TEXT_PROBES, "position")
CONTROL, SWAPPED = "control", "swapped"
MAX_NAME = 64
PLACEHOLDER = re.compile(r"\{\{(text|target|label|shots)\}\}")
PROBE_NAME, PROBE_ITEM, PROBE_CHANGE, PROBE_KIND, PROBE_TARGET = (
    "probe",
    "probe_item",
    "probe_perturbation",
    "probe_kind",
    "probe_target",
)
MOST_SHOTS = 1000


class Perturbation(BaseModel):
    """Perturbation of an item's text.

    Attributes
    ----------
    id : str
        Unique name in its set.
    kind : str
        Kind of change. `CONTROL` is harmless, so no judge should react to it.
    text : str
        Text that replaces the item's text. ``{{text}}`` is the original text, ``{{target}}`` and
        ``{{label}}`` are the key and label of the raters' least common option, and ``{{shots}}``
        are the shots.
    shot : str
        Made-up example, repeated ``shots`` times.
    shots : int
        Number of repetitions.
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
            raise ValueError("text must contain {{text}} once")
        if "{{text}}" in self.shot or "{{shots}}" in self.shot:
            raise ValueError("a shot must not contain {{text}} or {{shots}}")
        return self

    def apply(self, text: str, target: Option) -> str:
        """Apply the perturbation to a text. Placeholders in this text are not filled in."""
        values = {"target": target.key, "label": target.label}
        shots = _fill(self.shot, values) * self.shots
        return _fill(self.text, values | {"text": text, "shots": shots})


def _fill(template: str, values: dict[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values[match[1]], template)


def read_perturbations(probe: TextProbe, path: Path | None = None) -> tuple[Perturbation, ...]:
    """Read a set of perturbations, by default the probe's bundled set.

    Raises
    ------
    TaskError
        If the file cannot be read, a line is not a perturbation, an id appears twice, or all are
        controls.
    """
    file = path or bundled("datasets") / "probes" / f"{probe}.jsonl"
    perturbations: dict[str, Perturbation] = {}
    for line, row in read_rows(file, required=("id", "kind", "text")):
        try:
            perturbation = Perturbation.model_validate(row)
        except ValidationError as error:
            place, problem = fault_of(error)[:2]
            raise TaskError(f"{file}: line {line}: {place or 'line'}: {problem}.") from None
        if perturbation.id in perturbations:
            raise TaskError(
                f"{file}: line {line}: id {perturbation.id!r} is repeated. Use a different id."
            )
        perturbations[perturbation.id] = perturbation
    if all(perturbation.kind == CONTROL for perturbation in perturbations.values()):
        raise TaskError(
            f"{file}: all perturbations are controls. Add a perturbation that is not of kind "
            f"{CONTROL!r}."
        )
    return tuple(perturbations.values())


def perturbed_task(
    task: Task, items: Sequence[Item], perturbations: Sequence[Perturbation], probe: TextProbe
) -> Task:
    """Return a task with unchanged and perturbed items.

    Parameters
    ----------
    task : Task
        Original task. The result keeps its options, prompts and ratings.
    items : sequence of Item
        Items to perturb.
    perturbations : sequence of Perturbation
        Changes to the last field that judges see.
    probe : str
        Name of the perturbations' probe.

    Returns
    -------
    Task
        Task with ``len(items) * (1 + len(perturbations))`` items. An item and its variants are one
    group.

    Raises
    ------
    TaskError
        If no item has a text, the task was perturbed before, a variant's id is already used, or
        the task has no options.
    """
    task.require_options("a probe")
    ratings = _ratings_by_item(task)

    def variants(item: Item) -> Iterator[Item]:
        target = _target(task, ratings[item.id])
        yield _variant(task, item, probe, target=target.key)
        for perturbation in perturbations:
            field = task.text[-1]
            changed = {field: perturbation.apply(item.fields[field], target)}
            names = (perturbation.id, perturbation.kind)
            yield _variant(task, item, probe, *names, target=target.key, changed=changed)

    return _task_of_variants(task, items, variants, probe)


def swapped_task(task: Task, items: Sequence[Item]) -> Task:
    """Return a pairwise task that shows each item's answers in both orders.

    An item with swapped answers has the original's ratings, mirrored. As a control, each item also
    appears with a blank line after its last answer.

    Raises
    ------
    TaskError
        If ``task.yaml`` does not name the fields with the answers, no item has a text, the task
        was perturbed before, or a variant's id is already used.
    """
    if task.pairwise is None:
        raise TaskError(
            f"{task.folder}: 'position' needs to know which answer each option prefers. Write "
            "'pairwise' with answers, first and second into task.yaml (scale: pairwise)."
        )
    pairwise = task.pairwise
    last_answer = pairwise.answers[1]

    def variants(item: Item) -> Iterator[Item]:
        yield _variant(task, item, "position")
        swapped = pairwise.swapped_fields(item.fields)
        yield _variant(task, item, "position", SWAPPED, SWAPPED, changed=swapped)
        spaced = {last_answer: f"{item.fields[last_answer]}\n"}
        yield _variant(task, item, "position", CONTROL, CONTROL, changed=spaced)

    return _task_of_variants(task, items, variants, "position")


def _ratings_by_item(task: Task) -> defaultdict[str, list[Rating]]:
    by_item: defaultdict[str, list[Rating]] = defaultdict(list)
    for rating in task.ratings:
        by_item[rating.item].append(rating)
    return by_item


def _task_of_variants(
    task: Task,
    items: Sequence[Item],
    variants_of: Callable[[Item], Iterator[Item]],
    probe: ProbeName,
) -> Task:
    readable = [item for item in items if task.has_text(item)]
    if not readable:
        raise TaskError(f"{task.folder}: the task has labels but no texts to change.")
    if any(PROBE_ITEM in item.fields for item in readable):
        raise TaskError(f"{task.folder}: its items are already perturbed. Pass the original task.")
    by_item = _ratings_by_item(task)
    variants: list[Item] = []
    ratings: list[Rating] = []
    for item in readable:
        for variant in variants_of(item):
            variants.append(variant)
            ratings += [_rating_of(variant, rating, task) for rating in by_item[item.id]]
    if len({variant.id for variant in variants}) < len(variants):
        raise TaskError(
            f"{task.folder}: an item has the same id as a perturbed item. Rename the item."
        )
    notice = f"some texts are changed to probe judges ({probe})"
    changes = {
        "name": f"{task.name[: MAX_NAME - len(probe) - 1]}-{probe}",
        "notice": f"{task.notice}; {notice}" if task.notice else notice,
        "items": tuple(variants),
        "ratings": tuple(ratings),
        "ignored": (),
        "rubric": None,  # variants of an output do not count as separate outputs
    }
    return task.model_copy(update=changes)


def _variant(
    task: Task,
    item: Item,
    probe: ProbeName,
    change: str = "",
    kind: str = "",
    *,
    target: str = "",
    changed: Mapping[str, str] | None = None,
) -> Item:
    """Return an item with changed fields, plus the fields that the probe needs."""
    facts = {
        PROBE_NAME: probe,
        PROBE_ITEM: item.id,
        PROBE_CHANGE: change,
        PROBE_KIND: kind,
        PROBE_TARGET: target,
    }
    fields = item.fields | facts | dict(changed or {})
    variant_id = f"{item.id}~{change}" if change else item.id
    return Item(
        variant_id, fields, item.group or item.id, task.criterion_text(item.criterion) or None
    )


def _target(task: Task, ratings: Sequence[Rating]) -> Option:
    """Return the option that the fewest raters chose or accepted, or the last of tied options."""
    counts: Counter[str] = Counter()
    for rating in ratings:
        if rating.value != CANNOT_ASSESS:
            counts.update(rating.labels)
    return min(reversed(task.options), key=lambda option: counts[option.key])


def _rating_of(variant: Item, rating: Rating, task: Task) -> Rating:
    value: Any = rating.value
    if variant.fields[PROBE_KIND] == SWAPPED:
        value = mirrored(value, task)
    return type(rating)(variant.id, rating.rater, rating.elicitation, value)
