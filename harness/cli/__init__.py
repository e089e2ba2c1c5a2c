"""The command line: one thin file per verb, which parses, calls one function, prints, and ends."""

from __future__ import annotations

import sys

import typer

from harness.cli import lists, run, validate
from harness.errors import HarnessError

app = typer.Typer(
    name="harness",
    help="Rank LLM judges by how well they agree with people who do not all agree with each other.",
    epilog="First: harness run --task toxicity",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("validate")(validate.validate)
app.command("tasks")(lists.tasks)
app.command("judges")(lists.judges)
app.command("runs")(lists.runs)
app.command("schema")(lists.schema)


def main() -> None:
    """Run the command line; every `HarnessError` becomes one line and its exit code."""
    try:
        app()
    except HarnessError as error:
        sys.stderr.write(f"harness: {error}\n")
        sys.exit(error.exit_code)
