"""Verdicts in results of promptfoo (``promptfoo eval --output results.json``).

A provider is a judge and its output the verdict; with several prompts, each provider with each
prompt. The item is a variable of the test. Repeats are numbered as they stand in the file.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from harness.curation.verdict_sources.verdict_entries import Entry, id_column
from harness.judging.parsing.external_verdicts import is_empty, key_text
from harness.tasks.tables.checks import PlaceError, check_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.curation.verdict_sources.verdict_entries import Selection
    from harness.judging.parsing.grammar import Outcome

ERROR = 2  # failureReason: 0 none, 1 an assertion failed, 2 an error


class PromptfooProvider(BaseModel):
    """The provider of a result."""

    id: str = ""
    label: str | None = None


class PromptfooResponse(BaseModel):
    """What the provider sent."""

    output: Any = None
    error: str | None = None
    isRefusal: bool = False  # noqa: N815 -- the format's name


class PromptfooResult(BaseModel):
    """The result of a test with a prompt and a provider."""

    promptIdx: int = 0  # noqa: N815 -- the format's name
    provider: PromptfooProvider
    vars: dict[str, Any] = {}
    response: PromptfooResponse | None = None
    failureReason: int = 0  # noqa: N815 -- the format's name

    @property
    def outcome(self) -> Outcome | None:
        """Why there is no verdict; None if there is an output."""
        response = self.response
        if response and response.isRefusal:
            return "refused"
        if response is None or response.error or self.failureReason == ERROR:
            return "failed"
        return "invalid" if is_empty(response.output) else None


class PromptfooSummary(BaseModel):
    """The summary of an evaluation."""

    results: list[PromptfooResult]


class PromptfooFile(BaseModel):
    """A file of results."""

    results: PromptfooSummary


def promptfoo_entries(path: Path, selection: Selection) -> Iterator[Entry]:
    """Yield the verdicts of a file of results.

    Raises
    ------
    PlaceError
        If it is no such file, or no variable names the item.
    """
    check_size(path, selection.limits)
    try:
        results = PromptfooFile.model_validate_json(path.read_bytes()).results.results
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise PlaceError("", f"is no result of promptfoo ({place}: {first['msg']}).") from None
    if not results:
        raise PlaceError("", "holds no results.")
    yield from _entries(results, selection)


def _entries(results: list[PromptfooResult], selection: Selection) -> Iterator[Entry]:
    variable = id_column(results[0].vars, selection)
    several = len({result.promptIdx for result in results}) > 1
    repeats: Counter[tuple[str, str]] = Counter()
    for number, result in enumerate(results, 1):
        source = result.provider.label or result.provider.id
        if several:
            source = f"{source} (prompt {result.promptIdx + 1})"
        item = key_text(result.vars.get(variable)) or ""
        yield Entry(
            line=number,
            item=item,
            source=source,
            judge=source,
            value=None if result.outcome else result.response and result.response.output,
            outcome=result.outcome,
            sample=repeats[item, source],
        )
        repeats[item, source] += 1
