"""Estimates of a prompt's tokens, and bounds on their number, without a tokenizer."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.prompts.question import Message
    from harness.judging.prompts.requests import Request

IMAGE_TOKENS = 1_600  # about Anthropic's maximum for an image
MOST_IMAGE_TOKENS = 50_000  # gpt-4o-mini counts up to 48,169: 2,833, and 5,667 for each of 8 tiles
TEMPLATE_TOKENS = 256  # most that chat templates add to a prompt, including system prompts
SCHEMA_TOKENS = 1_000  # most that providers add to a prompt whose reply follows a schema
CHARS_PER_TOKEN = 8  # maximum characters per token of a word
NOTED_TOKENS = 100  # minimum number of missing tokens for a prompt to count as cut
WORD = re.compile(r"\w+")


def estimated_prompt_tokens(messages: Sequence[Message]) -> int:
    """Estimate a prompt's tokens: 1 per 4 bytes, 4 per message and 1,600 per image."""
    size = sum(math.ceil(len(m.content.encode()) / 4) + 4 for m in messages)
    return size + IMAGE_TOKENS * sum(m.image is not None for m in messages)


def cut_prompt_tokens(request: Request, n_counted: int) -> int | None:
    """Return a lower bound on a prompt's tokens if the server counted far fewer, or else None.

    Tokenizers split texts at blanks, so each word has at least one token, and a longer word at
    least one per eight characters. Far fewer means less than half of this minimum.
    """
    texts = [message.content for message in request.messages]
    least = sum(math.ceil(len(word) / CHARS_PER_TOKEN) for t in texts for word in WORD.findall(t))
    return least if least > max(2 * n_counted, n_counted + NOTED_TOKENS) else None


def most_prompt_tokens(request: Request) -> int:
    """Return an upper bound on the number of tokens in a prompt.

    A token covers at least one byte: tokenizers fall back to the bytes of the text or of its NFKC
    form. Anything a server adds (role markers, default system prompts, the schema of a reply) is
    bounded by constants.
    """
    n_tokens = TEMPLATE_TOKENS
    for message in request.messages:
        n_tokens += _most_text_tokens(message.content)
        n_tokens += MOST_IMAGE_TOKENS if message.image is not None else 0
    if schema := request.params.get("response_format"):
        n_tokens += SCHEMA_TOKENS + _most_text_tokens(json.dumps(schema))
    return n_tokens


def _most_text_tokens(text: str) -> int:
    if text.isascii():
        return len(text)
    return max(len(text.encode()), len(normalize("NFKC", text).encode()))
