"""A run's report again, from its folder alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from harness.errors import RunError
from harness.report.compare import comparison
from harness.report.details import details_of, disputed
from harness.report.files import all_charts, ranking_csv, write_charts, write_parquet
from harness.report.page import page
from harness.report.paper import judge_card
from harness.runs import source_of
from harness.validate import Validation, validate

if TYPE_CHECKING:
    from pathlib import Path

    from harness.report.details import Details
    from harness.runs import RunFolder
    from harness.validate import Source


def report_run(folder: RunFolder, *, charts: Path | None = None) -> list[str]:
    """Write the page, the ranking, the judge card and all metrics of a run; charts on request.

    Returns
    -------
    list of str
        What was written, and what could not be and why.

    Raises
    ------
    HarnessError
        If the folder cannot be read or a file cannot be written.
    """
    source = source_of(folder)
    v = validation_of(folder, source)
    d = details_of(source, folder, disputed=disputed(v))
    written = [
        folder.write("report.html", page(v, d)),
        folder.write("ranking.csv", ranking_csv(v)),
        folder.write("judge-card.md", judge_card(v, d)),
        folder.path / "metrics.parquet",
    ]
    write_parquet(v, written[-1])
    return [*map(str, written), *_charts(v, d, charts)]


def report_source(source: Source, file: Path, *, charts: Path | None = None) -> list[str]:
    """Validate a source that is no run, and write its page; charts on request.

    Returns
    -------
    list of str
        As `report_run`.

    Raises
    ------
    HarnessError
        If the source is wrong or a file cannot be written.
    """
    v = validate(source)
    d = details_of(source, disputed=disputed(v))
    try:
        file.write_text(page(v, d), encoding="utf-8")
    except OSError as error:
        raise RunError(f"{file}: cannot be written ({error.strerror}).") from None
    return [str(file), *_charts(v, d, charts)]


def _charts(v: Validation, d: Details, folder: Path | None) -> list[str]:
    if folder is None:
        return []
    drawn = all_charts(v, d)
    why = write_charts(drawn, folder)
    return [f"{folder}: {len(drawn)} charts, {f'SVG only: {why}' if why else 'SVG and PNG'}"]


def report_beside(folder: RunFolder, other: RunFolder) -> Path:
    """Write two runs side by side into the second one's folder.

    Raises
    ------
    HarnessError
        If a folder cannot be read or the page cannot be written.
    """
    names = (folder.path.name, other.path.name)
    both = (validation_of(folder, source_of(folder)), validation_of(other, source_of(other)))
    return other.write(f"beside-{names[0]}.html", comparison(names, both))


def validation_of(folder: RunFolder, source: Source) -> Validation:
    """Read ``metrics.json``, or compute it where it is missing, older, or of another version."""
    file = folder.path / "metrics.json"
    try:
        if file.stat().st_mtime_ns >= folder.verdicts.stat().st_mtime_ns:
            return Validation.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        pass
    v = validate(source)
    folder.write("metrics.json", v.model_dump_json(indent=1) + "\n")
    return v
