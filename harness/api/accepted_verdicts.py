"""Selection of verdicts that do not need a person's check, as in `harness trust`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.api.asked_runs import Run, folder_of
from harness.api.table_tasks import read_task, verdict_file, without_folder
from harness.errors import HarnessError
from harness.options.concerns import Choices, Confidence, Out
from harness.options.declaration import leave_out, read_options
from harness.options.keyword_arguments import keywords
from harness.options.result_options import Trusting
from harness.runs.trusted_runs import trust_in_run, trust_in_verdicts

if TYPE_CHECKING:
    from harness.analysis.verdict_trust import VerdictTrust
    from harness.api.table_tasks import TableRows, TaskLike

MODELS = (Trusting, Confidence, Out)


@keywords(*MODELS)
def trust(
    run: Run | str | Path | None = None,
    *,
    judge: str,
    task: TaskLike | None = None,
    verdicts: str | Path | TableRows | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> VerdictTrust:
    """Select a judge's verdicts that can be accepted without a person's check.

    The same as ``harness trust``. Pass either a run, or a task and verdicts.

    Parameters
    ----------
    run : Run, str or Path, optional
        The run; the newest by default.
    judge : str
        Name of a judge in the run or in the verdicts.
    task : str, Path, Task, list of dict, or DataFrame, optional
        As for `validate`.
    verdicts : str, Path, list of dict, or DataFrame, optional
        Verdicts on the task.
    **options

    Returns
    -------
    VerdictTrust
        All verdicts, each marked as accepted or not, and the evidence.

    Raises
    ------
    HarnessError
        If the run, the task, the verdicts, the judge or an option is wrong.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"])
    >>> result = harness.trust(run, judge="lexicon", max_error=0.4)
    >>> result.n_accepted == sum(verdict.accepted for verdict in result.verdicts)
    True
    """
    trusting, out = read_options(Trusting, options), read_options(Out, options).out
    choices = Choices.of(read_options(Confidence, options))
    if task is None:
        if verdicts is not None:
            raise HarnessError("verdicts need a task", "Pass a task, too, or drop verdicts")
        return trust_in_run(folder_of(run, out), judge, trusting, choices)[1]
    if run is not None:
        raise HarnessError("pass either a run, or a task and verdicts")
    leave_out(() if out is None else ("out",), "{out} is only for runs")
    with TemporaryDirectory() as scratch:
        loaded, own = read_task(task, None)
        rows = own if verdicts is None else verdicts
        file = verdict_file(rows, Path(scratch)) if rows else None
        try:
            return trust_in_verdicts(loaded, file, judge, trusting, choices)[1]
        except HarnessError as error:
            raise without_folder(error, Path(scratch)) from None
