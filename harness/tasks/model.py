"""Tasks: fields, items, human ratings and content hash."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice, repeat
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import msgspec
from pydantic import WrapValidator

from harness.errors import TaskError
from harness.files.plain_text import is_blank
from harness.files.tables import read_rows
from harness.files.tables.checks import as_text, short
from harness.tasks.coded_ratings import CodedRatings
from harness.tasks.images import Image, read_images
from harness.tasks.item import TASK_FILE, Elicitation, HumanElicitation, Item, Rating, path_inside
from harness.tasks.schema import MAX_POWERSET_OPTIONS, TaskFields, as_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import ValidatorFunctionWrapHandler

    from harness.stats import OptionSpace
    from harness.tasks.rating_columns import RatingColumns


COLUMNS = ("text", "other", "similarity")
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_QUICK_JSON = msgspec.json.Encoder(order="sorted").encode
DELETE = b"\x7f"  # the one ASCII character that json alone escapes
INCLUSION_PROBABILITY = "inclusion_probability"  # field of items that were sampled
SOURCE_ITEM = "source_item"  # field of sampled items: their id in the task


def read_similarities(folder: Path, name: str) -> dict[tuple[str, str], float]:
    """Read a table of text similarities. The result contains each pair of texts in both orders."""
    path = path_inside(folder, name, "similarity")
    if not path.is_file():
        raise TaskError(
            f"{path}: not found. Create this file, or remove 'similarity' from task.yaml."
        )
    similarities: dict[tuple[str, str], float] = {}
    for line, row in read_rows(path, required=COLUMNS):
        text, other = (as_text(row[name]).strip() for name in COLUMNS[:2])
        number = as_number(as_text(row["similarity"]))
        if number is None or not isfinite(number):
            raise TaskError(
                f"{path}: line {line}: similarity {short(row['similarity'])} is not a number."
            )
        if similarities.setdefault((text, other), number) != number:
            raise TaskError(
                f"{path}: line {line}: {short(text)} and {short(other)} are listed twice with "
                "different similarities. Keep one row."
            )
        similarities[other, text] = number
    return similarities


SETS_RANK_FROM = 0.9  # share of the rated items that have response sets
JudgeElicitation = Elicitation
ASKED_ON: dict[JudgeElicitation, tuple[HumanElicitation, ...]] = {  # the questions of a form
    "forced_choice": ("forced_choice",),
    "response_set": ("response_set",),
    "paired": ("response_set", "forced_choice"),  # the set first, then a choice from it
}


def share_with_sets(rated: Iterable[tuple[str, str]]) -> float | None:
    """Return the share of rated items that have a response set, or None if no item is rated.

    Parameters
    ----------
    rated : iterable of (str, str)
        Item and elicitation of the ratings, except CANNOT_ASSESS.
    """
    forms = set(rated)
    items = {item for item, _ in forms}
    with_sets = sum(elicitation == "response_set" for _, elicitation in forms)
    return with_sets / len(items) if items else None


def _kept(ratings: object, validate: ValidatorFunctionWrapHandler) -> Sequence[Rating]:
    """Validate ratings, unless they are `CodedRatings`, which were checked when they were read."""
    return ratings if isinstance(ratings, CodedRatings) else tuple(validate(ratings))


class Task(TaskFields):
    """A task with its items and human ratings. See `TaskFields` for its other fields.

    Attributes
    ----------
    items : tuple of Item
        The n items, in file order.
    ratings : sequence of Rating
        The human ratings, in file order. They are `CodedRatings` if they were read from a table.
    ignored : tuple of Rating
        Ratings left out because their value is in ``ignore_labels``.
    folder : Path
        Folder that the task was read from; not part of its content.
    """

    items: tuple[Item, ...]
    ratings: Annotated[Sequence[Rating], WrapValidator(_kept)]
    ignored: tuple[Rating, ...] = ()
    folder: Path = Path()

    @cached_property
    def space(self) -> OptionSpace:
        """Option keys and response sets in a fixed order.

        With more than 10 options and ``response_sets: all``, the sets are unknown, and the space
        contains only the singletons.

        Raises
        ------
        TaskError
            If the task has no options.
        """
        self.require_options("this")
        from harness.stats.data.option_space import OptionSpace  # noqa: PLC0415 -- numpy, when needed

        keys = tuple(option.key for option in self.options)
        if self.response_sets != "all":
            return OptionSpace(keys, self.response_sets)
        if len(keys) > MAX_POWERSET_OPTIONS:
            return OptionSpace.singletons(keys, sets_known=False)
        return OptionSpace.powerset(keys)

    @cached_property
    def rating_columns(self) -> RatingColumns:
        """The ratings as arrays, in the same order."""
        from harness.tasks.rating_columns import RatingColumns  # noqa: PLC0415 -- numpy, when needed

        return RatingColumns.of(self.ratings)

    @cached_property
    def by_id(self) -> dict[str, Item]:
        """Items by their id."""
        return {item.id: item for item in self.items}

    @cached_property
    def shown_parts(self) -> dict[str, tuple[str, ...]]:
        """Parts of the text that judges see, by item. Items without a text are left out."""
        return {item.id: self.parts_of(item) for item in self.items if self.has_text(item)}

    @property
    def elicitations(self) -> tuple[JudgeElicitation, ...]:
        """Elicitations that the task supports. Response sets and pairs require known sets.

        Open scales support only single answers, which are called forced choices.
        """
        if self.is_open:
            return ("forced_choice",)
        if self.response_sets == "all" and len(self.options) > MAX_POWERSET_OPTIONS:
            return ("forced_choice",)
        return ("forced_choice", "response_set", "paired")

    @property
    def n_ignored(self) -> dict[str, int]:
        """Number of ignored ratings by foreign label."""
        foreign = frozenset(self.ignore_labels)
        return dict(Counter(min(foreign.intersection(r.labels)) for r in self.ignored))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (64 hex digits) of fields, items, images and ratings.

        Folder and file format don't matter.
        """
        content: dict[str, object] = {
            "task": self.described(),
            "items": ((item.id, item.group, item.criterion, item.fields) for item in self.items),
            "ratings": _values(self.ratings),
            "ignored": _values(self.ignored),
        }
        if self.image:
            content["images"] = {item: image.digest for item, image in self.images.items()}
        if self.similarity_file:
            content["similarities"] = sorted(self.similarities.items())
        return digest_of(content)

    @property
    def is_in_folder(self) -> bool:
        """Whether the task is in a folder, and not from rows in memory."""
        return (self.folder / TASK_FILE).exists()

    @cached_property
    def images(self) -> dict[str, Image]:
        """Images by item id. They are read, checked and hashed on first use.

        Raises
        ------
        TaskError
            See `harness.tasks.images.read_images`.
        """
        return read_images(self.folder, self.image, self.items) if self.image else {}

    @cached_property
    def similarities(self) -> dict[tuple[str, str], float]:
        """Text similarities from the task's folder, read on first use.

        Raises
        ------
        TaskError
            See `harness.tasks.model.read_similarities`.
        """
        name = self.similarity_file
        return read_similarities(self.folder, name) if name else {}

    def criterion_text(self, criterion: str | None) -> str:
        """Return a criterion as judges see it, including any description."""
        of_rubric = self.rubric.criteria.get(criterion or "") if self.rubric else None
        described = of_rubric is not None and of_rubric.description
        return f"{criterion} - {described}" if described else criterion or ""

    def has_text(self, item: Item) -> bool:
        """Return whether an item has content for judges: nonblank text or an image."""
        has_image = bool(self.image and item.fields.get(self.image))
        return has_image or not all(is_blank(item.fields.get(name, "")) for name in self.text)

    def has_blank_part(self, item: Item) -> bool:
        """Return whether an item has content, but a text that judges see is blank."""
        blank = any(is_blank(item.fields.get(name, "")) for name in self.text)
        return blank and self.has_text(item)

    def text_of(self, item: Item) -> str:
        """Join the parts of an item's text that judges see. See `parts_of`.

        Raises
        ------
        TaskError
            If the item is blank.
        """
        return "\n\n".join(self.parts_of(item))

    def parts_of(self, item: Item) -> tuple[str, ...]:
        """Return the parts of an item's text that judges see.

        With one field, the only part is its value. With several fields, each part is a field's name
        and value. A missing field counts as an empty text.

        Raises
        ------
        TaskError
            If the item is blank.
        """
        if not self.has_text(item):
            raise TaskError(
                f"task {self.name}: item {item.id!r} is blank: it has no text in "
                f"{' or '.join(self.text)}. Add a text, or list the fields that contain text "
                "under 'text' in task.yaml."
            )
        texts = [item.fields.get(name, "") for name in self.text]
        if len(texts) == 1:
            return (texts[0],)
        return tuple(f"{name}:\n{text}" for name, text in zip(self.text, texts, strict=True))

    def with_swapped_answers(self, item: Item) -> Item:
        """Return an item of a pairwise task with its two answers swapped."""
        assert self.pairwise is not None, "checked by the caller"
        return replace(item, fields=self.pairwise.swapped_fields(item.fields))

    def sentence_about(self, item: Item) -> str:
        """Return the unfinished sentence about an item that a ``@verbalised`` judge completes.

        Raises
        ------
        TaskError
            If the item is blank.
        """
        assert self.verbalised is not None, "checked with the strategy"
        self.parts_of(item)
        return self.verbalised.filled(item.fields)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a validated copy with changes."""
        del deep  # every part is frozen
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**values | dict(update or {}))

    def __repr__(self) -> str:
        rows = f"{len(self.items)} items, {len(self.ratings)} ratings"
        options = "" if self.is_open else f" {len(self.options)} options,"
        return f"Task({self.name!r}, {self.scale},{options} {rows})"

    __str__ = __repr__


def _values(ratings: Sequence[Rating]) -> Iterator[tuple[object, ...]]:
    if isinstance(ratings, CodedRatings):
        return ratings.rows()
    return ((r.item, r.rater, r.elicitation, r.value) for r in ratings)


def digest_of(content: Mapping[str, object]) -> str:
    """Compute the SHA-256 of a mapping as JSON with sorted keys. Iterators count as lists."""
    digest = hashlib.sha256()
    for text in _sorted_json(content):
        digest.update(text.encode())
    return digest.hexdigest()


def _json_of_texts(rows: list[object]) -> str:
    """Encode rows of texts as `_JSON` does, but ten times as fast for ASCII."""
    try:
        text = _QUICK_JSON(rows)
    except (UnicodeEncodeError, TypeError):  # half of a surrogate pair; numpy's texts
        return _JSON(rows)
    return text.decode() if text.isascii() and DELETE not in text else _JSON(rows)


def _sorted_json(content: Mapping[str, object]) -> Iterator[str]:
    """Yield the JSON text of a mapping with sorted keys. An iterator becomes a list, in blocks."""
    for start, key in zip(chain("{", repeat(",")), sorted(content), strict=False):
        yield f"{start}{_JSON(key)}:"
        value = content[key]
        if not isinstance(value, Iterator):
            yield _JSON(value)
            continue
        yield "["
        before = ""
        while block := list(islice(value, 1000)):
            yield before + _json_of_texts(block)[1:-1]
            before = ","
        yield "]"
    yield "}"
