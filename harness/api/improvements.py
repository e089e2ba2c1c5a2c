"""Search for a better way to query a judge."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.asked_runs import Run, folder_of
from harness.api.calling import TURN, LogObserver, wait_for
from harness.api.table_tasks import load_task
from harness.app.judge_search import JudgeSearch, SearchEdge, search_of_run
from harness.judging.running.stopping import StopRequests
from harness.loading import edge
from harness.options.concerns import RunOptions, RunPlace, Server
from harness.options.declaration import read_options
from harness.options.keyword_arguments import keywords
from harness.options.search_options import Searching, SearchPlace, SearchSettings

if TYPE_CHECKING:
    from harness.analysis.improvement import Improvement
    from harness.api.table_tasks import TableMapping, TaskLike
    from harness.judging.running.recorder import Observer


@keywords(Searching, SearchSettings, Server, SearchPlace)
def improve(
    task: TaskLike | Run,
    judge: str,
    *,
    mapping: TableMapping | None = None,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Improvement:
    """Search for a better way to query a judge, and test its gain on held-out items.

    If a search was interrupted, the same call continues it. If it has ended, the call returns its
    result.

    Parameters
    ----------
    task : str, Path, Task, list of dict, DataFrame or Run
        The rated items: as for `run`, or a run that included the judge.
    judge : str
        An alias or a litellm model, with its current strategy.
    mapping : dict, optional
        For a table: which column is what, see `TableMapping`.
    observer : Observer, optional
        As for `run`.
    **options

    Returns
    -------
    Improvement
        ``best`` is the variant that the search selected, ``gain`` its gain on the held-out items
        with an interval, and ``validation`` the validation behind its recommendation.

    Raises
    ------
    HarnessError
        If the task, the judge or an option is wrong. Nothing was spent.

    Examples
    --------
    >>> found = harness.improve("toxicity", "smollm2", rounds=1, candidates=1)
    >>> improvement.best
    'smollm2@verbalised'
    """
    place = RunPlace.of(read_options(SearchPlace, options))
    settings = RunOptions.of(read_options(SearchSettings, options))
    wanted = read_options(Searching, options)
    if isinstance(task, Run):
        subject, own = search_of_run(folder_of(task, place.out), judge)
        settings = settings.model_copy(update=own)
    else:
        subject = load_task(str(task) if isinstance(task, Path) else task, mapping=mapping)
    search = JudgeSearch(
        task=subject,
        judge=judge,
        options=wanted,
        settings=settings,
        server=read_options(Server, options),
        place=place,
        command=("harness.improve",),
        writer=wanted.writer or "",
    )
    stop = StopRequests()
    return wait_for(partial(_searched, search, observer or LogObserver(), stop), stop)


def _searched(search: JudgeSearch, observer: Observer, stop: StopRequests) -> Improvement:
    with TURN:
        return edge("racing", SearchEdge).improve(search, lambda _: nullcontext(observer), stop)
