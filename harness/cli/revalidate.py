"""`harness revalidate`, `history` and `baseline`: ask the judges of a run again."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json, echo_result, write
from harness.errors import ExitCode, HarnessError
from harness.revalidation import FAIL_ON, Period

if TYPE_CHECKING:
    from harness.revalidation.asking import LookOptions
    from harness.revalidation.ending import LookEnding
    from harness.runs import RunFolder

Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run, or the folder of an exported baseline; the newest run by default.",
        show_default=False,
    ),
]
Notify = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="HARNESS_NOTIFY_URL",
        help="Post the first sentence to this address, as of a chat's webhook, when the exit code "
        "is not 0.",
        show_default=False,
    ),
]
Anchor = Annotated[
    int | None,
    typer.Option(min=1, help="Ask only N items, drawn once by the raters' agreement."),
]
TaskFolder = Annotated[
    str | None,
    typer.Option("--task", "-t", help="Name or path of the task, if it is elsewhere now."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random anchor.")]
SIZE: dict[str, Any] = {
    "anchor": Anchor,
    "baseline_replies": Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Replies per item of the baseline; first ask, on an occasion of their own, for "
            "those that a new baseline lacks.",
        ),
    ],
    "samples": Annotated[
        int, typer.Option(min=1, help="Times each judge is asked per item in this look.")
    ],
    "margin": Annotated[
        float,
        typer.Option(
            min=0, max=0.99, help="How much worse is tolerated, as a share of the metric's range."
        ),
    ],
}
ASKING: dict[str, Any] = {
    "task": TaskFolder,
    "judges_file": Annotated[
        Path | None,
        typer.Option(help="A judges.yaml whose judges must be as they were validated."),
    ],
    "base_url": options.BaseUrl,
    "key_env": options.KeyEnv,
    "seed": Seed,
    "max_cost": options.MaxCost,
    "max_cost_soft": options.MaxCostSoft,
    "store": options.Store,
}
COLOURS = {  # of verdicts
    "worse": "red",
    "changed": "red",
    "not comparable": "red",
    "not asked": "yellow",
    "underpowered": "yellow",
    "stable": "green",
}
MAX_LOOKS = 40  # that are drawn unless more are asked for
baseline_app = typer.Typer(name="baseline", cls=options.Group, rich_markup_mode=None)


@options.group("size", SIZE, samples=1, margin=0.0)
@options.group("asking", ASKING, seed=0, max_cost_soft=False)
def revalidate(
    run: Run = None,
    *,
    judges: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Watch these judges alone, comma-separated; an ensemble with its members.",
        ),
    ] = None,
    size: dict[str, Any],
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="CONDITIONS",
            help="Exit with 1 on changed, worse, underpowered, 'not comparable', decision (the "
            "judge in use is shown to be worse than a constant answer or one human), or a limit "
            "such as outcome-rate>0.05, 'mse(srs/srs)>0.1', or beside the baseline cost>1.5x or "
            "latency>3x; comma-separated.",
        ),
    ] = FAIL_ON,
    accept: Annotated[
        int | None,
        typer.Option(
            metavar="LOOK",
            min=1,
            help="Start a new baseline with the replies since this look, after the look that "
            "raised an alarm; ask for those that it lacks then.",
        ),
    ] = None,
    exclude: Annotated[
        int | None,
        typer.Option(
            metavar="LOOK", min=1, help="Ask nothing; drop the replies of this look, --because."
        ),
    ] = None,
    because: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why a look is excluded.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Accept a judge that is worse.")] = False,
    if_due: Annotated[
        Period | None,
        typer.Option(
            help="Ask nothing if the last look is younger than this; end as that look did."
        ),
    ] = None,
    notify: Notify = None,
    asking: dict[str, Any],
    dry_run: options.DryRun = False,
    out: options.Out = None,
    details: options.Details = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Ask the judges of a finished run again, and tell drift from their own noise.

    The replies are fresh: the cache is not used. The first look fixes the baseline, which is the
    run's own replies. A look that was stopped is resumed by the same command.

    \b
    Examples:
      harness revalidate
      harness revalidate --judges gpt,claude
      harness revalidate --anchor 100 --baseline-replies 5
      harness revalidate runs/toxicity-20260101T120000Z-1a2b3c
      harness revalidate --fail-on worse,outcome-rate>0.05,'mse(srs/srs)>0.1'
      harness revalidate --accept 4
      harness revalidate --exclude 3 --because "outage of the gateway"
    """
    from harness.cli.progress import watch
    from harness.revalidation.asking import LookOptions
    from harness.revalidation.revalidate import revalidate as revalidate_run
    from harness.runs import find_run

    folder = find_run(out, run)
    look_options = LookOptions(
        judges=tuple(options.split(judges, "--judges") or ()),
        fail_on=fail_on,
        accept=accept,
        yes=yes,
        exclude=exclude,
        because=because,
        if_due=if_due,
        notify=notify,
        dry_run=dry_run,
        **size,
        **asking,
    )
    if dry_run and accept is None and exclude is None:
        _print_costs(folder, look_options, as_json=as_json)
        return
    ending = revalidate_run(folder, look_options, partial(watch, quiet=quiet))
    if as_json:
        _print_json(ending)
    elif not quiet or ending.exit_code:
        _print_text(folder, ending, details=details)
    in_actions = os.environ.get("GITHUB_ACTIONS") == "true"
    for line in ending.failed:
        echo(f"harness: {line}.", err=True)
        if in_actions:
            echo(f"::error title=harness revalidate::{_escaped(line)}", err=True)
    raise typer.Exit(ending.exit_code)


def print_error(words: list[str], error: Exception) -> None:
    """Print as JSON an error that ends the command, also one in its own words, if that is wanted.

    ``words`` are those of the command line.
    """
    if "--json" not in words:
        return
    code = error.exit_code if isinstance(error, HarnessError) else ExitCode.WRONG_INPUT
    text = str(getattr(error, "message", error))
    run = next((word for word in words[:1] if not word.startswith("-")), None)
    facts = {"run": run, "exit_code": int(code), "failed": [text], "sentences": [text]}
    echo_result(facts | {"verdicts": {}})


def _print_json(ending: LookEnding) -> None:
    from msgspec.structs import asdict, replace

    look = ending.look if ending.due_in_s is None else None
    shown = asdict(replace(look, streams=(), evidence=())) if look else {}
    echo_result(ending.facts() | shown)


def _escaped(text: str) -> str:
    """Escape the message of a workflow command of GitHub Actions."""
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
        echo(f"Not due: the next look is due in {duration(ending.due_in_s)}.")
        return
    look, baseline = ending.look, ending.baseline
    for verdict, sentence in ending.said:
        echo(with_command(sentence) if look else sentence, colour=COLOURS.get(verdict))
    if look is not None and baseline is not None:
        changed = changed_text(changed_rows(folder, look), look)
        echo(f"\n{changed}\n" if changed else "")
        echo(look_text(look, baseline, details=details))


def history(
    run: Run = None,
    *,
    page: Annotated[
        Path | None, typer.Option(help="Write the charts into this file, as a page.")
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Show the last N looks.", show_default=False),
    ] = None,
    show_all: Annotated[
        bool,
        typer.Option("--all", help=f"Draw all looks, not only the last {MAX_LOOKS}."),
    ] = False,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Print the looks at a run's judges as control charts: flips, own noise, evidence, metric.

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
    from harness.runs import find_run

    if show_all and last is not None:
        raise typer.BadParameter("shows all looks; leave --last out", param_hint="--all")
    folder = find_run(out, run)
    reading = history_of(folder)
    drawn = reading.last(None if show_all else last or MAX_LOOKS)
    n_left_out = len(reading.looks) - len(drawn.looks)
    if page is not None:
        changed = changed_rows(folder, reading.looks[-1]) if reading.looks else []
        write(page, history_page(folder.path.name, drawn, changed, n_left_out=n_left_out))
        echo(str(page))
    elif as_json:
        echo_json(history_facts(reading.last(last)), indent=None)
    else:
        echo(history_text(drawn))
        if n_left_out and last is None:
            echo(f"\n{n_left_out} earlier looks are left out; --all shows them.")


@baseline_app.callback()
def baseline() -> None:
    """Keep the baseline of a run for re-validation elsewhere.

    \b
    Examples:
      harness baseline export toxicity-20260101T120000Z-1a2b3c baselines/toxicity
    """


@baseline_app.command(short_help="Write baseline, anchor and history into a small folder.")
def export(
    run: Annotated[str, typer.Argument(help="A finished run, by name or path.")],
    folder: Annotated[Path, typer.Argument(help="A new folder; harness revalidate accepts it.")],
    *,
    anchor: Anchor = None,
    item_text: Annotated[
        bool, typer.Option("--item-text/--no-item-text", help="Write the items' texts too.")
    ] = False,
    keep_replies: Annotated[
        bool,
        typer.Option(
            "--keep-replies",
            help="Write the texts of replies too, here and in each look. Looks then print some of "
            "them, also into the logs of a CI system.",
        ),
    ] = False,
    task: TaskFolder = None,
    seed: Seed = 0,
    out: options.Out = None,
) -> None:
    """Write baseline, anchor and history of a run into a small folder without texts.

    Commit it, or keep it in the cache of a CI system: harness revalidate FOLDER asks the judges on
    a machine that has nothing but the task, and adds to the history in the folder.

    \b
    Examples:
      harness baseline export toxicity-20260101T120000Z-1a2b3c baselines/toxicity
      harness revalidate baselines/toxicity
    """
    from harness.revalidation.asking import LookOptions
    from harness.revalidation.revalidate import export_baseline
    from harness.runs import find_run

    look_options = LookOptions(anchor=anchor, task=task, seed=seed)
    export_baseline(
        find_run(out, run), folder, look_options, item_text=item_text, keep_replies=keep_replies
    )
    echo(str(folder))
