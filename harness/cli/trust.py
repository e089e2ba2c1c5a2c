"""`harness trust`: which verdicts of a judge can stand without a person."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_result, write
from harness.options.concerns import (
    Choices,
    Json,
    JudgeName,
    Out,
    TaskOption,
    Trusting,
    VerdictFile,
)
from harness.options.declaration import TRUST, TRUST_TASK, Options, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.analysis import Source
    from harness.analysis.verdict_trust import VerdictTrust


class TrustSubject(VerdictFile, TaskOption, JudgeName):
    """Which judge's verdicts are checked, of a run or on a task."""


class TrustFiles(Options):
    """What is written about each verdict."""

    accepted_file: Path | None = option(
        None,
        "Write each verdict with its confidence and whether it's accepted, as csv.",
        (TRUST, TRUST_TASK),
        flag="--export",
    )
    rest_file: Path | None = option(
        None,
        "Write the other items as a queue for `harness annotate --queue`.",
        (TRUST, TRUST_TASK),
        flag="--queue",
    )


def _use(values: Mapping[str, Any]) -> str:
    """Return whether verdicts of a run are checked, or those made elsewhere."""
    if values["task"] is not None and values["run"] is not None:
        raise typer.BadParameter("give a run, or --task and --verdicts, not both")
    return TRUST if values["task"] is None else TRUST_TASK


@takes(TRUST, TRUST_TASK, use=_use, max_error=...)
def trust(
    run: options.FinishedRun = None,
    *,
    subject: TrustSubject,
    trusting: Trusting,
    choices: Choices,
    files: TrustFiles,
    place: Out,
    printing: Json,
) -> None:
    """Find the verdicts of a judge that can stand without a person.

    A threshold on the judge's own confidence (agreement of its replies, probability of the answer,
    or both) is tested on the rated items, so that the error among accepted verdicts is at most
    --max-error with 95% confidence. No verdict is accepted if the ratings don't show that.

    \b
    Examples:
      harness trust --judge gpt --max-error 0.1
      harness trust --judge gpt --max-error 0.3 --error rater --export a.csv
      harness trust --judge gpt --max-error 0.1 --queue queue.csv
      harness trust --task ./mine --verdicts v.csv --judge gpt --max-error 0.1
    """
    from harness.report.trust_files import accepted_csv, queue_csv
    from harness.report.trust_text import trust_text
    from harness.runs.run_folder import find_run
    from harness.runs.trusted_runs import trust_in_run, trust_in_verdicts

    if subject.task is None:
        source, result = trust_in_run(find_run(place.out, run), subject.judge, trusting, choices)
    else:
        source, result = trust_in_verdicts(
            subject.task, subject.verdicts, subject.judge, trusting, choices
        )
    if files.accepted_file is not None:
        write(files.accepted_file, accepted_csv(result))
    if files.rest_file is not None:
        write(files.rest_file, queue_csv(result))
    if printing.as_json:
        echo_result(result)
    else:
        echo(trust_text(result))
        _print_files(source, result, files)


def _print_files(source: Source, result: VerdictTrust, files: TrustFiles) -> None:
    """Say what was written, and how to have the rest rated."""
    if files.accepted_file is not None:
        echo(f"Wrote {files.accepted_file}: {len(result.verdicts)} verdicts.")
    if files.rest_file is None:
        return
    echo(f"Wrote {files.rest_file}: {len(result.rest)} items.")
    if source.location.takes_ratings and result.rest:
        task, file = source.location.task, str(files.rest_file)
        echo(
            f"Next:\n  harness annotate {quote(task)} --rater NAME --queue {quote(file)}"
            "  # NAME: the rater's name"
        )
