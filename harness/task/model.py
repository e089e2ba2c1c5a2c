"""What a task is once it is read and checked: options, items, human ratings, and their hash."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from harness.errors import TaskError
from harness.task.checks import MAX_POWERSET_OPTIONS, check_fields, check_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.response_sets import OptionSpace

CANNOT_ASSESS = "CANNOT_ASSESS"

Scale = Literal["binary", "nominal", "ordinal", "pairwise"]
HumanElicitation = Literal["forced_choice", "response_set"]
Asked = Literal["forced_choice", "response_set", "paired"]


class Frozen(BaseModel):
    """A value: fixed once made, and without fields that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _as_text(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


Key = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float)]


class Option(Frozen):
    """One admissible answer.

    Attributes
    ----------
    key : str
        What ratings and verdicts name it by, e.g. ``A`` or ``4``.
    label : str
        What people and judges read, by default the key.
    description : str
        When to choose it; may be empty.
    """

    key: Key
    label: Key = ""
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _label_is_key_by_default(cls, given: object) -> object:
        if isinstance(given, dict) and not given.get("label"):
            return given | {"label": given.get("key", "")}
        return given

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_option(self.key, self.label)
        return self


def _as_option(given: object) -> object:
    return {"key": given} if isinstance(given, str | int | float) else given


GivenOption = Annotated[
    Option, BeforeValidator(_as_option, json_schema_input_type=Option | str | int | float)
]


class Lexicon(Frozen):
    """What a word list's sentiment means for a task.

    Attributes
    ----------
    positive, negative : str
        Keys of the options that positive and negative sentiment stand for.
    cutoff : float
        Sentiment in [0, 1] from which on a text counts as positive, or negative below its negation.
    """

    positive: Key
    negative: Key
    cutoff: float = Field(0.05, ge=0, le=1)


@dataclass(frozen=True, slots=True)
class Item:
    """One target-system output to be rated.

    Attributes
    ----------
    id : str
        Unique in its task.
    fields : dict of str to str
        What prompts may show: the fields of its group, then its own.
    group : str or None
        Cluster to resample: a document, a prompt.
    criterion : str or None
        What is rated about it, where a task has several.
    """

    id: str
    fields: dict[str, str]
    group: str | None = None
    criterion: str | None = None


@dataclass(frozen=True, slots=True)
class Rating:
    """One human rating: an option key, a tuple of them for a response set, or CANNOT_ASSESS."""

    item: str
    rater: str
    elicitation: HumanElicitation
    value: str | tuple[str, ...]


class TaskFields(Frozen):
    """What a task says of itself, apart from its rows.

    Attributes
    ----------
    name : str
        Letters, digits, ``.``, ``_`` and ``-``; it becomes part of a run's name.
    property : str
        What is rated, as a phrase that can follow "Rate".
    instructions : str
        What else raters and judges are told.
    scale : str
        ``binary``, ``nominal``, ``ordinal`` (options in order) or ``pairwise``.
    options : tuple of Option
        K of them, K >= 2; exactly 2 on a binary scale.
    positive : tuple of str
        Keys of the options that count as positive downstream.
    response_sets : "all" or tuple of tuple of str
        The admissible response sets.
    abstain : bool
        Whether CANNOT_ASSESS is an answer.
    tau : float in (0, 1]
        An item is positive when at least this share of raters would endorse a positive option.
    sensitivity : dict of str to tuple of str
        For a negative option, the options that may be endorsed by people who choose it.
    raters : str
        ``expert``, ``skilled`` or ``crowd``; sets the default cost-benefit margin.
    rater_ids : str
        ``real``: an id is a person. ``positional``: it is only the place within the item.
    ignore_labels : tuple of str
        Foreign labels that are known to occur in the ratings; counted and left out.
    lexicon : Lexicon or None
        What a word-list judge means for this task, if anything.
    text : tuple of str
        Fields that judges are shown, in this order.
    notice : str
        Shown wherever the task's numbers are shown.
    source, licence : str
        Where the data come from, and on what terms.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    property: str = Field(min_length=1)
    instructions: str = ""
    scale: Scale
    options: tuple[GivenOption, ...] = Field(min_length=2, max_length=100)
    positive: tuple[Key, ...] = ()
    response_sets: Literal["all"] | tuple[tuple[Key, ...], ...] = "all"
    abstain: bool = False
    tau: float = Field(0.5, gt=0, le=1)
    sensitivity: dict[Key, tuple[Key, ...]] = {}
    raters: Literal["expert", "skilled", "crowd"] = "crowd"
    rater_ids: Literal["real", "positional"] = "real"
    ignore_labels: tuple[Key, ...] = ()
    lexicon: Lexicon | None = None
    text: tuple[str, ...] = Field(("text",), min_length=1)
    notice: str = ""
    source: str = ""
    licence: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_fields(self)
        return self

    def described(self) -> dict[str, Any]:
        """Return the fields that stand in ``task.yaml``, as JSON values."""
        return self.model_dump(mode="json", include=set(TaskFields.model_fields), exclude_none=True)


class Task(TaskFields):
    """A task with its items and human ratings; see `TaskFields` for what it says of itself.

    Attributes
    ----------
    items : tuple of Item
        The n items, in file order.
    ratings : tuple of Rating
        The human ratings, in file order.
    ignored : tuple of Rating
        Rows left out because their value is one of ``ignore_labels``.
    folder : Path
        Where it was read from; not part of its content.
    """

    items: tuple[Item, ...]
    ratings: tuple[Rating, ...]
    ignored: tuple[Rating, ...] = ()
    folder: Path = Path()

    @cached_property
    def space(self) -> OptionSpace:
        """Option keys and response sets in their fixed order.

        With more than 10 options and ``response_sets: all`` the sets are unknown and only the
        singletons stand in the space.
        """
        from harness.stats.response_sets import OptionSpace  # noqa: PLC0415 -- numpy, when needed

        keys = [option.key for option in self.options]
        if self.response_sets != "all":
            return OptionSpace(tuple(keys), self.response_sets)
        if len(keys) > MAX_POWERSET_OPTIONS:
            return OptionSpace.singletons(keys, sets_known=False)
        return OptionSpace.powerset(keys)

    @property
    def elicitations(self) -> tuple[Asked, ...]:
        """What a judge may be asked: response sets and pairs only where the sets are known."""
        if self.response_sets == "all" and len(self.options) > MAX_POWERSET_OPTIONS:
            return ("forced_choice",)
        return ("forced_choice", "response_set", "paired")

    @property
    def n_ignored(self) -> dict[str, int]:
        """How many ratings were left out, by foreign label."""
        foreign = set(self.ignore_labels)
        labels = (
            value if isinstance(value, str) else next(part for part in value if part in foreign)
            for value in (rating.value for rating in self.ignored)
        )
        return dict(Counter(labels))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (64 hex digits) over what the task says, its items and its ratings.

        Neither the folder nor the format of the files is in it.
        """
        content = {
            "task": self.described(),
            "items": [[i.id, i.group, i.criterion, i.fields] for i in self.items],
            "ratings": [[r.item, r.rater, r.elicitation, r.value] for r in self.ratings],
            "ignored": [[r.item, r.rater, r.elicitation, r.value] for r in self.ignored],
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def has_text(self, item: Item) -> bool:
        """Whether the item has every field that judges are to be shown."""
        return all(item.fields.get(name, "").strip() for name in self.text)

    def text_of(self, item: Item) -> str:
        """What judges are shown of an item: one field's value, or several as ``name:`` blocks.

        Raises
        ------
        TaskError
            If the item lacks one of the fields in ``text``.
        """
        if not self.has_text(item):
            raise TaskError(
                f"task {self.name}: item {item.id!r} lacks one of the fields {', '.join(self.text)}; "
                "a judge needs them (name the fields that hold text under 'text' in task.yaml)."
            )
        if len(self.text) == 1:
            return item.fields[self.text[0]]
        return "\n\n".join(f"{name}:\n{item.fields[name]}" for name in self.text)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy with changes, checked anew; hash and option space are those of the copy."""
        del deep  # all parts are frozen
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**values | dict(update or {}))

    def __repr__(self) -> str:
        rows = f"{len(self.items)} items, {len(self.ratings)} ratings"
        return f"Task({self.name!r}, {self.scale}, {len(self.options)} options, {rows})"

    __str__ = __repr__
