"""The command line: one thin file per verb, which parses, calls one function, prints, and ends."""

from __future__ import annotations

import gc
import os
import sys

import typer

from harness.cli import cache, doctor, lists, new_task, probe, report, run, simulate, validate
from harness.errors import HarnessError

FIRST = """
\b
What to type first:
  harness run --task toxicity                   an example, nothing else needed
  harness new-task mine --from ratings.csv      your own table becomes a task
  harness validate --task ./mine --verdicts ./mine/verdicts.csv
"""
USAGE_ERROR: type[Exception] = typer.BadParameter.__base__ or typer.BadParameter

STDOUT, STDERR = 1, 2
LOOK_AFTER = 50_000  # new objects; after 700, as usual, collecting cycles takes a tenth of the CPU

app = typer.Typer(
    name="harness",
    help="Rank LLM judges by how well they agree with people who do not all agree with each other.",
    epilog=FIRST,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
VERBS = (
    (run.run, "Ask judges, rank them, say which to use."),
    (validate.validate, "Redo a run, or validate verdicts made elsewhere."),
    (report.report, "Write a run's page again, or two side by side."),
    (simulate.simulate, "Redo published experiments where the truth is known."),
    (doctor.doctor, "Check keys, addresses, cache and disk."),
    (new_task.new_task, "Write a task folder, from your table if you like."),
    (lists.tasks, "List the tasks found by name."),
    (lists.judges, "List the judges and what each still needs."),
    (lists.runs, "List run folders, newest first."),
    (lists.schema, "Print the JSON schema of a file."),
)
for verb, summary in VERBS:
    app.command(verb.__name__.replace("_", "-"), short_help=summary)(verb)
app.add_typer(cache.app, name="cache", short_help="Show or clear the response cache.")
app.add_typer(
    probe.app, name="probe", short_help="Hide attacks in items; count verdicts that flip."
)


@app.callback()
def alone(ctx: typer.Context) -> None:
    """Rank LLM judges by how well they agree with people who do not all agree with each other."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main() -> None:
    """Run the command line; whatever is wrong becomes one line and an exit code."""
    _keep_standard_streams()
    gc.set_threshold(LOOK_AFTER)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # our matrices are small: more threads spin
    try:
        code = app(prog_name="harness", standalone_mode=False)
    except HarnessError as error:
        sys.stderr.write(f"harness: {error}\n")
        sys.exit(error.exit_code)
    except USAGE_ERROR as error:
        sys.stderr.write(f"{_usage(error)}\n")
        sys.exit(2)
    except BrokenPipeError:  # as with `harness tasks | head -1`
        _close_output()
        sys.exit(1)
    except OSError as error:  # as where the disk under stdout is full
        _close_output()
        sys.stderr.write(f"harness: {error.filename or 'output'}: {error.strerror}.\n")
        sys.exit(2)
    except typer.Abort:  # end of input where a question was asked
        sys.stderr.write("harness: nothing was written.\n")
        sys.exit(2)
    sys.exit(code or 0)


def _keep_standard_streams() -> None:
    """Give standard streams that are closed an end, before a file of ours takes their place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(STDOUT, "w")
    sys.stderr = sys.stderr or os.fdopen(STDERR, "w")


def _close_output() -> None:
    """Drop what stdout still holds: Python would try to write it once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Exception) -> str:
    """Tell a fault of the command's words in one line, with where to look."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "harness"
    told = error.format_message() if hasattr(error, "format_message") else str(error)
    message = " ".join(told.replace("Value error, ", "").split()).removesuffix(".")
    end = "" if message.endswith("?") else "."
    return f"{command}: {message}{end} See: {command} --help"
