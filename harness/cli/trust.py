"""`harness trust`: find a judge's verdicts that you can accept without a person."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_result, write
from harness.files.plain_text import counted
from harness.options.concerns import Choices, Confidence, Json
from harness.options.declaration import Options, option
from harness.options.result_options import JudgeName, RunOrVerdicts, Trusting

if TYPE_CHECKING:
    from harness.analysis import Source
    from harness.analysis.verdict_trust import VerdictTrust


class TrustSubject(RunOrVerdicts, Trusting, JudgeName):
    """Options for the judge to check, from a run or with verdicts on a task."""

    judge: str = option(..., "The judge whose verdicts are checked.", flag="--judge -j")
    max_error: float = option(
        ..., "Maximum share of errors among accepted verdicts, such as 0.1.", gt=0, lt=1
    )


class TrustFiles(Options):
    """Options for files with each verdict and with the items left to rate."""

    accepted_file: Path | None = option(
        None,
        "Write each verdict with its confidence and whether it's accepted, as csv.",
        flag="--export",
    )
    rest_file: Path | None = option(
        None,
        "Write the items without an accepted verdict as a queue for `harness annotate --queue`.",
        flag="--queue",
    )


@takes
def trust(
    run: options.FinishedRun = None,
    *,
    subject: TrustSubject,
    level: Confidence,
    files: TrustFiles,
    printing: Json,
) -> None:
    """Find a judge's verdicts that you can accept without a person.

    The command tests a threshold on the judge's own confidence (agreement of its replies,
    probability of the answer, or both) on the rated items, so that the error among accepted
    verdicts is at most --max-error with 95% confidence. No verdict is accepted if the ratings don't
    show that.

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

    choices = Choices.of(level)
    if (task := subject.task_instead_of(run)) is None:
        source, result = trust_in_run(find_run(subject.out, run), subject.judge, subject, choices)
    else:
        source, result = trust_in_verdicts(task, subject.verdicts, subject.judge, subject, choices)
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
    """Print which files were written, and the command to rate the remaining items."""
    if files.accepted_file is not None:
        echo(f"Wrote {files.accepted_file}: {counted([len(result.verdicts)], 'verdict')}.")
    if files.rest_file is None:
        return
    echo(f"Wrote {files.rest_file}: {counted([len(result.rest)])}.")
    if source.location.takes_ratings and result.rest:
        task, file = source.location.task, str(files.rest_file)
        echo(
            f"Next:\n  harness annotate {quote(task)} --rater NAME --queue {quote(file)}"
            "  # NAME: the rater's name"
        )
