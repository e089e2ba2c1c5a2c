"""Print and write output. Control characters in external texts never reach the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import typer

from harness.errors import RunError
from harness.files.plain_text import SCREEN_LINES, SCREEN_WIDTH, escaped_json, visible_lines

if TYPE_CHECKING:
    from harness.analysis import Validation


COLOURS = {  # of verdicts
    "use": "green",
    "use_if_independent": "green",
    "best_not_proven": "yellow",
    "none": "red",
}


def echo(text: str = "", *, err: bool = False, colour: str | None = None) -> None:
    """Print lines, in colour on a terminal. Control characters become visible symbols."""
    typer.secho(visible_lines(text), err=err, fg=colour)


def echo_json(content: object, *, indent: int | None = 2) -> None:
    """Print JSON, given as an object or as text. Control characters are escaped."""
    text = content if isinstance(content, str) else json.dumps(content, indent=indent)
    typer.echo(escaped_json(text))


def echo_result(result: object) -> None:
    """Print the result of an analysis as JSON."""
    from harness.analysis.serialize import to_json

    echo_json(to_json(result))


def dollars(amount: float | None) -> str:
    """Format a cost. None means that the price is unknown."""
    return "unknown price" if amount is None else f"${amount:.4f}"


def show(rows: Sequence[Mapping[str, object]], *, as_json: bool = False, empty: str = "") -> None:
    """Print rows that have the same keys, as a table or as JSON."""
    if as_json:
        echo_json(list(rows))
        return
    if not rows:
        echo(empty)
        return
    from harness.report.text_table import draw_table

    cells = [[str(value) for value in row.values()] for row in rows]
    width, styled = get_terminal_size().columns, sys.stdout.isatty()
    typer.echo(draw_table(list(rows[0]), cells, width=width, styled=styled))


def echo_validation(v: Validation, *, details: bool, n_lines_below: int = 0) -> None:
    """Print a validation as wide as the terminal, with its verdict in bold and in colour.

    Without details, it fits on a screen with the lines that the command prints below it.
    """
    from harness.report.text import render, verdict_paragraph

    width = max(get_terminal_size().columns, SCREEN_WIDTH)
    text = render(v, details=details, width=width, most_lines=SCREEN_LINES - n_lines_below)
    before, verdict, after = text.partition(verdict_paragraph(v))
    typer.echo(visible_lines(before), nl=False)
    typer.secho(visible_lines(verdict), nl=False, bold=True, fg=COLOURS[v.decision.verdict])
    typer.echo(visible_lines(after))


def write(file: Path, text: str, *, append: bool = False) -> None:
    """Write or append to a file that the user named."""
    from harness.files.regular_files import append_text, write_file, writing_to

    with writing_to(file, RunError):
        if append:
            append_text(file, text)
        else:
            write_file(file, text.encode())
