"""`harness validate`: compute every number from a run folder, or from verdicts of another tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.shards import ShardedValidation
    from harness.stats.selection.ranking import Ranking


def validate(
    ctx: typer.Context,
    run: Annotated[
        Path | None, typer.Argument(help="A run folder; its metrics and report are rewritten.")
    ] = None,
    *,
    task: options.Task = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="Verdicts of another tool: jsonl, csv or parquet with item, judge, value."
        ),
    ] = None,
    shards: Annotated[
        Path | None,
        typer.Option(
            help="Folder of shards, each a folder with ratings.parquet and verdicts.parquet, for "
            "more items than fit into memory."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Shards that are read at a time; 1 by default.")
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
    replies: options.Replies = None,
    min_answered: options.MinAnswered = None,
    worth: options.Worth = None,
    abstention: options.Abstention = None,
    humans: options.Humans = None,
    fail_unless: options.FailUnless = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    details: options.Details = False,
    quiet: options.Quiet = False,
) -> None:
    """Validate verdicts against human ratings; without verdicts, describe the human ratings.

    \b
    Examples:
      harness validate --task diagnoses
      harness validate --task ./my-task --verdicts verdicts.csv
      harness validate --task ./my-task --shards ./shards
      harness validate runs/toxicity-20260101T120000Z-1a2b3c
      harness validate runs/toxicity-20260101T120000Z-1a2b3c --beta 0.3 --tau 0.4
    """
    from harness.app import finish, validate_verdicts
    from harness.report.text import render
    from harness.runs import RunFolder

    if shards is not None:
        from harness.shards import validate_shards

        options.check_shards(ctx)
        level_of_shards = confidence or 0.95
        counted = validate_shards(
            task or "", shards, seed=seed, level=level_of_shards, n_workers=workers or 1
        )
        _print_shards(counted, level_of_shards, as_json=as_json)
        return
    if workers is not None:
        raise typer.BadParameter("--workers is for --shards; leave it out")
    options.check_fail_unless(fail_unless)
    choices = options.choices(
        tau=tau,
        metric=metric,
        beta=beta,
        family=family,
        mode=mode,
        level=level,
        unanswered=unanswered,
        confidence=confidence,
        interval=interval,
        replies=replies,
        min_answered=min_answered,
        worth=worth,
        abstention=abstention,
        humans=humans,
    )
    validation: Validation
    if run is not None:
        if task or verdicts:
            raise typer.BadParameter("give a run folder, or --task and --verdicts, not both")
        validation = finish(RunFolder.open(run), choices)
    elif task is not None:
        validation = validate_verdicts(
            task, verdicts, criterion=criterion, limit=limit, choices=choices, seed=seed
        )
    else:
        raise typer.BadParameter("name a run folder, or a task with --task")
    if as_json:
        echo_json(validation.to_json())
    else:
        echo(render(validation, details=details and not quiet))
    raise typer.Exit(options.exit_code_of(validation, fail_unless))


def _print_shards(validation: ShardedValidation, level: float, *, as_json: bool) -> None:
    from harness.cli.lists import show

    if as_json:
        echo_json(json.dumps(validation.to_json(), indent=2))
        return
    rows = _rows_of_ranking(validation, validation.ranking) if validation.ranking else []
    show(rows, as_json=False)
    echo(
        f"{validation.n_items} items with ratings, {validation.n_compared} of which all ranked "
        f"judges answered; {100 * level:g} % intervals over {validation.n_blocks} blocks of items"
    )
    for judge, fraction in validation.answered_fraction.items():
        if judge not in {row["judge"] for row in rows}:
            echo(f"{judge} answered {fraction:.1%} of the rated items and is not ranked")
    if validation.ranking:
        echo(_on_baselines(validation, validation.ranking.rows[0].judge))
    reasons = (f"{part} ({reason})" for part, reason in validation.not_computed.items())
    echo(f"NA: {', '.join(reasons)}")
    if validation.n_foreign:
        echo(f"{validation.n_foreign} verdicts on items without ratings were left out")


def _on_baselines(validation: ShardedValidation, judge: str) -> str:
    unbeaten = [name for name, better in validation.better_than[judge].items() if not better]
    values = ", ".join(
        f"{name} {'NA' if value is None else f'{value:.4f}'}"
        for name, value in validation.baselines.items()
    )
    better = (
        f"not significantly better than {', '.join(unbeaten)}" if unbeaten else "better than all"
    )
    return f"{judge} is {better} of the computed baselines: {values}"


def _rows_of_ranking(validation: ShardedValidation, ranking: Ranking) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for ranked in ranking.rows:
        estimate = validation.compared[ranked.judge]
        counts, interval = validation.outcomes[ranked.judge], estimate.interval
        rows.append(
            {
                "judge": ranked.judge,
                ranking.metric: "NA" if estimate.value is None else f"{estimate.value:.4f}",
                "interval": f"[{interval.low:.4f}, {interval.high:.4f}]" if interval else "none",
                "items": estimate.n_used,
                "answered": counts["answered"],
                "not": sum(counts.values()) - counts["answered"],
            }
        )
    return rows
