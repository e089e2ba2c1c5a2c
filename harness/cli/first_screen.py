"""Print the help for all commands: a first screen of 24 lines, or every command on request.

`--help` shows the common commands. `--help-all` shows every command and every option.
"""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typer._click import Context, HelpFormatter

IS_FULL = "harness.help_all"  # key of the context
TITLE_WIDTH = 9
FIRST_STEPS = """\
First steps:
  harness run --task toxicity                   an example, needs no API key
  harness curate import ratings.csv --as mine   a task from your own table
"""
USAGE = "Usage: harness COMMAND [OPTIONS]   (harness COMMAND --help, harness --help-all)"


def _print_full_help(ctx: typer.Context, *, value: bool) -> None:
    """Print the help for every command and option, and exit."""
    if value and not ctx.resilient_parsing:
        ctx.meta[IS_FULL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


FullHelp = Annotated[
    bool,
    typer.Option(
        "--help-all",
        help="Show every command and option, and exit.",
        is_eager=True,
        callback=_print_full_help,
    ),
]


class FirstScreen(TyperGroup):
    """Group of all commands. Its help fits one screen, unless you request the full help."""

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the first screen of the help, or the full help."""
        if ctx.meta.get(IS_FULL, False):
            super().format_help(ctx, formatter)
        else:
            formatter.write(self.first_screen())

    def first_screen(self) -> str:
        """Return the first screen as text."""
        raise NotImplementedError


def first_screen(
    summary: str, described: Mapping[str, Mapping[str, str]], named: Mapping[str, str]
) -> str:
    """Return the first screen of the help.

    Parameters
    ----------
    summary : str
        The program's purpose, in a sentence.
    described : mapping of str to mapping of str to str
        By group, the summary of each command, shown on its own line.
    named : mapping of str to str
        By group, the names of its commands, shown on one line.
    """
    width = max(len(name) for commands in described.values() for name in commands)
    lines = [USAGE, f"  {summary}", ""]
    for title, commands in described.items():
        for name, meaning in commands.items():
            shown = title if name == next(iter(commands)) else ""
            lines.append(f"  {shown:<{TITLE_WIDTH}}{name:<{width}}  {meaning}")
    lines += [f"  {title:<{TITLE_WIDTH}}{names}" for title, names in named.items()]
    return "\n".join([*lines, *indent(FIRST_STEPS, "  ").splitlines(), ""])
