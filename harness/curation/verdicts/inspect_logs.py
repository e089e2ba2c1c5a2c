"""Reader for verdicts in inspect_ai logs (``.eval`` and ``.json``).

A scorer can be a judge. Its source is the scorer's name, or ``SCORER.KEY`` if it gives several
values. The evaluated model can also be the judge. Its source is then ``completion``, or
``SCORER.answer`` for the answer that a scorer extracted. These two sources are read only if the
user names them. An epoch is a sample.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from harness.curation.verdicts.verdict_entries import Entry, content_text
from harness.errors import fault_of
from harness.files.json_values import JsonObject
from harness.files.tables.checks import LIMITS, PlaceError, check_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.curation.verdicts.verdict_entries import Selection

HEADERS = ("header.json", "_journal/start.json", "start.json")
SAMPLES = "samples/"


class InspectScore(BaseModel):
    """A scorer's value for a sample, and the answer that it extracted from the completion."""

    value: Any = None
    answer: str | None = None


class InspectChoice(BaseModel):
    """A choice in a model's output."""

    message: JsonObject = {}


class InspectOutput(BaseModel):
    """The evaluated model's output."""

    completion: str = ""
    choices: list[InspectChoice] = []

    @property
    def text(self) -> str | None:
        """The completion or, if the log contains none, the first choice's text."""
        if self.completion or not self.choices:
            return self.completion or None
        return content_text(self.choices[0].message.get("content"))


class InspectSample(BaseModel):
    """A sample in one of a log's epochs, which are numbered from 1."""

    id: int | str
    epoch: int = 1
    output: InspectOutput = InspectOutput()
    scores: dict[str, InspectScore] | None = None
    error: Any = None

    def values(self) -> Iterator[tuple[str, object, bool]]:
        """Yield each source and value, and whether the source is optional."""
        for scorer, score in (self.scores or {}).items():
            if isinstance(score.value, dict):
                yield from ((f"{scorer}.{key}", value, False) for key, value in score.value.items())
            else:
                yield scorer, score.value, False
            if score.answer is not None:
                yield f"{scorer}.answer", score.answer, True
        if self.output.text is not None:
            yield "completion", self.output.text, True


class InspectSpec(BaseModel):
    """The evaluation, including the evaluated model."""

    model: str


class InspectHeader(BaseModel):
    """The part of a log that all samples share."""

    eval: InspectSpec


class InspectLog(InspectHeader):
    """A log in JSON."""

    samples: list[InspectSample] | None = None


def inspect_entries(path: Path, _: Selection) -> Iterator[Entry]:
    """Yield a log's verdicts. If a sample lacks a source's value, that source failed."""
    try:
        model, samples = _read(path)
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise PlaceError(
            f"isn't an inspect_ai log ({place}: {problem}). Other supported JSON is a list "
            "of rows, or promptfoo results.",
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise PlaceError(f"is damaged ({type(error).__name__}). Copy the file again.") from None
    except NotImplementedError:
        raise PlaceError(
            "its compression can't be read. Convert the log with `inspect log convert --to json`."
        ) from None
    if not samples:
        raise PlaceError("has no samples. Log the evaluation with its samples.")
    yield from _entries(samples, model)


def _read(path: Path) -> tuple[str, list[InspectSample]]:
    """Read the evaluated model and the samples from a log."""
    check_size(path, LIMITS)
    if path.suffix.lower() == ".json":
        log = InspectLog.model_validate_json(path.read_bytes())
        return log.eval.model, log.samples or []
    with zipfile.ZipFile(path) as archive:
        if sum(part.file_size for part in archive.infolist()) > LIMITS.n_bytes:
            raise PlaceError(f"unpacks to more than {LIMITS.n_bytes} bytes. Split the log.")
        names = archive.namelist()
        header = next((name for name in HEADERS if name in names), None)
        if header is None:
            raise PlaceError("isn't an inspect_ai log, because it has no header.json.")
        model = InspectHeader.model_validate_json(archive.read(header)).eval.model
        parts = [name for name in names if name.startswith(SAMPLES) and name.endswith(".json")]
        return model, [InspectSample.model_validate_json(archive.read(name)) for name in parts]


def _entries(samples: list[InspectSample], model: str) -> Iterator[Entry]:
    sources = {source: optional for sample in samples for source, _, optional in sample.values()}
    for number, sample in enumerate(samples, 1):
        values = {source: value for source, value, _ in sample.values()}
        for source, optional in sources.items():
            yield Entry(
                line=number,
                item=str(sample.id),
                source=source,
                judge=model if optional else "",
                value=values.get(source),
                outcome=None if source in values else "failed",
                sample=sample.epoch - 1,
                optional=optional,
            )
