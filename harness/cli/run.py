"""`harness run`: ask judges, validate them, say which one to use."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.progress import dollars, watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.app import Plan, RunResult
    from harness.judging.prompts.requests import Elicitation
    from harness.judging.running.cost_estimate import JudgeQuote
    from harness.runs import RunFolder


def run(
    ctx: typer.Context,
    task: options.Task = None,
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            "-j",
            help="Judges: aliases or litellm models, comma-separated; else the embedded ones.",
        ),
    ] = None,
    *,
    elicitation: Annotated[
        str,
        typer.Option(help="How to ask, comma-separated: forced_choice, response_set, paired."),
    ] = "forced_choice,response_set",
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Times each judge is asked per item; its own default if absent."),
    ] = None,
    limit: options.Limit = None,
    criterion: options.Criterion = None,
    tau: options.Tau = None,
    metric: options.Metric = None,
    beta: options.Beta = None,
    family: options.Family = None,
    mode: options.Mode = None,
    level: options.Level = None,
    unanswered: options.Unanswered = None,
    confidence: options.Confidence = None,
    interval: options.Interval = None,
    seed: options.Seed = 0,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before the run costs more than this many USD.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost per judge; ask nothing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest unfinished run, or with --run.")
    ] = False,
    run_name: Annotated[
        str | None, typer.Option("--run", help="Run folder to resume, by name or path.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Let random and majority join.")
    ] = True,
    base_url: Annotated[
        str | None,
        typer.Option(help="Ask an OpenAI-compatible server here for judges that are no alias."),
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds that server's key.")
    ] = None,
    judges_file: options.JudgesFile = None,
    allow_redirects: Annotated[
        bool,
        typer.Option(
            "--allow-redirects", help="Also run providers whose redirects cannot be refused."
        ),
    ] = False,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="Ask in batches, cheaper, where providers take them."),
    ] = False,
    out: options.Out = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of the reply cache; $HARNESS_CACHE by default.")
    ] = None,
    use_cache: Annotated[
        bool, typer.Option("--cached/--no-cache", help="Look replies up before asking.")
    ] = True,
    item_text: Annotated[
        bool,
        typer.Option("--item-text/--no-item-text", help="Keep the items' texts in the run folder."),
    ] = True,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Ask judges about a task's items, validate them against its raters, and rank them.

    \b
    Examples:
      harness run --task toxicity
      harness run --task toxicity --judges gpt,claude --samples 5 --max-cost 2
      harness run --task ./my-task --judges m --base-url http://127.0.0.1:8000/v1
      harness run --resume --max-cost 5
    """
    from harness.app import begin, check_judges, make_plan, quote
    from harness.runs import RunConfig, default_out

    folder: RunFolder | None = None
    if resume or run_name:
        options.refuse_what_is_settled(ctx)
        folder, plan = _unfinished(out or default_out(), run_name, max_cost, cache)
    else:
        if task is None:
            raise typer.BadParameter("name a task, e.g. --task toxicity", param_hint="--task")
        config = RunConfig(
            task=task,
            elicitations=chosen_elicitations(elicitation),
            limit=limit,
            criterion=criterion,
            samples=samples,
            seed=seed,
            choices=options.choices(
                tau=tau,
                metric=metric,
                beta=beta,
                family=family,
                mode=mode,
                level=level,
                unanswered=unanswered,
                confidence=confidence,
                interval=interval,
            ),
            max_cost=max_cost,
            item_text=item_text,
            allow_redirects=allow_redirects,
            batch=batch,
        )
        plan = make_plan(
            config,
            judges=options.split(judges, "--judges"),
            judges_file=judges_file,
            base_url=base_url,
            key_env=key_env,
            baselines=baselines,
        )
    if dry_run:
        show_quotes(quote(plan), as_json=as_json)
        return
    check_judges(plan)
    folder = folder or begin(plan, out or default_out())
    result = watched(plan, folder, cache=cache, use_cache=use_cache, quiet=quiet)
    _show(result, quiet=quiet, as_json=as_json)
    raise typer.Exit(result.exit_code)


def _unfinished(
    out: Path, name: str | None, max_cost: float | None, cache: Path | None
) -> tuple[RunFolder, Plan]:
    """Find the run to go on with; a probe's has a command of its own."""
    from harness.app import resume_plan
    from harness.judging.cache_folder import resume_command
    from harness.probe import PROBE, refuse_attacked
    from harness.runs import find_run

    folder = find_run(out, name, unfinished=True)
    plan = resume_plan(folder, max_cost=max_cost)
    refuse_attacked(plan.task, resume_command(folder.path, cache, PROBE))
    return folder, plan


def chosen_elicitations(names: str) -> tuple[Elicitation, ...]:
    """Read ``--elicitation``; in the order of asking."""
    from harness.judging.prompts.requests import ELICITATIONS

    chosen = options.split(names, "--elicitation") or []
    for name in chosen:
        if name not in ELICITATIONS:
            raise typer.BadParameter(
                f"{name!r} is none of {', '.join(ELICITATIONS)}", param_hint="--elicitation"
            )
    return tuple(e for e in ELICITATIONS if e in chosen)


def watched(
    plan: Plan,
    folder: RunFolder,
    *,
    cache: Path | None,
    use_cache: bool,
    quiet: bool,
    verb: str = "run --resume",
) -> RunResult:
    """Ask what is open, with a bar or a line per judge; ``verb`` goes on with such a run."""
    from harness.app import execute

    planned = {job.judge.spec.name: sum(job.planned.values()) for job in plan.jobs}
    with watch(planned, quiet=quiet) as observer:
        for judge, reason in plan.skipped.items():
            observer.say(f"{judge} skipped: {reason}")
        return execute(plan, folder, observer=observer, cache=cache, use_cache=use_cache, verb=verb)


def _show(result: RunResult, *, quiet: bool, as_json: bool) -> None:
    from harness.report.text import render

    if as_json:
        typer.echo(result.validation.to_json())
        return
    typer.echo(render(result.validation, brief=quiet))
    if not quiet:
        typer.echo(f"\nRun folder: {result.folder.path}   paid: {paid(result)}")


def paid(result: RunResult) -> str:
    """Say what a run cost; judges whose price is unknown are named, for the sum lacks them."""
    known = dollars(result.spent_usd)
    unknown = [judge.name for judge in result.validation.judges if judge.cost.usd is None]
    return f"{known}, not counting {', '.join(unknown)} (unknown price)" if unknown else known


def show_quotes(quotes: Sequence[JudgeQuote], *, as_json: bool) -> None:
    """Print what every judge would cost."""
    from harness.cli.lists import show

    if as_json:
        typer.echo(json.dumps([asdict(q) for q in quotes], indent=2))
        return
    rows = [
        {
            "judge": q.judge,
            "calls": q.calls,
            "prompt tokens": q.prompt_tokens,
            "reply tokens": q.expected_completion_tokens,
            "cost": dollars(q.expected_usd),
            "cost at most": dollars(q.cost_usd),
        }
        for q in quotes
    ]
    show(rows, as_json=False)
