"""Function calls that a model writes as text, reduced to their arguments as JSON.

Models that were given no tools still write calls, each family in its own format, and servers that
do not know a format pass it on as text: ``<tool_call>{"name": ..., "arguments": {...}}``,
``[TOOL_CALLS] [...]``, ``submit(verdict="A")``. The verdict is among the arguments.
"""

from __future__ import annotations

import json
import re

from harness.judging.parsing.answer_names import role
from harness.judging.parsing.json_verdicts import ARGUMENTS, decoded_members

MAX_CALL = 4_000  # maximum characters of a call
CALLS = ("call", "<function", "<invoke", "(", '"function"')  # at least one occurs in every call
TAGGED = re.compile(
    r"<(?P<tag>(?:tool|function)_calls?|function)(?:=[\w.-]+)?(?:\s[^<>\n]{0,80})?>\s*"
    rf"(?P<call>[\[{{][^<]{{1,{MAX_CALL}}}[\]}}])\s*(?:</(?P=tag)>|\Z)"
)
MARKED = re.compile(
    r"^[ \t]*(?:\[TOOL_CALLS?\]|<\|tool_calls?\|>|(?:tool|function)_calls?:)\s*(?:[\w.]+\s*)?"
    r"(?:\[ARGS\]\s*)?"
    rf"(?P<call>[\[{{].{{1,{MAX_CALL}}}[\]}}])\s*\Z",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
INVOKED = re.compile(
    r"^[ \t]*(?:(?:tool_|function_)?call\s*:\s*)?(?P<name>[a-z][\w.]{2,40})"
    r"\((?P<arguments>[^()\n]{1,400})\)[ \t]*;?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
ELEMENT = re.compile(
    r"(?:<function_calls>\s*)?<invoke\s[^<>\n]{1,80}>(?P<inner>.{1,4000}?)</invoke>\s*(?:</function_calls>)?",
    re.DOTALL,
)
PARAMETER = re.compile(
    r"<parameter\sname=[\"'](?P<name>[\w-]{1,40})[\"']>(?P<value>[^<>]*)</parameter>"
)
KEYWORD = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w*)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[\w.+-]+))\s*(?:,|\Z)"
)
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def with_arguments(body: str) -> str:
    """Replace each function call in a reply with its arguments on a separate line.

    Examples
    --------
    >>> with_arguments('submit_verdict(verdict="A")')
    '{"verdict": "A"}'
    """
    if not any(sign in body for sign in CALLS) and "[TOOL" not in body:
        return body
    for pattern in (TAGGED, MARKED):
        body = pattern.sub(lambda match: _as_line(match["call"], match[0]), body)
    body = ELEMENT.sub(_of_element, body)
    body = INVOKED.sub(_of_invocation, body)
    whole = _arguments(body) if '"function"' in body else body
    return (whole or body).strip()


def _as_line(call: str, unchanged: str) -> str:
    arguments = _arguments(call)
    return f"\n{arguments}\n" if arguments else unchanged


def _arguments(call: str) -> str:
    """Return the arguments of a JSON function call, which can be in a list or an object."""
    call = call.strip()
    if call.startswith("["):
        call = call[1:-1].strip()
    members = decoded_members(call)
    for name in ("function", *ARGUMENTS):
        value = members.get(name)
        if isinstance(value, dict):
            return _arguments(json.dumps(value)) if name == "function" else json.dumps(value)
        if isinstance(value, str) and value.startswith("{"):
            return value
    return "" if "name" in members or not members else call


def _of_element(element: re.Match[str]) -> str:
    members = {match["name"]: match["value"] for match in PARAMETER.finditer(element["inner"])}
    return f"\n{json.dumps(members)}\n" if members else element[0]


def _of_invocation(call: re.Match[str]) -> str:
    """Convert a call such as ``name(key="value")`` or ``verdict("value")`` to JSON arguments."""
    text = call["arguments"].strip()
    if text.startswith("{"):
        return text
    members, place = {}, 0
    while keyword := KEYWORD.match(text, place):
        members[keyword["name"]] = keyword["double"] or keyword["single"] or keyword["bare"]
        place = keyword.end()
    if members and place == len(text):
        return json.dumps(members)
    *_, last = call["name"].split("_")
    is_answer = QUOTED.fullmatch(text) and role(last) in {"answer", "score"}
    return json.dumps({last: text[1:-1]}) if is_answer else call[0]
