"""Labels that carry their key, as forms write them: ``4 - polite``, ``A) yes``, ``bad (1)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY = r"(?P<key>-?\d{1,3}|[A-Za-z](?=\s*[:)=]|\.\s|\s+[-\u2013\u2014]))"
FORMS = (
    re.compile(KEY + r"\s*[-\u2013\u2014:.=)]\s*(?P<label>[^\d\s].*)", re.DOTALL),
    re.compile(r"[(\[](?P<key>-?\d{1,3}|[A-Za-z])[)\]]\s*(?P<label>[^\d\s].*)", re.DOTALL),
    re.compile(r"(?P<label>[^\d\s].*?)\s*[(\[](?P<key>-?\d{1,3})[)\]]", re.DOTALL),
)
BARE = re.compile(r"-?\d{1,3}|[A-Za-z]")


class KeyedLabel(NamedTuple):
    """The key of an option and what people read."""

    key: str
    label: str

    @property
    def folded(self) -> tuple[str, str]:
        """Both in lower case."""
        return self.key.casefold(), self.label.casefold()


def split_label(name: str) -> KeyedLabel | None:
    """Return the key and the label in a name, or None if it has no key.

    Examples
    --------
    >>> split_label("4 - polite"), split_label("bad (1)")
    (KeyedLabel(key='4', label='polite'), KeyedLabel(key='1', label='bad'))
    >>> split_label("3.5"), split_label("a-ok")
    (None, None)
    """
    matches = (form.fullmatch(name.strip()) for form in FORMS)
    match = next(filter(None, matches), None)
    return KeyedLabel(match["key"], match["label"].strip()) if match else None


def keyed_labels(names: Iterable[str]) -> dict[str, KeyedLabel]:
    """Return key and label of each name if all carry a key of one kind; otherwise nothing.

    A scale may name its ends only: a bare number is then its own label.

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
        if part or BARE.fullmatch(name)
    }
    n_split = sum(part is not None for part in split.values())
    pairs = {part.folded for part in keyed.values()}
    keys, labels = {key for key, _ in pairs}, {label for _, label in pairs}
    one_kind = len({key.lstrip("-").isdecimal() for key in keys}) == 1
    is_whole = len(keyed) == len(names) and n_split > 1
    return keyed if is_whole and one_kind and len(keys) == len(labels) == len(pairs) > 1 else {}


def key_ranks(keyed: dict[str, KeyedLabel]) -> dict[str, int]:
    """Return the place of each name in the order of the keys."""
    return {
        name: int(part.key) if part.key.lstrip("-").isdecimal() else ord(part.key.casefold())
        for name, part in keyed.items()
    }
