"""Checks of a judge without labels, as in `harness check`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.asked_runs import folder_of
from harness.api.calling import TURN, LogObserver, wait_for
from harness.app.plan import CheckEdge
from harness.errors import HarnessError, OptionError
from harness.judging.running.stopping import StopRequests
from harness.loading import edge
from harness.options.concerns import CHECKED_TASK, CheckedItems, Limit, Out, RunPlace, Server
from harness.options.declaration import read_options
from harness.options.keyword_arguments import keywords
from harness.runs.kept_checks import keep_check
from harness.runs.run_folder import default_out
from harness.tasks import Task, load_task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.analysis.check_result import JudgeCheck
    from harness.api.asked_runs import Run
    from harness.app.plan import Plan
    from harness.judging.running.recorder import Observer

MODELS = (CheckedItems, Limit, Server, Out)


@keywords(*MODELS)
def check(
    judge: str,
    task: str | Path | Task | None = None,
    *,
    run: Run | str | Path | None = None,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> JudgeCheck:
    """Measure how often a judge's answers flip for no reason. No labels are needed.

    The same as ``harness check``: by default it uses the first 30 items, unless you set ``limit``.
    If a check was interrupted, the same call continues it.

    Parameters
    ----------
    judge : str
        An alias or a litellm model, or the name of a judge of the run.
    task : str, Path or Task, optional
        Task with the items to use, which do not need ratings. By default the bundled task
        ``toxicity``.
    run : Run, str or Path, optional
        Check a judge of this run on its items, and keep the card for its report.
    observer : Observer, optional
        As for `run`.
    **options

    Returns
    -------
    JudgeCheck
        The card. ``flipped`` is the share of answers that flip for no reason, and ``rows`` has
        that share for each change.

    Raises
    ------
    HarnessError
        If the judge, the task, the run or an option is wrong. Nothing was spent.

    Examples
    --------
    >>> card = harness.check("lexicon", limit=3)
    >>> card.n_items, card.rows[0].change, card.rows[0].flipped.value
    (3, 'repeats', 0.0)
    """
    items, limit = read_options(CheckedItems, options), read_options(Limit, options)
    server, probes = read_options(Server, options), edge("probe", CheckEdge)
    place = RunPlace.of(read_options(Out, options))
    if run is not None and task is not None:
        raise HarnessError("the judge of a run is checked on the run's items", "Drop task or run")
    folder = None if run is None else folder_of(run, place.out)
    if folder is None:
        loaded = _task_of(CHECKED_TASK if task is None else task)
        plans = probes.plans_of_judge(judge, loaded, items, limit, server)
    else:
        plans = probes.plans_in_run(folder, judge, items, limit, server)
    out = ((place.out or default_out()) if folder is None else folder.path) / "checks"
    asked = partial(_asked, plans, observer or LogObserver(), out, place, limit)
    result = wait_for(asked, StopRequests())
    if folder is not None:
        keep_check(folder, result)
    return result


def _task_of(task: str | Path | Task) -> Task:
    """Return a task, which needs no ratings. Reject rows, because only `load_task` reads them."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str | Path):
        advice = "Pass harness.load_task(rows, mapping=...), or a task folder"
        raise OptionError("task", "not a task", advice, found=type(task).__name__)
    return load_task(task, unrated=True)


def _asked(
    plans: Mapping[str, Plan], observer: Observer, out: Path, place: RunPlace, limit: Limit
) -> JudgeCheck:
    with TURN:
        probes = edge("probe", CheckEdge)
        return probes.check_judge(plans, observer=observer, below=out, place=place, limit=limit)
