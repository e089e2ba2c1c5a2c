"""How a text can name options: by key, by label or by both; one or several; decorated or bare.

Everything here collects readings and decides nothing: `grammar` does, and only where there is
exactly one. The work is bounded by the size of the task's options, not by the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator

Reading = frozenset[int]
"""Numbers of the options that a text names; the number after the last option is CANNOT_ASSESS."""

MAX_LAYERS = 8  # decoration around a mention
ROOM = 40  # characters of decoration around a mention that are allowed for
MAX_READINGS = 16  # kept while a list is read; two are already one too many
WRAPPERS = (
    ("**", "**"),
    ("__", "__"),
    ("```", "```"),
    ("\\boxed{", "}"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("\u201c", "\u201d"),
    ("\u2018", "\u2019"),
    ("\u00ab", "\u00bb"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
)
BULLETS = ("- ", "* ", "\u2022 ")
ENDINGS = ".:)\u3002"
DASHES = "-\u2013\u2014"
OPENERS = "([{*_`\"'\u201c\u2018\u00ab"
JOINS = frozenset(f".:)]=({DASHES}\uff1a")  # one of these must stand between a key and its label
JOINT = "".join(JOINS) + f" }}*_`\"'\u201d\u2019\u00bb{OPENERS}"  # and any of these may
COMMAS = r" ?[,;\u3001\uff0c] ?(?:(?:and |&) ?)?| and "
BLANKS = re.compile(r"[^\S\n]+")


def fold(text: str) -> str:
    """Make texts that differ in case, spacing or Unicode composition equal."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def layers(text: str) -> Iterator[str]:
    """Yield a text, then what is left as its decoration comes off, layer by layer."""
    for _ in range(MAX_LAYERS):
        text = text.strip()
        if not text:
            return
        yield text
        text = peel(text)


def peel(text: str) -> str:
    """Take one layer of decoration off; empty when there is none."""
    if text.startswith(BULLETS):
        return text[2:]
    for opening, closing in WRAPPERS:
        if (
            text.startswith(opening)
            and text.endswith(closing)
            and len(text) > len(opening + closing)
        ):
            return text[len(opening) : -len(closing)]
    return text[:-1] if text[-1] in ENDINGS else ""


@dataclass(frozen=True, slots=True)
class Names:
    """All that an option may be called by.

    Attributes
    ----------
    keys : dict of str to int
        Exact keys, CANNOT_ASSESS among them.
    exact : dict of str to Reading
        Exact labels, and ``key label`` with nothing but a space between.
    loose : dict of str to Reading
        Folded keys, labels and whole lines (``label - description``).
    folded_keys : tuple of str
        Per option.
    tails : tuple of tuple of str
        Per option, what may follow its key, folded: its label, its whole line.
    separator : re.Pattern
        What stands between the mentions of a list on one line.
    longest, longest_one : int
        Characters of the longest text that could be read, and of the longest single mention.
    most, most_inside : int
        Separators in the longest list that could be read, and inside one of its mentions.
    letters : bool
        Whether all keys are single letters, so that ``AB`` is a list.
    """

    keys: dict[str, int]
    exact: dict[str, Reading]
    loose: dict[str, Reading]
    folded_keys: tuple[str, ...]
    tails: tuple[tuple[str, ...], ...]
    separator: re.Pattern[str]
    longest: int
    longest_one: int
    most: int
    most_inside: int
    letters: bool


@lru_cache(maxsize=256)
def names_of(options: tuple[tuple[str, str, str], ...]) -> Names:
    """Collect the names of options, given as (key, label, description)."""
    abstain = len(options)
    keys = {CANNOT_ASSESS: abstain} | {key: i for i, (key, _, _) in enumerate(options)}
    exact: dict[str, Reading] = {}
    loose: dict[str, Reading] = {"cannot assess": Reading([abstain])}
    for i, (key, label, description) in enumerate(options):
        _add(exact, i, label, f"{key} {label}")
        _add(loose, i, fold(key), fold(label), fold(f"{label} - {description}"))
    loose.setdefault(fold(CANNOT_ASSESS), Reading([abstain]))
    separator = _separator([key for key, _, _ in options])
    sizes = [sum(map(len, option)) for option in options]
    inside = [len(separator.findall(" ".join(option))) for option in options]
    return Names(
        keys=keys,
        exact=exact,
        loose=loose,
        folded_keys=tuple(fold(key) for key, _, _ in options),
        tails=tuple((fold(label), fold(f"{label} - {text}")) for _, label, text in options),
        separator=separator,
        longest=2 * sum(sizes) + ROOM * (len(options) + 2),
        longest_one=2 * max(sizes, default=0) + ROOM,
        most=2 * sum(inside) + 2 * len(options),
        most_inside=max(inside, default=0),
        letters=all(len(key) == 1 and key.isalpha() for key, _, _ in options),
    )


def _separator(keys: list[str]) -> re.Pattern[str]:
    """Match what may stand between mentions: signs in keys do not, nor "/" between numbers."""
    taken = {character for key in keys for character in key}
    signs = {"&", "+", "/"} - taken - ({"/"} if any(map(str.isdigit, taken)) else set())
    choices = [COMMAS, *(rf" ?{re.escape(sign)} ?" for sign in sorted(signs))]
    return re.compile("|".join(choices), re.IGNORECASE)


def _add(names: dict[str, Reading], option: int, *texts: str) -> None:
    for text in set(texts):
        names[text] = names.get(text, Reading()) | {option}


def mention(text: str, names: Names, *, keys_only: bool) -> Reading:
    """Find the options that a text may be the name of: none, one, or several if it is ambiguous."""
    if len(text) > names.longest_one:
        return Reading()
    squeezed = names.keys.get(text.replace(" ", ""))  # "- 1" may be -1, or 1 behind a bullet
    for layer in layers(text):
        if layer in names.keys:
            return Reading([names.keys[layer], names.keys[layer] if squeezed is None else squeezed])
        if keys_only:
            continue
        found = (
            names.exact.get(layer) or names.loose.get(fold(layer)) or _key_and_label(layer, names)
        )
        if found:
            return found
    return Reading()


def _key_and_label(text: str, names: Names) -> Reading:
    """Find the options whose key and own label stand side by side."""
    folded = fold(text.lstrip(OPENERS))
    found = set()
    for i, key in enumerate(names.folded_keys):
        rest = after_joint(folded, key)
        label_first = after_joint(folded, names.tails[i][0]) if not rest else ""
        if rest.rstrip(JOINT) in {tail.strip(JOINT) for tail in names.tails[i]} - {""} or (
            label_first and label_first.rstrip(JOINT) == key
        ):
            found.add(i)
    return Reading(found)


def after_joint(folded: str, name: str) -> str:
    """Return what follows a name and a joint at the start of a folded text; empty if none do."""
    if not name or not folded.startswith(name):
        return ""
    rest = folded[len(name) :]
    body = rest.lstrip(JOINT)
    return body if JOINS.intersection(rest[: len(rest) - len(body)]) else ""


def cut_off(text: str, names: Names) -> Reading:
    """Options whose key is followed by the beginning of their own label, the end being cut off.

    A beginning that is all of another option's name is no beginning.
    """
    folded = fold(text.lstrip(OPENERS))
    found = set()
    for i, (key, tails) in enumerate(zip(names.folded_keys, names.tails, strict=True)):
        rest = after_joint(folded, key)
        begun = bool(rest) and any(tail.lstrip(JOINT).startswith(rest) for tail in tails)
        other = names.loose.get(rest, Reading()) - {i}
        line = folded.startswith(f"{tails[0]} -") and tails[1].startswith(folded)
        if line or (begun and not other):
            found.add(i)
    return Reading(found)


def lists(text: str, names: Names, *, keys_only: bool) -> set[Reading]:
    """All readings of a text as a list of one or more mentions."""
    if len(text) > names.longest:
        return set()
    text = BLANKS.sub(" ", text)
    if "\n" in text:
        return _lines(text, names, keys_only=keys_only)
    readings = _in_line(text, names, keys_only=keys_only)
    return readings or _letters(text, names)


def _lines(text: str, names: Names, *, keys_only: bool) -> set[Reading]:
    """One mention on each line that is not empty."""
    lines = [line for line in text.split("\n") if line.strip()]
    readings = {Reading()} if len(lines) <= names.most + 1 else set()
    for line in lines:
        if not readings:
            break
        readings = _extend(readings, mention(line, names, keys_only=keys_only))
    return readings


def _in_line(text: str, names: Names, *, keys_only: bool) -> set[Reading]:
    """Mentions between separators, where a separator may also be part of a label."""
    cuts = list(names.separator.finditer(text))
    if len(cuts) > names.most:
        return set()
    starts = [0, *(cut.end() for cut in cuts)]
    stops = [*(cut.start() for cut in cuts), len(text)]
    reached: list[set[Reading]] = [{Reading()}, *(set() for _ in starts)]
    for i, start in enumerate(starts):
        end = min(i + names.most_inside + 1, len(stops))
        for j in range(i, end if reached[i] else i):
            found = mention(text[start : stops[j]], names, keys_only=keys_only)
            reached[j + 1] |= _extend(reached[i], found)
    return reached[-1]


def _extend(readings: set[Reading], found: Reading) -> set[Reading]:
    longer = {reading | {option} for reading in readings for option in found}
    return set(sorted(longer, key=sorted)[:MAX_READINGS])


def _letters(text: str, names: Names) -> set[Reading]:
    """Read single-letter keys run together, ``AB`` or ``A B``, in the order of the options."""
    found = (
        [names.keys.get(letter, -1) for letter in text.replace(" ", "")] if names.letters else []
    )
    rising = all(a < b for a, b in pairwise(found))
    return {Reading(found)} if len(found) > 1 and rising and found[0] >= 0 else set()
