"""Replace raters' names with pseudonyms (r1, r2 and so on) in files to share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from harness.analysis.recommendation_checks import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from harness.analysis import Validation

Part = TypeVar("Part")

PSEUDONYM = re.compile(r"r\d+")
OF_RATERS = {"rater", "raters", "untested"}  # fields with names of raters, as values or keys
COPYING = "copies_a_rater"  # check that compares with a rater


def pseudonyms(names: Iterable[str], *, show_raters: bool = False) -> dict[str, str]:
    """Return each rater's displayed name.

    Parameters
    ----------
    names : iterable of str
        The raters' names in the ratings.
    show_raters : bool
        Whether raters keep these names. They also keep them if each is already r and a number.
    """
    ordered = sorted(set(names))
    if show_raters or all(map(PSEUDONYM.fullmatch, ordered)):
        return {name: name for name in ordered}
    return {name: f"r{number}" for number, name in enumerate(ordered, start=1)}


def with_pseudonyms(part: Part, shown: Mapping[str, str]) -> Part:
    """Return a validation, or part of one, with different names for its raters.

    Parameters
    ----------
    part : Validation or a part of one
        Object to change. Only fields with raters are replaced.
    shown : mapping of str to str
        Names to show, from `pseudonyms`.
    """
    if all(name == other for name, other in shown.items()):
        return part
    return cast("Part", _renamed(part, shown))


def named_as_in_reports(v: Validation, raters: Mapping[str, str] | None) -> Validation:
    """Return a validation with the given raters' names, or with r1, r2 and so on for None."""
    return with_pseudonyms(v, pseudonyms(raters_in(v)) if raters is None else raters)


def raters_in(part: object) -> set[str]:
    """Return the raters' names in a validation or in part of one."""
    return set(_names(part))


def _renamed(part: object, shown: Mapping[str, str]) -> object:
    if is_dataclass(part) and not isinstance(part, type):
        changes = {
            field.name: new
            for field in fields(part)
            if (new := _renamed_field(part, field.name, shown)) is not getattr(part, field.name)
        }
        return replace(part, **changes) if changes else part
    if isinstance(part, Mapping):
        new = {key: _renamed(value, shown) for key, value in part.items()}
        return new if any(new[key] is not value for key, value in part.items()) else part
    if isinstance(part, tuple):
        return _same_kind(part, [_renamed(member, shown) for member in part])
    return part


def _renamed_field(part: object, name: str, shown: Mapping[str, str]) -> object:
    value = getattr(part, name)
    if name == "warnings":
        return _same_kind(value, [_renamed_in_list(text, shown) for text in value])
    is_rival = name == "rival" and isinstance(part, Check) and part.kind == COPYING
    if name not in OF_RATERS and not is_rival:
        return _renamed(value, shown)
    if isinstance(value, str):
        return (
            value if name == "raters" else shown.get(value, value)
        )  # of the same type as the raters
    if isinstance(value, Mapping):
        return {shown.get(key, key): member for key, member in value.items()}
    if isinstance(value, tuple):
        members = [shown.get(m, m) if isinstance(m, str) else _renamed(m, shown) for m in value]
        return _same_kind(value, members)
    return value


def _renamed_in_list(text: str, shown: Mapping[str, str]) -> str:
    """Replace the names in a warning that ends with a list of raters."""
    longest_first = sorted(shown, key=len, reverse=True)
    listed = re.compile(rf"(?<= )({'|'.join(map(re.escape, longest_first))})(?=,|$| \(\d+\)| had )")
    new = listed.sub(lambda match: shown[match[1]], text)
    return text if new == text else new


def _same_kind(part: tuple[object, ...], members: list[object]) -> tuple[object, ...]:
    """Return the members as the original tuple's type, or that tuple if no member changed."""
    if all(new is old for new, old in zip(members, part, strict=True)):
        return part
    make: Callable[..., tuple[object, ...]] = type(part)
    return make(*members) if hasattr(part, "_fields") else tuple(members)


def _names(part: object, field: str = "") -> Iterator[str]:
    if isinstance(part, str):
        yield from [part] if field in OF_RATERS else []
    elif is_dataclass(part) and not isinstance(part, type):
        for member in fields(part):
            value = getattr(part, member.name)
            if not (
                member.name == "raters" and isinstance(value, str)
            ):  # of the same type as the raters
                yield from _names(value, member.name)
    elif isinstance(part, Mapping):
        yield from part if field in OF_RATERS else []
        for value in part.values():
            yield from _names(value)
    elif isinstance(part, tuple):
        for member in part:
            yield from _names(member, field)
