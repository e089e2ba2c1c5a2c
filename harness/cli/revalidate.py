"""`harness revalidate` and `history`: re-run a run's judges, and show earlier rounds."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from pydantic import model_validator

from harness.cli import options, schedule
from harness.cli.binding import takes
from harness.cli.option_panels import PanelCommand
from harness.cli.output import echo, echo_json, echo_result, write
from harness.errors import ExitCode, HarnessError
from harness.options.concerns import ItemText, Json, MovedTask, Out, Printing
from harness.options.declaration import Options, leave_out, option
from harness.options.result_options import Page
from harness.revalidation.look_options import (
    Anchor,
    Every,
    Excluding,
    Looking,
    LookOptions,
    Rebasing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.revalidation.ending import LookEnding
    from harness.runs.run_folder import RunFolder

RunOrBaseline = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run, or the folder of an exported baseline. Default: the newest run.",
        show_default=False,
    ),
]
LookNumber = Annotated[
    int, typer.Argument(metavar="ROUND", min=1, help="Number of the round to accept.")
]
COLOURS = {  # of verdicts
    "worse": "red",
    "changed": "red",
    "not comparable": "red",
    "not assessed": "red",
    "incomplete": "yellow",
    "not asked": "yellow",
    "underpowered": "yellow",
    "stable": "green",
}
N_BEFORE_RUN = {
    "look": 1,
    "rebase": 2,
    "exclude": 2,
    "schedule": 1,
    "export": 1,
    "overdue": 1,
}  # subcommand names
MAX_LOOKS = 40  # rounds on the page by default
MAX_PRINTED = 4  # rounds in the terminal's table by default


app = typer.Typer(name="revalidate", cls=options.DefaultGroup, rich_markup_mode=None)


@app.callback()
def revalidate() -> None:
    """Re-run a finished run's judges and test for drift beyond their usual noise.

    Without a command this is `harness revalidate look`.

    \b
    Examples:
      harness revalidate
      harness revalidate runs/toxicity-20260101T120000Z-1a2b3c --judges gpt,claude
      harness revalidate look --help
    """


@app.command(cls=PanelCommand, short_help="Re-run the judges and test for drift (the default).")
@takes
def look(run: RunOrBaseline = None, *, looking: Looking, place: Out, printing: Printing) -> None:
    """Re-run a finished run's judges and test for drift beyond their usual noise.

    Each round sends new requests, without the cache. The first round uses the run's own replies as
    the baseline. The same command resumes an interrupted round.

    \b
    Examples:
      harness revalidate look
      harness revalidate look --judges gpt,claude
      harness revalidate --anchor 100 --baseline-replies 5
      harness revalidate runs/toxicity-20260101T120000Z-1a2b3c
      harness revalidate --fail-on worse,outcome-rate>0.05,'mse(srs/srs)>0.1'
    """
    from harness.runs.run_folder import find_run

    folder, look_options = find_run(place.out, run), LookOptions.of(looking)
    if look_options.dry_run:
        _print_costs(folder, look_options, as_json=printing.as_json)
    else:
        _look(folder, look_options, printing)


@app.command(short_help="Start a new baseline from a round's replies.")
@takes
def rebase(
    number: LookNumber,
    run: RunOrBaseline = None,
    *,
    rebasing: Rebasing,
    place: Out,
    printing: Printing,
) -> None:
    """Start a new baseline from the replies of a round and later ones.

    The round must come after the one that raised an alarm. Missing replies are requested, and
    nothing is compared.

    \b
    Examples:
      harness revalidate rebase 4
      harness revalidate rebase 4 runs/toxicity-20260101T120000Z-1a2b3c --yes
    """
    from harness.runs.run_folder import find_run

    accepted = LookOptions.of(rebasing, accept=number)
    _look(find_run(place.out, run), accepted, printing)


class Excluded(Excluding):
    """Options for excluding a round."""

    because: str = option(..., "Why a round is excluded.", metavar="TEXT")


@app.command(short_help="Drop the replies of a round.")
@takes
def exclude(
    number: LookNumber,
    run: RunOrBaseline = None,
    *,
    excluding: Excluded,
    place: Out,
    printing: Printing,
) -> None:
    """Drop a round's replies without sending any requests.

    \b
    Examples:
      harness revalidate exclude 3 --because "outage of the gateway"
    """
    from harness.runs.run_folder import find_run

    excluded = LookOptions.of(excluding, exclude=number)
    _look(find_run(place.out, run), excluded, printing)


def _look(folder: RunFolder, look_options: LookOptions, printing: Printing) -> None:
    """Re-run judges, or accept or exclude a round. Exit with the resulting code."""
    from harness.cli.progress import watch
    from harness.revalidation.revalidate import revalidate as revalidate_run

    ending = revalidate_run(folder, look_options, partial(watch, quiet=printing.quiet))
    if printing.as_json:
        _print_json(ending)
    elif not printing.quiet or ending.exit_code:
        _print_text(folder, ending, details=printing.details)
    for line in ending.failed:
        echo(f"harness: {line}.", err=True)
    if ending.exit_code:
        _annotate(ending.failed or ending.sentences)
    raise typer.Exit(ending.exit_code)


def print_error(words: list[str], error: BaseException) -> None:
    """Print an error that ends the command, as JSON if requested and as a CI annotation.

    ``words`` are the command-line arguments, which can be invalid.
    """
    words = words[N_BEFORE_RUN.get(words[0], 0) if words else 0 :]
    code = ExitCode.WRONG_INPUT
    if isinstance(error, HarnessError | KeyboardInterrupt):
        code = getattr(error, "exit_code", ExitCode.INTERRUPTED)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    text = text.replace("Value error, ", "") or "interrupted"
    _annotate([text])
    if "--json" not in words:
        return
    runs = [word for word in words if Path(word, "manifest.json").is_file()]
    runs += [word for word in words[:1] if not word.startswith("-")]
    facts = {
        "run": runs[0] if runs else None,
        "exit_code": int(code),
        "failed": [text],
        "sentences": [text],
        "warnings": [],
    }
    echo_result(facts | {"verdicts": {}})


def _print_json(ending: LookEnding) -> None:
    from msgspec.structs import asdict, replace

    look = ending.look if ending.due_in_s is None else None
    shown = asdict(replace(look, streams=(), evidence=())) if look else {}
    echo_result(ending.facts() | shown)


def _annotate(lines: Sequence[str]) -> None:
    """Print lines as annotations on the job in GitHub Actions."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in lines:
            echo(f"::error title=harness revalidate::{_escaped(line)}", err=True)


def _escaped(text: str) -> str:
    """Escape the message in a workflow command for GitHub Actions."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _print_costs(folder: RunFolder, look_options: LookOptions, *, as_json: bool) -> None:
    from harness.cli.run import print_costs
    from harness.revalidation.revalidate import plan_look

    print_costs(plan_look(folder, look_options), as_json=as_json)


def _print_text(folder: RunFolder, ending: LookEnding, *, details: bool) -> None:
    from harness.report.formatting import duration
    from harness.revalidation.changed_rows import changed_rows
    from harness.revalidation.history_text import changed_text, look_text, with_command

    if ending.due_in_s is not None:
        echo(f"No round is due yet. The next one is due in {duration(ending.due_in_s)}.")
        if not ending.exit_code:
            return
    look, baseline = ending.look, ending.baseline
    said = [line for line in ending.said if line[1] not in ending.warnings]
    for verdict, sentence in said:
        echo(with_command(sentence) if look else sentence, colour=COLOURS.get(verdict))
    if look is not None and baseline is not None and ending.due_in_s is None:
        changed = changed_text(changed_rows(folder, look), look, details=details)
        echo(f"\n{changed}\n" if changed else "")
        echo(look_text(look, baseline, details=details))


class HistoryOptions(Options):
    """Options for the rounds to show."""

    last: int | None = option(None, "Show the last N rounds.", metavar="N", ge=1)
    show_all: bool = option(
        False,
        f"Show all rounds. Default: the last {MAX_PRINTED}, on a page {MAX_LOOKS}.",
        flag="--all",
    )

    @model_validator(mode="after")
    def _last_or_all(self) -> Self:
        if self.show_all:
            leave_out(self.model_fields_set & {"last"}, "{show_all} shows all rounds")
        return self


@takes
def history(
    run: RunOrBaseline = None, *, page: Page, wanted: HistoryOptions, place: Out, printing: Json
) -> None:
    """Print a table of a run's re-validation rounds: verdict, flips, p-value, metric, change.

    The page shows the rounds as control charts.

    \b
    Examples:
      harness history
      harness history --last 10
      harness history runs/toxicity-20260101T120000Z-1a2b3c --page history.html
      harness history --json
    """
    from harness.revalidation.changed_rows import changed_rows
    from harness.revalidation.history_facts import history_facts
    from harness.revalidation.history_page import history_page
    from harness.revalidation.history_text import history_text
    from harness.revalidation.revalidate import history_of
    from harness.runs.run_folder import find_run

    last, file = wanted.last, page.page
    folder = find_run(place.out, run)
    reading = history_of(folder)
    most = MAX_LOOKS if file else MAX_PRINTED
    drawn = reading.last(None if wanted.show_all else last or most)
    n_left_out = len(reading.looks) - len(drawn.looks)
    if file is not None:
        changed = changed_rows(folder, reading.looks[-1]) if reading.looks else []
        write(file, history_page(folder.path.name, drawn, changed, n_left_out=n_left_out))
        echo(str(file))
    elif printing.as_json:
        echo_json(history_facts(reading.last(last)), indent=None)
    else:
        echo(history_text(drawn))
        if n_left_out and last is None:
            echo(f"\n{n_left_out} earlier rounds aren't shown. Print them with --all.")


@app.command(short_help="Exit with 1 if a schedule has stopped.")
@takes
def overdue(run: RunOrBaseline = None, *, wanted: Every, place: Out, printing: Json) -> None:
    """Exit with 1 if no round got replies for two periods of its schedule.

    \b
    Examples:
      harness revalidate overdue baselines/toxicity
      harness revalidate overdue RUN --every week
    """
    from harness.revalidation.history import FILE, read_history
    from harness.revalidation.schedule import lateness
    from harness.runs.run_folder import find_run

    folder = find_run(place.out, run)
    late = lateness(folder, read_history(folder.path / FILE).looks, wanted.every)
    facts = {"overdue": late.is_overdue, "every": late.every, "last": late.last}
    if printing.as_json:
        echo_json(facts | {"age_s": round(late.age.total_seconds())})
    else:
        echo(late.sentence)
    raise typer.Exit(ExitCode.CHECK_FAILED if late.is_overdue else ExitCode.DONE)


class ExportedBaseline(MovedTask, Anchor, ItemText):
    """Options for the items and texts to export."""

    item_text: bool = option(
        False, "Write the items' texts too.", flag="--item-text/--no-item-text", rare=True
    )
    keep_replies: bool = option(
        False,
        "Write the texts of replies too, here and in each round. Rounds then print some of "
        "these texts, also into CI logs.",
    )


@app.command(short_help="Write baseline, anchor and history into a small folder.")
@takes
def export(
    run: Annotated[str, typer.Argument(help="A finished run, by name or path.")],
    folder: Annotated[
        Path, typer.Argument(help="A new folder. Later, harness revalidate accepts it.")
    ],
    *,
    wanted: ExportedBaseline,
    place: Out,
) -> None:
    """Write baseline, anchor and history of a run into a small folder without texts.

    Commit the folder, or keep it in a CI cache. harness revalidate FOLDER then re-runs the judges
    on any machine that has the task, and adds to the folder's history.

    \b
    Examples:
      harness revalidate export RUN baselines/toxicity
      harness revalidate baselines/toxicity
    """
    from harness.revalidation.revalidate import export_baseline
    from harness.runs.run_folder import find_run

    export_baseline(
        find_run(place.out, run),
        folder,
        LookOptions(task=wanted.task, anchor=wanted.anchor, seed=wanted.seed),
        item_text=wanted.item_text,
        keep_replies=wanted.keep_replies,
    )
    echo(str(folder))


app.command("schedule", short_help="Write a schedule that re-validates a run.")(schedule.schedule)
