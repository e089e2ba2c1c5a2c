"""Finders for tables with a column per rater, or per criterion and rater."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import (
    KEY,
    MIN_TICKS,
    MOST,
    PROSE_WORDS,
    ends_in_id,
    has_digits,
    names_person,
)
from harness.curation.importing.role_draft import Doubt, RoleDraft, names_of
from harness.curation.importing.structure_readings import rises
from harness.curation.importing.structures import follows_from, numbers
from harness.tasks.columns import column_words
from harness.tasks.columns.column_mapping import PLACEHOLDERS, pattern_of
from harness.tasks.columns.column_words import contains_word, parts, stem
from harness.tasks.columns.rater_names import FILLERS, names_model, opens_with_rater, who_are

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from harness.curation.importing.column_facts import Facts


HALF = 0.5
MAX_PREFIX_CHARS = 2  # letters in a name such as q1, which can be a question or a rater
MIN_ROWS = 5  # fewest rows in which sharing no label isn't chance
SEPARATORS = ("__", "_", " - ", "-", ".", "/", ":", ": ", " ", "", " (", " [")


def find_wide(draft: RoleDraft) -> bool:
    """Find the raters' columns among columns with the same labels."""
    facts = draft.facts
    excluded = column_words.MARGINS - column_words.MEASURES | column_words.CRITERIA
    who = who_are([n for n in draft.free() if n not in facts.opaque])
    columns = [
        n
        for n in draft.free()
        if _may_be_ratings(draft, n, is_person=who.get(n) == "person")
        and not facts.called(n, excluded)
        and not set(parts(n)) <= column_words.ITEMS | column_words.ID_MARKS
        and not names_person(n)
        and not (contains_word(n, column_words.GROUPS) and not names_model(n))
    ]
    aside = _about_others(facts, draft.free())
    columns = [n for n in columns if n not in aside]
    judges = draft.mapping.judges
    summaries = [n for n in columns if facts.called(n, column_words.SUMMARIES)]
    people = [n for n in columns if who.get(n) == "person" and n not in {*judges, *summaries}]
    if people:
        family = {n for n in columns if facts.shares(n, people)} | set(people)
    else:
        families: list[list[str]] = [
            facts.alike([c for c in columns if c not in judges], n) for n in columns
        ]
        largest: list[str] = max(families, key=len, default=[])
        family = set(largest)
    raters = [
        n
        for n in columns
        if n in family and who.get(n) != "model" and n not in {*judges, *summaries}
    ]
    models = [n for n in columns if n in family and who.get(n) == "model"]
    unclear = [n for n in raters if n not in people]
    if len(people) > 1 and (made := [n for n in unclear if follows_from(draft.table, n, people)]):
        raters, unclear = ([n for n in names if n not in made] for names in (raters, unclear))
        draft.computed += made
        draft.notes.append(
            f"{names_of(made)} can be computed from the ratings, so it isn't a rating itself"
        )
    if len(people) > 1 and (sorted_ := [n for n in unclear if _only_rises(draft, n)]):
        raters, unclear = ([n for n in names if n not in sorted_] for names in (raters, unclear))
        draft.notes.append(f"{names_of(sorted_)} only rises from row to row, so it isn't a rating")
    words = column_words.RATERS - {"ann"} | column_words.ID_MARKS
    names = [n for n in raters if set(parts(n)) <= words or (n in people and ends_in_id(n))]
    lone = len(raters) == 1 and not (models or judges) and (not people or bool(names))
    if not raters or (lone and not facts.called(raters[0], column_words.LABELS)):
        return False
    draft.set(raters=tuple(raters), judges=tuple(models))
    left_out = [n for n in _people_left_out(draft, who) if n not in aside]
    same = {n for n in left_out if not facts.is_prose(n) and _overlaps(draft, n, raters)}
    if same:  # with few rows and many options, labels in a column hardly repeat
        raters = [n for n in draft.table.columns if n in same.union(raters)]
        draft.set(raters=tuple(raters))
        left_out = [n for n in left_out if n not in same]
    odd = _others_than_most(draft, raters) if draft.table.n_rows >= MIN_ROWS else []
    if left_out:
        draft.ask(
            f"{names_of(left_out)} is named like the raters, but could contain something else. "
            f"Pass --raters {quote(','.join(n for n in who if n in {*raters, *left_out}))} if it "
            "contains ratings",
            {"raters": tuple(n for n in who if n in {*raters, *left_out})},
        )
    if unclear and not judges:
        _who_doubt(draft, raters, unclear, models)
    elif len(raters) == 1 and not models and not judges:
        draft.ask(
            f"can't tell whether {raters[0]} is one rater's answers or a reference. Pass "
            f"--raters {quote(raters[0])} if they are a rater's",
            about="raters",
        )
    elif odd:
        alike = tuple(n for n in raters if n not in odd)
        verb = "contains" if len(odd) == 1 else "contain"
        draft.ask(
            f"{names_of(odd)} {verb} labels that differ from {names_of(alike)}. Pass --raters "
            f"{quote(','.join(alike))} if only these columns are ratings of one property",
            {"raters": alike},
        )
    return True


def _about_others(facts: Facts, names: Iterable[str]) -> set[str]:
    """Return the columns that describe the ratings in another column."""
    names = list(names)
    rated = [name for name in names if facts.is_labels(name) and not facts.is_prose(name)]
    return {
        name
        for name in names
        for other in rated
        if _says_more(parts(name), parts(other))
        and {*map(str.casefold, facts.labels(name))}.isdisjoint(
            map(str.casefold, facts.labels(other))
        )
    }


def _says_more(name: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether a name continues another name with a word, not just a number or letter."""
    more = name[len(other) :]
    return (
        bool(other)
        and name[: len(other)] == other
        and any(len(word) > 1 and word.isalpha() for word in more)
    )


def _only_rises(draft: RoleDraft, name: str) -> bool:
    """Return whether a column contains numbers that never decrease, like row numbers."""
    return draft.facts.is_numbers(name) and rises(numbers(draft.facts[name]))


def _people_left_out(draft: RoleDraft, who: Mapping[str, str]) -> list[str]:
    """Return the columns named after people that have no role yet."""
    facts = draft.facts
    return [
        n
        for n in draft.free()
        if who.get(n) == "person"
        and (not facts.is_prose(n) or contains_word(n, column_words.PEOPLE))
        and not draft.facts.called(n, column_words.REMARK_COLUMNS | column_words.SUMMARIES)
    ]


def _may_be_ratings(draft: RoleDraft, name: str, *, is_person: bool) -> bool:
    """Return whether a column contains labels, lists or, if named after a person, numbers."""
    facts = draft.facts
    if facts[name].unique and facts.called(name, column_words.TEXTS):
        return False
    if is_person and facts.is_numbers(name):
        return True
    is_text = facts.is_prose(name) and not facts.is_list(name) and not is_person
    return (facts.is_labels(name) or facts.is_list(name)) and not is_text


def _overlaps(draft: RoleDraft, name: str, others: Sequence[str]) -> bool:
    """Return whether a column shares a label with other columns, or can't be compared with them."""
    own = {label.casefold() for label in draft.facts.labels(name)}
    rest = {label.casefold() for n in others if n != name for label in draft.facts.labels(n)}
    few = draft.facts[name].n_filled < MIN_ROWS
    return few or not rest or not own.isdisjoint(rest) or draft.facts.is_numbers(name)


def _others_than_most(draft: RoleDraft, columns: Sequence[str]) -> list[str]:
    """Return the columns that shared labels don't link to the largest group of columns."""
    families = [_linked(draft, name, columns) for name in columns]
    largest = max(families, key=len, default=[])
    return [name for name in columns if name not in largest]


def _linked(draft: RoleDraft, first: str, columns: Sequence[str]) -> list[str]:
    """Return a column and all columns that shared labels link to it, directly or indirectly."""
    linked, rest = [first], [name for name in columns if name != first]

    def is_near(name: str) -> bool:
        few = draft.facts[name].n_filled < MIN_ROWS
        numeric = draft.facts.is_numbers(name)
        with_numbers = any(draft.facts.is_numbers(other) for other in linked)
        return few or (with_numbers if numeric else _overlaps(draft, name, linked))

    while near := [n for n in rest if is_near(n)]:
        linked += near
        rest = [n for n in rest if n not in near]
    return linked


def _who_doubt(
    draft: RoleDraft, raters: Sequence[str], unclear: Sequence[str], models: Sequence[str]
) -> None:
    some = "is a person, a model or a criterion"
    several = "are people, models or criteria"
    judges = ",".join([*models, "..."])
    phrases = len(unclear) > 1 and all(len(name.split()) >= PROSE_WORDS for name in unclear)
    pattern = _shared_pattern(draft, raters)
    if phrases and not pattern:
        question = (
            f"{names_of(unclear)} look like items, with a row per rater. Rearrange the table so "
            "that each rating has a row"
        )
        draft.doubts.append(Doubt(question, in_table=True))
        return
    people = tuple(n for n in raters if n not in unclear)
    others: list[dict[str, object]] = (
        [{"raters": people, "judges": (*models, *unclear)}, {"raters": people}] if people else []
    )
    marked = any(not column_words.MODEL_MARKS.isdisjoint(parts(name)) for name in unclear)
    several_criteria = len(unclear) == len(raters) > 1 and not models and not marked
    criteria = f", --criteria {quote(','.join(raters))}" if several_criteria else ""
    as_criteria: dict[str, object] = {"raters": (), "criteria": tuple(raters), "pattern": ""}
    others += [as_criteria] if several_criteria else []
    if len(numbered := _numbered_alike(unclear)) > 1 and len(unclear) == len(raters) > len(
        numbered
    ):
        draft.set(raters=(*numbered,))
        others.insert(0, {"raters": tuple(raters)})
    if pattern:
        draft.set(pattern=pattern)
        others.insert(0, {"pattern": ""})
    draft.ask(
        f"can't tell whether {names_of(unclear)} {some if len(unclear) == 1 else several}. Pass "
        f"--raters {quote(','.join(raters))}{criteria}, or --judges {quote(judges)} with the "
        "models",
        *others,
        about="raters",
    )


def _numbered_alike(names: Sequence[str]) -> list[str]:
    """Return the names that differ only in their last number from the most others."""
    stems = [
        stem(name) if parts(name)[-1:] and parts(name)[-1].isdecimal() else "" for name in names
    ]
    most = max(filter(None, stems), key=stems.count, default="")
    return [name for name, of in zip(names, stems, strict=True) if most and of == most]


def _shared_pattern(draft: RoleDraft, names: Sequence[str]) -> str:
    """Return the likeliest pattern of criteria and raters that all names have, or ""."""
    patterns = [grid.pattern for grid in name_grids(draft.facts, names)[:1]]
    return "".join(p for p in patterns if all(map(pattern_of(p).fullmatch, names)))


def judges_beside_raters(draft: RoleDraft) -> None:
    """Find models among the columns that share labels with the user's rater columns.

    If the rater columns' names form a grid of two words, the words are criterion and rater.
    """
    raters = draft.mapping.raters
    grids = [grid for grid in name_grids(draft.facts, raters) if {*grid.raters} == {*raters}]
    if "pattern" not in draft.fixed and grids:
        draft.set(pattern=grids[0].pattern)
        if not grids[0].is_called:
            draft.ask(
                f"can't tell whether {names_of(raters)} are named after criterion and rater. "
                f"Pass --pattern {quote(grids[0].pattern)} if so, or --pattern none if each "
                "column is a rater",
                *({"pattern": other} for other in (*(grid.pattern for grid in grids[1:]), "")),
            )
    columns = [n for n in draft.free() if draft.facts.is_labels(n) and names_model(n)]
    draft.set(judges=tuple(n for n in columns if n in draft.facts.alike(columns, raters[0])))


def find_item_of_rows(draft: RoleDraft) -> None:
    """Find the column that names each row. Without such a column, rows are numbered."""
    facts = draft.facts
    within: tuple[str, ...] = tuple(filter(None, [draft.mapping.criterion]))
    if not within and "criterion" not in draft.fixed:
        within = tuple(  # a column of criteria
            n
            for n in draft.free()
            if facts.called(n, column_words.CRITERIA)
            and facts.is_labels(n)
            and not facts.is_prose(n)
        )[:1]
        draft.set(criterion="".join(within))
    if "id" in draft.fixed:
        return
    free = [n for n in draft.free() if facts.is_filled(n) or facts.called(n, column_words.ITEMS)]
    names = [
        n
        for n in free
        if facts.is_name(n)
        or (
            facts[n].unique and not (facts.is_prose(n) or facts.is_plain(n) or facts.is_measured(n))
        )
    ]
    others = column_words.MARGINS - column_words.ID_MARKS | column_words.REPLIES
    names = [n for n in names if not facts.called(n, others) or ends_in_id(n)]
    if not facts.opaque:
        names = [n for n in names if facts.called(n, column_words.ITEMS) or has_digits(facts[n])]
    shares = {n: facts.keys(n, *within) for n in free}
    called = [n for n in free if facts.called(n, column_words.ITEMS)]
    keys = [n for n in names if shares[n] >= KEY]
    keys.sort(key=lambda n: (n not in called, not has_digits(facts[n])))
    keys += [n for n in names if n in called and shares[n] > HALF]
    keys += [n for n in called if shares[n] > MOST]
    if keys:
        draft.set(id=(keys[0],))


def find_pattern(draft: RoleDraft) -> bool:
    """Find columns named after criteria and raters."""
    facts = draft.facts
    columns = [
        n
        for n in draft.free()
        if facts.is_labels(n) and n not in facts.opaque and not facts.is_prose(n)
    ]
    best, *_ = [*name_grids(facts, columns), None]
    if best is None or not best.is_sure:
        return False
    draft.set(raters=best.raters, judges=best.judges, pattern=best.pattern)
    _ticks_doubt(draft)
    return True


def _ticks_doubt(draft: RoleDraft) -> None:
    """Ask about criteria of 0 and 1 if each rater ticks at least one, as for options of a set."""
    by_rater: dict[str, list[str]] = {}
    for name in draft.mapping.raters:
        by_rater.setdefault(draft.mapping.criterion_and_rater(name)[1], []).append(name)
    if all(len(of) >= MIN_TICKS and draft.facts.are_ticks(of) for of in by_rater.values()):
        draft.ask(
            f"can't tell whether {names_of(draft.mapping.raters)} tick the options of a set. "
            f"Pass --pattern {quote(draft.mapping.pattern)} if each column is a criterion, or "
            "make a row per item and rater and pass --sets"
        )


@dataclass(frozen=True)
class NameGrid:
    """Columns whose names combine criteria and raters.

    Attributes
    ----------
    pattern : str
        Pattern for the names, as `pattern_of` reads it.
    raters, judges : tuple of str
        Columns of raters, and columns with a model's name.
    is_called : bool
        Whether the names contain words for raters, or numbers.
    is_sure : bool
        Whether each pair of criterion and rater has a column, and no column can be something else.
    """

    pattern: str
    raters: tuple[str, ...]
    judges: tuple[str, ...]
    is_called: bool
    is_sure: bool


def name_grids(facts: Facts, names: Sequence[str]) -> list[NameGrid]:
    """Return the grids of criteria and raters in column names, with the likeliest first."""
    found = []
    for pattern in _patterns():
        matches = {n: match for n in names if (match := pattern_of(pattern).fullmatch(n))}
        sides = {n: (match["criterion"], match["rater"]) for n, match in matches.items()}
        called = {n: pair for n, pair in sides.items() if _is_called(n, *pair)}
        pairs = called or ({} if "}{" in pattern else sides)
        criteria, raters = ({pair[k] for pair in pairs.values()} for k in (0, 1))
        is_full = len(pairs) == len(criteria) * len(raters)
        if min(len(criteria), len(raters)) <= 1 or not (is_full or called):
            continue
        if called and _end_alike(criteria):
            continue
        judges = [n for n, (criterion, _) in sides.items() if criterion in criteria]
        judges = [n for n in judges if n not in pairs and names_model(sides[n][1])]
        is_short = any(len(c) <= MAX_PREFIX_CHARS for c in criteria)
        is_sure = is_full and not (is_short and any(map(str.isdecimal, raters)))
        is_sure &= bool(called) and not any(
            facts.called(n, column_words.REMARK_COLUMNS) for n in pairs
        )
        grid = NameGrid(pattern, (*pairs,), (*judges,), bool(called), is_sure)
        are_numbered = all(rater.strip(" )]")[-1:].isdecimal() for rater in raters)
        found.append((bool(called), len(pairs), len(pattern), are_numbered, grid))
    return [grid for *_, grid in sorted(found, key=lambda entry: entry[:4], reverse=True)]


def _is_called(name: str, criterion: str, rater: str) -> bool:
    """Return whether the second part of a name indicates a rater and the first part doesn't."""
    is_else = names_model(name) or criterion[-1].isdigit() or _names_raters(criterion)
    return _is_place(rater) and not is_else


def _patterns() -> Iterator[str]:
    for separator in SEPARATORS:
        end = {" (": ")", " [": "]"}.get(separator, "")
        yield separator.join(PLACEHOLDERS) + end
        if separator:
            yield separator.join(PLACEHOLDERS[::-1]) + end


def _end_alike(criteria: Collection[str]) -> bool:
    """Return whether all criteria end in the same word, which then belongs to the raters' names."""
    words = [parts(name) for name in criteria]
    ends = {name[-1] for name in words if len(name) > 1}
    return (
        all(len(name) > 1 for name in words) and len(ends) == 1 and not ends & column_words.LABELS
    )


def _is_place(name: str) -> bool:
    """Return whether part of a name stands for a rater: a number, or a word for raters."""
    words = parts(name)
    numbered = len(words) > 1 and words[-1].isdecimal() and len(words[0]) == 1
    called = bool(words) and opens_with_rater(words[:1])
    return name.isdecimal() or numbered or called


def _names_raters(name: str) -> bool:
    words = set(parts(name)) - FILLERS
    return (
        not words
        or words <= (column_words.PEOPLE | column_words.LABELS)
        or len(name) == 1
        or opens_with_rater(tuple(parts(name)))
    )
