"""The draft of an import that is asked about: its columns, and the options that accept it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from harness.option_declarations import options_of
from harness.tasks.columns.column_mapping import NONE, ColumnMapping
from harness.tasks.columns.table_answers import AnswerSettings
from harness.tasks.write import Field, task_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.curation.import_plan import ImportPlan

ALWAYS = ("id", "text", "judges")  # roles that are said even where no column has them
UNSAID = frozenset({"elicitation"})  # found by its name alone


def columns_block(plan: ImportPlan) -> list[str]:
    """Return the lines of the ``columns:`` block of a draft."""
    roles = {role: list(names) for role, names in plan.mapping.by_role().items()}
    return task_yaml([Field("columns", roles)]).splitlines()


def accepting(plan: ImportPlan) -> Iterator[list[str]]:
    """Yield the options that accept the draft, then those of each other reading.

    None where the table itself has to be changed.
    """
    if any(doubt.in_table for doubt in plan.doubts):
        return
    accepted: dict[str, Any] = {}
    for doubt in plan.doubts:
        for name, value in doubt.accept.items():
            together = isinstance(value, tuple) and name in {"ignore", "abstain", "rename"}
            before = accepted.get(name, getattr(plan.settings, name)) if together else ()
            accepted[name] = (*before, *value) if together else value
    readings = [accepted, *(accepted | dict(o) for doubt in plan.doubts for o in doubt.others)]
    said: list[list[str]] = []
    for reading in readings:
        words = _words(plan, reading)
        if words not in said:
            said.append(words)
            yield words


def _words(plan: ImportPlan, changes: Mapping[str, Any]) -> list[str]:
    """Write the roles and settings of a plan as options, with changes."""
    roles = {
        name: value for name, value in changes.items() if name in ColumnMapping.__dataclass_fields__
    }
    mapping = replace(plan.mapping, **roles)
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


def _without_repeats(mapping: ColumnMapping, roles: Mapping[str, Any]) -> ColumnMapping:
    """Leave out of other roles the columns that a change gave a role."""
    moved = {n for value in roles.values() for n in ([value] if isinstance(value, str) else value)}
    kept: dict[str, Any] = {
        role.name: tuple(n for n in getattr(mapping, role.name) if n not in moved)
        for role in fields(ColumnMapping)
        if role.name in {"text", "criteria", "sets"} and role.name not in roles
    }
    return replace(mapping, **kept)


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
