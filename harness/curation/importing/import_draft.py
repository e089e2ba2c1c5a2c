"""Drafts of an import with open questions, and the options that accept them."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import chain, combinations
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import sample_of
from harness.curation.importing.import_options import ColumnOptions
from harness.curation.importing.import_plan import make_plans
from harness.curation.importing.option_guess import NUMBER, PLACEHOLDER
from harness.curation.importing.reading_facts import facts_of
from harness.curation.importing.readings import SAMPLE_ROWS, TableReading, tried_readings
from harness.curation.importing.role_draft import Doubt, names_of
from harness.errors import TaskError
from harness.options.declaration import options_of
from harness.tasks.columns.column_mapping import NONE, ColumnMapping
from harness.tasks.columns.table_answers import AnswerSettings
from harness.tasks.columns.table_columns import POSITIONAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from harness.curation.importing.import_plan import ImportPlan
    from harness.tasks.columns.table_answers import RatedOptions
    from harness.tasks.columns.table_columns import Table

RATED = frozenset(
    {"raters", "pattern", "rater", "label", "set", "sets", "criteria", "counts", "votes"}
)
ITEM = frozenset({"id", "criterion"})  # roles on which the texts of an item depend
ALWAYS = ("id", "text", "judges")  # roles named even if no column has them
UNSAID = frozenset({"elicitation"})  # recognised only by its name
JOINED = frozenset({"ignore", "abstain", "rename"})  # settings to which doubts add labels
OF_ANSWERS = frozenset(AnswerSettings.model_fields)
UNKNOWN = (PLACEHOLDER, NUMBER)  # placeholders for values that only the user knows
MEANINGS = {  # conditions for one, or several, columns in a role or labels in a setting
    "id": ("{} names the item", "{} name the item"),
    "raters": ("{} is a rater", "{} are raters"),
    "judges": ("{} is a model", "{} are models"),
    "rater": ("{} names the rater", ""),
    "label": ("{} is the rating", ""),
    "criteria": ("{} is a criterion", "{} are criteria"),
    "criterion": ("{} names the criterion", ""),
    "set": ("{} is a response set", ""),
    "sets": ("{} is an option of a set", "{} are the options of a set"),
    "votes": ("{} contains the ratings", "{} contain the ratings"),
    "counts": ("{} is a number of raters", "{} are numbers of raters"),
    "pattern": ("columns are called {}", ""),
    "text": ("{} is shown to judges", "{} are shown to judges"),
    "ignore": ("{} isn't a rating", "{} aren't ratings"),
    "abstain": ("{} means that the rater couldn't say", "{} mean that the rater couldn't say"),
    "rename": ("{} is meant", "{} are meant"),
    "scale": ("the scale is {}", ""),
    "options": ("{} is the option", "{} are the options"),
    "separator": ("{} separates the options of a set", ""),
    "decimal": ("the decimal sign is a {}", ""),
}
LISTS = {
    "ratings": "a list contains several raters' ratings",
    "sets": "a list is one rater's response set",
    "counts": "the numbers count raters",
    "raters": "the numbers are ratings by rater",
}


def settled(
    name: str,
    plans: tuple[ImportPlan, ...],
    table: Table,
    rated: RatedOptions,
    roles: Collection[str] = (),
) -> tuple[ImportPlan, ...]:
    """Return the plans for the only plausible reading, or the draft's plans with their questions.

    A reading is accepted only if it was compared with others and has no questions. Questions about
    the meaning of answers, and about whose ratings a column contains, always go to the user. A
    draft without questions is tried on a sample, unless the user or the table's format named its
    columns.

    Parameters
    ----------
    name : str
        Name of the task.
    plans : tuple of ImportPlan
        The draft's plans.
    table : Table
        Table as read from its file.
    rated : RatedOptions
        The rated property and the raters.
    roles : collection of str
        Roles of columns that the user named.
    """
    draft = plans[0]
    is_said = bool(table.reading.columns) or not RATED.isdisjoint(roles)
    if not (is_said or any(plan.doubts for plan in plans)):
        return _sensible(name, plans, table, rated)
    readings = [*readings_of(*plans)]
    is_asked = any(doubt.accept or "judges" in doubt.about for doubt in draft.doubts)
    is_asked |= not draft.mapping.rater
    if len(readings) <= 1 or is_asked:
        return plans
    asked = {question for plan in plans for question in plan.questions()}
    tried = tried_readings(readings, table, rated, asked)
    if len(tried) != 1 or tried[0][1] is None:
        return plans
    [(reading, _)] = tried
    try:
        taken = make_plans(name, table, reading.roles, settings=reading.settings, rated=rated)
    except TaskError:
        return plans
    if any(plan.doubts for plan in taken):
        return plans
    note = (
        f"there are {len(readings)} ways to read this table, and the others explain fewer "
        "columns or make no sense"
    )
    return tuple(replace(plan, notes=(note, *plan.notes)) for plan in taken)


def _sensible(
    name: str, plans: tuple[ImportPlan, ...], table: Table, rated: RatedOptions
) -> tuple[ImportPlan, ...]:
    """Return plans, with a question added if the plans' results on a sample make no sense."""
    items = [item for item in plans[0].mapping.id if item in table.columns]
    sample = sample_of(table, items, SAMPLE_ROWS)
    try:
        tried = plans
        if sample is not table:
            tried = make_plans(name, sample, {}, settings=plans[0].settings, rated=rated)
        facts = facts_of(tried)
    except TaskError:
        return plans
    if not (facts.n_ratings and facts.is_absurd):  # without a rating, writing says why
        return plans
    counts, _ = facts.lines()
    question = (
        f"the likeliest columns make no sense as ratings ({counts}). List the rating columns in "
        "--raters, --label, --criteria, --counts or --votes"
    )
    return tuple(replace(plan, doubts=(Doubt(question, in_table=True),)) for plan in plans)


def readings_of(plan: ImportPlan, *more: ImportPlan) -> Iterator[TableReading]:
    """Yield a draft's reading, then the alternatives in its doubts and those of further tasks.

    Yields nothing if the table itself must change. Readings that only the user can complete, for
    example with an order of labels, are left out.
    """
    doubts = {doubt.question: doubt for of in (plan, *more) for doubt in of.doubts}
    plan = replace(plan, doubts=tuple(doubts.values()))
    if any(doubt.in_table for doubt in plan.doubts):
        return
    accepted: dict[str, object] = {}
    for doubt in plan.doubts:
        for name, value in doubt.accept.items():
            before = accepted.get(name, getattr(plan.settings, name))
            if name in JOINED:
                assert isinstance(before, tuple), "a list of labels"
                assert isinstance(value, tuple), "a list of labels"
                value = (*before, *value)  # noqa: PLW2901 -- the labels of both
            accepted[name] = value
    others = [other for doubt in plan.doubts for other in doubt.others]
    roles = [role for doubt in plan.doubts for role in doubt.about]
    unclear = dict.fromkeys(name for reading in (roles, accepted, *others) for name in reading)
    drafted = {name: _value(plan, name) for name in unclear} | accepted
    yielded: list[tuple[str, ...]] = []
    for changes in ({}, *others):
        reading = drafted | dict(changes)
        if any(value in UNKNOWN for value in reading.values()):
            continue
        meanings = [phrase for name in unclear if (phrase := _meaning(name, reading[name]))]
        default = "Otherwise" if changes else "As drafted"
        condition = f"If {', and '.join(meanings)}" if meanings else default
        drawn = replace(_reading(plan, accepted | dict(changes), condition), unclear=(*unclear,))
        if drawn.words not in yielded:
            yielded.append(drawn.words)
            yield drawn


def short_words(
    reading: TableReading,
    table: Table,
    roles: Mapping[str, Sequence[str]],
    settings: AnswerSettings,
    rated: RatedOptions,
) -> tuple[str, ...]:
    """Return the shortest list of options that selects a reading, including the user's own options.

    Combinations of the roles and settings in which readings differ are tried, shortest first. Each
    attempt reads the table, so a large table gets all options.

    Parameters
    ----------
    reading : TableReading
        The reading to select.
    table : Table
        Table as read from its file.
    roles, settings
        Roles and settings from the user.
    rated : RatedOptions
        The rated property and the raters.
    """
    if table.n_rows > SAMPLE_ROWS:
        return reading.words

    def drawn(
        roles: Mapping[str, Sequence[str]], settings: AnswerSettings
    ) -> list[tuple[object, ...]]:
        try:
            plans = make_plans(table.path.stem, table, roles, settings=settings, rated=rated)
        except TaskError as error:
            return [(str(error),)]
        return [(p.mapping, p.answers, p.columns, p.rated, p.questions()) for p in plans]

    whole = drawn(reading.roles, reading.settings)
    for size in range(1, len(reading.unclear) + 1):
        for names in combinations(reading.unclear, size):
            some = {n: reading.roles[n] for n in names if n in reading.roles}
            said = {n: getattr(reading.settings, n) for n in names if n in OF_ANSWERS}
            chosen = settings.model_copy(update=said)
            if len(some) + len(said) == size and drawn({**roles, **some}, chosen) == whole:
                return _words({**roles, **some}, chosen)
    return reading.words


def _value(plan: ImportPlan, name: str) -> object:
    """Return a plan's columns for a role, or its value of a setting."""
    return getattr(
        plan.mapping if name in ColumnMapping.__dataclass_fields__ else plan.settings, name
    )


def _meaning(name: str, value: object) -> str:
    """Describe the condition under which a role or setting is right, or return ""."""
    values = [str(v) for v in value if v] if isinstance(value, tuple) else [str(value or "")]
    one, several = MEANINGS.get(name, ("", ""))
    if not any(values) or values == [NONE]:
        return ""
    if (name, values) == ("rater", [POSITIONAL]):
        return "each row of an item is from a different rater"
    listed = names_of(values)
    return (
        LISTS.get(listed, "")
        if name == "lists"
        else (one if len(values) == 1 else several or one).format(listed)
    )


def _reading(plan: ImportPlan, changes: Mapping[str, object], condition: str) -> TableReading:
    """Create a reading from a plan's roles and settings, with changes."""
    changed = {
        name: value for name, value in changes.items() if name in ColumnMapping.__dataclass_fields__
    }
    mapping = _without_repeats(plan.mapping.with_roles(changed), changed)
    roles: dict[str, list[str]] = {}
    for role in fields(ColumnMapping):
        value = getattr(mapping, role.name)
        names = [name for name in ([value] if isinstance(value, str) else value) if name]
        is_other = plan.asks_texts_later or not ITEM.isdisjoint(changed)
        if role.name == "text" and is_other and "text" not in changed:
            continue
        named = names or role.name in ALWAYS or (role.name == "pattern" and "pattern" in changed)
        if role.name not in UNSAID and named:
            roles[role.name] = names or [NONE]
    said = {name: value for name, value in changes.items() if name not in changed}
    settings = AnswerSettings.model_validate(plan.settings.model_dump() | said)
    return TableReading(condition, roles, settings, _words(roles, settings))


def _words(roles: Mapping[str, Sequence[str]], settings: AnswerSettings) -> tuple[str, ...]:
    """Return the command-line options for roles and settings."""
    columns = options_of(ColumnOptions)
    of_roles = (columns[f"{role}_columns"].words(tuple(names)) for role, names in roles.items())
    of_settings = (word.replace("\n", "\\n") for word in settings.words())
    return (*chain.from_iterable(of_roles), *of_settings)


def _without_repeats(mapping: ColumnMapping, roles: Mapping[str, object]) -> ColumnMapping:
    """Remove changed roles' columns from the other roles."""
    moved = {
        n for value in roles.values() for n in (value if isinstance(value, tuple) else (value,))
    }
    kept = {
        role.name: tuple(n for n in getattr(mapping, role.name) if n not in moved)
        for role in fields(ColumnMapping)
        if role.name in {"text", "criteria", "sets"} and role.name not in roles
    }
    return mapping.with_roles(kept)
