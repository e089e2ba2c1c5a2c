"""The draft of an import that is asked about: its columns, and the options that accept it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from harness.curation.option_guess import NUMBER, PLACEHOLDER
from harness.curation.role_draft import names_of
from harness.option_declarations import options_of
from harness.tasks.columns.column_mapping import NONE, ColumnMapping
from harness.tasks.columns.table_answers import AnswerSettings
from harness.tasks.write import Field, task_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.curation.import_plan import ImportPlan

ALWAYS = ("id", "text", "judges")  # roles that are said even where no column has them
UNSAID = frozenset({"elicitation"})  # found by its name alone
JOINED = frozenset({"ignore", "abstain", "rename"})  # settings that doubts add labels to
UNKNOWN = (PLACEHOLDER, NUMBER)  # stand for what only the user knows
MEANINGS = {  # what has to be so where one, or several, have a role or stand in a setting
    "raters": ("{} is a rater", "{} are raters"),
    "judges": ("{} is a model", "{} are models"),
    "rater": ("{} names the rater", ""),
    "label": ("{} is the rating", ""),
    "criteria": ("{} is a criterion", "{} are criteria"),
    "criterion": ("{} is what is rated", ""),
    "set": ("{} is a response set", ""),
    "sets": ("{} is an option of a set", "{} are the options of a set"),
    "counts": ("{} is a number of raters", "{} are numbers of raters"),
    "pattern": ("columns are called {}", ""),
    "text": ("{} is shown to judges", "{} are shown to judges"),
    "ignore": ("{} is no rating", "{} are no ratings"),
    "abstain": ("{} is of a rater who could not say", "{} are of raters who could not say"),
    "rename": ("{} is meant", "{} are meant"),
    "scale": ("the scale is {}", ""),
    "options": ("{} is the option", "{} are the options"),
    "separator": ("{} divides the options of a set", ""),
    "decimal": ("the decimal sign is a {}", ""),
}
LISTS = {
    "ratings": "a list is of several raters",
    "sets": "a list is one rater's response set",
    "counts": "the numbers count raters",
    "raters": "the numbers are ratings by rater",
}


def columns_block(plan: ImportPlan) -> list[str]:
    """Return the lines of the ``columns:`` block of a draft."""
    roles = {role: list(names) for role, names in plan.mapping.by_role().items()}
    return task_yaml([Field("columns", roles)]).splitlines()


def accepting(plan: ImportPlan) -> Iterator[tuple[str, list[str]]]:
    """Yield the options that accept the draft, then those of each other reading.

    Each stands behind what has to be so. None is yielded where the table itself has to be changed,
    and no reading of which only the user knows a part, such as an order.
    """
    if any(doubt.in_table for doubt in plan.doubts):
        return
    accepted: dict[str, object] = {}
    for doubt in plan.doubts:
        for name, value in doubt.accept.items():
            before = accepted.get(name, getattr(plan.settings, name))
            accepted[name] = _joined(before, value) if name in JOINED else value
    others = [other for doubt in plan.doubts for other in doubt.others]
    roles = [role for doubt in plan.doubts for role in doubt.about]
    unclear = dict.fromkeys(name for reading in (roles, accepted, *others) for name in reading)
    drafted = {name: _value(plan, name) for name in unclear} | accepted
    said: list[list[str]] = []
    for changes in ({}, *others):
        reading = drafted | dict(changes)
        words = _words(plan, accepted | dict(changes))
        if words not in said and not any(value in UNKNOWN for value in reading.values()):
            said.append(words)
            meanings = [phrase for name in unclear if (phrase := _meaning(name, reading[name]))]
            default = "it is not, perhaps" if changes else "it is right"
            yield f"If {', and '.join(meanings) or default}:", words


def _joined(before: object, value: object) -> object:
    """Return the labels of both, where both are several."""
    if isinstance(before, tuple) and isinstance(value, tuple):
        return (*before, *value)
    return value


def _value(plan: ImportPlan, name: str) -> object:
    """Return the columns of a role, or a setting, as the plan has it."""
    return getattr(
        plan.mapping if name in ColumnMapping.__dataclass_fields__ else plan.settings, name
    )


def _meaning(name: str, value: object) -> str:
    """Return what a role or a setting takes to be so; "" where it is plain or not given."""
    values = [str(v) for v in value if v] if isinstance(value, tuple) else [str(value or "")]
    one, several = MEANINGS.get(name, ("", ""))
    if not any(values) or values == [NONE]:
        return ""
    listed = names_of(values)
    return (
        LISTS.get(listed, "")
        if name == "lists"
        else (one if len(values) == 1 else several or one).format(listed)
    )


def _words(plan: ImportPlan, changes: Mapping[str, object]) -> list[str]:
    """Write the roles and settings of a plan as options, with changes."""
    roles = {
        name: value for name, value in changes.items() if name in ColumnMapping.__dataclass_fields__
    }
    mapping = plan.mapping.with_roles(roles)
    mapping = _without_repeats(mapping, roles)
    words: list[str] = []
    for role in fields(ColumnMapping):
        value = getattr(mapping, role.name)
        names = [value] if isinstance(value, str) else list(value)
        names = [name for name in names if name]
        said = names or role.name in ALWAYS or (role.name in roles and role.name == "pattern")
        if role.name not in UNSAID and said:
            words += _option(f"--{role.name.replace('_', '-')}", names or [NONE])
    for name, setting in options_of(AnswerSettings).items():
        value = changes.get(name, getattr(plan.settings, name))
        if value and value != setting.default:
            words += _setting(setting.flag, value)
    return words


def _without_repeats(mapping: ColumnMapping, roles: Mapping[str, object]) -> ColumnMapping:
    """Leave out of other roles the columns that a change gave a role."""
    moved = {
        n for value in roles.values() for n in (value if isinstance(value, tuple) else (value,))
    }
    kept = {
        role.name: tuple(n for n in getattr(mapping, role.name) if n not in moved)
        for role in fields(ColumnMapping)
        if role.name in {"text", "criteria", "sets"} and role.name not in roles
    }
    return mapping.with_roles(kept)


def _option(flag: str, values: Sequence[str]) -> list[str]:
    if any("," in value for value in values):
        return [word for value in values for word in (flag, value)]
    return [flag, ",".join(values)]


def _setting(flag: str, value: object) -> list[str]:
    if flag == "--rename" and isinstance(value, tuple):
        return [word for pair in value for word in (flag, pair)]
    if flag == "--bounds" and isinstance(value, tuple):
        return [flag, ",".join(f"{number:g}" for number in value)]
    if isinstance(value, tuple):
        return _option(flag, value)
    return [flag, str(value).replace("\n", "\\n")]
