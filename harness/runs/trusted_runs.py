"""Trust in the single verdicts of a run, or of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.verdict_trust import verdict_trust
from harness.errors import OptionError
from harness.runs.ledger import tried_in_run
from harness.runs.sources import compared_source, source_of_verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis import Source
    from harness.analysis.verdict_trust import VerdictTrust
    from harness.options.concerns import Choices, Trusting
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task

DEFAULT_LEVEL = 0.95


def trust_in_run(
    folder: RunFolder, judge: str, trusting: Trusting, choices: Choices
) -> tuple[Source, VerdictTrust]:
    """Return the source of a run, and which verdicts of a judge can stand.

    Parameters
    ----------
    folder : RunFolder
        The run.
    judge : str
        Name of one of its judges.
    trusting : Trusting
        The bound, and what an error is.
    choices : Choices
        With the level; 0.95 by default.

    Raises
    ------
    HarnessError
        As `compared_source` and `verdict_trust`.
    """
    source = compared_source(folder)
    tried = tried_in_run(folder)
    n_judges = tried.n if tried else len(folder.manifest.judges)
    return source, _trust(source, judge, trusting, choices, n_judges)


def trust_in_verdicts(
    task: str | Task, verdicts: Path | None, judge: str, trusting: Trusting, choices: Choices
) -> tuple[Source, VerdictTrust]:
    """Return the source of a task with a file of verdicts, and which of them can stand.

    Parameters
    ----------
    task : str or Task
        A task, or its name or path.
    verdicts : Path or None
        A file, as for `source_of_verdicts`.
    judge, trusting, choices
        As of `trust_in_run`.

    Raises
    ------
    OptionError
        If there is no file.
    HarnessError
        As `source_of_verdicts` and `verdict_trust`.
    """
    if verdicts is None:
        raise OptionError("verdicts", "a task alone has no verdicts", "Name a file of verdicts")
    source = source_of_verdicts(task, verdicts)
    return source, _trust(source, judge, trusting, choices, len(source.judges))


def _trust(
    source: Source, judge: str, trusting: Trusting, choices: Choices, n_judges: int
) -> VerdictTrust:
    if trusting.max_error is None:
        raise OptionError("max_error", "a bound of the error is needed", "Give one, such as 0.1")
    level = DEFAULT_LEVEL if choices.confidence is None else choices.confidence
    if not 0.0 < level < 1.0:
        raise OptionError("confidence", "a confidence level lies between 0 and 1", found=level)
    trust, _ = verdict_trust(
        source,
        judge,
        max_error=trusting.max_error,
        error_kind=trusting.error_kind,
        level=level,
        n_judges=max(n_judges, 1),
    )
    return trust
