"""`harness resume`: send a run's or probe's missing requests, and finish it."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.binding import takes
from harness.cli.run import run_plans
from harness.options.concerns import Handling, MovedTask, ResumeOptions, RunPlace, Server

UnfinishedRun = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run, by name or path. Default: the newest unfinished one.",
        show_default=False,
    ),
]


@takes
def resume(
    run_name: UnfinishedRun = None,
    *,
    subject: MovedTask,
    settings: ResumeOptions,
    server: Server,
    place: RunPlace,
    handling: Handling,
) -> None:
    """Send the missing requests of a run or a probe that was stopped, and finish it.

    A resumed run keeps its options. Replies you already have aren't paid for again.

    \b
    Examples:
      harness resume
      harness resume toxicity-20260101T120000Z-1a2b3c --max-cost 5
    """
    from harness.app.plan_of_run import plan_resumed_run
    from harness.runs.run_folder import find_run

    folder = find_run(place.out, run_name, unfinished=True)
    probe = folder.manifest.config.changed_by
    plan = plan_resumed_run(
        folder, limit=settings, task=subject.task, server=server, changed_by=probe
    )
    if not probe:
        run_plans([plan], place, handling)
        return
    from harness.loading import check_edge

    check_edge("probe")
    from harness.cli.probe import run_probe

    if handling.fail_unless:
        raise typer.BadParameter("a probe has no recommendation", param_hint="--fail-unless")
    if place.store is not None or place.executor != "local":
        raise typer.BadParameter("a probe can't use --store or --executor. Leave out both")
    run_probe(plan, place, handling)
