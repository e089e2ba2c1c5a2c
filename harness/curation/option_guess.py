"""Guessing options, scale and positive options from the labels of a table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from harness.curation import column_words
from harness.curation.column_profile import MAX_LABELS, labels_of, name_of, rows_of, text_of
from harness.errors import TaskError
from harness.tasks.options import CANNOT_ASSESS, MAX_KEY_CHARS, PUNCTUATION
from harness.tasks.schema import as_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.curation.column_mapping import ColumnMapping
    from harness.curation.column_profile import Table
    from harness.tasks.schema import Scale
    from harness.tasks.tables import Row

MAX_STEPS = 20  # a scale with more steps is taken for continuous
RARE_SHARE = 0.02  # of an even share of the ratings: labels with less are noted
SCALES: tuple[Scale, ...] = ("binary", "nominal", "ordinal", "pairwise")
PAIRS = (("1", "0"), ("y", "n"), ("t", "f"))  # the first of each is positive
ORDERS = (
    ("very low", "low", "medium", "high", "very high"),
    ("none", "mild", "moderate", "severe"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
)
MIN_UNEVEN_ROWS = 10  # rows with gaps that show columns called after people to be places
RaterIds = Literal["real", "positional"]


@dataclass(slots=True)
class LabelCounts:
    """How often raters and judges use each label.

    Attributes
    ----------
    humans : Counter
        Labels of the raters.
    judges : dict of str to Counter
        Labels of each judge.
    rater_ids : str
        ``positional`` where a rater's column seems to be only a place within the row.
    """

    humans: Counter[str] = field(default_factory=Counter)
    judges: dict[str, Counter[str]] = field(default_factory=dict)
    rater_ids: RaterIds = "real"

    @property
    def abstains(self) -> bool:
        """Whether CANNOT_ASSESS occurs."""
        return any(CANNOT_ASSESS in labels for labels in (self.humans, *self.judges.values()))


def answers_in(row: Row, mapping: ColumnMapping, table: Table) -> Iterator[tuple[bool, str, str]]:
    """Yield (is a judge, name, column) for each cell of a row that may hold an answer."""
    if mapping.rater:
        rater = name_of(row.get(mapping.rater))
        yield rater in mapping.judges, rater, mapping.label
    for name in mapping.raters:
        yield False, name, name
    for name in mapping.judge_columns(table):
        yield True, name, name


def count_labels(table: Table, mapping: ColumnMapping) -> LabelCounts:
    """Count the labels that raters and judges use.

    Raises
    ------
    TaskError
        If the raters use too many different ones, as free text and continuous numbers do.
    """
    counts = LabelCounts()
    nested, n_uneven = True, 0
    for _, row in rows_of(table.path):
        filled = [bool(text_of(row.get(name))) for name in mapping.raters]
        nested = nested and filled == sorted(filled, reverse=True)
        n_uneven += not all(filled)
        for is_judge, name, column in answers_in(row, mapping, table):
            labels, _ = labels_of(row.get(column))
            counter = counts.judges.setdefault(name, Counter()) if is_judge else counts.humans
            counter.update(labels)
        if len(counts.humans) > MAX_LABELS:
            columns = ", ".join(mapping.raters) or mapping.label
            raise TaskError(
                f"{table.path}: found more than {MAX_LABELS} different labels in {columns}; free "
                "text and continuous numbers cannot be used yet: bin them, or name other columns."
            )
    if mapping.raters and _are_places(mapping.raters, n_uneven, nested=nested):
        counts.rater_ids = "positional"
    return counts


def _are_places(raters: tuple[str, ...], n_uneven: int, *, nested: bool) -> bool:
    """Whether numbered columns are places: always filled from the left, or named after the label.

    Columns named after people need more rows to show it, as it may be chance.
    """
    if not len({column_words.stem(name) for name in raters}) == 1 < len(raters):
        return False
    label_named = column_words.contains_word(raters[0], column_words.LABELS)
    needed = 1 if label_named else MIN_UNEVEN_ROWS
    return (nested and n_uneven >= needed) or (label_named and not n_uneven)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """Settings of the user about the answers; empty settings are guessed."""

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
        Decisions that a reader may want to change.
    """

    scale: Scale
    keys: Mapping[str, str]
    labels: Mapping[str, str]
    positive: tuple[str, ...]
    abstain: bool
    ignore: tuple[str, ...]
    notes: tuple[str, ...]

    def key(self, label: str) -> str | None:
        """Return the key of a label; CANNOT_ASSESS and ignored labels stand for themselves."""
        if label in self.ignore or (self.abstain and label == CANNOT_ASSESS):
            return label
        return self.keys.get(label.casefold())


def guess_answers(counts: LabelCounts, settings: AnswerSettings, where: str) -> Answers:
    """Guess options, scale and positive options from the labels of a table.

    Parameters
    ----------
    counts : LabelCounts
        Labels of the raters and of each judge.
    settings : AnswerSettings
        Settings of the user; the rest is guessed.
    where : str
        The table's name, for messages.

    Raises
    ------
    TaskError
        If the labels are free text or continuous numbers, or there are fewer than two.
    """
    notes: list[str] = []
    excluded = {*settings.ignore, CANNOT_ASSESS}
    human = {label: n for label, n in counts.humans.items() if label not in excluded}
    uses = {label: human.get(label, 0) for label in settings.options} or dict(human)
    if not settings.options:
        uses |= _judge_labels(counts, uses, settings, notes)
    names = _spellings(uses, notes)
    notes += [*_rare(human, settings), *_remarks(names, settings)]
    _check_number(names, where)
    scale = settings.scale or _scale(names, where)
    names = names if settings.options else _in_order(names, scale, notes)
    labels = dict(zip(_keys(names), names, strict=True))
    keys = {name.casefold(): key for key, name in labels.items()}
    return Answers(
        scale=scale,
        keys=keys | {key.casefold(): key for key in labels},
        labels=labels,
        positive=_positive(settings, labels, keys, scale, where),
        abstain=counts.abstains,
        ignore=settings.ignore,
        notes=tuple(notes),
    )


def _judge_labels(
    counts: LabelCounts, human: Mapping[str, int], settings: AnswerSettings, notes: list[str]
) -> dict[str, int]:
    """Return labels that no rater but at least two judges use."""
    human_labels = {label.casefold() for label in (*human, *settings.ignore, CANNOT_ASSESS)}
    users: dict[str, int] = {}
    for labels in counts.judges.values():
        for label in labels:
            if label.casefold() not in human_labels:
                users[label] = users.get(label, 0) + 1
    added = {label: 0 for label, n in users.items() if n > 1}
    if added:
        notes.append(f"only judges use {_listed(added)}; --options leaves such labels out")
    if single := [label for label in users if label not in added]:
        notes.append(f"a single judge uses {_listed(single)}: kept, and counted as invalid")
    return added


def _rare(human: Mapping[str, int], settings: AnswerSettings) -> list[str]:
    """Note rare labels, which may be remarks rather than options."""
    even_share = sum(human.values()) / max(len(human), 1)
    rare = [label for label, n in human.items() if n < RARE_SHARE * even_share]
    if settings.options or not rare:
        return []
    n_ratings = sum(human[label] for label in rare)
    remedy = "--ignore counts such labels and leaves them out"
    return [f"only {n_ratings} ratings say {_listed(rare)}; {remedy}"]


def _remarks(names: Sequence[str], settings: AnswerSettings) -> list[str]:
    """Note labels that stand for a missing answer."""
    remarks = [name for name in names if name.casefold() in column_words.REMARKS]
    if settings.options or not remarks:
        return []
    return [f"{_listed(remarks)} may be no option; --ignore counts such labels and leaves them out"]


def _listed(labels: Sequence[str] | Mapping[str, int]) -> str:
    shown = [repr(label[:40]) for label in list(labels)[:5]]
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _spellings(counts: Mapping[str, int], notes: list[str]) -> list[str]:
    """Return labels by their most frequent spelling, where they differ by case alone."""
    chosen: dict[str, str] = {}
    for label in sorted(counts, key=lambda name: -counts[name]):
        spelling = chosen.setdefault(label.casefold(), label)
        if spelling != label:
            notes.append(f"{label!r} is read as {spelling!r}: they differ by case alone")
    return [label for label in counts if chosen[label.casefold()] == label]


def _check_number(names: Sequence[str], where: str) -> None:
    if len(names) < 2:  # noqa: PLR2004 -- one answer is no choice
        labels = f"only the label {names[0]!r}" if names else "no labels at all"
        raise TaskError(
            f"{where}: found {labels}; a task needs two options. Name them with --options."
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
        name.casefold() for name in names if not column_words.contains_word(name, column_words.TIES)
    ]
    if len(sides) != 2 or (tied and len(sides) == len(names)):  # noqa: PLR2004 -- two sides
        return False
    first, second = sorted(sides)
    ends = (first[-1:], second[-1:]) in {("a", "b"), ("1", "2")} and first[:-1] == second[:-1]
    return (ends and (tied or len(first) > 1)) or (first, second) == ("left", "right")


def _in_order(names: Sequence[str], scale: Scale, notes: list[str]) -> list[str]:
    if scale != "ordinal":
        last = column_words.TIES if scale == "pairwise" else frozenset()
        return sorted(
            names, key=lambda name: (column_words.contains_word(name, last), name.casefold())
        )
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


def _positive(
    settings: AnswerSettings,
    labels: Mapping[str, str],
    keys: Mapping[str, str],
    scale: Scale,
    where: str,
) -> tuple[str, ...]:
    if settings.positive:
        unknown = [label for label in settings.positive if label.casefold() not in keys]
        if unknown:
            names = ", ".join(labels.values())
            raise TaskError(f"{where}: --positive: {unknown[0]!r} is none of {names}.")
        return tuple(keys[label.casefold()] for label in settings.positive)
    if scale != "binary":
        return ()
    short, long = sorted(labels, key=lambda key: len(labels[key]))
    if labels[long].casefold().endswith(labels[short].casefold()) and short != long:
        return (short,)  # "toxic" and "not toxic", "safe" and "unsafe"
    for pair in PAIRS:
        if {label.casefold() for label in labels.values()} == set(pair):
            return tuple(key for key, label in labels.items() if label.casefold() == pair[0])
    affirmative = [
        key for key in labels if not column_words.YES.isdisjoint(column_words.parts(labels[key]))
    ]
    return tuple(affirmative) if len(affirmative) == 1 else ()
