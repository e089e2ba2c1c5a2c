"""Inference of options, scale and positive options from a table's labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from operator import sub
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.label_joins import separator_of
from harness.curation.importing.label_orders import (
    ORDERS,
    known_order,
    plain_label,
    step_numbers_of,
)
from harness.curation.importing.reading_facts import MIN_RATINGS, OPTIONS_PER_RATING
from harness.curation.importing.role_draft import Doubt
from harness.errors import TaskError
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import labels_of, with_point
from harness.tasks.columns.table_answers import TableAnswers
from harness.tasks.columns.table_columns import EMPTY, MAX_LABELS, POSITIONAL
from harness.tasks.item import OPEN_SCALES, Scale
from harness.tasks.options import (
    BARE_KEY,
    CANNOT_ASSESS,
    key_ranks,
    keyed_labels,
    split_label,
)
from harness.tasks.schema import as_number

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from harness.tasks.columns.answer_cells import AnswerReader
    from harness.tasks.columns.table_answers import AnswerSettings
    from harness.tasks.schema import RaterIds

MAX_STEPS = 20  # a scale with more steps counts as continuous
RARE_SHARE = 0.02  # share of an even split; labels below it get a note
PAIRS = (("1", "0"), ("y", "n"), ("t", "f"))  # the first of each is positive
SYNONYMS = (("y", "yes"), ("n", "no"), ("t", "true"), ("f", "false"), ("pos", "positive"),
            ("neg", "negative"))  # fmt: skip
FREQUENT = 0.5  # share of an even split from which a remark can be an option
FEW_SIDES = 3
N_BINARY = 2  # options; two options have no meaningful order
MIN_STEPS = 3  # fewest numbers to detect a code; two aren't enough
NUMBER = "N"  # number of raters, which only the user knows
PLACEHOLDER = ("LOWEST", "...", "HIGHEST")  # for an order that only the user knows
LIST_ALL = "If the scale has other options, list all with --options"
CODES = frozenset(["-1", "-8", "-9", "-99", "-999", "9", "77", "88", "97", "98", "99", "999"])
MIN_UNEVEN_ROWS = 10  # rows with gaps that show that columns named after people are places


@dataclass(slots=True)
class LabelCounts:
    """Label frequencies for raters and judges."""

    humans: Counter[str] = field(default_factory=Counter)
    judges: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def abstains(self) -> bool:
        """Whether CANNOT_ASSESS occurs."""
        return any(CANNOT_ASSESS in labels for labels in (self.humans, *self.judges.values()))


def count_labels(reader: AnswerReader, *, is_open: bool = False) -> dict[str, LabelCounts]:
    """Count raters' and judges' labels by criterion."""
    cells = Counter(
        (answer.criterion, answer.name if answer.is_judge else None, answer.text)
        for answer in reader.answers()
        if answer.text
    )
    counts: dict[str, LabelCounts] = {}
    for (criterion, judge, text), n in cells.items():
        of_criterion = counts.setdefault(criterion, LabelCounts())
        of_judge = of_criterion.judges.setdefault(judge, Counter()) if judge else None
        counter = of_criterion.humans if of_judge is None else of_judge
        for label in dict.fromkeys(labels_of(text)[0]):
            counter[label] += n
    for of_criterion in counts.values():
        too_many = len(of_criterion.humans) > MAX_LABELS and not is_open
        if too_many and not _are_numbers(of_criterion.humans):
            mapping = reader.mapping
            columns = (
                ", ".join(mapping.raters or mapping.criteria or mapping.votes) or mapping.label
            )
            raise TaskError(
                f"{reader.table.path}: found more than {MAX_LABELS} different labels in "
                f"{columns}. Pass --scale continuous if the labels are numbers, --scale text if "
                "they are free text, or name different columns."
            )
    return counts


def _are_numbers(labels: Iterable[str]) -> bool:
    """Return whether all labels except CANNOT_ASSESS are numbers."""
    return all(label == CANNOT_ASSESS or as_number(label) is not None for label in labels)


def are_sided(counts: LabelCounts) -> bool:
    """Return whether labels, except ties, are words for two sides. Numbers don't count."""
    names = [name for name in counts.humans if name != CANNOT_ASSESS]
    sides = {n.casefold() for n in names if not column_words.contains_word(n, column_words.TIES)}
    words = [pair for pair in column_words.SIDES if not _are_numbers(pair)]
    return sides in words or column_words.are_sides(names, tied=len(sides) < len(names))


def merged(counts: Iterable[LabelCounts]) -> LabelCounts:
    """Merge the label counts of several criteria."""
    total = LabelCounts()
    for of_criterion in counts:
        total.humans.update(of_criterion.humans)
        for judge, labels in of_criterion.judges.items():
            total.judges.setdefault(judge, Counter()).update(labels)
    return total


def guess_rater_ids(reader: AnswerReader) -> RaterIds:
    """Guess whether raters are people (``real``) or only positions within an item."""
    mapping = reader.mapping
    if mapping.layout in {"counts", "rated_once"}:
        return "positional"
    if mapping.votes:
        return "real" if mapping.rater or _name_people(reader) else "positional"
    if mapping.rater == POSITIONAL:
        return "positional"
    raters = {name: mapping.criterion_and_rater(name)[1] for name in mapping.raters}
    if mapping.pattern and raters and all(rater.isdecimal() for rater in raters.values()):
        return "positional"
    if mapping.pattern or not raters:
        return "real"
    filled = np.column_stack([reader.table.columns[name].codes != EMPTY for name in raters])
    nested = bool(np.all(filled[:, :-1] >= filled[:, 1:]))
    n_uneven = int(np.sum(~filled.all(axis=1)))
    return "positional" if _are_places(mapping.raters, n_uneven, nested=nested) else "real"


def _name_people(reader: AnswerReader) -> bool:
    """Return whether cells name each rating's rater.

    Consecutive numbers from 0 or 1 aren't names.
    """
    if not reader.by_rater:
        return False
    by_row: dict[int, list[str]] = {}
    for answer in reader.answers():
        if not answer.is_judge:
            by_row.setdefault(answer.row, []).append(answer.name)
    return not all(map(_count_places, by_row.values()))


def _count_places(names: Sequence[str]) -> bool:
    """Return whether names are consecutive numbers from 0 or 1."""
    if not all(map(str.isdecimal, names)):
        return False
    numbers = sorted(map(int, names))
    return numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])


def _are_places(raters: tuple[str, ...], n_uneven: int, *, nested: bool) -> bool:
    """Return whether numbered columns are positions: filled from the left, or named after labels.

    Columns that aren't named after labels need more rows, because the pattern could be chance.
    """
    if not len({column_words.stem(name) for name in raters}) == 1 < len(raters):
        return False
    label_named = column_words.contains_word(raters[0], column_words.LABELS)
    needed = 1 if label_named else MIN_UNEVEN_ROWS
    return (nested and n_uneven >= needed) or (label_named and not n_uneven)


@dataclass(frozen=True, slots=True)
class AnswerGuess:
    """Meaning of a table's answers, with open questions and notes for the user.

    Attributes
    ----------
    answers : TableAnswers
        The options and their labels.
    doubts : tuple of Doubt
        Questions about labels that might not be options.
    notes : tuple of str
        Decisions that the user might want to change.
    """

    answers: TableAnswers
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()


def pairs_of(texts: Sequence[str]) -> bool | None:
    """Return whether two shown texts are named after sides, or None for a single text."""
    if len(texts) <= 1:
        return None
    return any(column_words.are_pair(*pair) for pair in combinations(texts, 2))


def guess_labels(cells: AnswerReader, settings: AnswerSettings) -> AnswerGuess:
    """Guess the meaning of a table's answers, whose criteria share a scale. See `guess_answers`."""
    counts = merged(count_labels(cells, is_open=settings.scale in OPEN_SCALES).values())
    where, pairs = str(cells.table.path), pairs_of(cells.mapping.text)
    return guess_answers(counts, settings, where, pairs=pairs)


def guess_answers(
    counts: LabelCounts, settings: AnswerSettings, where: str, *, pairs: bool | None = None
) -> AnswerGuess:
    """Guess options, scale and positive options from a table's labels.

    ``pairs`` is whether the item has two texts named after sides, or None if it has one text.
    """
    if settings.scale in OPEN_SCALES:
        return _open_answers(counts, settings, where)
    notes: list[str] = []
    meanings = settings.meanings()
    human = _options(counts.humans, meanings, {*settings.ignore, CANNOT_ASSESS})
    uses = {label: human.get(label, 0) for label in settings.options} or dict(human)
    if len(uses) > MAX_LABELS and not settings.scale and _are_numbers(uses):
        return _numbers(counts, settings, where, [*map(float, uses)])
    if not settings.options:
        uses |= _judge_labels(counts, uses, meanings, notes)
    names = _spellings(uses, notes)
    remarks = [] if settings.options else [*filter(column_words.is_remark, names), *_codes(names)]
    names = [name for name in names if name not in remarks] or names
    bare = {} if settings.options else keys_alone(names)
    names = [name for name in names if name not in bare]
    human = _options(human, {key.casefold(): label for key, label in bare.items()}, ())
    notes += _key_notes(bare)
    alike = [] if settings.options else _meaning_questions(names, meanings)
    unclear = [] if settings.options else _key_questions(names, settings)
    names = _once_per_key(names)
    notes += _rare(human, settings)
    _check_number(names, where)
    doubts = _decimal_questions(names, settings)
    if not settings.options and not doubts:
        doubts = _label_questions(names, settings)
    if not (settings.options or settings.scale or doubts):
        doubts = _text_questions(names, human)
    scale = settings.scale or _scale(names, pairs=bool(pairs))
    if scale == "continuous":
        return _numbers(counts, settings, where, [*map(float, names)])
    is_asked = bool(unclear) or any("decimal" in doubt.accept for doubt in doubts)
    if not (settings.scale or is_asked):
        doubts += _scale_questions(names, scale, pairs=pairs, listed=bool(settings.options))
    names = names if settings.options else _in_order(names, scale, notes)
    positive = settings.positive or (_affirmative(names) if scale == "binary" else ())
    whole = {"scale": scale, "options": tuple(names), "positive": positive}
    answers = TableAnswers.of(settings.model_copy(update=whole), where, abstain=counts.abstains)
    return AnswerGuess(
        answers.with_others(bare),
        (
            *_remark_questions(
                remarks, names, often=scale != "ordinal" and _are_frequent(remarks, uses)
            ),
            *alike,
            *unclear,
            *doubts,
        ),
        tuple(notes),
    )


def _carriers(names: Iterable[str]) -> dict[str, list[str]]:
    """Map each bare key among labels to the labels that contain it, with one label per text."""
    carriers: dict[str, dict[tuple[str, str], str]] = {}
    names = list(names)
    for name in names:
        if part := split_label(name):
            carriers.setdefault(part.key.casefold(), {}).setdefault(part.folded, name)
    bare = {name: carriers.get(name.casefold(), {}) for name in names if BARE_KEY.fullmatch(name)}
    return {name: [*labels.values()] for name, labels in bare.items() if labels}


def keys_alone(names: Collection[str]) -> dict[str, str]:
    """Map each bare key to the label that contains the key, if only one label does.

    Examples
    --------
    >>> keys_alone(["1 - rude", "1", "2 - polite", "3"])
    {'1': '1 - rude'}
    >>> keys_alone(["1 - rude", "1", "1 - curt"])
    {}
    """
    return {key: labels[0] for key, labels in _carriers(names).items() if len(labels) == 1}


def _key_notes(bare: Mapping[str, str]) -> list[str]:
    """Return a note that keys are read as the labels that contain them."""
    if not bare:
        return []
    (key, label), *others = sorted(bare.items())
    if not others:
        return [f"{key!r} is read as {label!r}: it's that label's key"]
    return [f"{_listed(sorted(bare))} are read as the labels with these keys, such as {label!r}"]


def _key_questions(names: Sequence[str], settings: AnswerSettings) -> list[Doubt]:
    """Ask about bare keys that several labels contain."""
    doubts = []
    for key, labels in _carriers(names).items():
        renames = [f"{key}={label}" for label in labels if "=" not in label]
        choices = [f"--rename {quote(rename)}" for rename in renames]
        question = (
            f"can't tell whether {key!r} means {' or '.join(map(repr, labels))}. Pass "
            f"{' or '.join([*choices, 'all options in --options'])}"
        )
        accept, *others = [{"rename": (*settings.rename, rename)} for rename in renames] or [{}]
        accept = {"rename": tuple(renames[:1])} if accept else accept
        doubts.append(Doubt(question, accept, tuple(others)))
    return doubts


def _once_per_key(names: list[str]) -> list[str]:
    """Keep one label per key, if labels contain their keys."""
    keyed = keyed_labels(names)
    first = {part.folded: name for name, part in reversed(keyed.items())}
    return [name for name in names if not keyed or first[keyed[name].folded] == name]


def _open_answers(counts: LabelCounts, settings: AnswerSettings, where: str) -> AnswerGuess:
    """Read answers on an open scale.

    On a continuous scale, labels that aren't numbers are rejected.
    """
    if settings.options or settings.positive:
        raise TaskError(
            f"{where}: a {settings.scale} scale has no options. Drop --options and --positive."
        )
    doubts = _decimal_questions(list(counts.humans), settings)
    numbers = (as_number(label) for label in counts.humans)
    if settings.scale == "continuous" and not doubts and all(n is None for n in numbers):
        raise TaskError(
            f"{where}: no rating is a number. Name different columns, or a different --scale."
        )
    return AnswerGuess(TableAnswers.of(settings, where, abstain=counts.abstains), tuple(doubts))


def _numbers(
    counts: LabelCounts, settings: AnswerSettings, where: str, steps: Sequence[float]
) -> AnswerGuess:
    """Read many or fractional numbers as a continuous scale, and ask."""
    if settings.separator:
        raise TaskError(
            f"{where}: --separator divides the ratings into many numbers. Leave out --separator."
        )
    guess = _open_answers(counts, settings.model_copy(update={"scale": "continuous"}), where)
    question = (
        f"found {len(steps)} different numbers from {min(steps):g} to {max(steps):g}, which looks "
        "continuous. Pass --scale continuous (and --bounds), or --scale ordinal to use each number "
        "as a step"
    )
    ordinal = () if len(steps) > MAX_LABELS else ({"scale": "ordinal"},)
    doubt = Doubt(question, {"scale": "continuous"}, ordinal)
    return replace(guess, doubts=(doubt, *guess.doubts))


def _options(
    labels: Mapping[str, int], meanings: Mapping[str, str], excluded: Container[str]
) -> dict[str, int]:
    """Count labels after replacing each label with its meaning."""
    uses: Counter[str] = Counter()
    for label, n in labels.items():
        meaning = meanings.get(label.casefold(), label)
        if meaning not in excluded:
            uses[meaning] += n
    return dict(uses)


def _remark_questions(remarks: Sequence[str], names: Sequence[str], *, often: bool) -> list[Doubt]:
    """Ask about labels that could be remarks. A frequent label could also be an option."""
    if not remarks:
        return []
    listed = quote(",".join(remarks))
    choices = (
        f"--abstain {listed} if the rater couldn't say, --ignore {listed} if there's no rating, "
        "or every option in --options"
    )
    question = f"can't tell if raters chose {_listed(remarks)} as an option. Pass {choices}"
    others: list[dict[str, object]] = [{"abstain": tuple(remarks), "ignore": ()}]
    others += [{"options": (*names, *remarks), "ignore": ()}] * often
    return [Doubt(question, {"ignore": tuple(remarks)}, tuple(others))]


def _are_frequent(labels: Iterable[str], uses: Mapping[str, int]) -> bool:
    """Return whether each label has at least half of an even share of the ratings."""
    return all(uses[label] >= FREQUENT * sum(uses.values()) / len(uses) for label in labels)


def _label_questions(names: Sequence[str], settings: AnswerSettings) -> list[Doubt]:
    """Ask about labels that join other labels, and about labels in an unknown order."""
    doubts = []
    if separator := separator_of(names):
        shown = next(name for name in names if separator in name)
        written = separator.replace("\n", "\\n")
        question = (
            f"{shown[:40]!r} contains other labels. Pass --separator {quote(written)} if each of "
            "them is in the rater's response set, or list every option in --options"
        )
        doubts.append(Doubt(question, {"separator": written}))
    if settings.scale == "ordinal" and not _has_order(names):
        question = f"the order of {_listed(names)} is unknown. List --options from low to high"
        doubts.append(Doubt(question, {"options": PLACEHOLDER}))
    return doubts


def _text_questions(names: Sequence[str], uses: Mapping[str, int]) -> list[Doubt]:
    """Ask about labels that mostly occur once, because they could be texts, ids or measures."""
    n_ratings = sum(uses.values())
    if (
        _are_numbers(names)
        or n_ratings < MIN_RATINGS
        or len(names) <= OPTIONS_PER_RATING * n_ratings
    ):
        return []
    question = (
        f"found {len(names)} different labels in {n_ratings} ratings. Name different columns, or "
        "pass --scale text if raters wrote texts"
    )
    return [Doubt(question, {"scale": "text"})]


def _decimal_questions(names: Sequence[str], settings: AnswerSettings) -> list[Doubt]:
    """Ask about labels such as 3,5, which could be a number or the set of 3 and 5.

    If 3 and 5 are both separate labels, the question is about a set.
    """
    commas = [name for name in names if "," in name]
    decimals = [name for name in commas if with_point(name) != name]
    is_set = {part for name in decimals for part in name.split(",")} <= {*names} - {*commas}
    said = settings.options or settings.decimal or settings.scale == "text"
    if said or not decimals or decimals != commas or is_set:
        return []
    shown = decimals[0]
    question = f"{shown!r} could be the number {with_point(shown)}. Pass --decimal comma"
    if settings.scale == "continuous":
        return [Doubt(question, {"decimal": "comma"})]
    scales = [settings.scale] if settings.scale else ["ordinal", "continuous"]
    if len(names) > MAX_STEPS:
        scales.reverse()
    as_numbers = [{"decimal": "comma", "scale": scale} for scale in scales]
    as_sets = {"decimal": None, "separator": ",", "scale": settings.scale}
    question += ", or --separator , if it is a set"
    return [Doubt(question, as_numbers[0], (*as_numbers[1:], as_sets))]


def _codes(names: Sequence[str]) -> list[str]:
    """Return customary codes for missing ratings that are far from the scale's steps."""
    numbers = {name: as_number(name) for name in names}
    steps = sorted(n for n in numbers.values() if n is not None)
    if len(steps) < MIN_STEPS:
        return []
    if steps[0] == -steps[-1]:
        return []
    plain = [n for n in steps if f"{n:g}" not in CODES]
    if len(plain) <= 1:
        return []
    widest = max(b - a for a, b in pairwise(plain))
    return [
        name
        for name, n in numbers.items()
        if n is not None
        and f"{n:g}" in CODES
        and (n < 0 <= plain[0] or n - plain[-1] > max(widest, 1))
    ]


def _has_order(names: Sequence[str]) -> bool:
    """Return whether the labels imply an order."""
    numeric = all(as_number(name) is not None for name in names)
    ordered = step_numbers_of(names) or keyed_labels(names) or known_order(names)
    return numeric or bool(ordered)


def _scale_questions(
    names: Sequence[str], scale: Scale, *, pairs: bool | None, listed: bool
) -> list[Doubt]:
    """Ask for the scale if labels could be ordered or name compared answers."""
    labels = {n.casefold() for n in names}
    sides = column_words.are_sides(names, tied=False) or labels in column_words.SIDES
    few_numbers = len(names) <= FEW_SIDES and all(as_number(name) is not None for name in names)
    among = any(pair < labels for pair in column_words.SIDES)
    unclear = (sides and not pairs) or ((few_numbers or among) and pairs and not sides)
    if pairs is not None and unclear and scale != "pairwise":
        remedy = f"Pass --scale pairwise or --scale {scale}"
        question = f"can't tell whether {_listed(names)} are the sides of a pair. {remedy}"
        return [Doubt(question, {"scale": "pairwise"}, ({"scale": scale},))]
    if scale == "nominal" and not listed and _may_be_ordered(names):
        question = (
            f"can't tell whether {_listed(names)} are ordered. Pass --scale ordinal and "
            "--options from low to high, or --scale nominal"
        )
        order = tuple(_in_order(names, "ordinal", [])) if _has_order(names) else PLACEHOLDER
        ordered = {"scale": "ordinal", "options": order}
        return [Doubt(question, ordered, ({"scale": "nominal", "options": ()},))]
    return []


def _may_be_ordered(names: Sequence[str]) -> bool:
    """Return whether labels could be ordered: by keys, shared words, a known order or numbers."""
    if keyed_labels(names) and len(names) > N_BINARY:
        return True
    plain = {plain_label(name) for name in names}
    words = [set(name.split()) for name in plain]
    nested = sum(a < b for a in words for b in words)
    known = max(len(plain & set(order)) for order in ORDERS)
    numbered = {column_words.stem(name) for name in names}
    counted = len(numbered) == 1 and all(any(c.isdigit() for c in name) for name in names)
    in_order = max(N_BINARY, 0.5 * len(plain))
    return nested > 1 or known > in_order or (counted and len(names) > N_BINARY)


def _meaning_questions(names: Sequence[str], meanings: Mapping[str, str]) -> list[Doubt]:
    """Ask about labels that could be variants of other labels."""
    plain = {name.casefold(): name for name in names if name.casefold() not in meanings}
    pairs = [(plain[a], plain[b]) for a, b in SYNONYMS if a in plain and b in plain]
    return [
        Doubt(
            f"can't tell whether {name!r} means {base!r}. Pass --rename {quote(f'{name}={base}')} "
            f"if so, --ignore {quote(name)} if it isn't a rating, or list all options in --options",
            {"rename": (f"{name}={base}",)},
        )
        for name, base in pairs
    ]


def _judge_labels(
    counts: LabelCounts, human: Mapping[str, int], meanings: Mapping[str, str], notes: list[str]
) -> dict[str, int]:
    """Return labels that at least two judges use but no rater does."""
    human_labels = {label.casefold() for label in (*human, *meanings, CANNOT_ASSESS)}
    users: dict[str, int] = {}
    for labels in counts.judges.values():
        for label in labels:
            if label.casefold() not in human_labels:
                users[label] = users.get(label, 0) + 1
    added = {label: 0 for label, n in users.items() if n > 1}
    if added:
        notes.append(f"only judges use {_listed(added)} (use --options to leave such labels out)")
    if single := [label for label in users if label not in added]:
        notes.append(f"a single judge uses {_listed(single)} (kept, and counted as invalid)")
    return added


def _rare(human: Mapping[str, int], settings: AnswerSettings) -> list[str]:
    """Return a note about rare labels, which could be remarks instead of options."""
    uses: Counter[str] = Counter()
    for label, n in human.items():
        uses[label.casefold()] += n
    even_share = sum(uses.values()) / max(len(uses), 1)
    rare = [label for label in human if uses[label.casefold()] < RARE_SHARE * even_share]
    if settings.options or not rare:
        return []
    n_ratings = sum(human[label] for label in rare)
    remedy = "Pass --ignore to count such labels and leave them out of the ratings"
    say = "rating says" if n_ratings == 1 else "ratings say"
    return [f"only {n_ratings} {say} {_listed(rare)}. {remedy}"]


def _listed(labels: Sequence[str] | Mapping[str, int]) -> str:
    shown = [repr(label[:40]) for label in list(labels)[:5]]
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _spellings(counts: Mapping[str, int], notes: list[str]) -> list[str]:
    """Merge labels that differ only by case into the most common spelling."""
    chosen: dict[str, str] = {}
    for label in sorted(counts, key=lambda name: -counts[name]):
        chosen.setdefault(label.casefold(), label)
    others = [label for label in counts if chosen[label.casefold()] != label]
    if len(others) == 1:
        notes.append(
            f"{others[0]!r} is read as {chosen[others[0].casefold()]!r}: they differ only by case"
        )
    elif others:
        notes.append(f"{_listed(others)} are read as labels that differ only by case")
    return [label for label in counts if label not in others]


def _check_number(names: Sequence[str], where: str) -> None:
    if len(names) <= 1:
        labels = f"only the label {names[0]!r}" if names else "no labels at all"
        raise TaskError(
            f"{where}: found {labels}. A task needs two options. Name them with --options."
        )
    if len(names) > MAX_LABELS:
        raise TaskError(f"{where}: found {len(names)} options. A task has at most {MAX_LABELS}.")


def _scale(names: Sequence[str], *, pairs: bool = False) -> Scale:
    numbers = [as_number(name) for name in names]
    if len(names) == N_BINARY:
        sides = column_words.are_sides(names, tied=False)
        sides |= pairs and {name.casefold() for name in names} in column_words.SIDES
        return "pairwise" if sides else "binary"
    if None not in numbers:
        steps = [number for number in numbers if number is not None]
        if len(steps) > MAX_STEPS or not all(step.is_integer() for step in steps):
            return "continuous"
        return "ordinal"
    if step_numbers_of(names) or known_order(names):
        return "ordinal"
    return "pairwise" if column_words.are_sides(names, tied=True) else "nominal"


def _in_order(names: Sequence[str], scale: Scale, notes: list[str]) -> list[str]:
    keyed = keyed_labels(names)
    if scale != "ordinal" and not keyed:
        last = column_words.TIES if scale == "pairwise" else frozenset()
        return sorted(
            names, key=lambda name: (column_words.contains_word(name, last), name.casefold())
        )
    if order := known_order(names):
        return sorted(names, key=lambda name: order.index(plain_label(name)))
    if ranks := key_ranks(keyed) or step_numbers_of(names):
        if absent := _absent([*step_numbers_of(names).values()]) if scale == "ordinal" else "":
            notes.append(f"no rating has {'key' if keyed else 'step'} {absent}. {LIST_ALL}")
        return sorted(names, key=lambda name: ranks[name])
    numbers = {name: as_number(name) for name in names}
    steps = sorted(n for n in numbers.values() if n is not None)
    if len(steps) < len(names):
        return list(names)
    are_whole = all(step.is_integer() for step in steps)
    whole = range(int(steps[0]), int(steps[-1]) + 1)
    is_near = len(steps) < len(whole) < 2 * len(steps)
    if are_whole and is_near and 1 in map(sub, steps[1:], steps):
        unused = ", ".join(str(step) for step in whole if step not in steps)
        lowest = _absent(whole)
        more = f". No rating is {lowest} either. {LIST_ALL}" if lowest else ""
        notes.append(f"nobody used {unused}, which was added because the scale is ordinal{more}")
        return [*map(str, whole)]
    if are_whole and (absent := _absent([*map(int, steps)])):
        notes.append(f"no rating is {absent}. {LIST_ALL}")
    return sorted(names, key=lambda name: numbers[name] or 0.0)


def _absent(steps: Collection[int]) -> str:
    """List the unused steps of a scale that starts at 1, or at its lowest step if that is lower.

    Return "" if all steps are used, or if the steps are too far apart for one scale.

    Examples
    --------
    >>> _absent([2, 3, 5]), _absent([0, 1, 2]), _absent([10, 20])
    ('1 or 4', '', '')
    """
    if not steps or max(steps) > MAX_STEPS:
        return ""
    absent = [str(step) for step in range(min(1, *steps), max(steps)) if step not in steps]
    is_close = len(absent) < 2 * len(steps) or 1 in map(sub, sorted(steps)[1:], sorted(steps))
    return " or ".join(filter(None, [", ".join(absent[:-1]), *absent[-1:]])) if is_close else ""


def _affirmative(names: Sequence[str]) -> tuple[str, ...]:
    """Return the label among two that means yes, or an empty tuple if neither does."""
    if len(names) != N_BINARY:
        return ()
    if keyed := keyed_labels(names):
        labels = {part.label: name for name, part in keyed.items()}
        return tuple(labels[label] for label in _affirmative(list(labels)))
    short, long = sorted(names, key=len)
    if long.casefold().endswith(short.casefold()) and short != long:
        return (short,)  # "toxic" and "not toxic", "safe" and "unsafe"
    for pair in PAIRS:
        if {name.casefold() for name in names} == set(pair):
            return tuple(name for name in names if name.casefold() == pair[0])
    said = [name for name in names if not column_words.YES.isdisjoint(column_words.parts(name))]
    return tuple(said) if len(said) == 1 else ()
