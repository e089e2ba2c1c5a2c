"""Options that several commands share, each with one name and one help text."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from harness.cli.binding import task_names
from harness.cli.output import echo

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.decision import DecisionVerdict
    from harness.curation.importing import MaxRejected
    from harness.errors import ExitCode

TASK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Group(TyperGroup):
    """Group of commands on one topic. Without a command, it prints its help."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # of the same class
        """Print the help and exit if there are no arguments."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


class DefaultGroup(TyperGroup):
    """Group of commands on one topic. Without a command's name, it runs the first command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # of the same class
        """Parse arguments as for the first command, unless they name a command or request help."""
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def split(names: str | None, option: str) -> list[str] | None:
    """Split a comma-separated list. Return None if the option is absent."""
    if names is None:
        return None
    parts = [name.strip() for name in names.split(",") if name.strip()]
    if not parts:
        raise typer.BadParameter("pass at least one", param_hint=option)
    return parts


def max_rejected(text: str) -> MaxRejected:
    """Read a number of rows, or a share of rows such as 5%."""
    from harness.curation.importing import MaxRejected

    digits = text.removesuffix("%")
    if not digits.replace(".", "", 1).isdecimal() or (digits == text and not text.isdecimal()):
        raise typer.BadParameter(
            f"{text!r} is neither a number nor a share such as 5%", param_hint="--max-rejected"
        )
    return MaxRejected(int(text)) if digits == text else MaxRejected(share=float(digits) / 100)


TaskName = Annotated[
    str,
    typer.Argument(help="Name of a task, or path of a task folder.", autocompletion=task_names),
]
FinishedRun = Annotated[
    str | None, typer.Argument(help="A run, by name or path. Default: the newest.")
]


def check_without_table(ctx: typer.Context) -> None:
    """Raise an error for options that describe a table if there is no table."""
    for option in ctx.args:
        raise typer.BadParameter(
            f"{option} needs --from FILE, a table. To write the example, leave out {option}"
        )


def task_folder(name: str) -> Path:
    """Return the folder for a new task. Raise an error if its name is not valid."""
    from harness.errors import TaskError

    folder = Path(name).expanduser()
    if not TASK_NAME.fullmatch(folder.name):
        raise TaskError(
            f"{folder.name!r} is not a task name. Use letters, digits, '.', '_' and '-'."
        )
    return folder


def argument(folder: Path) -> str:
    """Quote a folder such that --task reads it as a path."""
    path = str(folder)
    return shlex.quote(path if folder.is_absolute() or path.startswith(".") else f"./{path}")


def required_task(task: str | None) -> str:
    """Return the task's name. Raise a usage error if it is missing."""
    if task is None:
        raise typer.BadParameter("pass a task, e.g. --task toxicity", param_hint="--task")
    return task


def several_tasks(tasks: str | None) -> list[str]:
    """Split tasks at commas, but not inside the path of an existing folder."""
    names = required_task(tasks)
    return [names] if Path(names).exists() else split(names, "--task") or []


def exit_code_of(validation: Validation, least: DecisionVerdict | None) -> ExitCode:
    """Return the exit code for a validation. Print a line on stderr if ``--fail-unless`` fails."""
    from harness.analysis.completeness import exit_code_of as code_of_judges
    from harness.analysis.conditions import Condition
    from harness.errors import ExitCode

    verdict = validation.decision.verdict
    if least is None or Condition.at_least(least).accepts(verdict):
        return code_of_judges(validation.completeness().values())
    echo(f"harness: the verdict is {verdict}, but --fail-unless requires {least}.", err=True)
    return ExitCode.CHECK_FAILED
