"""Re-runs of a finished run's judges, as in `harness revalidate`."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.api.asked_runs import folder_of
from harness.api.calling import TURN, LogObserver, wait_for
from harness.judging.running.stopping import StopRequests
from harness.options.concerns import Out
from harness.options.declaration import read_options
from harness.options.keyword_arguments import keywords
from harness.revalidation.look_options import LookOptions
from harness.revalidation.revalidate import revalidate as revalidate_run

if TYPE_CHECKING:
    from pathlib import Path

    from harness.api.asked_runs import Run
    from harness.judging.running.recorder import Observer
    from harness.revalidation.ending import LookEnding
    from harness.runs.run_folder import RunFolder


@keywords(LookOptions, Out, without=("dry_run",))
def revalidate(
    run: Run | str | Path | None = None,
    *,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> LookEnding:
    """Re-run a finished run's judges and test for drift beyond their usual noise.

    The same as ``harness revalidate``.

    Parameters
    ----------
    run : Run, str or Path, optional
        The run, or the folder of an exported baseline; the newest run by default.
    observer : Observer, optional
        As for `run`.
    **options

    Returns
    -------
    LookEnding
        Summary sentence, exit code, failed conditions and each judge's state. An interrupted round
        is returned too, and the next call resumes it.

    Raises
    ------
    HarnessError
        If the run, a judge or an option is wrong, or no judge can be run.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], limit=20, samples=2)
    >>> ending = harness.revalidate(run)
    >>> ending.exit_code, ending.verdicts, ending.failed
    (0, {'lexicon': 'stable'}, ())
    """
    stop = StopRequests()
    folder = folder_of(run, read_options(Out, options).out)
    wanted = read_options(LookOptions, options)
    function = partial(_revalidate, folder, wanted, observer or LogObserver(), stop)
    return wait_for(function, stop)


def _revalidate(
    folder: RunFolder, options: LookOptions, observer: Observer, stop: StopRequests
) -> LookEnding:
    with TURN:
        return revalidate_run(folder, options, lambda _: nullcontext(observer), stop=stop)
