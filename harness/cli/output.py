"""Printing: texts of others reach the terminal without control characters."""

from __future__ import annotations

import typer

from harness.plain_text import escaped_json, visible_lines


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines, control characters as pictures."""
    typer.echo(visible_lines(text), err=err)


def echo_json(text: str) -> None:
    """Print JSON, control characters as escapes."""
    typer.echo(escaped_json(text))
