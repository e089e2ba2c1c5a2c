"""`harness schedule`: write a workflow, timer or crontab line that re-validates a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo
from harness.command_options import SCHEDULE
from harness.errors import RunError
from harness.revalidation import Period, Target
from harness.revalidation.look_options import LookOptions


@takes(SCHEDULE)
def schedule(
    run: Annotated[
        str, typer.Argument(help="A finished run, or the folder of an exported baseline.")
    ],
    *,
    every: Annotated[Period, typer.Option(help="How often.")] = "week",
    emit: Annotated[Target, typer.Option(help="For which scheduler.")],
    look_options: LookOptions,
    alerts: Annotated[
        bool,
        typer.Option("--notify", help="Post alerts to the address in $HARNESS_NOTIFY_URL."),
    ] = False,
    package: Annotated[
        str | None,
        typer.Option(
            help="Repository (git+https://...) or wheel that a pipeline installs; by default what "
            "this harness was installed from."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the files into this folder; print them by default.")
    ] = None,
    out: options.Out = None,
) -> None:
    """Emit a workflow, a pipeline, a crontab line or a timer that re-validates a run.

    Keys are named, never written, and so is the password of a store: it comes from $PGPASSWORD, or
    with the whole address from $HARNESS_STORE. harness revalidate --if-due makes extra calls
    harmless.

    \b
    Examples:
      harness schedule baselines/toxicity --emit github --package harness.whl
      harness schedule RUN --every day --emit cron
    """
    from harness.files import write_file, writing_to
    from harness.revalidation.fail_on import read_conditions
    from harness.revalidation.notification import VARIABLE
    from harness.revalidation.schedule import (
        Schedule,
        files_of,
        keys_of,
        options_of,
        options_of_store,
        package_of,
        watched_by_schedule,
    )
    from harness.revalidation.watched_judges import watched_judges
    from harness.runs import find_run

    folder = find_run(out, run)
    read_conditions(look_options.fail_on)
    watched = watched_by_schedule(folder, look_options.judges)
    words = options_of(folder, emit, task=look_options.task, judges_file=look_options.judges_file)
    of_store = options_of_store(look_options.store)
    keys = keys_of(watched_judges(folder, watched.judges))
    described = Schedule(
        run=run if Path(run).exists() else str(folder.path),
        every=every,
        options=(
            *("--fail-on", look_options.fail_on),
            *_asking(watched.judges, look_options),
            *words,
            *of_store.options,
        ),
        keys=(*keys, *of_store.keys, *((VARIABLE,) if alerts else ())),
        package=package_of(emit, package, of_store.extra),
    )
    echo(watched.sentence, err=True)
    for name, text in files_of(described, emit).items():
        if output is None:
            echo(text.removesuffix("\n"))
            continue
        with writing_to(output / name, RunError):
            output.mkdir(parents=True, exist_ok=True)
            echo(str(write_file(output / name, text.encode())))


def _asking(judges: tuple[str, ...], options: LookOptions) -> list[str]:
    """Return the options of a look that are not its defaults."""
    samples = options.samples if options.replies_per_item > 1 else None
    asked = LookOptions(judges=judges or None, samples=samples, max_cost=options.max_cost)
    return asked.words()
