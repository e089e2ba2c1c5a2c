"""`harness schedule`: write a workflow, timer or crontab line that re-validates a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo
from harness.errors import RunError
from harness.revalidation import FAIL_ON, Period, Target


def schedule(
    run: Annotated[
        str, typer.Argument(help="A finished run, or the folder of an exported baseline.")
    ],
    *,
    every: Annotated[Period, typer.Option(help="How often.")] = "week",
    emit: Annotated[Target, typer.Option(help="For which scheduler.")],
    fail_on: Annotated[
        str, typer.Option(help="When a look fails; see harness revalidate.")
    ] = FAIL_ON,
    judges: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Judges that are watched, comma-separated, or all; by default the best judge and "
            "those that are not significantly different from it.",
        ),
    ] = None,
    judges_file: Annotated[
        Path | None, typer.Option(help="The judges.yaml that names the judges' addresses.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", help="Name or path of the task there; found by default."),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Times each judge is asked per item in a look.")
    ] = 1,
    max_cost: options.MaxCost = None,
    notify: Annotated[
        bool,
        typer.Option("--notify", help="Post alerts to the address in $HARNESS_NOTIFY_URL."),
    ] = False,
    store: options.Store = None,
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
    read_conditions(fail_on)
    watched = watched_by_schedule(folder, options.split(judges, "--judges"))
    words = options_of(folder, emit, task=task, judges_file=judges_file)
    of_store = options_of_store(store)
    keys = keys_of(watched_judges(folder, watched.judges))
    described = Schedule(
        run=run if Path(run).exists() else str(folder.path),
        every=every,
        options=(
            *("--fail-on", fail_on),
            *_asking(watched.judges, samples, max_cost),
            *words,
            *of_store.options,
        ),
        keys=(*keys, *of_store.keys, *((VARIABLE,) if notify else ())),
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


def _asking(judges: tuple[str, ...], samples: int, max_cost: float | None) -> tuple[str, ...]:
    """Return the options of a look that are not its defaults."""
    return (
        *(("--judges", ",".join(judges)) if judges else ()),
        *(("--samples", str(samples)) if samples > 1 else ()),
        *(("--max-cost", str(max_cost)) if max_cost is not None else ()),
    )
