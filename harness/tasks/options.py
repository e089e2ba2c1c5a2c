"""Options that a task allows, and labels that contain an option's key."""

from __future__ import annotations

import re
from math import fsum
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CANNOT_ASSESS = "CANNOT_ASSESS"
DEFAULT_PROPERTY = "the label that raters gave"  # of a task made from a table without --property
MAX_KEY_CHARS = 64
MAX_LABEL_CHARS = 200
MAX_SENTENCE_CHARS = 4000
FIELD_NAME = re.compile(r"\{\{(.*?)\}\}")
PUNCTUATION = ',;[]{}"`'
# labels that carry their key, as forms write them: ``4 - polite``, ``A) yes``, ``bad (1)``
KEY_IN_LABEL = r"(?P<key>-?\d{1,3}|[A-Za-z](?=\s*[:)=]|\.\s|\s+[-\u2013\u2014]))"
KEYED_FORMS = (
    re.compile(KEY_IN_LABEL + r"\s*[-\u2013\u2014:.=)]\s*(?P<label>[^\d\s].*)", re.DOTALL),
    re.compile(r"[(\[](?P<key>-?\d{1,3}|[A-Za-z])[)\]]\s*(?P<label>[^\d\s].*)", re.DOTALL),
    re.compile(r"(?P<label>[^\d\s].*?)\s*[(\[](?P<key>-?\d{1,3})[)\]]", re.DOTALL),
    re.compile(r"(?P<key>-?\d{1,3})\s*[(\[](?P<label>[^\d\s][^()\[\]]*)[)\]]", re.DOTALL),
)
BARE_KEY = re.compile(r"-?\d{1,3}|[A-Za-z]")


class Frozen(BaseModel):
    """A frozen model that rejects undeclared fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _as_text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Key = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float)]


class Option(Frozen):
    """An answer that raters and judges can choose.

    Attributes
    ----------
    key : str
        Name in ratings and verdicts, e.g. ``A`` or ``4``.
    label : str
        Text that people and judges read; by default the key.
    description : str
        When to choose the option. Can be empty.
    """

    key: Key
    label: Key = ""
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _label_is_key_by_default(cls, fields: object) -> object:
        if isinstance(fields, dict) and not fields.get("label"):
            return fields | {"label": fields.get("key", "")}
        return fields

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_name("key", self.key, MAX_KEY_CHARS)
        _check_name("label", self.label, MAX_LABEL_CHARS)
        if marks := sorted(set(self.key) & set(PUNCTUATION)):
            raise ValueError(
                f"key: found {marks[0]!r} in {self.key!r}. Don't use {' '.join(PUNCTUATION)} "
                "in a key"
            )
        return self


def _check_name(field: str, text: str, max_chars: int) -> None:
    if not text or text != text.strip() or not text.isprintable() or len(text) > max_chars:
        raise ValueError(
            f"{field}: found {text[:80]!r}. Write 1 to {max_chars} printable characters on one "
            "line, without spaces around them"
        )
    if text.upper() == CANNOT_ASSESS:
        raise ValueError(
            f"{field}: {CANNOT_ASSESS} can't be an option. Write 'abstain: true' instead"
        )


def _as_option(value: object) -> object:
    return {"key": value} if isinstance(value, str | int | float) else value


OptionField = Annotated[
    Option, BeforeValidator(_as_option, json_schema_input_type=Option | str | int | float)
]


class Lexicon(Frozen):
    """Options that positive and negative sentiment in a word list stand for.

    Attributes
    ----------
    positive, negative : str
        Keys of the options for positive and negative sentiment.
    cutoff : float
        Smallest absolute sentiment that counts as positive or negative, in [0, 1].
    """

    positive: Key
    negative: Key
    cutoff: float = Field(0.05, ge=0, le=1)


class Wording(Frozen):
    """An unfinished sentence about an item, and the word for each option that completes it.

    Attributes
    ----------
    template : str
        Text up to the word; ``{{name}}`` inserts a field of the item that judges see.
    words : dict of str to str
        Word of each option.
    weights : dict of str to float
        Calibration factor for the probability of each option's word. The default is 1.
    cutoff : float in (0, 1)
        An option is in the response set if it has at least this share of all options' total
        probability.
    """

    template: str = Field(min_length=1, max_length=MAX_SENTENCE_CHARS)
    words: dict[Key, str]
    weights: dict[Key, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict
    )
    cutoff: float = Field(0.3, gt=0, lt=1)

    def filled(self, fields: Mapping[str, str]) -> str:
        """Fill an item's fields into the template."""
        return FIELD_NAME.sub(lambda match: fields.get(match[1], ""), self.template)

    def shares(self, probabilities: Mapping[str, float]) -> dict[str, float]:
        """Return each option's share of the options' total weighted word probability."""
        masses = {key: p * self.weights.get(key, 1.0) for key, p in probabilities.items()}
        total = fsum(masses.values())
        return {key: mass / total for key, mass in masses.items()}


class KeyedLabel(NamedTuple):
    """The key of an option and the text that people read."""

    key: str
    label: str

    @property
    def folded(self) -> tuple[str, str]:
        """The key and the label in lower case."""
        return self.key.casefold(), self.label.casefold()


def split_label(name: str) -> KeyedLabel | None:
    """Split a name into a key and a label. Return None if the name has no key.

    Examples
    --------
    >>> split_label("4 - polite"), split_label("bad (1)")
    (KeyedLabel(key='4', label='polite'), KeyedLabel(key='1', label='bad'))
    >>> split_label("3.5"), split_label("a-ok")
    (None, None)
    """
    matches = (form.fullmatch(name.strip()) for form in KEYED_FORMS)
    match = next(filter(None, matches), None)
    return KeyedLabel(match["key"], match["label"].strip()) if match else None


def keyed_labels(names: Iterable[str]) -> dict[str, KeyedLabel]:
    """Return each name's key and label if all names have keys of one kind, else an empty dict.

    If a scale names only its ends, a number without a name is its own label.

    Examples
    --------
    >>> keyed_labels(["1 = bad", "2", "3 = good"])["2"]
    KeyedLabel(key='2', label='2')
    >>> keyed_labels(["1 - bad", "1 - good"]), keyed_labels(["1", "2"])
    ({}, {})
    """
    names = list(names)
    split = {name: split_label(name) for name in names}
    keyed = {
        name: part or KeyedLabel(name, name)
        for name, part in split.items()
        if part or BARE_KEY.fullmatch(name)
    }
    n_split = sum(part is not None for part in split.values())
    pairs = {part.folded for part in keyed.values()}
    keys, labels = {key for key, _ in pairs}, {label for _, label in pairs}
    one_kind = len({key.lstrip("-").isdecimal() for key in keys}) == 1
    is_whole = len(keyed) == len(names) and n_split > 1
    return keyed if is_whole and one_kind and len(keys) == len(labels) == len(pairs) > 1 else {}


def key_ranks(keyed: dict[str, KeyedLabel]) -> dict[str, int]:
    """Return a number for each name that sorts names by key."""
    return {
        name: int(part.key) if part.key.lstrip("-").isdecimal() else ord(part.key.casefold())
        for name, part in keyed.items()
    }
