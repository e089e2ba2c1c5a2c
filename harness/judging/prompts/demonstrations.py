"""Few-shot demonstrations: other items with their raters' most common answers.

They are drawn before a run and saved with its prompts, so that a judge gets the same ones in every
request.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Self

import msgspec
import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from harness.errors import PromptError, TaskError
from harness.files.regular_files import read_file, write_file
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.tasks import Item, Task

DemonstratedAnswer = str | tuple[str, ...]
FILE = "demonstrations.json"
MAX_BYTES = 1 << 28


class Demonstration(Struct, frozen=True, kw_only=True):
    """Few-shot demonstration: an item with its raters' most common answer."""

    item: str
    group: str  # its id if it has no group
    criterion: str  # "" if it has none
    answer: DemonstratedAnswer
    parts: tuple[str, ...] = ()  # texts shown to judges; empty if the run keeps no texts
    reasons: str = ""  # reasons for the answer; "" if there are none or the run keeps no texts


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Demonstrations in drawing order, by kind of answer."""

    drawn: Mapping[AnswerKind, Sequence[Demonstration]]

    def shown_with(
        self, item: Item, text: str, kind: AnswerKind, n: int
    ) -> Sequence[Demonstration]:
        """Return up to ``n`` demonstrations that an item's prompt can show.

        Leaves out the item itself, items with the same group or text, and other criteria.
        """
        allowed = (d for d in self.drawn.get(kind, ()) if _may_be_shown(d, item, text))
        return tuple(islice(allowed, n))

    def to_json(self, *, item_text: bool) -> bytes:
        """Encode the demonstrations as JSON, with or without the texts of their items."""
        kept = self.drawn
        if not item_text:
            kept = {
                kind: [replace(d, parts=(), reasons="") for d in drawn]
                for kind, drawn in kept.items()
            }
        return msgspec.json.encode(kept)

    def save(self, folder: Path, *, item_text: bool) -> None:
        """Write the demonstrations to a folder, from which `load` reads them."""
        write_file(folder / FILE, self.to_json(item_text=item_text))

    @classmethod
    def load(cls, folder: Path, task: Task) -> Self:
        """Read demonstrations. Texts that were not saved come from the task.

        Raises
        ------
        PromptError
            If the file is missing or damaged, an answer is not one of the task's, or the task lacks
            an item.
        """
        path = folder / FILE
        try:
            drawn = _DECODER.decode(read_file(path, MAX_BYTES))
        except OSError as error:
            raise PromptError(
                f"{path}: cannot be read ({error.strerror}). Restore the file."
            ) from None
        except (ValueError, RecursionError):
            raise PromptError(
                f"{path}: the file doesn't contain a run's demonstrations. Restore it."
            ) from None
        return cls(
            {kind: [_checked(d, task, path) for d in of_kind] for kind, of_kind in drawn.items()}
        )


def draw_demonstrations(
    task: Task, items: Mapping[AnswerKind, Sequence[Item]], n: int, *, seed: int
) -> Demonstrations:
    """Draw ``n`` demonstrations for every item.

    They are drawn in random order, first from items whose group is not judged, then from the others
    (leave one group out).

    Parameters
    ----------
    task : Task
        The task to draw items from; its ratings label them. Items with a tie among raters are left
        out. If the task names a field of reasons, so are items without reasons.
    items : mapping
        The judged items, by the kind of answer requested for them.
    n : int
        Demonstrations per item.
    seed : int
        Seed of the order.

    Raises
    ------
    TaskError
        If an item has fewer than ``n``.
    """
    judged = {group_of(item) for of_kind in items.values() for item in of_kind}
    order = np.random.default_rng(seed).permutation(len(task.items))
    shuffled = [task.items[i] for i in order if _is_usable(task, task.items[i])]
    shuffled.sort(key=lambda item: group_of(item) in judged)  # a stable sort
    drawn = {
        kind: _draw(task, _candidates(task, shuffled, kind), of_kind, kind, n)
        for kind, of_kind in items.items()
    }
    return Demonstrations(drawn)


def _draw(
    task: Task,
    candidates: Sequence[Demonstration],
    items: Iterable[Item],
    kind: AnswerKind,
    n: int,
) -> Sequence[Demonstration]:
    """Return the candidates that at least one item's prompt shows, in their order."""
    by_criterion: defaultdict[str, list[Demonstration]] = defaultdict(list)
    for candidate in candidates:
        by_criterion[candidate.criterion].append(candidate)
    pools = {name: Demonstrations({kind: of_name}) for name, of_name in by_criterion.items()}
    shown: set[str] = set()
    for item in items:
        if not task.has_text(item):
            continue
        pool = pools.get(item.criterion or "", Demonstrations({}))
        for_item = pool.shown_with(item, task.text_of(item), kind, n)
        if len(for_item) < n:
            needed = "the answer that most raters gave"
            needed += f" and with the field {task.reasons!r}" if task.reasons else ""
            raise TaskError(
                f"task {task.name}: item {item.id!r} has only {len(for_item)} of the {n} "
                f"demonstrations needed for {kind}: other items, outside its group, with "
                f"{needed}. Use fewer, or pass a different --elicitation."
            )
        shown.update(demonstration.item for demonstration in for_item)
    return [candidate for candidate in candidates if candidate.item in shown]


def _candidates(task: Task, items: Iterable[Item], kind: AnswerKind) -> Sequence[Demonstration]:
    answers = answers_of(task, kind)
    return [
        Demonstration(
            item=item.id,
            group=group_of(item),
            criterion=item.criterion or "",
            answer=answers[item.id],
            parts=task.parts_of(item),
            reasons=_reasons(task, item),
        )
        for item in items
        if item.id in answers
    ]


def _is_usable(task: Task, item: Item) -> bool:
    return task.has_text(item) and (task.reasons is None or _reasons(task, item) != "")


def _reasons(task: Task, item: Item) -> str:
    return item.fields.get(task.reasons or "", "").strip()


def answers_of(task: Task, kind: AnswerKind) -> dict[str, DemonstratedAnswer]:
    """Return each item's most common answer among raters, leaving out items with ties.

    On a continuous scale, this is the raters' median; for texts, the first of the most common ones.
    """
    counts: defaultdict[str, Counter[DemonstratedAnswer]] = defaultdict(Counter)
    for rating in task.ratings:
        if rating.elicitation == kind:
            counts[rating.item][rating.value] += 1
    if task.scale == "continuous":
        return {item: _median(of_item) for item, of_item in counts.items()}
    if task.scale == "text":
        return {item: of_item.most_common(1)[0][0] for item, of_item in counts.items()}
    ranked = {item: of_item.most_common(2) for item, of_item in counts.items()}
    return {
        item: first[0]
        for item, (first, *others) in ranked.items()
        if not others or first[1] > others[0][1]
    }


def _median(counts: Counter[DemonstratedAnswer]) -> DemonstratedAnswer:
    """Return the lower median of the numbers, or CANNOT_ASSESS if most raters abstain."""
    if 2 * counts[CANNOT_ASSESS] > counts.total():
        return CANNOT_ASSESS
    numbers = [str(answer) for answer in counts.elements() if answer != CANNOT_ASSESS]
    return sorted(numbers, key=float)[(len(numbers) - 1) // 2]


def group_of(item: Item) -> str:
    """Return an item's group. An item without a group is a separate group."""
    return item.id if item.group is None else item.group


def _may_be_shown(demonstration: Demonstration, item: Item, text: str) -> bool:
    return (
        demonstration.group != group_of(item)
        and demonstration.item != item.id
        and demonstration.criterion == (item.criterion or "")
        and _words("\n\n".join(demonstration.parts)) != _words(text)
    )


def _words(text: str) -> list[str]:
    """Split a text into case-folded words, to compare texts."""
    return text.casefold().split()


def _checked(demonstration: Demonstration, task: Task, path: Path) -> Demonstration:
    """Check a demonstration, and add its text from the task if missing."""
    answer, item = demonstration.answer, task.by_id.get(demonstration.item)
    named = {answer} if isinstance(answer, str) else set(answer)
    options = named if task.is_open else {option.key for option in task.options}
    if not named or not named <= {CANNOT_ASSESS, *options}:
        raise PromptError(
            f"{path}: an answer is not an option of task {task.name}. Restore the file."
        )
    if demonstration.parts:
        return demonstration
    if item is None or not task.has_text(item):
        raise PromptError(
            f"{path}: task {task.name} has no text for item {demonstration.item!r}. Pass the "
            "task that has this text."
        )
    return replace(demonstration, parts=task.parts_of(item), reasons=_reasons(task, item))


_Drawn = dict[AnswerKind, Annotated[list[Demonstration], Meta(max_length=1_000_000)]]
_DECODER = msgspec.json.Decoder(_Drawn)
