"""Parser for the verdict in a JSON reply with any field names.

The verdict is the value of a member with a name for verdicts (``verdict``, ``final_answer``,
``winner``), else of a member with a name for scores, else of the only remaining member whose value
is an answer (``{"coherence": 4}``). Several members with such names must agree. Objects in such a
member, or as the only entry of a list, are read in the same way.

Faulty JSON is read member by member: JSON that breaks off, or has single quotes, an extra comma or
unescaped quotes.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from harness.judging.parsing.answer_names import role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from harness.judging.parsing.option_matching import OptionIndices

    ReadValue: TypeAlias = Callable[[str], set[OptionIndices]]
    ReadFlag: TypeAlias = Callable[[str, bool], set[OptionIndices]]
    ReadList: TypeAlias = Callable[[Sequence[str]], set[OptionIndices]]

MAX_DEPTH = 12  # maximum brackets in a JSON reply
ARGUMENTS = frozenset(("arguments", "parameters"))  # names for arguments of a function call
KINDS = frozenset(("category", "class", "type"))  # names for a verdict's or its subject's kind
FLAGS = {"true": True, "yes": True, "false": False, "no": False}
BITS = ("0", "1")  # "no" and "yes"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
COMMENT = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?<![:\w])//[^\n]*|/\*.*?\*/', re.DOTALL)
OPENS_JSON = re.compile(r"""[\[{]|(["'])\w[\w -]{0,40}\1\s*:""")
OBJECT = re.compile(r"""(?:\[?\s*\{\s*)?(?:["'][^"'\n]*["']|(?<=[{\s])\w+)\s*:""")
LOOSE_MEMBER = re.compile(
    r"""(?<![\w"'])(?P<quote>["']?)(?P<name>\w[\w -]{0,40})(?P=quote)\s*:\s*"""
    r"""(?:"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>[^'\n]*)'|\[(?P<list>[^\[\]{}]*)\]"""
    r"""|(?P<bare>[-+.\w]+))\s*(?=[,}\n]|\Z)"""
)


def json_answers(
    form: str, read: ReadValue, read_list: ReadList, read_flag: ReadFlag
) -> set[OptionIndices] | None:
    """Return the answers in a JSON verdict, or None if the text is not JSON.

    Parameters
    ----------
    form : str
        A text.
    read, read_list : function
        Functions that return the answers in a string, and in a list of strings.
    read_flag : function
        Function that returns the answers implied by a name and its truth value.
    """
    reading = MemberReading(read, read_list, read_flag)
    if not OPENS_JSON.match(form):
        return None
    form = _without_comments(form)
    unquoted = STRING.sub('""', form)
    is_deep = unquoted.count("[") + unquoted.count("{") > MAX_DEPTH
    try:
        value = None if is_deep else _DECODER.decode(form)
    except DuplicateError:
        return set()
    except (ValueError, RecursionError):
        is_whole = form[0] not in "[{" or form[-1] in "]}"
        if not OBJECT.match(form):
            return None
        return _of_members(_loose_members(form), reading) if is_whole else set()
    answers = _answers(value, reading)
    return set() if answers is None and OBJECT.match(form) else answers


class MemberReading(NamedTuple):
    """Functions that parse the values of JSON fields. See `json_answers`."""

    value: ReadValue
    list: ReadList
    flag: ReadFlag


def _answers(value: object, reading: MemberReading) -> set[OptionIndices] | None:
    """Return the answers in a decoded value, or None if a value of its type has no answers."""
    if isinstance(value, bool):
        return reading.flag("", value)
    if isinstance(value, str):
        return _of_text(value, reading)
    if isinstance(value, dict):
        return _of_members(value.items(), reading)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return reading.list(value)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        parts = [_answers(part, reading) or set() for part in value]
        return {frozenset().union(*chain(*parts))} if all(len(p) == 1 for p in parts) else set()
    return None


def _of_text(value: str, reading: MemberReading) -> set[OptionIndices]:
    """Return the answers in a string, which can itself be JSON."""
    if value[:1] == "{":
        return json_answers(value, *reading) or set()
    return reading.value(value)


def _of_bit(value: object, reading: MemberReading) -> set[OptionIndices]:
    """Return the answers implied by 1, which means "yes", or 0, which means "no"."""
    return reading.flag("", value == "1")


def _of_members(
    members: Iterable[tuple[str, object]], reading: MemberReading
) -> set[OptionIndices]:
    """Return the answers in an object. There are several if its fields disagree."""
    members = list(members)
    if flagged := _flagged(members, reading.value):
        return flagged
    named: list[set[OptionIndices]] = []
    scores: list[set[OptionIndices]] = []
    others: list[set[OptionIndices]] = []
    is_weighed = False
    single: list[set[OptionIndices]] = []
    by_role = {"answer": named, "score": scores, "other": others}
    for name, value in members:
        kind = role(name)
        if name in ARGUMENTS and isinstance(value, dict):
            kind = "answer"
        flag = FLAGS.get(str(value).lower()) if kind == "other" else None
        if flag is not None and (answers := reading.flag(name, flag)):
            named.append(answers)
            continue
        is_weighing = kind == "other" and bool(reading.value(name))  # {"A": 0.7, "B": 0.3}
        is_weighed |= is_weighing
        if is_weighing or kind == "aside" or (kind == "other" and _is_nested(value)):
            if kind == "other" and isinstance(value, list) and len(value) == 1:
                single.append(_answers(value, reading) or set())  # of a single claim
            continue
        is_bit = kind in {"answer", "score"} and value in BITS
        answers = _answers(value, reading) or (_of_bit(value, reading) if is_bit else set())
        if answers or name.lower() not in KINDS:
            by_role[kind].append(answers)
    if (named and not all(named)) or (is_weighed and not named):
        return set()
    if named or any(scores):
        return set().union(*named, *scores)
    read_others = [answers for answers in (others if any(others) else single) if answers]
    return read_others[0] if len(read_others) == 1 and not scores else set()


def _is_nested(value: object) -> bool:
    """Return whether a value is an object, or a list with entries that are not strings."""
    parts = value if isinstance(value, list) else ()
    return isinstance(value, dict) or not all(isinstance(part, str) for part in parts)


def _flagged(members: Sequence[tuple[str, object]], read: ReadValue) -> set[OptionIndices]:
    """Return the answer in an object that accepts or rejects every option."""
    options = [read(name) for name, _ in members]
    flags = [FLAGS.get(str(value).lower()) for _, value in members]
    if len(members) < 2 or None in flags or any(len(option) != 1 for option in options):  # noqa: PLR2004 -- of several
        return set()
    chosen = [option.copy().pop() for option, flag in zip(options, flags, strict=True) if flag]
    return {frozenset().union(*chosen)} if chosen else set()


def decoded_members(form: str) -> dict[str, object]:
    """Return the readable fields of an object, even of invalid JSON, or {} if there are none."""
    form = _without_comments(form)
    try:
        value = _DECODER.decode(form)
    except DuplicateError:
        return {}
    except (ValueError, RecursionError):
        is_whole = form[-1:] == "}" and "{" not in form[1:]
        value = dict(_loose_members(form)) if is_whole else {}
    return value if isinstance(value, dict) else {}


def _without_comments(form: str) -> str:
    """Remove comments from JSON, but not from its strings."""
    if "//" not in form and "/*" not in form:
        return form
    return COMMENT.sub(lambda match: match["string"] or "", form).strip()


def _loose_members(form: str) -> Iterator[tuple[str, object]]:
    for match in LOOSE_MEMBER.finditer(form):
        parts = match["list"]
        value = match["double"] or match["single"] or match["bare"] or ""
        yield match["name"], value if parts is None else _list_parts(parts)


def _list_parts(text: str) -> list[str]:
    return [part.strip().strip("\"'") for part in text.split(",") if part.strip()]


class DuplicateError(ValueError):
    """Error for an object that has two fields with the same name."""


def no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the fields of a JSON object, or raise `DuplicateError` if a name is repeated."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise DuplicateError("two members have the same name")
    return members


def not_a_verdict(_: str) -> str:
    """Reject a JSON constant that cannot be a verdict, such as NaN."""
    raise ValueError("not a verdict")


_DECODER = json.JSONDecoder(
    object_pairs_hook=no_duplicates,
    parse_constant=not_a_verdict,
    parse_int=str,
    parse_float=str,
    strict=False,
)
