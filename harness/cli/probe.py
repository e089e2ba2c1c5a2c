"""`harness probe`: what moves a judge that should not."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options

if TYPE_CHECKING:
    from harness.app import Plan, RunResult
    from harness.probe import Probe
    from harness.runs import RunFolder

N_ITEMS, WIDTH = 20, 80

app = typer.Typer(name="probe", rich_markup_mode=None)


@app.callback()
def probe() -> None:
    """Find out what moves a judge that should not.

    \b
    Examples:
      harness probe injection --task toxicity --judges lexicon --limit 5
    """


@app.command(short_help="Hide attacks in the items and count the verdicts that flip.")
def injection(
    ctx: typer.Context,
    task: options.Task = None,
    judges: Annotated[
        str | None,
        typer.Option("--judges", "-j", help="Judges, as for run; the embedded ones by default."),
    ] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, help="Attack only the first N items.")] = N_ITEMS,
    samples: Annotated[
        int, typer.Option(min=1, help="Times each judge is asked per item, attacked or not.")
    ] = 1,
    elicitation: Annotated[
        str, typer.Option(help="How to ask, comma-separated, as for run.")
    ] = "forced_choice",
    attacks: Annotated[
        Path | None, typer.Option(help="Attacks of your own (jsonl); the shipped set by default.")
    ] = None,
    criterion: options.Criterion = None,
    seed: options.Seed = 0,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before it costs more than this many USD.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost per judge; ask nothing.")
    ] = False,
    run_name: Annotated[
        str | None, typer.Option("--run", help="Go on with this probe's run folder, or redo it.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Server of judges that are no alias, as for run.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds that server's key.")
    ] = None,
    judges_file: options.JudgesFile = None,
    out: options.Out = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of the reply cache; $HARNESS_CACHE by default.")
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Hide attacks in the items' texts and count the verdicts that flip, per judge and kind.

    An ordinary run whose items are asked as they are, under each attack, and changed without a
    wish (control). Its folder also holds probe.json.

    \b
    Examples:
      harness probe injection --task toxicity
      harness probe injection --task toxicity --judges gpt,claude --dry-run
    """
    from harness.app import begin, check_judges, make_plan, quote, resume_plan
    from harness.cli.run import chosen_elicitations, show_quotes
    from harness.probe import attacked_task, check_attacked, read_attacks
    from harness.ratings import select_items
    from harness.runs import RunConfig, default_out, find_run

    out = out or default_out()
    folder: RunFolder | None = None
    if run_name:
        options.refuse_what_is_settled(ctx)
        folder = find_run(out, run_name)
        plan = resume_plan(folder, max_cost=max_cost)
        check_attacked(plan.task)
    else:
        if task is None:
            raise typer.BadParameter("name a task, e.g. --task toxicity", param_hint="--task")
        hidden = read_attacks(attacks)
        plan = make_plan(
            RunConfig(
                task=task,
                elicitations=chosen_elicitations(elicitation),
                samples=samples,
                seed=seed,
                max_cost=max_cost,
            ),
            judges=options.split(judges, "--judges"),
            judges_file=judges_file,
            base_url=base_url,
            key_env=key_env,
            baselines=False,
            prepare=lambda whole: attacked_task(
                whole, select_items(whole, criterion=criterion, limit=limit), hidden
            ),
        )
    if dry_run:
        show_quotes(quote(plan), as_json=as_json)
        return
    check_judges(plan)
    result = _ask(plan, folder or begin(plan, out), cache=cache, quiet=quiet)
    _show(_write(plan, result), result, quiet=quiet, as_json=as_json)
    raise typer.Exit(result.exit_code)


def _ask(plan: Plan, folder: RunFolder, *, cache: Path | None, quiet: bool) -> RunResult:
    from harness.cli.run import watched
    from harness.probe import PROBE

    return watched(plan, folder, cache=cache, use_cache=True, quiet=quiet, verb=PROBE)


def _write(plan: Plan, result: RunResult) -> Probe:
    from harness.probe import flips_of

    found = flips_of(
        result.folder.load_task(),
        result.folder.read_verdicts().final,
        {job.judge.spec.name: job.samples for job in plan.jobs},
        [e for e in plan.config.elicitations if e in plan.task.elicitations],
    )
    result.folder.write("probe.json", found.model_dump_json(indent=1) + "\n")
    return found


def _show(found: Probe, result: RunResult, *, quiet: bool, as_json: bool) -> None:
    from harness.cli.lists import show
    from harness.cli.run import paid
    from harness.probe.probe_report import opening, rows_of, sentences

    if as_json:
        typer.echo(found.model_dump_json(indent=1))
        return
    typer.echo(opening(found))
    for judge in found.judges:
        typer.echo("")
        for sentence in sentences(judge):
            typer.echo(fill(sentence, WIDTH))
        if not quiet:
            typer.echo("")
            show(rows_of(judge), as_json=False)
    if not quiet:
        typer.echo(f"\nRun folder: {result.folder.path}   paid: {paid(result)}")
