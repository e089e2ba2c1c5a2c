"""`harness estimate`: estimate a mean over unrated items, from a judge's answers and ratings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import dollars, echo, echo_json
from harness.estimation.estimate_options import EstimateOptions, EstimatePlace
from harness.options.concerns import Confidence, FirstItems, Limit, Reporting, RunPlace, Server
from harness.options.declaration import option
from harness.options.result_options import JudgeName, Trusting

if TYPE_CHECKING:
    from harness.estimation.unrated_items import Estimation


class EstimateSubject(Trusting, FirstItems, JudgeName):
    """Options for the judge, the unlabelled items, and the accepted error of verdicts."""

    max_error: float | None = option(
        None,
        "Also mark the verdicts that you can accept without a person, with at most this share of "
        "errors. See `harness trust`.",
        gt=0,
        lt=1,
    )

    unlabelled: Path = option(
        ...,
        "Items without ratings: a csv, jsonl or parquet file, or a folder.",
        flag="--items",
    )


@takes
def estimate(
    run: options.FinishedRun = None,
    *,
    subject: EstimateSubject,
    wanted: EstimateOptions,
    level: Confidence,
    limit: Limit,
    server: Server,
    place: EstimatePlace,
    printing: Reporting,
) -> None:
    """Run a run's judge on items without ratings, and estimate the mean for them.

    The mean is the share of raters who would give a positive answer, or the mean score, over the
    items that the unlabelled ones are drawn from. The run's rated items show how the judge errs.
    The same command resumes an interrupted estimate.

    \b
    Examples:
      harness estimate --judge gpt --items unlabelled.jsonl
      harness estimate --judge gpt --items ./parts --max-cost 5
      harness estimate --judge gpt --items unlabelled.jsonl --until-width 0.1
    """
    from harness.cli.progress import Silent
    from harness.estimation.estimate_text import described
    from harness.estimation.unrated_items import DEFAULT_LEVEL, Wanted
    from harness.estimation.unrated_items import estimate as run_estimate
    from harness.runs.run_folder import find_run

    folder = find_run(place.out, run)
    result = run_estimate(
        folder,
        subject.judge,
        subject.unlabelled,
        Wanted(
            options=wanted,
            level=level.confidence or DEFAULT_LEVEL,
            n_items=subject.limit,
            trusting=subject,
            limit=limit,
            server=server,
            place=RunPlace.of(place),
        ),
        observer=Silent(),
        progress=_ignore if printing.quiet else _show,
    )
    if printing.as_json:
        echo_json(_as_json(result))
    else:
        echo(described(result))
        if not printing.quiet:
            echo(f"\nReplies: {result.path}   cost: {dollars(result.cost_usd)}")
    raise typer.Exit(result.exit_code)


def _show(n_asked: int) -> None:
    echo(f"replies about {n_asked:,} items received", err=True)


def _ignore(n_asked: int) -> None:
    del n_asked


def _as_json(result: Estimation) -> dict[str, object]:
    accepted = result.accepted and asdict(result.accepted) | {"path": str(result.accepted.path)}
    plain = {"path": str(result.path), "exit_code": int(result.exit_code), "accepted": accepted}
    return asdict(result) | plain
