"""Search for the request parameter that a server rejects, and the remedy.

A rejection concerns a parameter if it names one that was sent. The request determines the names to
look for, so the wording of the rejection does not matter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.judging.strategies.strategy import TOKEN_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

REFUSED = "refused_parameter:"  # prefix of the reasons for requests with a rejected parameter
OTHER_NAMES = {  # names in the protocols that litellm writes, and in messages
    **dict.fromkeys(
        TOKEN_LIMITS,
        (
            *TOKEN_LIMITS,
            "max_output_tokens",
            "max_new_tokens",
            "max_tokens_to_sample",
            "max_gen_len",
            "num_predict",
        ),
    ),
    "logprobs": ("logprobs", "response_logprobs"),
    "n": ("candidate_count", "num_return_sequences", "multiple candidates", "multiple completions"),
    "reasoning_effort": ("reasoning_effort", "thinking", "reasoning.effort"),
    "response_format": (
        "response_format",
        "json_schema",
        "json_object",
        "json_mode",
        "response_schema",
        "response_json_schema",
        "response_mime_type",
        "output_config",
        "output_format",
        "structured_output",
        "guided_json",
        "guided_decoding",
        "grammar",
    ),
    "stop": ("stop_sequences",),
    "top_logprobs": ("top_logprobs", "logprobs"),
}
COMMON_WORDS = frozenset({"metadata", "n", "stop", "store", "think", "user"})
JOINTS = re.compile(r"[\s_\-.]+")
AND = "+"
TOGETHER = re.compile(
    r"\b(?:both|together|at the same time|simultaneously|mutually exclusive|only one of)\b"
)
SHORT = 6  # minimum letters in a name; shorter ones are searched for as whole words
ANOTHER_WAY = {  # parameters that a strategy needs, with that strategy
    "response_format": "json",
    "logprobs": "logprob",
    "top_logprobs": "logprob",
}


def named_parameter(field: str, message: str, sent: Iterable[str]) -> str:
    """Return the sent parameter that a rejection names, or "" if none is named.

    Parameters that a server does not accept together are joined by `AND`.

    Parameters
    ----------
    field : str
        The name in a separate field of the error, such as OpenAI's ``param``; it takes precedence.
    message : str
        The rejection's texts, in lower case.
    sent : iterable of str
        Names of the parameters of the request.

    Examples
    --------
    >>> named_parameter("", "this response_format type is unavailable now", ["response_format"])
    'response_format'
    >>> named_parameter("", "max_completion_tokens: input should be below 9", ["max_tokens", "n"])
    'max_tokens'
    >>> named_parameter("messages", "roles must alternate", ["temperature", "n"])
    ''
    >>> named_parameter("", "top_k and seed cannot both be set", ["seed", "top_k"])
    'top_k+seed'
    """
    names = tuple(sent)
    if TOGETHER.search(message) and len(clashing := _own_names(message, names)) > 1:
        return AND.join(clashing)
    for name in names:
        if any(squeezed(field.partition(".")[0]) == squeezed(text) for text in spellings(name)):
            return name
    places = [(*place, name) for name in names for place in _places(name, message)]
    return min(places)[2] if places else ""


def _own_names(message: str, names: Sequence[str]) -> list[str]:
    """Return the sent parameters that a message names, in the message's order."""
    places = [
        (place, name)
        for name in names
        for place, is_others in _places(name, message)
        if not is_others
    ]
    return [name for _, name in sorted(places)]


def spellings(name: str) -> tuple[str, ...]:
    """Return a parameter's name and its alternative names."""
    return (name, *OTHER_NAMES.get(name, ()))


def squeezed(text: str) -> str:
    """Convert a text to lower case, and remove its blanks, underscores, hyphens and periods."""
    return JOINTS.sub("", text.lower())


def _places(name: str, message: str) -> Iterator[tuple[int, bool]]:
    """Yield each spelling's first position, and whether it is a different parameter's name."""
    for spelling in spellings(name):
        letters = r"[\s_\-.]*".join(map(re.escape, squeezed(spelling)))
        if spelling in COMMON_WORDS:
            pattern = rf"['\"`\[]{letters}['\"`\]]|\b{letters}\s*[=>]|parameter:?\s+{letters}\b"
        elif len(spelling) < SHORT:
            pattern = rf"(?<![a-z]){letters}(?![a-z])"
        else:
            pattern = letters
        if match := re.search(pattern, message):
            yield match.start(), spelling != name


def refused_meaning(reason: str) -> str:
    """Explain which parameter a server rejects, and how to remove it."""
    name = reason.removeprefix(REFUSED)
    if AND in name:
        names = name.split(AND)
        ways = " or ".join(f"`params: {{{each}: null}}`" for each in names)
        return (
            f"the server rejects {' together with '.join(names)}. Leave out one of them: add "
            f"{ways} to the judge in judges.yaml"
        )
    return f"the server rejects the parameter {name}. {_advice(name)}"


def _advice(name: str) -> str:
    leave_out = f"`params: {{{name}: null}}`"
    if (strategy := ANOTHER_WAY.get(name)) is None:
        return f"Leave out this parameter: add {leave_out} to the judge in judges.yaml"
    if name == "response_format":
        return (
            "Don't send a JSON schema: add `answer: plain` to the judge in judges.yaml, and "
            f"pass it without @{strategy}"
        )
    return (
        f"Pass the judge without @{strategy}, or if the server lists fewer tokens, add "
        "`params: {top_logprobs: 5}` to it in judges.yaml"
    )
