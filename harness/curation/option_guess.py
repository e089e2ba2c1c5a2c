"""Which options a table's labels are, on which scale, and which of them count as positive."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.curation import column_words
from harness.curation.column_profile import MAX_LABELS
from harness.errors import TaskError
from harness.tasks.checks import as_number
from harness.tasks.options import CANNOT_ASSESS, MAX_KEY_CHARS, PUNCTUATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.curation.label_counts import Tally
    from harness.tasks.fields import Scale

MAX_STEPS = 20  # an ordinal scale with more steps than this is taken for a continuous one
RARE = 0.02  # of an even share of the ratings: a label with less is pointed at
SCALES: tuple[Scale, ...] = ("binary", "nominal", "ordinal", "pairwise")
PAIRS = (("1", "0"), ("y", "n"), ("t", "f"))  # the first of each is positive
ORDERS = (
    ("very low", "low", "medium", "high", "very high"),
    ("none", "mild", "moderate", "severe"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the user says about the answers; what is left empty is guessed."""

    scale: Scale | None = None
    options: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The options of a task and how a table's labels name them.

    Attributes
    ----------
    keys : mapping of str to str
        A label in lower case, as the table may write it, to the key of its option.
    labels : mapping of str to str
        The key of each option, in order, to what people read.
    notes : tuple of str
        What was decided that a reader may want to change.
    """

    scale: Scale
    keys: Mapping[str, str]
    labels: Mapping[str, str]
    positive: tuple[str, ...]
    abstain: bool
    ignore: tuple[str, ...]
    notes: tuple[str, ...]

    def key(self, label: str) -> str | None:
        """Return the key that a label stands for, CANNOT_ASSESS or an ignored label included."""
        if label in self.ignore or (self.abstain and label == CANNOT_ASSESS):
            return label
        return self.keys.get(label.casefold())


def find_answers(tally: Tally, wanted: Wanted, where: str) -> Answers:
    """Find options, scale and positive options from the labels of a table.

    Parameters
    ----------
    tally : Tally
        Labels of the raters and of each judge.
    wanted : Wanted
        What the user says; the rest is guessed.
    where : str
        The table's name, for messages.

    Raises
    ------
    TaskError
        If the labels are free text or continuous numbers, or there are fewer than two.
    """
    notes: list[str] = []
    human = {n: c for n, c in tally.humans.items() if n not in (*wanted.ignore, CANNOT_ASSESS)}
    counts = {label: human.get(label, 0) for label in wanted.options} or dict(human)
    if not wanted.options:
        counts |= _of_judges(tally, counts, wanted, notes)
    names = _spellings(counts, notes)
    notes += [*_rare(human, wanted), *_remarks(names, wanted)]
    _check_number(names, where)
    scale = wanted.scale or _scale(names, where)
    names = names if wanted.options else _in_order(names, scale, notes)
    labels = dict(zip(_keys(names), names, strict=True))
    keys = {name.casefold(): key for key, name in labels.items()}
    return Answers(
        scale=scale,
        keys=keys | {key.casefold(): key for key in labels},
        labels=labels,
        positive=_positive(wanted, labels, keys, scale, where),
        abstain=tally.abstains,
        ignore=wanted.ignore,
        notes=tuple(notes),
    )


def _of_judges(
    tally: Tally, human: Mapping[str, int], wanted: Wanted, notes: list[str]
) -> dict[str, int]:
    """Labels that no rater but at least two judges use; what one judge alone says is no option."""
    known = {label.casefold() for label in (*human, *wanted.ignore, CANNOT_ASSESS)}
    users: dict[str, int] = {}
    for labels in tally.judges.values():
        for label in labels:
            if label.casefold() not in known:
                users[label] = users.get(label, 0) + 1
    added = {label: 0 for label, n in users.items() if n > 1}
    if added:
        notes.append(f"only judges say {_listed(added)}; --options leaves such labels out")
    if odd := [label for label in users if label not in added]:
        notes.append(f"one judge alone says {_listed(odd)}: kept, and counted as invalid")
    return added


def _rare(human: Mapping[str, int], wanted: Wanted) -> list[str]:
    """Point at labels that hardly anybody used: they may be no options but remarks."""
    even = sum(human.values()) / max(len(human), 1)
    few = [label for label, n in human.items() if n < RARE * even]
    if wanted.options or not few:
        return []
    uses = sum(human[label] for label in few)
    return [
        f"only {uses} ratings say {_listed(few)}; --ignore counts such labels and leaves them out"
    ]


def _remarks(names: Sequence[str], wanted: Wanted) -> list[str]:
    """Point at labels that say that nothing was said."""
    found = [name for name in names if name.casefold() in column_words.REMARKS]
    if wanted.options or not found:
        return []
    return [f"{_listed(found)} may be no option; --ignore counts such labels and leaves them out"]


def _listed(labels: Sequence[str] | Mapping[str, int]) -> str:
    shown = [repr(label[:40]) for label in list(labels)[:5]]
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _spellings(counts: Mapping[str, int], notes: list[str]) -> list[str]:
    """One spelling for labels that differ by case alone: the most frequent."""
    chosen: dict[str, str] = {}
    for label in sorted(counts, key=lambda name: -counts[name]):
        kept = chosen.setdefault(label.casefold(), label)
        if kept != label:
            notes.append(f"{label!r} is read as {kept!r}: they differ by case alone")
    return [label for label in counts if chosen[label.casefold()] == label]


def _check_number(names: Sequence[str], where: str) -> None:
    if len(names) < 2:  # noqa: PLR2004 -- one answer is no choice
        found = f"only the label {names[0]!r}" if names else "no labels at all"
        raise TaskError(
            f"{where}: found {found}; a task needs two options. Name them with --options."
        )
    if len(names) > MAX_LABELS:
        raise TaskError(f"{where}: found {len(names)} options; a task has at most {MAX_LABELS}.")


def _scale(names: Sequence[str], where: str) -> Scale:
    numbers = [as_number(name) for name in names]
    if len(names) == 2:  # noqa: PLR2004 -- binary means two
        return "pairwise" if _are_sides(names, tied=False) else "binary"
    if None not in numbers:
        steps = [number for number in numbers if number is not None]
        if len(steps) > MAX_STEPS or not all(step.is_integer() for step in steps):
            raise TaskError(
                f"{where}: found {len(names)} different numbers from {min(steps):g} to "
                f"{max(steps):g}, which looks continuous, and that scale cannot be used yet; bin "
                "them into a few steps, or say --scale ordinal to use each number as a step."
            )
        return "ordinal"
    if any({name.casefold() for name in names} <= set(order) for order in ORDERS):
        return "ordinal"
    return "pairwise" if _are_sides(names, tied=True) else "nominal"


def _are_sides(names: Sequence[str], *, tied: bool) -> bool:
    """Whether labels are two sides that differ in their last letter, and ties between them."""
    sides = [
        name.casefold() for name in names if not column_words.speaks_of(name, column_words.TIES)
    ]
    if len(sides) != 2 or (tied and len(sides) == len(names)):  # noqa: PLR2004 -- two sides
        return False
    first, second = sorted(sides)
    ends = (first[-1:], second[-1:]) in {("a", "b"), ("1", "2")} and first[:-1] == second[:-1]
    return (ends and (tied or len(first) > 1)) or (first, second) == ("left", "right")


def _in_order(names: Sequence[str], scale: Scale, notes: list[str]) -> list[str]:
    if scale != "ordinal":
        last = column_words.TIES if scale == "pairwise" else frozenset()
        return sorted(names, key=lambda name: (column_words.speaks_of(name, last), name.casefold()))
    for order in ORDERS:
        if {name.casefold() for name in names} <= set(order):
            return sorted(names, key=lambda name: order.index(name.casefold()))
    numbers = {name: as_number(name) for name in names}
    steps = sorted(n for n in numbers.values() if n is not None)
    if len(steps) < len(names):
        return list(names)
    least, most = steps[0], steps[-1]
    if all(step.is_integer() for step in steps) and len(steps) < most - least + 1 < 2 * len(steps):
        whole = [str(step) for step in range(int(least), int(most) + 1)]
        absent = [step for step in whole if float(step) not in steps]
        notes.append(f"nobody used {', '.join(absent)}; added, as the scale is ordinal")
        return whole
    return sorted(names, key=lambda name: numbers[name] or 0.0)


def _keys(names: Sequence[str]) -> list[str]:
    """A key for each label: the label itself where a key may look like it."""
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


def _positive(
    wanted: Wanted,
    labels: Mapping[str, str],
    keys: Mapping[str, str],
    scale: Scale,
    where: str,
) -> tuple[str, ...]:
    if wanted.positive:
        unknown = [label for label in wanted.positive if label.casefold() not in keys]
        if unknown:
            known = ", ".join(labels.values())
            raise TaskError(f"{where}: --positive: {unknown[0]!r} is none of {known}.")
        return tuple(keys[label.casefold()] for label in wanted.positive)
    if scale != "binary":
        return ()
    short, long = sorted(labels, key=lambda key: len(labels[key]))
    if labels[long].casefold().endswith(labels[short].casefold()) and short != long:
        return (short,)  # "toxic" and "not toxic", "safe" and "unsafe"
    for pair in PAIRS:
        if {label.casefold() for label in labels.values()} == set(pair):
            return tuple(key for key, label in labels.items() if label.casefold() == pair[0])
    meant = [
        key for key in labels if not column_words.YES.isdisjoint(column_words.parts(labels[key]))
    ]
    return tuple(meant) if len(meant) == 1 else ()
