"""Finders for tables with a row per rating, which use dependences between columns."""

from __future__ import annotations

from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.column_facts import (
    KEY,
    LOOKED_AT,
    MIN_TICKS,
    MOST,
    TICKS,
    ends_in_id,
    names_person,
)
from harness.curation.importing.label_joins import FEW_LABELS, separator_of
from harness.curation.importing.role_draft import N_NAMED, Doubt, RoleDraft, names_of
from harness.files.plain_text import visible
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import (
    is_iso_time,
)
from harness.tasks.columns.column_words import parts, stem
from harness.tasks.columns.rater_names import kind_of_rater, names_model, who_are, who_are_raters
from harness.tasks.columns.table_columns import POSITIONAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tasks.columns.table_columns import Column

    RoleColumns = dict[str, str | tuple[str, ...]]

MAX_KEYS = 4  # most columns that together name an item
MANY_CRITERIA = 20
N_PAIR = 2  # number of columns: a choice and its set
MOST_RATERS = 0.6  # most raters as a share of rows: each rates about two items
NO_RATERS = (column_words.MARGINS - {"number", "n", "num"}) | column_words.CRITERIA
BY = ("by",)  # ends the header of a column that names who acted, as in ``created_by``
RATER_MARKS = column_words.PEOPLE | {"w", "r", "worker"}
ITEM_MARKS = column_words.ITEMS | {"d", "q", "doc", "text", "comment", "post", "story"}


def find_long(draft: RoleDraft, *, required: bool = False) -> bool:
    """Find the columns of item, rater and rating in a table with a row per item and rater."""
    free = draft.free()
    if "elicitation" in free:
        draft.set(elicitation="elicitation")
    items = [draft.mapping.id] if draft.mapping.id else item_keys(draft)
    best = None
    for item in items:
        raters = [draft.mapping.rater] if draft.mapping.rater else rater_columns(draft, item)
        pairs = [(item, rater) for rater in raters if rater not in item]
        if pairs and best is None:
            best = pairs
    if not best and not draft.mapping.id:
        best = _named_item(draft, draft.mapping.rater)
    if not best:
        return False
    rated = _ratings(draft, *best[0]) or _agreed(draft, best[0][1])
    if not required and (not rated or _rated_by_columns(draft, *best[0])):
        return False
    is_given = bool(draft.mapping.rater)
    if not is_given:
        best = _unambiguous(draft, best)
    item, rater = best[0]
    criterion = draft.mapping.criterion or _criterion(draft, item, rater)
    draft.set(id=item, rater=rater, criterion=criterion)
    _rated_of_item(draft)
    _label_roles(draft)
    if not is_given:
        _rater_or_system(draft)
    return True


def find_lone_rater(draft: RoleDraft) -> bool:
    """Find the rating in a table with a row per item that names the item's only rater.

    A question is asked about a column of users, because users could also be the items' authors.
    """
    facts = draft.facts
    raters = [n for n in draft.free() if facts.called(n, column_words.RATERS)]
    users = [n for n in draft.free() if names_person(n)]
    labels = [n for n in draft.free() if facts.called(n, column_words.LABELS)]
    labels = [n for n in labels if facts.is_labels(n) or facts.is_numbers(n)]
    labels = [n for n in labels if not facts.is_prose(n) and n not in users]
    who = raters or users
    alone = len(who) == len(labels) == 1 and facts.is_filled(who[0])
    texts = [n for n in draft.free() if facts.is_prose(n)]
    once = not texts or any(facts[n].unique for n in texts)
    if not alone or not once or who == labels or facts[who[0]].unique:
        return False
    keys = [n for n in draft.free() if facts[n].unique and not facts.is_plain(n)]
    keys.sort(key=lambda n: (not facts.called(n, column_words.ITEMS), facts.is_prose(n)))
    if not keys:
        return False
    draft.set(rater=who[0], label=labels[0], id=(keys[0],))
    if not raters:
        draft.ask(
            f"can't tell whether {who[0]} names the rater. Pass --rater {quote(who[0])} if so, or "
            f"--criteria {quote(labels[0])} if not",
            {"rater": "", "label": "", "criteria": (labels[0],)},
            about="rater",
        )
    return True


def find_repeated(draft: RoleDraft) -> bool:
    """Find an item whose rows come from different raters that no column names.

    Such rows can differ only in ratings, times and raters' remarks.
    """
    keys = [draft.mapping.id] if draft.mapping.id else item_keys(draft)
    return any(_is_repeated(draft, item) for item in keys)


def _is_repeated(draft: RoleDraft, item: tuple[str, ...]) -> bool:
    """Number an item's rows as raters if the rows differ only in a rater's answers and actions."""
    facts, mapping = draft.facts, draft.mapping
    is_rated = bool(mapping.criteria or mapping.label)
    if not _repeats_as_rated(draft, item):
        return False
    named = facts.called(item[0], column_words.ITEMS)
    is_label = facts.is_labels(item[0]) and not (named or facts.is_prose(item[0]))
    if not mapping.id and (is_label or _names_rows(draft)):
        return False
    within = [n for n in draft.free() if n not in item]
    varying = [n for n in within if not draft.facts.determines(item, n)]
    ratings = [n for n in varying if facts.is_labels(n) and not facts.is_prose(n)]
    others = [n for n in varying if n not in ratings and not _is_of_rater(draft, n)]
    people = [n for n in within if facts.is_labels(n)]
    people = [n for n, who in who_are(people).items() if who == "person"]
    if not is_rated and (others or not ratings or len(people) > 1):
        return False
    without = draft.place_raters(item)
    draft.set(id=item, rater=POSITIONAL)
    _label_roles(draft)
    if not draft.mapping.rating_columns:
        draft.set(id=mapping.id, rater="")
        draft.use(without)
        return False
    listed = quote(",".join(item))
    if mapping.id or "rater" in draft.fixed:
        draft.notes.append(
            f"{listed} repeats and no column names a rater, so an item's ratings are numbered"
        )
    else:
        draft.ask(
            f"{listed} repeats and no column names a rater. Pass --id {listed} --rater "
            f"{POSITIONAL} if each row of an item is from a different rater",
            about="rater",
        )
    return True


def _names_rows(draft: RoleDraft) -> bool:
    """Return whether a text, or a column named after items, is different in every row."""
    facts = draft.facts
    return any(
        facts.keys(name) >= KEY
        and (facts.is_prose(name) or facts.called(name, column_words.ITEMS))
        and not facts.called(name, column_words.REMARK_COLUMNS)
        for name in draft.free()
    )


def _repeats_as_rated(draft: RoleDraft, item: tuple[str, ...]) -> bool:
    """Return whether most items have several rows."""
    n_rows = np.bincount(draft.table.keys(item))
    return bool(np.mean(n_rows > 1) >= MOST)


def _is_of_rater(draft: RoleDraft, name: str) -> bool:
    """Return whether a column can record a rater's actions: a time, a measure or a remark."""
    facts = draft.facts
    words = column_words.MARGINS | column_words.REMARK_COLUMNS
    return facts.is_plain(name) or facts.called(name, words) or facts[name].unique


def _rated_by_columns(draft: RoleDraft, item: tuple[str, ...], rater: str) -> bool:
    """Return whether several columns named after raters contain the ratings."""
    facts = draft.facts
    columns = [n for n in _ratings(draft, item, rater) if facts.called(n, column_words.RATERS)]
    return len(columns) > 1 and not facts.called(rater, column_words.PEOPLE)


def _rated_of_item(draft: RoleDraft) -> None:
    """Ask whether a part of the item is the criterion, if no text depends on that part."""
    item = draft.mapping.id
    texts = [t for t in draft.table.columns if t not in item and draft.facts.is_prose(t)]
    known = "id" in draft.fixed or draft.mapping.criterion in item
    for name in item if len(item) > 1 and texts and not known else ():
        rest = tuple(n for n in item if n != name)
        if all(draft.facts.determines(rest, t) for t in texts):
            draft.ask(
                f"{name} distinguishes rows with the same texts. Pass --criterion {quote(name)} "
                f"if raters rate it, or --id {quote(','.join(item))} if not",
                {"id": rest, "criterion": name},
            )
            return


def _rater_or_system(draft: RoleDraft) -> None:
    """Ask whether a column names raters or the systems whose outputs are rated.

    Raters and systems both distinguish a prompt's rows. A text in every row that varies with the
    column could be an output or a remark.
    """
    mapping, facts = draft.mapping, draft.facts
    if draft.is_rater_named(mapping.rater):
        return
    texts = [
        n
        for n in draft.free()
        if facts.is_prose(n)
        and facts.is_filled(n)
        and not facts.is_list(n)
        and not facts.called(n, column_words.REMARK_COLUMNS)
        and not draft.facts.determines(mapping.id, n)
    ]
    if not texts and not facts.called(mapping.rater, column_words.SYSTEMS):
        return
    ratings = tuple(filter(None, (mapping.label, mapping.set, *mapping.criteria)))
    empty: dict[str, object] = {"rater": "", "label": "", "set": "", "criteria": (), "sets": ()}
    rows = {"id": (*mapping.id, mapping.rater), "text": (*mapping.text, *texts), "raters": ratings}
    system = f"the system that wrote {names_of(texts)}" if texts else "a system that is rated"
    draft.ask(
        f"can't tell whether {mapping.rater} names the rater or {system}. Pass --rater "
        f"{quote(mapping.rater)} for a rater, or --raters {quote(','.join(ratings))} if not",
        empty | rows,
    )


def _numbered_people(draft: RoleDraft) -> set[str]:
    """Return the numbered columns that are named after raters and contain their ratings."""
    named = [n for n in draft.free() if draft.facts.called(n, column_words.PEOPLE)]
    stems = [stem(n) for n in named if any(part.isdecimal() for part in parts(n))]
    return {n for n in named if stems.count(stem(n)) > 1}


def item_keys(draft: RoleDraft) -> list[tuple[str, ...]]:
    """Return candidate columns for the item in rows that repeat it, with the best first.

    The item is a column that determines all texts. Without such a column, it is the repeated text.
    """
    people = _numbered_people(draft)
    free = [n for n in draft.free() if n not in people]
    facts = draft.facts
    repeated = [n for n in free if 1 < draft.table.n_distinct((n,)) <= 0.95 * draft.table.n_rows]
    texts = [n for n in repeated if facts.is_prose(n) and facts.is_filled(n)]
    texts = [n for n in texts if not facts.called(n, column_words.REMARK_COLUMNS)] or texts
    names = [n for n in repeated if facts.is_name(n) and not facts.called(n, NO_RATERS)]
    fixed = {n: {t for t in texts if t == n or facts.fixes(n, t)} for n in (*names, *texts)}
    most = max((len(fixed[n]) for n in names), default=0)
    if not texts or most:
        best = [n for n in names if len(fixed[n]) == most]
        fewest = min((draft.table.n_distinct((n,)) for n in best), default=0)
        best = [n for n in best if not texts or draft.table.n_distinct((n,)) <= 1.01 * fewest]
        best.sort(key=lambda n: not facts.called(n, column_words.ITEMS))
        finer = [t for t in texts if t not in fixed[best[0]] and fixed[t] >= fixed[best[0]]]
        return [(n,) for n in (*best, *finer)]
    finest = [t for t in texts if len(fixed[t]) == len(texts)]
    return [tuple(finest[:1] or texts)] if finest or len(texts) <= MAX_KEYS else []


def _named_item(draft: RoleDraft, rater: str) -> list[tuple[tuple[str, ...], str]]:
    """Return a known rater and an item of several columns, or one if the user named the rater."""
    free = draft.free()
    if not rater:
        known = [n for n in free if draft.facts.is_name(n) and _favours(draft, "", n) >= 1]
        if len(known) != 1:
            return []
        rater = known[0]
    names = [
        n
        for n in free
        if n != rater and draft.facts.is_name(n) and not draft.facts.called(n, column_words.LABELS)
    ]
    keys = [n for n in names if draft.facts.keys(n, rater) >= MOST and not draft.facts.is_labels(n)]
    keys.sort(key=lambda n: not draft.facts.called(n, column_words.ITEMS))
    if keys and draft.mapping.rater:
        return [((keys[0],), rater)]
    repeated = draft.facts.keys(*names) < KEY if names else False
    joint = _joint(draft, names, (rater,)) if repeated else ()
    return [(joint, rater)] if joint else []


def _joint(draft: RoleDraft, names: Sequence[str], within: tuple[str, ...]) -> tuple[str, ...]:
    """Return columns that name an item only together. Columns named after items come first."""
    named = sorted(names, key=lambda n: not draft.facts.called(n, column_words.ITEMS))
    chosen = named[:1]
    while chosen and len(chosen) < MAX_KEYS:
        rest = [name for name in named if name not in chosen]
        if not rest:
            break
        best = max(rest, key=lambda name: draft.facts.keys(*chosen, name, *within))
        chosen.append(best)
        if draft.facts.keys(*chosen, *within) >= KEY:
            return tuple(chosen)
    return ()


def rater_columns(draft: RoleDraft, item: tuple[str, ...]) -> list[str]:
    """Return the columns that identify rows together with the item, and recur in other items."""
    columns = []
    people = _numbered_people(draft)
    for name in draft.free():
        if name in item or name in people or not draft.facts.is_name(name):
            continue
        if draft.facts.called(name, NO_RATERS) and parts(name)[-1:] != BY:
            continue
        if draft.facts.called(name, column_words.TEXTS) and not ends_in_id(name):
            continue
        n_values = draft.table.n_distinct((name,))
        crowd = draft.facts.called(name, column_words.RATERS)  # can rate one item each
        most = draft.table.n_rows if crowd else MOST_RATERS * draft.table.n_rows
        recurs = 1 < n_values <= most
        fixed = draft.facts.determines(item, name)
        share = _key_share(draft, item, name)
        if recurs and not fixed and share >= MOST and not _shares_labels(draft, name):
            columns.append((share < KEY, not draft.is_rater_named(name), name))
    exact = [entry for entry in columns if not entry[0]] or columns
    if not exact:
        return []
    named = [name for _, unnamed, name in exact if not unnamed]
    first = named or [name for *_, name in exact]
    worded = [name for name in first if not draft.facts.is_numbers(name)]
    return worded or first


def _key_share(draft: RoleDraft, item: tuple[str, ...], name: str) -> float:
    within = tuple(filter(None, (draft.mapping.criterion, draft.mapping.elicitation)))
    share = draft.facts.keys(*item, name, *within)
    if share >= KEY or within:
        return share
    criterion = _criterion(draft, item, name)
    return draft.facts.keys(*item, name, criterion) if criterion else share


def _shares_labels(draft: RoleDraft, name: str) -> bool:
    """Return whether other columns contain values from this column, as rating columns do."""
    values = set(draft.facts[name].values)
    others = (n for n in draft.table.columns if n != name and draft.facts.is_labels(n))
    return not draft.is_rater_named(name) and any(
        not values.isdisjoint(draft.facts.labels(other)) for other in others
    )


def _criterion(draft: RoleDraft, item: tuple[str, ...], rater: str) -> str:
    """Return the criterion's column, which identifies rows together with item and rater, or ""."""
    for name in draft.free():
        column = draft.facts[name]
        if name in {*item, rater} or not 1 < len(column.values) <= MANY_CRITERIA:
            continue
        if not draft.facts.called(name, column_words.CRITERIA) or not draft.facts.is_filled(name):
            continue
        if draft.facts.keys(*item, rater, name) >= MOST:
            return name
    return ""


def _ratings(draft: RoleDraft, item: tuple[str, ...], rater: str) -> list[str]:
    """Return the columns that vary between raters and items and could be ratings."""
    facts = draft.facts
    within = tuple(filter(None, [_criterion(draft, item, rater)]))
    ratings = [
        n
        for n in draft.free()
        if n not in {*item, rater, *within}
        and (facts.is_labels(n) or facts.is_list(n))
        and (not facts.is_prose(n) or _repeats_often(draft, n))
        and len(facts.labels(n)) > 1
        and not (facts.called(n, column_words.ITEMS) and ends_in_id(n))
        and not names_model(n)
        and not draft.facts.determines((*item, *within), n)
        and not draft.facts.determines((rater,), n)
    ]
    ratings = [n for n in ratings if not _numbers_rows(draft, item, n)]
    margins = column_words.MARGINS - column_words.MEASURES
    clear = [n for n in ratings if not facts.called(n, margins)]
    named = [n for n in clear if facts.called(n, column_words.LABELS)]
    similar = {of for n in clear for of in facts.alike(ratings, n)}
    clear = [  # a name alone doesn't set apart what looks like the ratings
        n
        for n in ratings
        if n in clear or (n in similar and (not named or facts.called(n, column_words.LABELS)))
    ]
    clear = _steady(draft, (*item, rater, *within), _without_twins(draft, clear or ratings))
    whole = [n for n in clear if not facts.is_measured(n)]
    return whole if len(whole) > 1 else clear


def _numbers_rows(draft: RoleDraft, item: tuple[str, ...], name: str) -> bool:
    """Return whether a column numbers the rows of each item in order, from 0 or 1."""
    rows = Counter[int]()
    column, keys = draft.facts[name], draft.table.keys(item)[:LOOKED_AT].tolist()
    cells = [column.texts[code] for code in column.codes[:LOOKED_AT]]
    first = int(cells[0] == "1")
    for key, cell in zip(keys, cells, strict=True):
        if cell != str(rows[key] + first):
            return False
        rows[key] += 1
    return max(rows.values()) > 1


def _without_twins(draft: RoleDraft, names: list[str]) -> list[str]:
    """Drop numeric columns that only encode another column's labels."""
    facts = draft.facts
    numeric = [n for n in names if facts.is_numbers(n)]
    worded = [n for n in names if n not in numeric]
    twins = {n for n in numeric for of in worded if facts.fixes(n, of) and facts.fixes(of, n)}
    return [n for n in names if n not in twins]


def _steady(draft: RoleDraft, keys: Sequence[str], names: list[str]) -> list[str]:
    """Return the columns that are constant for each rater and item, or all if none is.

    Corrections of ratings also vary, so all columns stay if a varying column is named after
    ratings.
    """
    steady = [n for n in names if draft.facts.determines(keys, n)]
    called = [n for n in names if draft.facts.called(n, column_words.LABELS)]
    return steady if steady and {*called} <= {*steady} else names


def _repeats_often(draft: RoleDraft, name: str) -> bool:
    """Return whether long values are few and frequent, and therefore labels."""
    column = draft.facts[name]
    return 3 * len(column.values) <= column.n_filled and len(column.values) <= FEW_LABELS // 2


def _unambiguous(
    draft: RoleDraft, best: list[tuple[tuple[str, ...], str]]
) -> list[tuple[tuple[str, ...], str]]:
    """Ask which column is the item and which the rater, unless values or names decide."""
    item, rater = best[0]
    if len(best) > 1:
        names = names_of([rater for _, rater in best])
        others = ({"id": key, "rater": other} for key, other in best[1:])
        question = f"can't tell which of {names} names the rater. Pass --rater"
        draft.ask(question, *others)
    if len(item) > 1 or draft.facts.is_prose(item[0]):
        return best
    texts = [t for t in draft.table.columns if draft.facts.is_prose(t)]
    depends = any(draft.facts.fixes(item[0], t) and not draft.facts.fixes(rater, t) for t in texts)
    reverse = any(draft.facts.fixes(rater, t) and not draft.facts.fixes(item[0], t) for t in texts)
    if depends and not reverse:
        return best
    straight, swapped = _favours(draft, item[0], rater), _favours(draft, rater, item[0])
    swap: tuple[tuple[str, ...], str] = ((rater,), item[0])
    kept, other = (best[0], swap) if straight >= swapped else (swap, best[0])
    if min(straight, swapped) or max(straight, swapped) < 1:
        draft.ask(
            f"can't tell which of {item[0]} and {rater} names the item and which the rater. "
            "Pass --id and --rater",
            {"id": other[0], "rater": other[1]},
        )
    return [kept] if kept is swap else best


def _favours(draft: RoleDraft, item: str, rater: str) -> float:
    """Score how well names and values fit an item column and a rater column."""
    facts = draft.facts
    strong = facts.called(rater, column_words.RATERS)
    weak = facts.called(rater, column_words.WEAK_RATERS)
    marked = _are_marked(facts[rater], RATER_MARKS)
    if not item:
        return 1.0 * strong + 0.5 * weak + 0.5 * marked
    named = facts.called(item, column_words.ITEMS) and not facts.called(item, column_words.PEOPLE)
    marked = marked and not _are_marked(facts[item], RATER_MARKS)
    of_items = _are_marked(facts[item], ITEM_MARKS) and not _are_marked(facts[rater], ITEM_MARKS)
    return 1.0 * strong + 0.5 * weak + 0.5 * named + 0.5 * marked + 0.5 * of_items


def _label_roles(draft: RoleDraft) -> None:
    """Find the columns with a row's rating or ratings, unless the user named them."""
    mapping = draft.mapping
    if mapping.label or mapping.set or mapping.criteria or mapping.sets:
        return
    facts = draft.facts
    within = tuple(filter(None, [mapping.criterion]))
    ratings = _ratings(draft, mapping.id, mapping.rater)
    lists = [n for n in ratings if facts.is_list(n)]
    single = [n for n in ratings if n not in lists]
    is_named = any(facts.called(n, column_words.LABELS) for n in single)
    aside = column_words.MARGINS | column_words.SUMMARIES
    are_named = all(facts.called(n, column_words.LABELS) for n in single)
    measures = [
        n
        for n in single
        if (facts.called(n, aside) and not are_named)
        or not (is_named or {*parts(n)} - column_words.METADATA)
    ]
    if len(lists) == 1 and len(single) <= 1:
        draft.set(set=lists[0], label=single[0] if single else "")
        if single and not facts.alike([lists[0]], single[0]):
            draft.ask(
                f"can't tell what {names_of([*single, *lists])} contain. Pass --label and --set "
                "if they contain one rater's choice and response set, or only --label if not",
                {"set": ""},
            )
    elif len(single) == 1 and not lists:
        draft.set(label=single[0])
        if measures:
            draft.ask(f"can't tell whether {single[0]} is the rating. Pass --label", about="label")
    elif single and not lists:
        _several_ratings(draft, single, measures)
    elif ratings:
        draft.ask(
            f"can't tell which of {names_of(ratings)} are ratings. Pass --label or --criteria",
            *({"label": other} for other in ratings[1:]),
            {"label": "", "criteria": tuple(ratings)},
        )
        draft.set(label=ratings[0])
    else:
        _no_ratings(draft, within)


def _several_ratings(draft: RoleDraft, names: list[str], measures: list[str]) -> None:
    """Draft several label columns as criteria, and ask if that is unclear."""
    facts = draft.facts
    if len(names) == N_PAIR and _choice_and_set(draft, names):
        return
    rest = [n for n in names if n not in measures] or names
    alike = all(name in facts.alike(names, names[0]) for name in names)
    numeric = all(set(map(str.casefold, facts.labels(n))) <= TICKS for n in names)
    ticks = numeric or (len(names) >= MIN_TICKS and facts.are_ticks(names))
    opaque = any(n in facts.opaque for n in names)
    labelled = [n for n in rest if facts.called(n, column_words.LABELS)]
    drafted: RoleColumns = {"criteria": tuple(rest)}
    if len(rest) == 1 or (len(labelled) == 1 and not alike):
        drafted = {"label": (labelled or rest)[0]}
    elif ticks:
        drafted = {"sets": tuple(names)}
    draft.set(**drafted)
    if not (measures or opaque or ticks) and not labelled:
        return
    readings: list[RoleColumns] = [{"criteria": tuple(of)} for of in (names, rest) if len(of) > 1]
    labels: list[RoleColumns] = [{"label": name} for name in rest]
    readings = [*readings, *labels] if "criteria" in drafted else [*labels, *readings]
    readings += [{"sets": tuple(names)}]
    empty: RoleColumns = {"label": "", "criteria": (), "sets": ()}
    others = [empty | of for of in readings if of != drafted and (ticks or "sets" not in of)]
    listed = quote(",".join(names))
    question = (
        f"{names_of(names)} differ between raters. Pass --label {quote(rest[0])} if only this "
        f"column contains ratings, or --criteria {listed} if each is a criterion"
    )
    draft.ask(question + f", or --sets {listed} if each ticks an option" * ticks, *others)


def _choice_and_set(draft: RoleDraft, names: Sequence[str]) -> bool:
    """Draft a choice and a response set if one column joins labels from the other column."""
    for label, joined in (names, names[::-1]):
        labels = list(draft.facts.labels(joined))
        separator = separator_of([*labels, *draft.facts.labels(label)])
        if separator and not any(separator in name for name in draft.facts.labels(label)):
            question = (
                f"can't tell whether {label} and {joined} are a choice and a response set. Pass "
                f"--label {quote(label)} --set {quote(joined)} --separator {quote(separator)} if so"
            )
            draft.set(label=label, set=joined)
            draft.doubts.append(Doubt(question, {"separator": separator}))
            return True
    return False


def _agreed(draft: RoleDraft, rater: str) -> list[str]:
    """Return the only column named after labels, if a column is named after raters."""
    named = [n for n in draft.free() if draft.facts.called(n, column_words.LABELS)]
    named = [n for n in named if draft.facts.is_labels(n) and n != rater]
    return named if len(named) == 1 and _favours(draft, "", rater) >= 1 else []


def _no_ratings(draft: RoleDraft, within: tuple[str, ...]) -> None:
    """Draft the only column named after ratings, or the only varying number, as the rating."""
    mapping, facts = draft.mapping, draft.facts
    free = [n for n in draft.free() if n not in within]
    named = [n for n in free if facts.called(n, column_words.LABELS) and not facts.is_prose(n)]
    scores = [n for n in free if facts.is_numbers(n) and not facts.called(n, column_words.MARGINS)]
    scores = [n for n in scores if not facts.determines(mapping.id, n)]
    agreed = _agreed(draft, mapping.rater)
    [found, *more] = [*(named or scores), ""]
    if found and more == [""]:
        draft.set(label=found)
        if found not in (*scores, *agreed):
            draft.ask(f"{found} doesn't differ between raters. Pass --label", about="label")


def judges_among_raters(draft: RoleDraft) -> None:
    """Draft raters as judges if a column says that they are models, and ask about names.

    A name alone never turns ratings into verdicts, because people's ids can look like models'
    names.
    """
    if "judges" in draft.fixed:
        return
    mapping = draft.mapping
    models = _machines(draft)
    if models is None:
        models = _named_models(draft)
    labels = [n for n in (mapping.label, *mapping.criteria, mapping.set) if n]
    columns = [n for n in draft.free() if draft.facts.is_labels(n) and names_model(n)]
    similar = {n for label in labels for n in draft.facts.alike(columns, label)}
    draft.set(judges=(*models, *(n for n in columns if n in similar)))


def _machines(draft: RoleDraft) -> list[str] | None:
    """Return the raters that a column classifies as machines, or None without such a column.

    A question is asked about raters who used a program's interface, because people can use it too.
    """
    rater = draft.facts[draft.mapping.rater]
    for name in draft.free():
        kinds = {label: kind_of_rater(label) for label in draft.facts.labels(name)}
        named = {*kinds.values()}
        if "person" in named and len(named) > 1 and "" not in named:
            if not draft.facts.fixes(rater.name, name):
                continue
            pairs = zip(rater.by_row(), draft.facts[name].by_row(), strict=True)
            who = {rater: kinds.get(kind, "") for rater, kind in pairs}
            if unclear := [name for name, kind in who.items() if kind == "program"]:
                _ask_models(draft, unclear)
            return [name for name, kind in who.items() if kind in {"machine", "program"}]
    return None


def _named_models(draft: RoleDraft) -> list[str]:
    """Return the raters named like models, and ask about them and about unclear names."""
    column = draft.mapping.rater
    raters = draft.facts[column].values
    who = who_are_raters(column, raters)
    models = [name for name in raters if who[name] == "model"]
    every = [*models, *(name for name in raters if who[name] == "unclear")]
    if not every:
        return []
    few = _ask_models(draft, every, models)
    return models if few and len(models) < len(raters) else []


def _ask_models(
    draft: RoleDraft, every: Sequence[str], models: Sequence[str] | None = None
) -> bool:
    """Ask which raters are models. Return whether the question lists all of them."""
    column, drafted = draft.mapping.rater, every if models is None else models
    few = len(every) <= N_NAMED
    listed = quote(",".join(every)) if few else "with the models"
    draft.ask(
        visible(
            f"can't tell whether {names_of(every)} in {column!r} are people or models. Pass "
            f"--judges none if they are people, or --judges {listed}"
        ),
        *([{"judges": tuple(every)}] if few and [*drafted] != [*every] else []),
        *([{"judges": ()}] if drafted else []),
    )
    return few


def time_of_ratings(draft: RoleDraft) -> str:
    """Return the only column of ISO 8601 times that vary between an item's ratings, or ""."""
    times = [
        n
        for n in draft.free()
        if draft.facts.all_values(n, is_iso_time)
        and not draft.facts.determines(draft.mapping.id, n)
    ]
    return times[0] if len(times) == 1 else ""


def _are_marked(column: Column, marks: frozenset[str]) -> bool:
    """Return whether most values begin with a marking word, or for raters are e-mail addresses."""
    values = column.values[:LOOKED_AT]
    words = [parts(value) for value in values]
    marked = [bool(of) and of[0] in marks and len(of) > 1 for of in words]
    addressed = ["@" in value for value in values] if "annotator" in marks else [False]
    return sum(marked) > 0.5 * len(values) or sum(addressed) > 0.5 * len(values)
