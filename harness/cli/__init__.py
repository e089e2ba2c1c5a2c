"""The command line: one thin file per verb, which parses, calls one function, prints, and ends."""

from __future__ import annotations

import sys

import typer

from harness.cli import doctor, lists, probe, run, validate
from harness.errors import HarnessError

app = typer.Typer(
    name="harness",
    help="Rank LLM judges by how well they agree with people who do not all agree with each other.",
    epilog="First: harness run --task toxicity",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
VERBS = (
    (run.run, "Ask judges, rank them, say which to use."),
    (validate.validate, "Redo a run, or validate verdicts made elsewhere."),
    (doctor.doctor, "Check keys, addresses, cache and disk."),
    (lists.tasks, "List the tasks found by name."),
    (lists.judges, "List the judges and what each still needs."),
    (lists.runs, "List run folders, newest first."),
    (lists.schema, "Print the JSON schema of a file."),
)
for verb, summary in VERBS:
    app.command(verb.__name__, short_help=summary)(verb)
app.add_typer(
    probe.app, name="probe", short_help="Hide attacks in items; count verdicts that flip."
)


def main() -> None:
    """Run the command line; every `HarnessError` becomes one line and its exit code."""
    try:
        app()
    except HarnessError as error:
        sys.stderr.write(f"harness: {error}\n")
        sys.exit(error.exit_code)
