"""Reader for verdicts in output and error files from OpenAI's batch interface (``.jsonl``).

The model is the judge, and its reply's text is the verdict. ``custom_id`` is the item's id, or
matches a pattern such as ``rate-{item}`` or ``{item}/{sample}``. Both chat completions and
responses are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from harness.curation.verdicts.verdict_entries import Entry, content_text
from harness.errors import fault_of
from harness.files.json_values import JsonObject
from harness.files.tables import read_rows
from harness.files.tables.checks import PlaceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.curation.verdicts.verdict_entries import Selection
    from harness.judging.parsing.grammar import Outcome

OK = 200
COLUMNS = ("custom_id", "response")
ITEM, SAMPLE = "{item}", "{sample}"


class BatchMessage(BaseModel):
    """A model's message in a chat completion or a response."""

    content: Any = None
    refusal: str | None = None

    def verdict(self) -> tuple[str | None, Outcome | None]:
        """Return the text, or the outcome if there is no text."""
        parts = self.content if isinstance(self.content, list) else []
        if self.refusal or any(
            isinstance(part, dict) and part.get("type") == "refusal" for part in parts
        ):
            return None, "refused"
        text = content_text(self.content)
        return (text, None) if text else (None, "invalid")


class BatchChoice(BaseModel):
    """A choice from a chat completion."""

    index: int = 0
    message: BatchMessage


class BatchBody(BaseModel):
    """Body of a chat completion or a response."""

    model: str = ""
    choices: list[BatchChoice] = []
    output: list[JsonObject] = []

    def messages(self) -> Iterator[tuple[int, BatchMessage]]:
        """Yield each choice's number and message."""
        for choice in self.choices:
            yield choice.index, choice.message
        for part in self.output:
            if part.get("type") == "message":
                yield 0, BatchMessage.model_validate(part)


class BatchResponse(BaseModel):
    """Response to a request."""

    status_code: int
    body: Any = None


class BatchLine(BaseModel):
    """A line of an output or error file."""

    custom_id: str
    response: BatchResponse | None = None


def batch_entries(path: Path, selection: Selection) -> Iterator[Entry]:
    """Yield the verdicts in an output or error file."""
    pattern = _pattern(selection.item_id or ITEM)
    for line, row in read_rows(path, required=COLUMNS):
        try:
            yield from _entries(line, BatchLine.model_validate(row), pattern)
        except ValidationError as error:
            place, problem = fault_of(error)[:2]
            raise PlaceError(
                f"isn't a line from a batch ({place}: {problem}).", f"line {line}"
            ) from None


def _pattern(text: str) -> re.Pattern[str]:
    """Compile the pattern for ``custom_id``."""
    if text.count(ITEM) != 1 or text.count(SAMPLE) > 1:
        raise PlaceError(f"--id: found {text!r}. Write {ITEM} in place of the item's name.")
    pattern = re.escape(text).replace(re.escape(ITEM), "(?P<item>.+)")
    return re.compile(pattern.replace(re.escape(SAMPLE), "(?P<sample>[0-9]{1,9})"))


def _entries(line: int, entry: BatchLine, pattern: re.Pattern[str]) -> Iterator[Entry]:
    match = pattern.fullmatch(entry.custom_id)
    names = match.groupdict() if match else {}
    item, sample = names.get("item", entry.custom_id), int(names.get("sample", 0))
    response = entry.response
    if response is None or response.status_code != OK:
        yield Entry(line=line, item=item, source="", outcome="failed", sample=sample)
        return
    body = BatchBody.model_validate(response.body)
    messages = list(body.messages())
    if not messages:
        messages = [(0, BatchMessage())]
    for index, message in messages:
        text, outcome = message.verdict()
        yield Entry(
            line=line,
            item=item,
            source=body.model,
            value=text,
            outcome=outcome,
            sample=sample + index,
        )
