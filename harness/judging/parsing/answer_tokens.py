"""Log-probability entries for the tokens of a reply's answer.

Some servers also list the tokens of the hidden reasoning and its closing tag. The answer is the
visible text, so its tokens are the last ones, whose text equals it.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.parsing.envelope import own_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTROL = re.compile(rb"\s*(?:<\|[^|>]*\|>|</?[a-z_]+>|\[/?[A-Z_]+\])?\s*")  # <|im_end|>, </s>


class Token(NamedTuple):
    """Token: its bytes and the server's entry for it."""

    text: bytes
    entry: dict[str, object]


def tokens_of(logprobs: object) -> list[Token]:
    """Return the tokens that a server lists for a chat or text completion."""
    if not isinstance(logprobs, dict):
        return []
    content = logprobs.get("content")
    if isinstance(content, list) and content:
        return [Token(_bytes_of(entry), entry) for entry in content if isinstance(entry, dict)]
    return list(_of_completion(logprobs.get("tokens"), logprobs.get("top_logprobs")))


def answer_tokens(logprobs: object, text: str) -> list[Token]:
    """Return the tokens of a reply's answer, or [] if they do not match the text.

    Parameters
    ----------
    logprobs : JSON
        Log-probabilities as the server sent them.
    text : str
        Text of the reply. Thinking and chat-template tokens are not part of the answer.

    Examples
    --------
    >>> tokens = [{"token": token} for token in ("A", " note", "</think>", "B", "<|im_end|>")]
    >>> [token.text for token in answer_tokens({"content": tokens}, "B")]
    [b'B']
    """
    tokens = tokens_of(logprobs)
    while tokens and CONTROL.fullmatch(tokens[-1].text):
        tokens.pop()
    first = _first_of(b"".join(token.text for token in tokens), _encoded(own_words(text)), tokens)
    return [] if first is None else tokens[first:]


def _first_of(whole: bytes, answer: bytes, tokens: Sequence[Token]) -> int | None:
    """Return the index of an answer's first token, or None if the answer does not end the text."""
    whole = whole.rstrip()
    if not (answer and whole.endswith(answer)):
        return None
    begin = len(whole) - len(answer)
    ends = list(accumulate(len(token.text) for token in tokens))
    first = next(i for i, end in enumerate(ends) if end > begin)
    before = tokens[first].text[: begin - ends[first] + len(tokens[first].text)]
    return None if before.strip() else first


def _of_completion(texts: object, tops: object) -> Iterator[Token]:
    """Convert the tokens of a text completion to the form in chat completions."""
    if not (isinstance(texts, list) and isinstance(tops, list)):
        return
    for text, top in zip(texts, tops, strict=False):
        listed = top if isinstance(top, dict) else {}
        alternatives = [{"token": token, "logprob": value} for token, value in listed.items()]
        yield Token(_encoded(str(text)), {"top_logprobs": alternatives})


def _bytes_of(entry: dict[str, object]) -> bytes:
    """Return the bytes of a token, which can be part of a character."""
    listed = entry.get("bytes")
    if isinstance(listed, list) and all(type(n) is int and 0 <= n < 256 for n in listed):  # noqa: PLR2004 -- a byte
        return bytes(listed)
    return _encoded(str(entry.get("token", "")))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
