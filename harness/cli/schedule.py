"""`harness revalidate schedule`: write a workflow, a timer or a crontab line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.binding import takes
from harness.cli.output import echo
from harness.errors import RunError
from harness.options.concerns import (
    BaseUrl,
    Judges,
    KeyEnv,
    MaxCost,
    Out,
    StoreOption,
    TaskOption,
)
from harness.options.declaration import Names, Options, option
from harness.revalidation import Period, Target
from harness.revalidation.look_options import (
    Every,
    FailOn,
    LookOptions,
    LookSamples,
    ValidatedFile,
)

USUAL: Period = "week"


class ScheduleOptions(Every):
    """Options for the scheduler, and for the time between rounds."""

    every: Period = option(USUAL, "Time between rounds.")
    emit: Target = option(..., "Scheduler to write files for.")


class ScheduledTask(TaskOption):
    """Option for the location of the task."""

    task: str | None = option(None, "Name or path of the task in the repository.", flag="--task -t")


class ScheduledJudges(Judges):
    """Option for the judges to watch."""

    judges: Names = option(
        None,
        "Judges to watch, comma-separated, or all. Default: the judge in use.",
        flag="--judges -j",
    )


class ScheduledLooks(
    StoreOption,
    ValidatedFile,
    KeyEnv,
    BaseUrl,
    MaxCost,
    FailOn,
    LookSamples,
    ScheduledTask,
    ScheduledJudges,
):
    """Options for running the judges in each round."""


class EmittedOptions(Options):
    """Options for the contents and the folder of a schedule's files."""

    alerts: bool = option(
        False,
        "Post alerts to the address in $HARNESS_NOTIFY_URL.",
        flag="--notify",
    )
    package: str | None = option(
        None,
        "Repository (git+https://...) or wheel that a pipeline installs. Default: what this "
        "harness was installed from.",
    )
    output: Path | None = option(None, "Write the files into this folder. Default: print them.")


@takes
def schedule(
    run: Annotated[
        str, typer.Argument(help="A finished run, or the folder of an exported baseline.")
    ],
    *,
    wanted: ScheduleOptions,
    looks: ScheduledLooks,
    files: EmittedOptions,
    place: Out,
) -> None:
    """Write a workflow, pipeline, crontab line or timer that re-validates a run.

    Keys and a store's password are never written, only the names of their variables. The password
    comes from $PGPASSWORD, or with the whole address from $HARNESS_STORE. harness revalidate
    --if-due makes extra calls harmless.

    \b
    Examples:
      harness revalidate schedule baselines/toxicity --emit github
      harness revalidate schedule RUN --every day --emit cron
    """
    from harness.files.regular_files import write_file, writing_to
    from harness.revalidation.fail_on import read_fail_on
    from harness.revalidation.notification import VARIABLE
    from harness.revalidation.schedule import (
        KEYS_FILE,
        Schedule,
        files_of,
        keys_of,
        options_of,
        options_of_store,
        package_of,
        unset_keys,
        watched_by_schedule,
    )
    from harness.revalidation.watched_judges import watched_judges
    from harness.runs.run_folder import find_run

    folder, look_options = find_run(place.out, run), LookOptions.of(looks)
    read_fail_on(look_options.fail_on)
    watched = watched_by_schedule(folder, look_options.judges)
    words = options_of(
        folder,
        wanted.emit,
        task=look_options.task,
        server=look_options,
        judges=watched.judges,
    )
    of_store = options_of_store(look_options.store)
    keys = keys_of(watched_judges(folder, watched.judges), look_options.key_env)
    described = Schedule(
        run=run if Path(run).exists() else str(folder.path),
        every=wanted.every,
        options=(
            *("--fail-on", look_options.fail_on),
            *_asking(watched.judges, look_options),
            *words,
            *of_store.options,
        ),
        keys=(*keys, *of_store.keys, *((VARIABLE,) if files.alerts else ())),
        package=package_of(wanted.emit, files.package, of_store.extra),
    )
    echo(watched.sentence, err=True)
    if not described.package and (unset := unset_keys(described.keys)):
        lines = f"{KEYS_FILE} doesn't set {', '.join(unset)}"
        echo(f"{lines}. Add a line NAME=VALUE for each before the first round.", err=True)
    for name, text in files_of(described, wanted.emit).items():
        if files.output is None:
            echo(text.removesuffix("\n"))
            continue
        with writing_to(files.output / name, RunError):
            files.output.mkdir(parents=True, exist_ok=True)
            echo(str(write_file(files.output / name, text.encode())))


def _asking(judges: tuple[str, ...], options: LookOptions) -> list[str]:
    """Return command-line words for a round's options that differ from the defaults."""
    samples = options.samples if options.replies_per_item > 1 else None
    asked = LookOptions(judges=judges or None, samples=samples, max_cost=options.max_cost)
    return asked.words()
