"""`harness curate audit`: check the items and ratings of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json


def audit(
    task: Annotated[str, typer.Argument(help="Name or path of a task.")],
    *,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="Verdicts of judges, to measure what findings do to the decision."),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Check the items and ratings of a task: what endangers a decision, and what to do about it.

    Finds duplicates and near duplicates, items with a single rater, raters with few items, raters
    unlike the others, unused and misspelt options, secrets and personal data, and says whether
    there are enough ratings. With verdicts it also finds suspected rating errors, and puts first
    what changes the decision when it is left out.

    \b
    Examples:
      harness curate audit toxicity
      harness curate audit ./mine --verdicts ./mine/verdicts.csv
      harness curate audit ./mine --json > audit.json
    """
    from harness.analysis.serialize import to_json
    from harness.curation.audit import audit_task, audit_text
    from harness.tasks import load_task

    result = audit_task(load_task(task), verdicts, seed=seed)
    if as_json:
        echo_json(to_json(result))
    else:
        echo(audit_text(result))
