"""Estimates for items without ratings, as in `harness estimate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.asked_runs import folder_of
from harness.api.calling import TURN, LogObserver, wait_for
from harness.errors import OptionError
from harness.estimation.estimate_options import EstimateOptions, EstimatePlace
from harness.estimation.unrated_items import DEFAULT_LEVEL, Wanted
from harness.estimation.unrated_items import estimate as estimate_items
from harness.judging.running.stopping import StopRequests
from harness.options.concerns import Confidence, FirstItems, Limit, RunPlace, Server
from harness.options.declaration import read_options
from harness.options.keyword_arguments import keywords
from harness.options.result_options import Trusting

if TYPE_CHECKING:
    from harness.api.asked_runs import Run
    from harness.estimation.unrated_items import Estimation
    from harness.judging.running.recorder import Observer

PATH_OF_ITEMS = (
    "Write the items to a file first, such as with DataFrame.to_csv(path, index=False), and pass "
    "its path"
)
MODELS = (EstimateOptions, Trusting, FirstItems, Confidence, Limit, Server, EstimatePlace)


@keywords(*MODELS)
def estimate(
    run: Run | str | Path | None = None,
    *,
    judge: str,
    items: str | Path,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Estimation:
    """Run a judge on items without ratings, and estimate their mean.

    The same as ``harness estimate``. If a call was interrupted, the same call resumes it.

    Parameters
    ----------
    run : Run, str or Path, optional
        The run; the newest by default.
    judge : str
        Name of a judge in the run.
    items : str or Path
        A csv, jsonl or parquet table of items without ratings, or a folder of such tables.
    observer : Observer, optional
        As for `run`.
    **options

    Returns
    -------
    Estimation
        The mean with its interval, alternative estimates, whether the items resemble the rated
        ones, and the exit code. The mean is None until the judge has been run on all items.

    Raises
    ------
    HarnessError
        If the run, the judge, the items or an option is wrong.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"])
    >>> found = harness.estimate(run, judge="lexicon", items="unlabelled.jsonl")
    >>> found.mean.estimate.low < found.mean.estimate.high
    True
    """
    if not isinstance(items, str | Path):
        raise OptionError("items", "not a path", PATH_OF_ITEMS, found=type(items).__name__)
    place = RunPlace.of(read_options(EstimatePlace, options))
    wanted = Wanted(
        options=read_options(EstimateOptions, options),
        level=read_options(Confidence, options).confidence or DEFAULT_LEVEL,
        n_items=read_options(FirstItems, options).limit,
        trusting=read_options(Trusting, options),
        limit=read_options(Limit, options),
        server=read_options(Server, options),
        place=place,
    )
    folder = folder_of(run, place.out)
    function = partial(
        _estimate, folder, judge, Path(items), wanted, observer=observer or LogObserver()
    )
    return wait_for(function, StopRequests())


def _estimate(*arguments: Any, observer: Observer) -> Estimation:  # noqa: ANN401 -- see `estimate`
    with TURN:
        return estimate_items(*arguments, observer=observer, progress=lambda _: None)
