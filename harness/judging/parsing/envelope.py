"""Removal of thinking, channels and chat-template tokens around a judge's own words.

Servers that do not know a model's format pass these on as text. Thinking is recognised by tags,
from any of the model families below, and by the channels of gpt-oss. A reply whose thinking does
not end was cut off before its answer.
"""

from __future__ import annotations

import re

THOUGHT = "<think>"  # prefix of a body whose thinking doesn't end
_THINKING = (
    r"(?:[a-z]{2,8}:)?(?:think(?:ing)?|thoughts?|reasoning|analysis|reflection|cot"
    r"|scratch_?pad|(?:internal|inner)_?(?:monologue|thoughts?))"
)
_REASONS = r"(?:reasons?|rationale|explanation|critique|feedback)"
_FIRST, _LAST = r"(?:begin_of_|start_)?", r"(?:end_of_|end_|/)"
_OPENING = (
    rf"<{_THINKING}(?:\s[^<>\n]{{0,80}})?>|<\|{_FIRST}{_THINKING}\|>|\[think(?:ing)?\]"
    rf"|\u25c1{_THINKING}\u25b7"
)
_CLOSING = rf"</{_THINKING}>|<\|{_LAST}{_THINKING}\|>|\[/think(?:ing)?\]|\u25c1/{_THINKING}\u25b7"
OPENING = re.compile(_OPENING, re.IGNORECASE)
CLOSING = re.compile(_CLOSING, re.IGNORECASE)
UNCLOSED = re.compile(rf"^[ \t]*(?:{_OPENING})", re.IGNORECASE | re.MULTILINE)
BLOCK = re.compile(
    rf"(?:^[ \t]*|(?<=[>\]\u25b7]))(?:(?:{_OPENING}).*?(?:{_CLOSING})"
    rf"|<(?P<name>{_REASONS})>.*?</(?P=name)>)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
LAST_TAG = re.compile(rf"{_CLOSING}|</{_REASONS}>", re.IGNORECASE)
ROLES = r"(?:assistant|model|bot|gpt|chatbot)"
TOKEN = (
    rf"(?:<\|(?!(?:{_FIRST}|{_LAST}){_THINKING}\|)[^|<>\s]{{1,40}}\|>|<\uff5c[^\uff5c<>\s]{{1,40}}\uff5c>|</?s>|<(?:start|end)_of_turn>"
    r"|</?(?:eos|bos|pad|unk)>|\[/?INST\])"
)
LEADING_TOKENS = re.compile(rf"(?:\s*{TOKEN}(?:{ROLES}(?=\s|<))?)+\s*", re.IGNORECASE)
OWN_ROLE = re.compile(r"\A(?:assistant|judge|evaluator)[ \t]*:[ \t]*(?=\S)", re.IGNORECASE)
LAST_TOKEN = re.compile(rf"{TOKEN}(?=\s*(?:\Z|\n|<|\[))", re.IGNORECASE)
FINAL_CHANNEL = re.compile(
    r"<\|channel\|>\s*final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
BARE_CHANNELS = re.compile(r"(?:assistant)?(?:analysis|commentary)(?=[^\sa-z:])|assistantfinal")
THOUGHT_BEFORE = re.compile(r"<unused94>(?:thought)?")
THOUGHT_AFTER = re.compile(r"<unused95>")
SOLUTION = re.compile(r"<\|(?:begin|start|end)_of_(?:solution|answer|response)\|>")
THOUGHT_TIME = re.compile(r"\AThought for [^\n]{1,40}\n+")
BARE_FINAL = "assistantfinal"


def thinks_first(text: str) -> bool:
    """Return whether a reply has tags for thinking, regardless of the model's name."""
    return ("<" in text or "[" in text) and bool(OPENING.search(text) or CLOSING.search(text))


def own_words(text: str) -> str:
    """Remove thinking and template tokens. Unfinished thinking stays, marked by `THOUGHT`."""
    body = OWN_ROLE.sub("", text.strip())
    if "<unused" in body or "_of_" in body or body.startswith("Thought for"):
        body = SOLUTION.sub(
            "\n", THOUGHT_AFTER.sub("</think>", THOUGHT_BEFORE.sub("<think>", body))
        )
        body = THOUGHT_TIME.sub("", body).strip()
    if "<" in body or "[" in body or "\u25c1" in body:
        return _without_tokens(_without_thinking(_without_tokens(_final_channel(body))))
    if BARE_CHANNELS.match(body):
        _, final, answer = body.rpartition(BARE_FINAL)
        return answer.strip() if final else THOUGHT + body
    return body


def _final_channel(body: str) -> str:
    """Return a gpt-oss reply's final channel, or other replies unchanged.

    Without a final channel, the reply is marked as unfinished thinking.
    """
    if "<|channel|>" not in body:
        return body
    *_, final = [None, *FINAL_CHANNEL.finditer(body)]
    return body[final.end() :] if final else THOUGHT + body


def _without_tokens(body: str) -> str:
    """Remove leading chat-template tokens, and cut the reply at the next token."""
    if leading := LEADING_TOKENS.match(body):
        body = body[leading.end() :]
    last = LAST_TOKEN.search(body)
    return (body[: last.start()] if last else body).strip()


def _without_thinking(body: str) -> str:
    """Remove thinking blocks at line starts, and the text before an unpaired closing tag."""
    end = max((match.end() for match in LAST_TAG.finditer(body)), default=0)
    said = BLOCK.sub("\n", body[:end]) if end else ""
    if not OPENING.search(said):
        said = said[max((match.end() for match in CLOSING.finditer(said)), default=0) :]
    body = (said + body[end:]).strip()
    return THOUGHT + body if UNCLOSED.search(body) else body
