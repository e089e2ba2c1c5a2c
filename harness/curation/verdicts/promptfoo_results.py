"""Reader for verdicts in promptfoo results (``promptfoo eval --output results.json``).

A provider is a judge, and its output is the verdict. With several prompts, each combination of
provider and prompt is a judge. If an assertion such as ``llm-rubric`` graded the output, the grader
is also a judge. Its source is the assertion's metric or type, with the value ``pass`` or ``fail``.
The source ``SOURCE.score`` contains its score. Graders are read only if the user names them. The
item is a variable of the test. Repeats are numbered in file order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from harness.curation.verdicts.verdict_entries import Entry, id_column
from harness.errors import fault_of
from harness.files.json_values import JsonObject
from harness.files.tables.checks import LIMITS, PlaceError, check_size
from harness.judging.parsing.external_verdicts import is_empty, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.curation.verdicts.verdict_entries import Selection
    from harness.judging.parsing.grammar import Outcome

ERROR = 2  # failureReason: 0 none, 1 an assertion failed, 2 an error


class PromptfooProvider(BaseModel):
    """The provider that gave a result."""

    id: str = ""
    label: str | None = None


class PromptfooResponse(BaseModel):
    """The provider's response."""

    output: Any = None
    error: str | None = None
    isRefusal: bool = False  # noqa: N815 -- the format's name


class PromptfooAssertion(BaseModel):
    """A requirement on an output."""

    type: str
    metric: str | None = None


class PromptfooGrade(BaseModel):
    """An assertion's result."""

    passes: bool = Field(alias="pass")
    score: float | None = None
    assertion: PromptfooAssertion | None = None


class PromptfooGrading(BaseModel):
    """The results of all assertions about an output."""

    componentResults: list[PromptfooGrade] | None = None  # noqa: N815 -- the format's name

    def values(self) -> dict[str, object]:
        """Return each assertion's result and score by source."""
        values: dict[str, object] = {}
        numbers: Counter[str] = Counter()
        for grade in self.componentResults or ():
            if grade.assertion is not None:
                name = grade.assertion.metric or grade.assertion.type
                numbers[name] += 1
                source = name if numbers[name] == 1 else f"{name} {numbers[name]}"
                values[source] = "pass" if grade.passes else "fail"
                values[f"{source}.score"] = grade.score
        return values


class PromptfooResult(BaseModel):
    """The result of a test for one prompt and provider."""

    promptIdx: int = 0  # noqa: N815 -- the format's name
    provider: PromptfooProvider
    vars: JsonObject = {}
    response: PromptfooResponse | None = None
    failureReason: int = 0  # noqa: N815 -- the format's name
    gradingResult: PromptfooGrading | None = None  # noqa: N815 -- the format's name

    @property
    def grades(self) -> dict[str, object]:
        """The assertions' values by source."""
        return self.gradingResult.values() if self.gradingResult else {}

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of a result without a verdict, or None if the result has an output."""
        response = self.response
        if response and response.isRefusal:
            return "refused"
        if response is None or response.error or self.failureReason == ERROR:
            return "failed"
        return "invalid" if is_empty(response.output) else None


class PromptfooSummary(BaseModel):
    """An evaluation's summary."""

    results: list[PromptfooResult]


class PromptfooFile(BaseModel):
    """A results file."""

    results: PromptfooSummary


def promptfoo_entries(path: Path, selection: Selection) -> Iterator[Entry]:
    """Yield the verdicts in a results file."""
    check_size(path, LIMITS)
    try:
        results = PromptfooFile.model_validate_json(path.read_bytes()).results.results
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise PlaceError(f"isn't a promptfoo results file ({place}: {problem}).") from None
    if not results:
        raise PlaceError("has no results. Run the evaluation again.")
    yield from _entries(results, selection)


def _entries(results: list[PromptfooResult], selection: Selection) -> Iterator[Entry]:
    variable = id_column(results[0].vars, selection)
    several = len({result.promptIdx for result in results}) > 1
    systems = [_system(result, several=several) for result in results]
    graders = dict.fromkeys(grader for result in results for grader in result.grades)
    repeats: Counter[tuple[str, str]] = Counter()
    for number, (result, system) in enumerate(zip(results, systems, strict=True), 1):
        item = key_text(result.vars.get(variable)) or ""
        entry = Entry(
            line=number,
            item=item,
            source=system,
            value=None if result.outcome else result.response and result.response.output,
            outcome=result.outcome,
            sample=repeats[item, system],
        )
        repeats[item, system] += 1
        yield entry
        prefix = f"{system}: " if len(set(systems)) > 1 else ""
        for grader in graders:
            yield replace(
                entry,
                source=prefix + grader,
                judge=grader.removesuffix(".score"),
                value=result.grades.get(grader),
                outcome=None if grader in result.grades else "failed",
                optional=True,
            )


def _system(result: PromptfooResult, *, several: bool) -> str:
    """Return the provider's name, with the prompt if there are several prompts."""
    name = result.provider.label or result.provider.id
    return f"{name} (prompt {result.promptIdx + 1})" if several else name
