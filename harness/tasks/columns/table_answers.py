"""What the answers of a table mean: what is said about them, and the options that they name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from pydantic import field_validator, model_validator

from harness.errors import OptionError, TaskError
from harness.option_declarations import IMPORT, Lists, Options, Repeated, option
from harness.tasks.columns.label_reader import LabelReader
from harness.tasks.options import CANNOT_ASSESS, MAX_KEY_CHARS, PUNCTUATION
from harness.tasks.schema import OPEN_SCALES, RaterIds, RaterKind, Scale, as_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.json_values import JsonObject

READING = (IMPORT,)


class AnswerSettings(Options):
    """What the answers of a table mean, said by the user or a recipe; what is not, is guessed."""

    scale: Scale | None = option(None, "Scale of the answers.", READING)
    options: Lists = option((), "Labels that are options, in order.", READING)
    positive: Lists = option((), "Options that count as positive.", READING)
    abstain: Lists = option((), "Labels of a rater who could not say (CANNOT_ASSESS).", READING)
    ignore: Lists = option((), "Labels to count and leave out.", READING)
    rename: Repeated = option(
        (), "A label that means an option; repeatable.", READING, metavar="LABEL=OPTION"
    )
    bounds: tuple[float, float] | None = option(
        None,
        "Least and greatest number of a continuous scale.",
        READING,
        metavar="LOW,HIGH",
    )
    raters_per_item: int | None = option(
        None, "Number of raters of every item, for shares.", READING, flag="--n-raters", ge=1
    )
    lists: Literal["ratings", "sets", "counts", "raters"] | None = option(
        None, "What a list or numbers by name in a cell are.", READING
    )
    separator: str | None = option(
        None, "What divides the options of a response set in a cell, such as ';'.", READING
    )
    decimal: Literal["comma", "point"] | None = option(
        None, "Whether 3,5 in a cell is a number; asked where it may be one.", READING
    )
    on_duplicate: Literal["reject", "last"] = option(
        "reject",
        "Whether a second rating is rejected, or the last by its time counts.",
        READING,
    )
    scales: Literal["shared", "own"] | None = option(
        None, "One task for all criteria, or one for each; by default as labels do.", READING
    )

    @field_validator("separator")
    @classmethod
    def _with_line_breaks(cls, text: str | None) -> str | None:
        return (text or "").replace("\\n", "\n") or None

    @field_validator("bounds", mode="before")
    @classmethod
    def _are_ordered(cls, ends: object) -> object:
        if not isinstance(ends, list | tuple):
            return ends
        numbers = [as_number(end.strip()) if isinstance(end, str) else end for end in ends]
        match numbers:
            case [int() | float() as low, int() | float() as high] if low < high:
                return numbers
        raise ValueError("write LOW,HIGH such as 0,100")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.bounds is not None and self.scale != "continuous":
            raise OptionError("bounds", "it goes with {scale} continuous", "add that one")
        return self

    def meanings(self) -> dict[str, str]:
        """Return what labels, in lower case, stand for where that is not their own option."""
        meanings = {label.casefold(): label for label in self.ignore}
        meanings |= dict.fromkeys((label.casefold() for label in self.abstain), CANNOT_ASSESS)
        for pair in self.rename:
            label, sign, option_ = (part.strip() for part in pair.rpartition("="))
            if not label or not sign or not option_:
                raise TaskError(f"--rename: found {pair!r}; write it as label=option.")
            meanings[label.casefold()] = option_
        return meanings

    @property
    def is_whole(self) -> bool:
        """Whether nothing about the answers is left to guess: a scale, and all of its options."""
        named = [label.casefold() for label in self.options]
        whole = len(set(named)) == len(named) > 1 and self.scale not in {None, *OPEN_SCALES}
        return whole and bool(self.positive or self.scale != "binary")


class RatedOptions(Options):
    """What was rated and by whom, as in ``task.yaml``."""

    property: str = option("", "What is rated, as a phrase that judges read.", READING)
    rater_ids: RaterIds | None = option(
        None, "Whether a rater is a person, or a position within the item.", READING
    )
    kind: RaterKind | None = option(None, "Kind of raters; sets eps to 0.2, 0.15 or 0.1.", READING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswers:
    """The options of a task and how a table's labels name them.

    Attributes
    ----------
    keys : mapping of str to str
        A label in lower case, as the table may write it, to the key of its option.
    labels : mapping of str to str
        The key of each option, in order, to what people read.
    positive : tuple of str
        Keys of the positive options.
    abstain : bool
        Whether ``CANNOT_ASSESS`` is an answer.
    ignore : tuple of str
        Labels that are counted and left out.
    bounds : (float, float) or None
        Of a continuous scale.
    """

    scale: Scale
    keys: Mapping[str, str]
    labels: Mapping[str, str]
    positive: tuple[str, ...]
    abstain: bool
    ignore: tuple[str, ...]
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, settings: AnswerSettings, where: str, *, abstain: bool) -> Self:
        """Return the options that settings name; ``abstain`` if the table holds CANNOT_ASSESS.

        Raises
        ------
        TaskError
            If a positive label is not an option.
        """
        assert settings.scale is not None, "given or guessed"
        labels = dict(zip(_option_keys(settings.options), settings.options, strict=True))
        keys = {label.casefold(): key for key, label in labels.items()}
        positive = _positive_keys(settings.positive, labels, keys, where)
        keys |= {key.casefold(): key for key in labels}
        meanings = settings.meanings()
        excluded = {*settings.ignore, CANNOT_ASSESS}
        others: dict[str, str] = {}
        for label, meaning in meanings.items():
            is_answer = meaning in excluded or settings.scale in OPEN_SCALES
            if key := meaning if is_answer else keys.get(meaning.casefold()):
                others[label] = key
        return cls(
            scale=settings.scale,
            keys=keys | others,
            labels=labels,
            positive=positive,
            abstain=abstain or CANNOT_ASSESS in meanings.values(),
            ignore=tuple(label for label in settings.ignore if label not in labels),
            bounds=settings.bounds,
        )

    @property
    def reader(self) -> LabelReader:
        """What reads the cells of the table."""
        return LabelReader(self.scale, self.keys, self.abstain, self.bounds)

    def fields(self) -> JsonObject:
        """Return the fields of ``task.yaml`` that say the same."""
        options = [
            {"key": key} | ({"label": label} if label != key else {})
            for key, label in self.labels.items()
        ]
        found = {
            "scale": self.scale,
            "bounds": self.bounds and [int(n) if n.is_integer() else n for n in self.bounds],
            "options": options,
            "positive": list(self.positive),
            "abstain": self.abstain,
            "ignore_labels": list(self.ignore),
        }
        return {name: value for name, value in found.items() if value not in (None, [])}


def _positive_keys(
    positive: Sequence[str], labels: Mapping[str, str], keys: Mapping[str, str], where: str
) -> tuple[str, ...]:
    if unknown := [label for label in positive if label.casefold() not in keys]:
        names = ", ".join(labels.values())
        raise TaskError(f"{where}: --positive: {unknown[0]!r} is none of {names}.")
    return tuple(keys[label.casefold()] for label in positive)


def _option_keys(names: Sequence[str]) -> list[str]:
    """Return a key for each label: the label itself where it is a valid key."""
    keys: list[str] = []
    for name in names:
        plain = re.sub(f"[{re.escape(PUNCTUATION)}]+", " ", name)
        plain = " ".join("".join(c if c.isprintable() else " " for c in plain).split())
        key = plain[:MAX_KEY_CHARS].strip() or "option"
        number = 2
        while key.casefold() in {k.casefold() for k in keys}:
            key, number = f"{key[: MAX_KEY_CHARS - 4]} {number}", number + 1
        keys.append(key)
    return keys
