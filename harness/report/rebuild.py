"""Write the reports of runs from their folders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.analysis import Validation, validate
from harness.analysis.completeness import unreadable_replies
from harness.analysis.item_answers import answered_items
from harness.analysis.result import SCHEMA_VERSION
from harness.analysis.run_comparison import compare_runs
from harness.errors import RunError
from harness.files.regular_files import write_file, writing_to
from harness.report.chart_files import all_charts, write_charts
from harness.report.comparison import comparison, comparison_text
from harness.report.export import PAGES, parquet_of
from harness.report.html.details import details_of
from harness.report.html.item_table import item_table
from harness.report.html.page import page
from harness.report.pseudonyms import named_as_in_reports, pseudonyms, with_pseudonyms
from harness.report.served.side_by_side import RunItems, changed_answers, side_by_side
from harness.runs.sources import compared_source, source_of

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis import Source
    from harness.analysis.run_comparison import RunComparison
    from harness.runs.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """Files that make up a report.

    Attributes
    ----------
    files : tuple of Path
        Files, starting with the page.
    charts : Path or None
        The folder of charts; None if none were requested.
    svg_only : str
        Reason why charts aren't also PNG files; "" if they are.
    comparison : RunComparison or None
        Comparison of two runs; None for one run.
    text : str
        The comparison for a terminal.
    """

    files: tuple[Path, ...]
    charts: Path | None = None
    n_charts: int = 0
    svg_only: str = ""
    comparison: RunComparison | None = None
    text: str = ""

    @property
    def lines(self) -> list[str]:
        """The comparison, then a line for each file, and a line about the charts."""
        lines = [*filter(None, [self.text]), *map(str, self.files)]
        if self.charts is not None:
            kinds = f"SVG only: {self.svg_only}" if self.svg_only else "SVG and PNG"
            lines.append(f"{self.charts}: {self.n_charts} charts, {kinds}")
        return lines


def report_run(
    folder: RunFolder, *, charts: Path | None = None, show_raters: bool = False
) -> ReportFiles:
    """Write a run's page, ranking, judge card and metrics. On request, also write its charts.

    Raters are called r1, r2 and so on, or by their names with ``show_raters``.

    Raises
    ------
    HarnessError
        If the folder can't be read or a file can't be written.
    """
    source = source_of(folder)
    v = validation_of(folder, source)
    d = details_of(source, folder, certainty=v.certainty, show_raters=show_raters)
    table = folder.write("metrics.parquet", parquet_of(v))
    pages = [folder.write(name, draw(v, d)) for name, draw in PAGES.items()]
    return _with_charts((*pages, table), named_as_in_reports(v, d.raters), charts)


def report_source(
    source: Source, file: Path, *, charts: Path | None = None, show_raters: bool = False
) -> ReportFiles:
    """Validate a source that is not a run, and write its page. On request, also write its charts.

    Raters are called as by `report_run`.

    Raises
    ------
    HarnessError
        If the source is wrong or a file cannot be written.
    """
    v = validate(source)
    d = details_of(source, certainty=v.certainty, show_raters=show_raters)
    with writing_to(file, RunError):
        write_file(file, page(v, d).encode())
    return _with_charts((file,), named_as_in_reports(v, d.raters), charts)


def _with_charts(files: tuple[Path, ...], v: Validation, folder: Path | None) -> ReportFiles:
    if folder is None:
        return ReportFiles(files)
    drawings = all_charts(v)
    return ReportFiles(files, folder, len(drawings), write_charts(drawings, folder))


def report_comparison(
    first: RunFolder, second: RunFolder, *, show_raters: bool = False, details: bool = False
) -> ReportFiles:
    """Compare two runs, and write the comparison into the second run's folder.

    Raters are called as by `report_run`. ``details`` adds all metrics to the text.

    Raises
    ------
    HarnessError
        If a folder cannot be read, the page cannot be written, or the tasks have different options.
    """
    names = (first.path.name, second.path.name)
    sources = compared_source(first), compared_source(second)
    validations = validation_of(first, sources[0]), validation_of(second, sources[1])
    paired = compare_runs(*sources, [v.ranking_metric for v in reversed(validations)])
    raters = [name for s in sources for name in s.task.rating_columns.raters]
    shown = pseudonyms(raters, show_raters=show_raters)
    of_page = (with_pseudonyms(validations[0], shown), with_pseudonyms(validations[1], shown))
    before, now = (
        RunItems(name, source.items, item_table(answered_items(source), shown))
        for name, source in zip(names, sources, strict=True)
    )
    changed = changed_answers(side_by_side(before, now))
    file = second.write(f"beside-{names[0]}.html", comparison(names, of_page, paired, changed))
    text = comparison_text(names, validations, paired, details=details)
    return ReportFiles((file,), comparison=paired, text=text + "\n")


def validation_of(folder: RunFolder, source: Source) -> Validation:
    """Return the validation from ``metrics.json``, or compute it again if the log differs.

    A recomputed validation is written, unless a different version of the schema wrote the file,
    which is then kept. Beginnings of unreadable replies and of items aren't in the file, so they
    come from the source.
    """
    stored = stored_validation(folder)
    if stored is not None:
        errors = stored.errors and stored.errors.with_texts(source.task, source.items)
        return replace(
            stored,
            unreadable=unreadable_replies(source),
            errors=errors,
            checks=dict(source.checks),
            location=source.location,
        )
    v = validate(source)
    if not folder.kept_metrics:
        folder.write_metrics(v.to_json() + "\n")
    return v


def stored_validation(folder: RunFolder) -> Validation | None:
    """Return the validation from a run's ``metrics.json``.

    The result is None if the file or the log has changed, or a different version of the schema
    wrote it.
    """
    data = folder.read_metrics()
    if data is None:
        return None
    try:
        v = Validation.from_json(data)
    except ValueError:
        return None
    is_current = v.schema_version == SCHEMA_VERSION and v.verdicts_hash == folder.verdicts_hash()
    return v if is_current else None
