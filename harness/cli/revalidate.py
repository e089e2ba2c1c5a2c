"""`harness revalidate`, `history` and `baseline`: ask the judges of a run again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json, echo_result, write
from harness.errors import ExitCode, HarnessError
from harness.revalidation import FAIL_ON, Period

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.revalidation.asking import LookOptions
    from harness.revalidation.ending import LookEnding
    from harness.revalidation.fail_on import Condition
    from harness.revalidation.history import Look
    from harness.revalidation.revalidate import Revalidation
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
ADVISED_REPLIES = 5  # per item of a baseline
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
    from harness.revalidation.asking import LookOptions
    from harness.revalidation.ending import ending_of
    from harness.revalidation.fail_on import check_conditions
    from harness.revalidation.watched_judges import watched_judges
    from harness.runs import find_run

    conditions = _conditions(fail_on)
    _check_notify(notify)
    with _errors_as_json(run, as_json=as_json):
        folder = find_run(out, run)
        watched = tuple(options.split(judges, "--judges") or ())
        look_options = LookOptions(judges=watched, **size, **asking)
        names = [spec.name for spec in watched_judges(folder, watched)]
        if if_due is not None:
            _end_unless_due(folder, if_due, names, conditions, quiet=quiet, as_json=as_json)
        if (because is None) != (exclude is None):
            raise typer.BadParameter("go together; give both", param_hint="--exclude and --because")
        if exclude is not None and because is not None:
            lines = _exclude(folder, exclude, because, look_options, dry_run=dry_run)
            _print_done(folder, lines, ExitCode.DONE, quiet=quiet, as_json=as_json)
        elif accept is not None:
            _check_accept(size, fail_on)
            lines, code = _accept(
                folder, accept, look_options, dry_run=dry_run, confirmed=yes, quiet=quiet
            )
            _print_done(folder, lines, code, quiet=quiet, as_json=as_json)
        elif dry_run:
            check_conditions(conditions, folder, asking["task"], names)
            _print_costs(folder, look_options, as_json=as_json)
        else:
            check_conditions(conditions, folder, asking["task"], names)
            result = _look(folder, look_options, notify, quiet=quiet)
            ending = ending_of(folder, result, conditions)
            if ending.exit_code:
                _notify(notify, ending.sentence, ending.facts())
            if as_json:
                _print_json(ending, ending.look)
            elif not quiet or ending.exit_code:
                _print_text(folder, result, details=details)
            _end(ending)


@contextmanager
def _errors_as_json(run: str | None, *, as_json: bool) -> Iterator[None]:
    """Print an error as JSON, too, where that is wanted."""
    try:
        yield
    except HarnessError as error:
        if as_json:
            _print_facts(run, [str(error)], error.exit_code, failed=[str(error)])
        raise


def _print_done(
    folder: RunFolder, lines: list[str], code: ExitCode, *, quiet: bool, as_json: bool
) -> None:
    """Print what was done without a look, and end."""
    if as_json:
        _print_facts(str(folder.path), lines, code)
    elif not quiet:
        for line in lines:
            echo(line)
    raise typer.Exit(code)


def _print_facts(
    run: str | None, sentences: list[str], code: ExitCode, *, failed: list[str] | None = None
) -> None:
    """Print as JSON how a command ended that has no look to show."""
    facts = {"run": run, "exit_code": int(code), "failed": failed or [], "sentences": sentences}
    echo_result({**facts, "verdicts": {}})


def _check_accept(size: dict[str, Any], fail_on: str) -> None:
    """Refuse options that do not go with ``--accept``."""
    if size["anchor"] is not None or size["baseline_replies"] is not None:
        raise typer.BadParameter(
            "keeps the items; leave --anchor out, and give --baseline-replies in the next look",
            param_hint="--accept",
        )
    if fail_on != FAIL_ON:
        raise typer.BadParameter("compares nothing; leave --fail-on out", param_hint="--accept")


def _look(
    folder: RunFolder, look_options: LookOptions, notify: str | None, *, quiet: bool
) -> Revalidation:
    """Ask the judges; an error is posted before it ends the command."""
    try:
        return _revalidate(folder, look_options, quiet=quiet)
    except HarnessError as error:
        ending = {"run": str(folder.path), "exit_code": int(error.exit_code)}
        _notify(notify, str(error), ending)
        raise


def _end_unless_due(
    folder: RunFolder,
    every: Period,
    judges: list[str],
    conditions: tuple[Condition, ...],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """End as the last look at some judges did, if the next one is not due."""
    from harness.report.formatting import duration
    from harness.revalidation.ending import ending_unless_due
    from harness.revalidation.history import FILE, read_history

    history = read_history(folder.path / FILE)
    ending = ending_unless_due(folder, history, every, judges, conditions)
    if ending is None or ending.due_in_s is None:
        return
    if as_json:
        _print_json(ending, None)
    elif not quiet or ending.exit_code:
        echo(f"Not due: the next look is due in {duration(ending.due_in_s)}.")
    _end(ending)


def _check_notify(url: str | None) -> None:
    from harness.revalidation.notification import check_notify_url

    if url:
        check_notify_url(url)


def _notify(url: str | None, sentence: str, ending: dict[str, Any]) -> None:
    """Post how a look ended, where an address is given; say it where that failed."""
    from harness.revalidation.notification import notify

    if url and (problem := notify(url, sentence, ending, ending["run"])):
        echo(f"harness: --notify: {problem}; the look itself is complete.", err=True)


def _print_json(ending: LookEnding, look: Look | None) -> None:
    from msgspec.structs import asdict

    from harness.revalidation.history import without_replies

    echo_result(ending.facts() | (asdict(without_replies(look)) if look is not None else {}))


def _end(ending: LookEnding) -> None:
    in_actions = os.environ.get("GITHUB_ACTIONS") == "true"
    for line in ending.failed:
        echo(f"harness: {line}.", err=True)
        if in_actions:
            echo(f"::error title=harness revalidate::{_escaped(line)}", err=True)
    raise typer.Exit(ending.exit_code)


def _escaped(text: str) -> str:
    """Escape the message of a workflow command of GitHub Actions."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _conditions(fail_on: str) -> tuple[Condition, ...]:
    from harness.revalidation.fail_on import read_conditions

    try:
        return read_conditions(fail_on)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--fail-on") from None


def _accept(
    folder: RunFolder,
    number: int,
    look_options: LookOptions,
    *,
    dry_run: bool,
    confirmed: bool,
    quiet: bool,
) -> tuple[list[str], ExitCode]:
    """Accept a look; return what to say, and how it ended."""
    from harness.cli.progress import watch
    from harness.revalidation.revalidate import accept_look, plan_acceptance

    accepted = plan_acceptance(folder, number, look_options)
    if not dry_run:
        with watch(accepted.n_planned, quiet=quiet) as observer:
            accepted = accept_look(folder, number, look_options, observer, confirmed=confirmed)
    baseline, n = accepted.baseline, accepted.n_asked
    looks = f"look {', '.join(map(str, accepted.pooled))}" if accepted.pooled else "no look so far"
    asked = f", and {replies_of(n)} per item asked anew" if n else ""
    if dry_run:
        lines = [f"A new baseline would hold the replies of {looks}{asked}. Nothing was written."]
    elif baseline is None:
        lines = ["No baseline was made: asking was stopped."]
    else:
        line = (
            f"Baseline {baseline.number} of this run holds the replies of {looks}{asked}: "
            f"{replies_of(baseline.n_replies)} per item. The chance of a false "
            f"alarm is {baseline.alpha:.0%} for each baseline."
        )
        lines = [line]
        if baseline.n_replies < ADVISED_REPLIES:
            lines.append(f"Ask for more in the next look: --baseline-replies {ADVISED_REPLIES}")
    return lines, accepted.exit_code


def replies_of(n: int) -> str:
    """Return a number of replies with its noun."""
    return "1 reply" if n == 1 else f"{n} replies"


def _exclude(
    folder: RunFolder, number: int, because: str, look_options: LookOptions, *, dry_run: bool
) -> list[str]:
    """Exclude a look; return what to say."""
    from harness.revalidation.revalidate import exclude_look

    look = exclude_look(folder, number, because, look_options, dry_run=dry_run)
    verdicts = ", ".join(f"{judge.judge} {judge.verdict}" for judge in look.judges)
    verb = "would be" if dry_run else "are"
    line = f"The replies of look {number} {verb} excluded. Look {look.number} then: {verdicts}."
    return [line, *(["Nothing was written."] if dry_run else [])]


def _print_costs(folder: RunFolder, look_options: LookOptions, *, as_json: bool) -> None:
    from harness.cli.run import print_costs
    from harness.revalidation.revalidate import plan_look

    print_costs(plan_look(folder, look_options), as_json=as_json)


def _revalidate(folder: RunFolder, look_options: LookOptions, *, quiet: bool) -> Revalidation:
    from harness.cli.progress import watch
    from harness.revalidation.revalidate import plan_look, revalidate

    with watch(plan_look(folder, look_options).n_planned, quiet=quiet) as observer:
        return revalidate(folder, look_options, observer)


def _print_text(folder: RunFolder, result: Revalidation, *, details: bool) -> None:
    from harness.revalidation.changed_rows import changed_rows
    from harness.revalidation.history_text import changed_text, look_text, with_command
    from harness.revalidation.verdict_sentences import lead

    look, baseline = result.look, result.history.baseline
    if look is None or baseline is None:
        return
    for verdict, sentence in lead(look, baseline):
        echo(with_command(sentence), colour=COLOURS[verdict])
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
