"""Matching of texts with options by key, label or both, alone or in lists.

These functions collect possible readings, and `grammar` accepts a reply that has exactly one. The
work is bounded by the size of the options, not by the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from harness.judging.parsing.answer_names import FORMATTING_TAGS, role
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OptionIndices = frozenset[int]
"""Indices of the options that a text names. The index after the last option is CANNOT_ASSESS."""

MAX_LAYERS = 8  # maximum layers of decoration around a mention
ROOM = 40  # allowance for decoration around a mention, in characters
MAX_READINGS = 16  # maximum readings of an incomplete list; two make a reply ambiguous
WRAPPERS = (
    ("\\boxed{", "}"),
    ("\\text{", "}"),
    ("\\textbf{", "}"),
    ("\\mathrm{", "}"),
    ("\\mathbf{", "}"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("$$", "$$"),
    ("$", "$"),
    ("~~~", "~~~"),
    ("|", "|"),
    ("**", "**"),
    ("__", "__"),
    ("```", "```"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("\u201c", "\u201d"),
    ("\u2018", "\u2019"),
    ("\u00ab", "\u00bb"),
    ("\u300c", "\u300d"),
    ("\u300e", "\u300f"),
    ("\u3010", "\u3011"),
    ("\uff08", "\uff09"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
)
WRAPPERS_BY_START = {
    first: tuple((start, end) for start, end in WRAPPERS if start[0] == first)
    for first in {start[0] for start, _ in WRAPPERS}
}
BULLETS = ("- ", "* ", "\u2022 ", "= ")
HEADING = re.compile(r"#{1,6}\s*|(?:[-=]>|>>)\s+")
RULE = re.compile(r"\n\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\Z|\A(?:-{3,}|\*{3,}|_{3,}|={3,})\s*\n")
_SIGN = (
    r"[\u2190-\u21ff\u2300-\u23ff\u25a0-\u26d3\u26d5-\u2716\u2719-\u274b\u274f-\u27bf\u2b00-\u2bff"
    r"\U0001f000-\U0001f44d\U0001f44f-\U0001f6aa\U0001f6ac-\U0001faff\ufe0f]"
)
SIGNS = re.compile(rf"\A{_SIGN}+\s*|\s*{_SIGN}+\Z")  # except crosses, which deny
TAGGED = re.compile(
    r"[<\[](?P<name>[A-Za-z][\w -]{0,30})[>\]](?P<inner>.*)[<\[]/(?P=name)[>\]]", re.DOTALL
)
ENDINGS = ".:;)!\u3002\uff01"
DASHES = "-\u2013\u2014"
OPENERS = "([{*_`\"'\u201c\u2018\u00ab"
JOINS = frozenset(
    f".:)]=([{DASHES}\uff1a\u2192"
)  # at least one of these is between a key and its label
JOINT = (
    "".join(JOINS) + f"> }}*_`\"'\u201d\u2019\u00bb{OPENERS}"
)  # characters allowed between a key and its label
COMMAS = (
    r" ?[,;\u3001\uff0c] ?(?:(?:and also |but also |and |also |as well as |&) ?)?"
    r"| and also | but also | as well as | and "
)
NUMBERED = re.compile(r"\A\s*\(?\d{1,2}[.)]\s+(?=\S)")  # number in a list with one mention per line
TIES = (  # names of the option for a tie
    *("tie", "tied", "equally good", "of equal quality"),
    *(
        "unentschieden",
        "gleichstand",
        "gleich gut",
        "\xe9galit\xe9",
        "ex \xe6quo",
        "empate",
        "parit\xe0",
    ),
    *("pareggio", "\u5e73\u5c40", "\u5e73\u624b", "\u5f15\u304d\u5206\u3051", "\ubb34\uc2b9\ubd80"),
)
TIES_ALONE = (
    "equal",
    "equals",
    "a draw",
    "draw",
    "equally bad",
    "no difference",
    "no preference",
    "no winner",
    "no clear winner",
    *("same", "the same", "both are the same", "they are the same", "both are equal"),
    *("they are equal", "they tie", "both tie"),
)  # more such names, which don't count inside sentences
AGREEMENTS = {  # in English and other languages
    "yes": (
        *("yep", "yeah", "yup", "true", "ja", "oui", "s\xed", "s\xec", "sim"),
        *("\u662f", "\u662f\u7684", "\u306f\u3044", "\ub124", "\uc608", "\u0434\u0430"),
    ),
    "no": (
        *("nope", "nah", "false", "nein", "non", "n\xe3o"),
        *(
            "\u5426",
            "\u4e0d",
            "\u4e0d\u662f",
            "\u3044\u3044\u3048",
            "\uc544\ub2c8\uc694",
            "\uc544\ub2c8\uc624",
            "\u043d\u0435\u0442",
        ),
    ),
}
NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMERAL = re.compile(rf"\b(?:{'|'.join(NUMERALS)})\b", re.IGNORECASE)
COUNTED_ONE = re.compile(r"\s+out\s+of\b", re.IGNORECASE)
RIVALS = (  # nouns for texts that are compared
    "assistant",
    "response",
    "answer",
    "output",
    "model",
    "reply",
    "completion",
    "candidate",
    "system",
    "summary",
    "translation",
    "chatbot",
    *("asistente", "respuesta", "modelo", "resposta", "r\xe9ponse", "mod\xe8le", "risposta"),
    *("assistent", "antwort", "modell"),
)
UNSPACED_RIVALS = (
    "\u52a9\u624b",
    "\u56de\u7b54",
    "\u7b54\u6848",
    "\u56de\u590d",
    "\u6a21\u578b",
    "\uc751\ub2f5",
    "\ub2f5\ubcc0",
)
RIVAL = re.compile(
    rf"(?:{'|'.join((*RIVALS, *UNSPACED_RIVALS))})[ _]?(?P<mark>[a-z0-9])", re.IGNORECASE
)
ORDINALS = ("first", "second")  # of two compared texts
INFLECTED = {"pass": ("passed", "passes"), "fail": ("failed", "fails")}
ALONE = frozenset(
    (
        *(*TIES_ALONE, *NUMERALS, *ORDINALS),
        *(*chain(*AGREEMENTS.values()), *chain(*INFLECTED.values())),
    )
)
NEGATED = re.compile(r"no[nt]?[\s-]+(?P<rest>.+)")  # "not toxic" is "non-toxic"
OPPOSITE = re.compile(r"(?:un|in|im|ir|il|dis)(?P<rest>\w+)")  # "not consistent" is "inconsistent"
BINARY = 2  # number of options in a binary task
DENIALS = frozenset(("no", "non", "not"))  # words that deny an option or begin its label
NUMBER = re.compile(r"\d{1,9}", re.ASCII)
DECIMAL = re.compile(r"\d\.\d")
BLANKS = re.compile(r"[^\S\n]+")


def fold(text: str) -> str:
    """Normalise a text's case, spacing and Unicode composition."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def with_digits(text: str) -> str:
    """Replace numerals in a text without digits, as in "four out of five" to "4 out of 5".

    "One" is a pronoun, unless "out of" follows.
    """
    if any(map(str.isdigit, text)):
        return text

    def number(word: re.Match[str]) -> str:
        is_pronoun = word[0].lower() == "one" and not COUNTED_ONE.match(text, word.end())
        return word[0] if is_pronoun else str(NUMERALS.index(word[0].lower()))

    return NUMERAL.sub(number, text)


def layers(text: str) -> Iterator[str]:
    """Yield a text, then remove its layers of decoration one by one and yield each result."""
    for _ in range(MAX_LAYERS):
        text = text.strip()
        if not text:
            return
        yield text
        text = peel(text)


def peel(text: str) -> str:
    """Remove one layer of decoration from a text. Return "" if there is no decoration."""
    if text.startswith(BULLETS):
        return text[2:]
    if text[0] in "<[" and (tagged := TAGGED.fullmatch(text)) and is_answer_tag(tagged["name"]):
        return tagged["inner"]
    if cut := HEADING.match(text) or ("\n" in text and RULE.search(text)):
        return text[: cut.start()] + text[cut.end() :]
    for opening, closing in WRAPPERS_BY_START.get(text[0], ()):
        if (
            text.startswith(opening)
            and text.endswith(closing)
            and len(text) > len(opening + closing)
        ):
            return text[len(opening) : -len(closing)]
    if text[-1] in ENDINGS:
        return text[:-1]
    return SIGNS.sub("", text) if not text.isascii() and SIGNS.search(text) else ""


def is_answer_tag(name: str) -> bool:
    """Return whether a tag marks an answer or only formats its content."""
    return name.lower() in FORMATTING_TAGS or role(name) in {"answer", "score"}


@dataclass(frozen=True, slots=True)
class OptionNames:
    """Names of a task's options.

    Attributes
    ----------
    keys : dict of str to int
        Exact keys, including CANNOT_ASSESS.
    exact : dict of str to Reading
        Exact labels, and ``key label`` with only a space in between.
    loose : dict of str to Reading
        Folded keys, labels and whole lines (``label - description``).
    folded_keys : tuple of str
        Folded key of each option.
    tails : tuple of tuple of str
        Folded texts that can follow each option's key: its label, and its whole line.
    opening : re.Pattern
        Decoration and a name, with which every list begins.
    separator : re.Pattern
        Separator between the mentions of a list on a line.
    max_chars, max_mention_chars : int
        Maximum characters in a readable text, and in a single mention.
    max_separators, max_inside : int
        Maximum separators in a readable list, and inside one of its mentions.
    rivals : bool
        Whether the options are compared texts, each with a letter or a number: "Model 1".
    is_yes_no : bool
        Whether the options are "yes" and "no".
    letters : bool
        Whether all keys are single letters, so that ``AB`` is a list.
    least, most : str
        Lowest and highest key if all keys are whole numbers from 0; otherwise empty.
    """

    keys: dict[str, int]
    exact: dict[str, OptionIndices]
    loose: dict[str, OptionIndices]
    folded_keys: tuple[str, ...]
    tails: tuple[tuple[str, ...], ...]
    opening: re.Pattern[str]
    separator: re.Pattern[str]
    max_chars: int
    max_mention_chars: int
    max_separators: int
    max_inside: int
    rivals: bool
    is_yes_no: bool
    letters: bool
    least: str
    most: str


@lru_cache(maxsize=256)
def names_of(options: tuple[tuple[str, str, str], ...]) -> OptionNames:
    """Collect the names of options, given as tuples (key, label, description)."""
    abstain = len(options)
    keys = {CANNOT_ASSESS: abstain} | {key: i for i, (key, _, _) in enumerate(options)}
    exact: dict[str, OptionIndices] = {}
    loose: dict[str, OptionIndices] = {"cannot assess": OptionIndices([abstain])}
    for i, (key, label, description) in enumerate(options):
        _add(exact, i, label, f"{key} {label}")
        line = f"{label} - {description}" if description else label
        _add(loose, i, fold(key), fold(label), fold(line))
    rivals = _add_rivals(loose, options)
    for name, others in (AGREEMENTS | INFLECTED).items():
        for other in others if name in loose else ():
            loose.setdefault(other, loose[name])
    for name, reading in list(loose.items()):
        if negated := _negated(name, loose, is_binary=len(options) == BINARY):
            for denial in ("not ", "non-"):
                loose.setdefault(f"{denial}{negated}", reading)
    for number, numeral in enumerate(NUMERALS):
        if str(number) in keys:
            loose.setdefault(numeral, OptionIndices([keys[str(number)]]))
    loose.setdefault(fold(CANNOT_ASSESS), OptionIndices([abstain]))
    for joint in (" - ", ": ", " \u2013 ", " \u2014 ", ", "):  # prompts describe it like this
        loose[fold(f"{CANNOT_ASSESS}{joint}the text cannot be assessed")] = OptionIndices([abstain])
    separator = _separator([key for key, _, _ in options])
    sizes = [sum(map(len, option)) for option in options]
    inside = [len(separator.findall(" ".join(option))) for option in options]
    numbers = sorted((key for key, _, _ in options if NUMBER.fullmatch(key)), key=int)
    is_scale = len(numbers) == len(options) > 1
    return OptionNames(
        keys=keys,
        exact=exact,
        loose=loose,
        folded_keys=tuple(fold(key) for key, _, _ in options),
        tails=tuple((fold(label), fold(f"{label} - {text}")) for _, label, text in options),
        opening=_opening([*keys, *exact, *loose]),
        separator=separator,
        max_chars=2 * sum(sizes) + ROOM * (len(options) + 2),
        max_mention_chars=2 * max(sizes, default=0) + ROOM,
        max_separators=2 * sum(inside) + 2 * len(options),
        max_inside=max(inside, default=0),
        rivals=rivals,
        is_yes_no={fold(label or key) for key, label, _ in options} == set(AGREEMENTS),
        letters=all(len(key) == 1 and key.isalpha() for key, _, _ in options),
        least=numbers[0] if is_scale else "",
        most=numbers[-1] if is_scale else "",
    )


def _add_rivals(loose: dict[str, OptionIndices], options: tuple[tuple[str, str, str], ...]) -> bool:
    """Add names of a tie and of compared texts, such as "Response A" for "Model A".

    Return whether all options except a tie are compared texts.
    """
    folded = [fold(label or key) for key, label, _ in options]
    equals = {*TIES, *TIES_ALONE}
    ties = [i for i, (key, _, _) in enumerate(options) if {fold(key), folded[i]} & equals]
    if len(ties) == 1:
        _add(loose, ties[0], *TIES, *TIES_ALONE)
        if {fold(key) for key, _, _ in options} > {"a", "b"} and "c" not in loose:
            _add(loose, ties[0], "[[c]]")  # as judges of pairs are often asked to write it
    marks = {i: RIVAL.fullmatch(text) for i, text in enumerate(folded) if i not in ties}
    known = {i: mark["mark"] for i, mark in marks.items() if mark}
    are_rivals = len(known) == len(marks) > 1
    for i, mark in known.items() if are_rivals else ():
        _add(loose, i, *(f"{noun} {mark}" for noun in (*RIVALS, *UNSPACED_RIVALS)))
        _add(loose, i, *(f"{noun}{mark}" for noun in UNSPACED_RIVALS))
        _add(loose, i, *(f"{noun} ({mark})" for noun in RIVALS))
    if are_rivals and [*known.values()] in (list("ab"), list("12")):
        for i, ordinal in zip(known, ORDINALS, strict=True):
            _add(loose, i, ordinal, f"{ordinal} one", *(f"{ordinal} {noun}" for noun in RIVALS))
    return are_rivals


def _negated(name: str, names: Mapping[str, OptionIndices], *, is_binary: bool) -> str:
    """Return the text that a name denies, such as another option's name, or "" if none."""
    if match := NEGATED.fullmatch(name):
        return match["rest"]
    opposite = OPPOSITE.fullmatch(name) if is_binary else None
    rest = opposite["rest"] if opposite else ""
    return rest if rest in names and names[rest] != names[name] else ""


def _separator(keys: list[str]) -> re.Pattern[str]:
    """Return a pattern for separators between mentions, but not signs in keys or fractions."""
    used = {character for key in keys for character in key}
    signs = {"&", "+", "/", "|"} - used - ({"/"} if any(map(str.isdigit, used)) else set())
    choices = [COMMAS, *(rf" ?{re.escape(sign)} ?" for sign in sorted(signs))]
    return re.compile("|".join(choices), re.IGNORECASE)


def _opening(names: list[str]) -> re.Pattern[str]:
    """Return a pattern for the start of a list: decoration, then a name or several letters."""
    letters = "".join(sorted({name for name in names if len(name) == 1 and name.isalpha()}))
    choices = sorted(
        {r"[\s_]+".join(map(re.escape, name.split())) for name in names if name}, reverse=True
    )
    together = [rf"[{letters}]+"] if letters else []
    return re.compile(
        rf"(?:[\W_]|\\[a-z]{{4,6}}\{{|\d{{1,2}}[.)]\s|</?[\w ]{{1,30}}>)*?"
        rf"(?:{'|'.join(together + choices)})"
        r"(?![A-Za-z0-9])",
        re.IGNORECASE,
    )


def _add(names: dict[str, OptionIndices], option: int, *texts: str) -> None:
    for text in set(texts):
        names[text] = names.get(text, OptionIndices()) | {option}


def mention(text: str, names: OptionNames, *, keys_only: bool) -> OptionIndices:
    """Return the options that a text could name. There are several if the text is ambiguous."""
    if len(text) > names.max_mention_chars:
        return OptionIndices()
    squeezed = names.keys.get(text.replace(" ", ""))  # "- 1" can be -1, or 1 behind a bullet
    for layer in layers(text):
        if layer in names.keys:
            return OptionIndices(
                [names.keys[layer], names.keys[layer] if squeezed is None else squeezed]
            )
        if keys_only:
            continue
        matches = (
            names.exact.get(layer)
            or names.loose.get(fold(layer))
            or names.loose.get(fold(layer.replace("_", " ")))
            or _key_and_label(layer, names)
        )
        if matches:
            return matches
    return OptionIndices()


def _key_and_label(text: str, names: OptionNames) -> OptionIndices:
    """Return the options whose key is next to their own label."""
    folded = fold(text.lstrip(OPENERS))
    matches = set()
    for i, key in enumerate(names.folded_keys):
        rest = after_joint(folded, key)
        label_first = after_joint(folded, names.tails[i][0]) if not rest else ""
        if (rest and rest.rstrip(JOINT) in _without_joints(names.tails[i])) or (
            label_first and label_first.rstrip(JOINT) == key
        ):
            matches.add(i)
    return OptionIndices(matches)


@lru_cache(maxsize=256)
def _without_joints(tails: tuple[str, ...]) -> frozenset[str]:
    return frozenset(tail.strip(JOINT) for tail in tails) - {""}


def after_joint(folded: str, name: str) -> str:
    """Return the text after a name and a separator, or "" if a folded text lacks them."""
    if not name or not folded.startswith(name):
        return ""
    rest = folded[len(name) :]
    body = rest.lstrip(JOINT)
    if DECIMAL.match(folded, len(name) - 1):
        return ""
    return body if JOINS.intersection(rest[: len(rest) - len(body)]) else ""


def cut_off(text: str, names: OptionNames) -> OptionIndices:
    """Return the options whose key is followed by the start of a label.

    The start of a label does not count if it is a different option's complete name.
    """
    folded = fold(text.lstrip(OPENERS))
    matches = set()
    for i, (key, tails) in enumerate(zip(names.folded_keys, names.tails, strict=True)):
        rest = after_joint(folded, key)
        is_start = bool(rest) and any(tail.lstrip(JOINT).startswith(rest) for tail in tails)
        other = names.loose.get(rest, OptionIndices()) - {i}
        is_start = is_start and rest not in DENIALS
        is_line_start = folded.startswith(f"{tails[0]} -") and tails[1].startswith(folded)
        if is_line_start or (is_start and not other):
            matches.add(i)
    return OptionIndices(matches)


def lists(text: str, names: OptionNames, *, keys_only: bool) -> set[OptionIndices]:
    """Return all readings of a text as a list of options."""
    if len(text) > names.max_chars or not names.opening.match(text):
        return set()
    text = BLANKS.sub(" ", text)
    if "\n" in text:
        return _lines(text, names, keys_only=keys_only)
    if not names.most:
        text = NUMBERED.sub("", text)
    readings = _in_line(text, names, keys_only=keys_only)
    return readings or _letters(text, names)


def _lines(text: str, names: OptionNames, *, keys_only: bool) -> set[OptionIndices]:
    """Return the readings of a list with one option on each non-empty line."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not names.most:
        lines = [NUMBERED.sub("", line) for line in lines]
    readings = {OptionIndices()} if len(lines) <= names.max_separators + 1 else set()
    for line in lines:
        if not readings:
            break
        readings = _extend(readings, mention(line, names, keys_only=keys_only))
    return readings


def _in_line(text: str, names: OptionNames, *, keys_only: bool) -> set[OptionIndices]:
    """Return the readings of a list on one line, in which labels can contain separators."""
    cuts = list(names.separator.finditer(text))
    if not cuts:
        return _extend({OptionIndices()}, mention(text, names, keys_only=keys_only))
    if len(cuts) > names.max_separators:
        return set()
    starts = [0, *(cut.end() for cut in cuts)]
    stops = [*(cut.start() for cut in cuts), len(text)]
    reached: list[set[OptionIndices]] = [{OptionIndices()}, *(set() for _ in starts)]
    for i, start in enumerate(starts):
        end = min(i + names.max_inside + 1, len(stops))
        for j in range(i, end if reached[i] else i):
            matches = mention(text[start : stops[j]], names, keys_only=keys_only)
            reached[j + 1] |= _extend(reached[i], matches)
    return reached[-1]


def _extend(readings: set[OptionIndices], matches: OptionIndices) -> set[OptionIndices]:
    if not matches:
        return set()
    extended = {reading | {option} for reading in readings for option in matches}
    return set(sorted(extended, key=sorted)[:MAX_READINGS])


def _letters(text: str, names: OptionNames) -> set[OptionIndices]:
    """Return the reading of single-letter keys in a row, such as ``AB`` or ``A B``."""
    if not names.letters:
        return set()
    letters = text.split() if " " in text else list(text)
    indices = [names.keys.get(letter, -1) for letter in letters]
    is_ordered = " " in text or indices == sorted(set(indices))
    if len(indices) < 2 or min(indices) < 0 or not is_ordered:  # noqa: PLR2004 -- a list
        return set()
    return {OptionIndices(indices)}
