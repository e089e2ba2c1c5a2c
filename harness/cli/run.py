"""`harness run`: ask judges, validate them, and rank them."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from harness.cli import options
from harness.cli.output import dollars, echo, echo_json, show
from harness.cli.study import print_study
from harness.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.analysis import Validation
    from harness.app import Asking, Plan, RunResult
    from harness.judging.running.cost_estimate import JudgeQuote

STOPPED = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)


PLACE: dict[str, Any] = {
    "cache": options.Cache,
    "store": options.Store,
    "executor": options.Executor,
    "use_cache": Annotated[
        bool, typer.Option("--cached/--no-cache", help="Use the response cache.")
    ],
}


@options.group("choices", options.CHOICES)
@options.group("limits", options.LIMITS, max_cost_soft=False)
@options.group("server", options.SERVER)
@options.group("place", PLACE, executor="local", use_cache=True)
def run(
    ctx: typer.Context,
    run_name: options.RunName = None,
    *,
    task: options.Tasks = None,
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            "-j",
            help="Judges: aliases or litellm models, comma-separated; else the embedded ones.",
        ),
    ] = None,
    elicitation: options.Elicitations = None,
    pairs: options.Pairs = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Times each judge is asked per item; its own default if absent."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens a reply may have; each judge's own limit if absent."),
    ] = None,
    limit: options.Limit = None,
    criterion: options.Criterion = None,
    choices: dict[str, Any],
    fail_unless: options.FailUnless = None,
    seed: options.Seed = 0,
    limits: dict[str, Any],
    dry_run: options.DryRun = False,
    resume: options.Resume = False,
    server: dict[str, Any],
    allow_redirects: Annotated[
        bool,
        typer.Option(
            "--allow-redirects", help="Also run providers whose redirects cannot be refused."
        ),
    ] = False,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="Use batch interfaces, which cost less, where they exist."),
    ] = False,
    shuffle_options: options.ShuffleOptions = False,
    new_ledger: options.NewLedger = False,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the items that no run shows or scores until harness confirm, e.g. 0.3.",
        ),
    ] = None,
    out: options.Out = None,
    place: dict[str, Any],
    item_text: Annotated[
        bool,
        typer.Option("--item-text/--no-item-text", help="Keep the items' texts in the run folder."),
    ] = True,
    details: options.Details = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Ask judges about a task's items, validate them against its raters, and rank them.

    \b
    Examples:
      harness run --task toxicity
      harness run --task toxicity --judges gpt,claude --samples 5 --max-cost 2
      harness run --task toxicity --judges gpt,gpt@cot,gpt+claude
      harness run --task ./my-task --judges m --base-url http://127.0.0.1:8000/v1
      harness run --task ./coherence,./fluency --judges gpt,claude
      harness run --resume
      harness run --resume toxicity-20260101T120000Z-1a2b3c --max-cost 5
    """
    from harness.app import plan_run

    options.check_resume(ctx, resume=resume, run_name=run_name)
    options.check_fail_unless(fail_unless)
    _check_store(**place)
    if resume:
        limits.pop("reply_cap")
        settings = {"task": task, **limits, **server}
        plans = [_plan_unfinished(run_name, out, place["cache"], **settings)]
    else:
        plan_task = partial(
            plan_run,
            judges=options.split(judges, "--judges"),
            elicitations=options.elicitations(elicitation, pairs),
            pairs=pairs,
            samples=samples,
            max_tokens=max_tokens,
            limit=limit,
            criterion=criterion,
            choices=options.checked_choices(choices),
            seed=seed,
            allow_redirects=allow_redirects,
            batch=batch,
            shuffle_options=shuffle_options,
            new_ledger=new_ledger,
            holdout=options.checked_holdout(holdout),
            item_text=item_text,
            **limits,
            **server,
        )
        options.check_limits(**limits)
        plans = [plan_task(task=name) for name in options.several_tasks(task)]
    if dry_run:
        print_costs(*plans, as_json=as_json)
        return
    codes: list[int] = []
    finished: dict[str, Validation] = {}
    for result in _results(plans, partial(run_with_progress, quiet=quiet, out=out, **place)):
        codes += [result.exit_code, options.exit_code_of(result.validation, fail_unless)]
        finished[result.folder.path.name] = result.validation
        if len(plans) == 1 or not as_json:
            print_result(result, quiet=quiet, as_json=as_json, details=details)
    if len(finished) > 1:
        if not as_json:
            echo("")
        print_study(finished, as_json=as_json)
    raise typer.Exit(ExitCode.most_important(codes))


def _results(plans: Sequence[Plan], ask: Callable[[Plan], RunResult]) -> Iterator[RunResult]:
    """Run plans within one limit of cost until the user stops them."""
    spent_usd = 0.0
    for plan in plans:
        result = ask(_with_rest(plan, spent_usd))
        spent_usd += result.cost_usd + result.assumed_usd
        yield result
        if result.exit_code in STOPPED:
            return


def _with_rest(plan: Plan, spent_usd: float) -> Plan:
    """Return a plan that may cost what the runs before it left of the limit."""
    if plan.config.max_cost is None:
        return plan
    rest = max(0.0, plan.config.max_cost - spent_usd)
    return replace(plan, config=plan.config.model_copy(update={"max_cost": rest}))


def _check_store(*, cache: Path | None, store: str | None, executor: str, use_cache: bool) -> None:
    """Refuse a store beside a cache, or beside none, and a cluster without a store."""
    if executor != "local":
        from harness.judging.cluster.ray_cluster import cluster_address

        cluster_address(executor)
        if store is None:
            raise typer.BadParameter("workers on a cluster need a shared store; add --store")
    if store is not None and (cache is not None or not use_cache):
        option = "--cache" if cache is not None else "--no-cache"
        raise typer.BadParameter(f"a store takes the place of the cache; leave {option} out")


def _plan_unfinished(
    run_name: str | None,
    out: Path | None,
    cache: Path | None,
    **settings: Any,  # noqa: ANN401 -- of `plan_resumed_run`
) -> Plan:
    """Plan the rest of a run; a probe is resumed by its own command."""
    from harness.app import plan_resumed_run
    from harness.errors import RunError
    from harness.probe.flip_rates import is_perturbed, probe_of
    from harness.runs import find_run
    from harness.user_folders import resume_command

    folder = find_run(out, run_name, unfinished=True)
    plan = plan_resumed_run(folder, **settings)
    if is_perturbed(plan.task):
        command = resume_command(folder.path, cache, f"probe {probe_of(plan.task)}")
        raise RunError(
            f"task {plan.task.name}: its items are changed by a probe, so judges are not ranked on "
            f"them; resume the probe with: {command}"
        )
    return plan


def run_with_progress(
    plan: Plan, *, quiet: bool, out: Path | None, **asking: Unpack[Asking]
) -> RunResult:
    """Run a plan with progress bars, or with lines where there is no terminal."""
    from harness.app import run_plan
    from harness.cli.progress import watch

    with watch(plan.n_planned, quiet=quiet) as observer:
        return run_plan(plan, observer=observer, out=out, **asking)


def print_result(result: RunResult, *, quiet: bool, as_json: bool, details: bool) -> None:
    """Print a validation as JSON, or as text with the place of its page."""
    from harness.analysis.serialize import indented
    from harness.report.text import render

    if as_json:
        echo_json(indented(result.validation.to_json()))
        return
    echo(render(result.validation, details=details))
    if not quiet:
        print_folder(result)


def print_folder(result: RunResult) -> None:
    """Print where the page is, and the cost; judges of unknown price are named."""
    from harness.judging.judges.pricing import price_of

    cost = dollars(result.cost_usd)
    if result.assumed_usd:
        most = dollars(result.cost_usd + result.assumed_usd)
        cost += f", at most {most} with calls that may have been billed without a price"
    unknown = [judge.name for judge in result.validation.judges if judge.cost.usd is None]
    embedder = result.folder.manifest.embedder
    if embedder and price_of(embedder) is None:
        unknown.append(embedder.name)
    if unknown:
        cost += f", not counting {', '.join(unknown)} (unknown price)"
    echo(f"\nReport: {result.folder.path / 'report.html'}   cost: {cost}")


def print_costs(*plans: Plan, as_json: bool) -> None:
    """Print calls, tokens and cost per judge, task by task.

    Raises
    ------
    JudgeUnavailable
        If the cost limit of a plan cannot be kept.
    """
    from harness.app import check_limits, estimate_costs, overshoots

    for plan in plans:
        check_limits(plan)
    if as_json:
        echo_json([asdict(quote) for plan in plans for quote in estimate_costs(plan)])
        return
    for plan in plans:
        quotes = estimate_costs(plan)
        show(list(map(_cost_row, quotes)))
        counts = quotes[0].n_items if quotes else {}
        echo("items: " + ", ".join(f"{name} {n}" for name, n in counts.items()))
        for overshoot in overshoots(plan):
            echo(str(overshoot))


def _cost_row(quote: JudgeQuote) -> dict[str, object]:
    is_unlimited = quote.cost_usd is None and quote.expected_usd is not None
    return {
        "judge": quote.judge,
        "calls": quote.calls,
        "prompt tokens": quote.prompt_tokens,
        "reply tokens": quote.expected_completion_tokens,
        "reply cap": "none" if quote.reply_cap is None else quote.reply_cap,
        "cost": dollars(quote.expected_usd),
        "cost at most": "no limit" if is_unlimited else dollars(quote.cost_usd),
    }
