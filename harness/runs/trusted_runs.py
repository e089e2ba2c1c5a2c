"""Verdicts in a run or a file that can be accepted without a person's check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from harness.analysis.serialize import from_json, to_json
from harness.analysis.verdict_trust import VerdictTrust, verdict_trust
from harness.errors import OptionError, RunError
from harness.files.regular_files import read_file
from harness.runs.ledger import tried_in_run
from harness.runs.run_folder import TRUST_FILE
from harness.runs.sources import compared_source, source_of_verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis import Source
    from harness.options.concerns import Choices
    from harness.options.result_options import Trusting
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task

DEFAULT_LEVEL = 0.95


def trust_in_run(
    folder: RunFolder, judge: str, trusting: Trusting, choices: Choices
) -> tuple[Source, VerdictTrust]:
    """Return a run's source, and the verdicts of a judge that can be accepted unchecked.

    Parameters
    ----------
    folder : RunFolder
        The run.
    judge : str
        Name of a judge in the run.
    trusting : Trusting
        The bound, and the definition of an error.
    choices : Choices
        Choices with the level; 0.95 by default.

    Raises
    ------
    HarnessError
        As for `compared_source` and `verdict_trust`.
    """
    source = compared_source(folder)
    tried = tried_in_run(folder)
    n_judges = tried.n if tried else len(folder.manifest.judges)
    result = _trust(source, judge, trusting, choices, n_judges)
    _keep(folder, result)
    return source, result


class KeptTrust(msgspec.Struct, frozen=True, kw_only=True):
    """Last trust result of each judge in a run, by the judge's name.

    Attributes
    ----------
    verdicts_hash : str
        Hash of the verdict log that the results are based on.
    judges : dict of str to VerdictTrust
        Results, without the single verdicts.
    """

    verdicts_hash: str
    judges: dict[str, VerdictTrust]


def _keep(folder: RunFolder, result: VerdictTrust) -> None:
    """Save a result for the run's report, replacing the same judge's last result."""
    earlier = kept_trust(folder) if folder.has(TRUST_FILE) else ()
    judges = {own.judge: own for own in earlier}
    judges[result.judge] = replace(result, verdicts=())
    kept = KeptTrust(verdicts_hash=folder.verdicts_hash(), judges=judges)
    folder.write(TRUST_FILE, to_json(kept) + "\n")


def kept_trust(folder: RunFolder) -> tuple[VerdictTrust, ...]:
    """Return the saved results for a run, or () if the verdicts have changed since.

    Raises
    ------
    RunError
        If the file cannot be read.
    """
    path = folder.path / TRUST_FILE
    try:
        kept = from_json(read_file(path), KeptTrust)
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: can't be read ({error})", "Delete it") from None
    return tuple(kept.judges.values()) if kept.verdicts_hash == folder.verdicts_hash() else ()


def trust_in_verdicts(
    task: str | Task, verdicts: Path | None, judge: str, trusting: Trusting, choices: Choices
) -> tuple[Source, VerdictTrust]:
    """Return the source for a task and a verdict file, and the verdicts that can be accepted.

    Parameters
    ----------
    task : str or Task
        A task, or its name or path.
    verdicts : Path or None
        A file, as for `source_of_verdicts`.
    judge, trusting, choices
        As for `trust_in_run`.

    Raises
    ------
    OptionError
        If there is no file.
    HarnessError
        As for `source_of_verdicts` and `verdict_trust`.
    """
    if verdicts is None:
        raise OptionError("verdicts", "a task alone has no verdicts", "Pass a file of verdicts")
    source = source_of_verdicts(task, verdicts)
    return source, _trust(source, judge, trusting, choices, len(source.judges))


def _trust(
    source: Source, judge: str, trusting: Trusting, choices: Choices, n_judges: int
) -> VerdictTrust:
    if trusting.max_error is None:
        raise OptionError(
            "max_error", "this needs a bound on the error", "Pass a bound, such as 0.1"
        )
    level = DEFAULT_LEVEL if choices.confidence is None else choices.confidence
    if not 0.0 < level < 1.0:
        raise OptionError("confidence", "a confidence level must be between 0 and 1", found=level)
    trust, _ = verdict_trust(
        source,
        judge,
        max_error=trusting.max_error,
        error_kind=trusting.error_kind,
        level=level,
        n_judges=max(n_judges, 1),
    )
    return trust
