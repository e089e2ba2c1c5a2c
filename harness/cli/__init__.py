"""The command line: one file per command, each a thin client of `harness.app.run`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup

from harness import __version__
from harness.cli.first_screen import FIRST_STEPS, FirstScreen, FullHelp, first_screen
from harness.errors import ExitCode, HarnessError
from harness.files.plain_text import visible
from harness.loading import has_edge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command, HelpFormatter

SUMMARY = "Rank LLM judges against several human raters."
USAGE_ERROR: type[Exception] = typer.BadParameter.__base__ or typer.BadParameter
STDOUT, STDERR = 1, 2
NEEDS_POSIX = "this command needs Linux or macOS ({}). On Windows, run it in WSL."
POSIX_MODULES = {"fcntl", "resource", "termios", "uvloop"}  # that Windows lacks
GC_THRESHOLD = 50_000  # new objects; with the default of 700, collecting takes a tenth of the CPU


class CommandSource(NamedTuple):
    """Module and function that define a command, with its line in the help.

    Attributes
    ----------
    place : str
        Module in `harness.cli` and the name of a function or `typer.Typer` in it: ``run:run``.
    summary : str
        The command's line in its group's help.
    edges : tuple of str
        Edges that the command needs, see `harness.loading`. The command exists only if all of them
        are installed.
    on_error : str
        Function that prints an error that ends the command, named like ``place``; "" for none. Its
        arguments are the words after the command and the error.
    """

    place: str
    summary: str
    edges: tuple[str, ...] = ()
    on_error: str = ""


GROUPS = {  # as the help shows them
    "Judge": {
        "run": CommandSource("run:run", "Run judges on a task and rank them."),
        "resume": CommandSource("resume:resume", "Resume a run or a probe that was stopped."),
        "validate": CommandSource("validate:validate", "Validate a run or verdicts."),
        "confirm": CommandSource("confirm:app", "Test one judge on held-out items."),
        "improve": CommandSource(
            "improve:improve", "Find a better way of asking a judge.", ("racing",)
        ),
        "check": CommandSource("check:check", "Check a judge without any labels.", ("probe",)),
        "report": CommandSource("report:report", "Write a report, compare runs, or list them."),
        "view": CommandSource("view:view", "Show runs, and two side by side, on a local page."),
    },
    "Use": {
        "estimate": CommandSource(
            "estimate:estimate", "Estimate a share or a score over unrated items.", ("estimation",)
        ),
        "trust": CommandSource("trust:trust", "Find verdicts you can accept without a person."),
        "gate": CommandSource("gate:gate", "Check a finished run against requirements."),
        "revalidate": CommandSource(
            "revalidate:app",
            "Re-run a run's judges and test for changes.",
            ("revalidation",),
            on_error="revalidate:print_error",
        ),
        "history": CommandSource(
            "revalidate:history",
            "Print the result of each re-validation round.",
            ("revalidation",),
        ),
    },
    "Data": {
        "curate": CommandSource(
            "curate:app", "Import, check, sample and export ratings.", ("curation",)
        ),
        "annotate": CommandSource(
            "annotate:app", "Rate items of a task on a local page.", ("annotation",)
        ),
        "plan": CommandSource("plan:app", "Plan items, raters and replies.", ("curation",)),
    },
    "Set up": {
        "tasks": CommandSource("lists:tasks", "List tasks."),
        "judges": CommandSource("lists:judges", "List judges and what each still needs."),
        "prompt": CommandSource("prompt:prompt", "Print the prompt a judge gets for an item."),
        "cache": CommandSource("cache:app", "Show or clear the response cache."),
        "doctor": CommandSource("doctor:doctor", "Check keys, addresses, cache and store."),
    },
}
LAB = {
    "simulate": CommandSource(
        "simulate:simulate", "Reproduce published experiments with known truth.", ("experiments",)
    ),
    "selftest": CommandSource(
        "selftest:selftest", "Simulate a design like yours to test the analysis.", ("experiments",)
    ),
    "study": CommandSource("study:study", "Combine the results of several tasks."),
    "probe": CommandSource(
        "probe:app", "Test whether irrelevant edits to a text flip verdicts.", ("probe",)
    ),
    "schema": CommandSource("lists:schema", "Print the JSON schema of a file."),
    "metrics": CommandSource("lists:metrics", "List metrics: range, direction and paper."),
}
DESCRIBED = ("Judge", "Use", "Data")  # groups whose commands the first screen describes
COMMANDS = {name: source for group in GROUPS.values() for name, source in group.items()}
COMMANDS["lab"] = CommandSource("lab:app", "Simulations, self-tests and lists for researchers.")


def present(sources: Mapping[str, CommandSource]) -> dict[str, CommandSource]:
    """Return the commands whose required edges are all installed."""
    return {name: source for name, source in sources.items() if all(map(has_edge, source.edges))}


class _LazyCommands(Mapping[str, "Command"]):
    """Mapping of names to commands, which imports a command when it is accessed."""

    def __init__(self, sources: Mapping[str, CommandSource]) -> None:
        self._sources = present(sources)

    def __getitem__(self, name: str) -> Command:
        return _import_command(name, self._sources[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


class LazyGroup(TyperGroup):
    """Group of the installed commands. Printing its help does not import them."""

    sources: ClassVar[Mapping[str, CommandSource]] = COMMANDS
    sections: ClassVar[Mapping[str, Mapping[str, CommandSource]]] = {
        **GROUPS,
        "Lab": {f"lab {name}": source for name, source in LAB.items()},
    }

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 -- those of a group
        super().__init__(**settings)
        self.commands = _LazyCommands(self.sources)  # type: ignore[assignment]  # nothing adds to it

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # of the same class
        """Return the names of the commands in the order of the help."""
        del ctx
        return list(self.commands)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # of the same class
        """Run the named command, which prints its own errors."""
        words = [*ctx._protected_args, *ctx.args]  # noqa: SLF001 -- typer has no other name for them
        try:
            return super().invoke(ctx)
        except (HarnessError, USAGE_ERROR, KeyboardInterrupt) as error:
            source = present(self.sources).get(words[0]) if words else None
            if source and source.on_error:
                _attribute(source.on_error)(words[1:], error)
            raise

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]  # of the same class
        """Write the commands in their groups."""
        del ctx
        for title, sources in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, s.summary) for name, s in present(sources).items()])


class AllCommands(FirstScreen, LazyGroup):
    """Group of all commands. The first screen lists some subgroups only by name."""

    def first_screen(self) -> str:
        """Return the text of the first screen."""
        described = {
            title: {name: source.summary for name, source in present(GROUPS[title]).items()}
            for title in DESCRIBED
        }
        set_up = ", ".join(present(GROUPS["Set up"]))
        lab = "|".join(present(LAB))
        return first_screen(SUMMARY, described, {"Set up": set_up, "Lab": f"lab {lab}"})


def _attribute(place: str) -> Any:  # noqa: ANN401 -- a function or a group
    module, attribute = place.split(":")
    return getattr(import_module(f"harness.cli.{module}"), attribute)


@cache  # a process that calls the command line more than once makes each command once
def _import_command(name: str, source: CommandSource) -> Command:
    from harness.cli.option_panels import PanelCommand  # loads pydantic

    command = _attribute(source.place)
    parent = typer.Typer(rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name, short_help=source.summary)
    else:
        parent.command(name, cls=PanelCommand, short_help=source.summary)(command)
    return typer.main.get_group(parent).commands[name]


app = typer.Typer(
    name="harness",
    cls=AllCommands,
    help=SUMMARY,
    epilog=f"\b\n{FIRST_STEPS}",
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help without colours starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(*, requested: bool) -> None:
    if requested:
        typer.echo(f"harness {__version__}")
        raise typer.Exit


@app.callback(help=SUMMARY)
def root(
    ctx: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 -- its callback prints and ends
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            is_eager=True,
            callback=lambda value: _print_version(requested=value),
        ),
    ] = False,
    help_all: FullHelp = False,  # noqa: ARG001 -- its callback prints and ends
) -> None:
    """Print the help for a command line that names no command."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main() -> None:
    """Run the command line. An error becomes one line on stderr and an exit code."""
    _open_standard_streams()
    gc.set_threshold(GC_THRESHOLD)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # our matrices are small: more threads spin
    try:
        code = app(prog_name="harness", standalone_mode=False)
    except HarnessError as error:
        _fail(f"harness: {error}", error.exit_code)
    except USAGE_ERROR as error:
        _fail(_usage_message(error), ExitCode.WRONG_INPUT)
    except BrokenPipeError:  # such as `harness tasks | head -1`
        _discard_output()
        sys.exit(ExitCode.WRONG_INPUT)
    except OSError as error:  # such as a full disk under stdout
        _discard_output()
        _fail(f"harness: {error.filename or 'output'}: {error.strerror}.", ExitCode.WRONG_INPUT)
    except typer.Abort as error:  # Ctrl-C, or the end of input at a prompt
        if isinstance(error.__cause__, KeyboardInterrupt):
            _fail("harness: interrupted.", ExitCode.INTERRUPTED)
        _fail("harness: nothing was written.", ExitCode.WRONG_INPUT)
    except Exception as error:  # noqa: BLE001 -- a fault of this program is one line, too
        if isinstance(error, ModuleNotFoundError) and error.name in POSIX_MODULES:
            _fail(f"harness: {NEEDS_POSIX.format(error.name)}", ExitCode.WRONG_INPUT)
        from harness.files.user_folders import keep_traceback  # loads OpenSSL

        kept = keep_traceback(error)
        _fail(f"harness: internal error ({type(error).__name__}); {kept}.", ExitCode.INTERNAL)
    sys.exit(code or ExitCode.DONE)


def _fail(message: str, exit_code: int) -> None:
    sys.stderr.write(f"{visible(message)}\n")
    sys.exit(exit_code)


def _open_standard_streams() -> None:
    """Open closed standard streams on the null device, so that files cannot reuse their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(STDOUT, "w")
    sys.stderr = sys.stderr or os.fdopen(STDERR, "w")


def _discard_output() -> None:
    """Redirect stdout to the null device, so that Python's last flush at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_message(error: Exception) -> str:
    """Return a usage error as one line, including the command that prints the help."""
    context = getattr(error, "ctx", None)
    command_path = context.command_path if context else "harness"
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    message = " ".join(text.replace("Value error, ", "").split()).removesuffix(".")
    if hint := _argument_hint(error):  # beats the options that look similar
        message = f"{message.split(' (')[0]}. {hint}"
    end = "" if message.endswith("?") else "."
    return f"{command_path}: {message}{end} See: {command_path} --help"


def _argument_hint(error: Exception) -> str:
    """Return how to pass an argument that was given as an option, or "" for other errors."""
    context, option = getattr(error, "ctx", None), getattr(error, "option_name", "")
    if context is None:
        return ""
    names = {p.name for p in context.command.params if p.param_type_name == "argument"}
    if (name := option.removeprefix("--")) not in names:
        return ""
    return f"Pass the {name} as an argument: {context.command_path} {name.upper()}"
