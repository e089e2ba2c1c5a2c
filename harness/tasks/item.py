"""A task's items and ratings, and the names of scales and elicitations."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.errors import TaskError
from harness.options import concerns
from harness.stats import modes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


TASK_FILE = "task.yaml"


ClosedScale: TypeAlias = modes.ClosedScale


OpenScale = Literal["continuous", "text"]


Scale = Literal[ClosedScale, OpenScale]


OPEN_SCALES = ("continuous", "text")  # answers are not chosen among options


AnswerKind: TypeAlias = concerns.AnswerKind


ANSWER_KINDS = concerns.ANSWER_KINDS


Elicitation: TypeAlias = concerns.Elicitation


ELICITATIONS = concerns.ELICITATIONS
HumanElicitation = AnswerKind


def path_inside(folder: Path, name: str, field: str) -> Path:
    """Return the path of a file, after checking that it is inside the folder.

    Links are resolved for the check only.

    Raises
    ------
    TaskError
        If the name is absolute, contains ``..``, or resolves to a place outside the folder.
    """
    path = folder / name
    parts = PureWindowsPath(name)  # knows both kinds of slashes, and drives
    climbs = bool(parts.anchor) or ".." in parts.parts
    if climbs or not _resolves_inside(path, folder):
        raise TaskError(
            f"{folder / TASK_FILE}: {field}: {name!r} is outside the task's folder. Put the file "
            "into the folder, and write its path relative to the folder."
        )
    return path


def _resolves_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, a name with NUL
        return False


@lru_cache(maxsize=64)
def _stored_once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the same object for all equal tuples, because most items have the same fields."""
    return names


@dataclass(frozen=True, init=False)
class Item:
    """An output of the target system to rate.

    Attributes
    ----------
    id : str
        Unique in its task.
    fields : dict of str to str
        Texts that prompts can show: the fields of its group, then its own. Each access creates a
        new dict, because texts are stored in a tuple, which needs a third of a dict's memory.
    group : str or None
        Cluster to resample, such as a document or a prompt.
    criterion : str or None
        Rated criterion, if a task has several.
    """

    __slots__ = ("_names", "_texts", "criterion", "group", "id")

    id: str
    fields: dict[str, str]
    group: str | None
    criterion: str | None

    def __init__(
        self,
        id: str,  # noqa: A002 -- the name of the column
        fields: Mapping[str, str],
        group: str | None = None,
        criterion: str | None = None,
    ) -> None:
        store = object.__setattr__  # the class is frozen
        store(self, "id", id)
        store(self, "_names", _stored_once(tuple(fields)))
        store(self, "_texts", tuple(fields.values()))
        store(self, "group", group)
        store(self, "criterion", criterion)

    def __reduce__(self) -> tuple[type[Item], tuple[object, ...]]:
        """Copy or pickle the item by constructing it again."""
        return Item, (self.id, self.fields, self.group, self.criterion)

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the fields, without creating a dict."""
        return self._names  # type: ignore[attr-defined,no-any-return]

    @property
    def unit(self) -> tuple[bool, str]:
        """Resampling unit: the item's group or, without a group, the item itself."""
        return self.group is None, self.group or self.id


def _fields_of(item: Item) -> dict[str, str]:
    texts: tuple[str, ...] = item._texts  # type: ignore[attr-defined] # noqa: SLF001 -- part of it
    return dict(zip(item.field_names, texts, strict=True))


Item.fields = property(_fields_of)  # type: ignore[assignment]  # not a slot, but made of two


def unit_numbers(items: Iterable[Item]) -> list[int]:
    """Number resampling units in order of occurrence. Return the number of each item's unit."""
    numbers: dict[tuple[bool, str], int] = {}
    return [numbers.setdefault(item.unit, len(numbers)) for item in items]


@dataclass(frozen=True, slots=True)
class Rating:
    """A human rating.

    The value is an option key, a tuple of keys for a response set, or CANNOT_ASSESS. On a
    continuous scale, it is a number as `harness.tasks.schema.number_text` writes it; on a text
    scale, a text. The provenance contains the columns that `harness annotate` adds, which record
    when and how a rating was made. It isn't part of the rating's content.
    """

    item: str
    rater: str
    elicitation: HumanElicitation
    value: str | tuple[str, ...]
    provenance: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The value as a tuple of labels. A forced choice has one label."""
        return (self.value,) if isinstance(self.value, str) else self.value
