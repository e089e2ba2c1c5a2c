"""The answers a task admits: options, what a word list takes them to mean, and abstaining."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

CANNOT_ASSESS = "CANNOT_ASSESS"
UNSAID = "the label that raters gave"  # the property of a table of which nobody said what was rated
MAX_KEY_CHARS = 64
MAX_LABEL_CHARS = 200
PUNCTUATION = ',;[]{}"`'


class Frozen(BaseModel):
    """A value: fixed once made, and without fields that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _as_text(given: object) -> object:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return str(given) if number else given


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
        _check_name("key", self.key, MAX_KEY_CHARS)
        _check_name("label", self.label, MAX_LABEL_CHARS)
        if found := sorted(set(self.key) & set(PUNCTUATION)):
            raise ValueError(
                f"key: found {found[0]!r} in {self.key!r}; leave out {' '.join(PUNCTUATION)}"
            )
        return self


def _check_name(field: str, text: str, longest: int) -> None:
    if not text or text != text.strip() or not text.isprintable() or len(text) > longest:
        raise ValueError(
            f"{field}: found {text[:80]!r}; write 1 to {longest} printable characters on one line, "
            "without spaces around them"
        )
    if text.upper() == CANNOT_ASSESS:
        raise ValueError(f"{field}: {CANNOT_ASSESS} is no option; say 'abstain: true' instead")


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
        In [0, 1]: sentiment of at least this size counts as positive or, below zero, as negative.
    """

    positive: Key
    negative: Key
    cutoff: float = Field(0.05, ge=0, le=1)
