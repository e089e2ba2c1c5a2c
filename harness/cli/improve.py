"""`harness improve`: search for a better way to run a judge, and test the gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json
from harness.cli.run import cost_text, print_costs
from harness.errors import ExitCode
from harness.options.concerns import (
    DetailsOption,
    FailUnless,
    RunOptions,
    RunPlace,
    Sending,
    Server,
    TaskOption,
)
from harness.options.declaration import option
from harness.options.result_options import JudgeName
from harness.options.search_options import Searching, SearchPlace, SearchSettings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from harness.analysis.improvement import Improvement
    from harness.app.judge_search import JudgeSearch
    from harness.app.plan import Plan
    from harness.judging.running.recorder import Observer


class ImproveSubject(TaskOption, JudgeName):
    """Options for the judge to improve and for its task."""

    judge: str = option(
        ...,
        "The judge to improve: an alias, a litellm model, or a judge in the run.",
        flag="--judge -j",
    )


class ImproveOutput(FailUnless, DetailsOption, Sending):
    """Options for the output format and for the exit code."""


@takes
def improve(
    run: options.FinishedRun = None,
    *,
    subject: ImproveSubject,
    wanted: Searching,
    settings: SearchSettings,
    server: Server,
    place: SearchPlace,
    handling: ImproveOutput,
) -> None:
    """Search for a better way of asking a judge, and test its gain on held-out items.

    The search races other ways of asking against the best one so far, on development items. It then
    runs the best one and the original judge on the held-out items, once. The same command resumes
    an interrupted search.

    \b
    Examples:
      harness improve --task toxicity --judge smollm2
      harness improve --task ./my-task --judge gpt --max-cost 5
      harness improve toxicity-20260101T120000Z-1a2b3c --judge gpt
    """
    from harness.app.judge_search import SearchEdge
    from harness.loading import edge

    if run is not None and subject.task is not None:
        raise typer.BadParameter("pass a run or --task, not both")
    search = _search(run, subject, wanted, RunOptions.of(settings), server, RunPlace.of(place))
    if handling.dry_run:
        if plan := edge("racing", SearchEdge).plan_first_round(search):
            print_costs(plan, as_json=handling.as_json)
        return
    improvement = edge("racing", SearchEdge).improve(
        search, lambda plan: _watched(plan, quiet=handling.quiet)
    )
    _print(improvement, handling)
    codes = [improvement.exit_code]
    if improvement.validation is not None:
        codes.append(options.exit_code_of(improvement.validation, handling.fail_unless))
    raise typer.Exit(ExitCode.most_important(codes))


def _search(
    run: str | None,
    subject: ImproveSubject,
    wanted: Searching,
    settings: RunOptions,
    server: Server,
    place: RunPlace,
) -> JudgeSearch:
    from harness.app.judge_search import JudgeSearch, search_of_run
    from harness.runs.run_folder import find_run
    from harness.tasks import load_task

    words: Sequence[str]
    if subject.task is None:
        folder = find_run(place.out, run)
        task, own = search_of_run(folder, subject.judge)
        settings = settings.model_copy(update=own)
        words = [str(folder.path)]
    else:
        task = load_task(subject.task)
        words = ["--task", subject.task, *_own_words(settings)]
    command = ["harness", "improve", *words, "--judge", subject.judge, *wanted.words()]
    command += [*server.words(), *place.words()]
    return JudgeSearch(
        task=task,
        judge=subject.judge,
        options=wanted,
        settings=settings,
        server=server,
        place=place,
        command=tuple(command),
        writer=wanted.writer or "",
    )


def _own_words(settings: RunOptions) -> list[str]:
    """Return command-line words for the search options that the run folder does not store."""
    names = ("criterion", "seed", "holdout", "within")
    chosen = {name: getattr(settings, name) for name in names if getattr(settings, name)}
    return [word for name, value in chosen.items() for word in (f"--{name}", str(value))]


def _watched(plan: Plan, *, quiet: bool) -> AbstractContextManager[Observer]:
    from harness.cli.progress import watch

    return watch(plan.n_planned, quiet=quiet, says_why=False)


def _print(improvement: Improvement, handling: ImproveOutput) -> None:
    from harness.report.improvement_text import render

    if handling.as_json:
        echo_json(improvement.to_json())
        return
    echo(render(improvement, details=handling.details))
    if not handling.quiet:
        unknown = [row.judge for row in improvement.candidates if row.usd is None and row.n_calls]
        cost = cost_text(improvement.cost_usd, improvement.assumed_usd, unknown)
        echo(f"\nFolder: {improvement.path}   {cost}")
        if improvement.report:
            echo(f"Report: {improvement.report}")
        if improvement.run:
            echo(f"Run the best: `{improvement.run}`")
