"""Functions that start, resume, confirm and open runs of judges."""

from __future__ import annotations

import asyncio
import json
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from harness.api.calling import TURN, LogObserver, wait_for
from harness.api.table_tasks import NO_MAPPING, load_task, strings
from harness.app.embeddings import run_cost_usd
from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_confirmation, plan_resumed_run
from harness.app.run import run_plan, validate_run
from harness.errors import HarnessError
from harness.judging.running.stopping import StopRequests
from harness.options.concerns import (
    Choices,
    Limit,
    ResumeOptions,
    RunOptions,
    RunPlace,
    Server,
    check_place,
)
from harness.options.declaration import leave_out, read_options
from harness.options.keyword_arguments import in_python, keywords
from harness.report.export import arrow_table
from harness.report.flat_metrics import flat_metrics
from harness.report.rebuild import stored_validation
from harness.runs.run_folder import RunFolder, find_run
from harness.runs.sources import verdicts_of
from harness.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from harness.analysis import Validation
    from harness.api.table_tasks import TableMapping, TaskLike
    from harness.app.plan import Plan
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer

MAX_NAMES = 3  # most judges that a repr lists, to fit on a line
VERDICT_COLUMNS = {
    "item": "string",
    "judge": "string",
    "elicitation": "string",
    "sample": "int64",
    "outcome": "string",
    "value": "string",
    "reason": "string",
    "reply": "string",
    "model": "string",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "cost_usd": "float64",
    "latency_s": "float64",
}
OF_REPLY = frozenset({"model", "prompt_tokens", "completion_tokens", "cost_usd", "latency_s"})


class Run:
    """Run of judges on a task, with its results.

    Attributes
    ----------
    path : Path
        The run folder.
    exit_code : int or None
        0 if every judge completed all its requests; see `harness.errors.ExitCode`. None if the run
        was killed or is still in progress.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.path = folder.path
        self.exit_code = folder.manifest.exit_code

    @cached_property
    def validation(self) -> Validation:
        """Contents of ``metrics.json``, such as the ranking and the metrics."""
        return stored_validation(self._folder) or validate_run(self._folder)

    @property
    def report_path(self) -> Path:
        """Path of the report, which is an HTML page."""
        return self.path / "report.html"

    @cached_property
    def cost_usd(self) -> float:
        """Cost in USD of all replies with a known price that this run paid for."""
        return run_cost_usd(self._folder)

    @property
    def verdicts(self) -> Any:  # noqa: ANN401 -- neither pandas nor pyarrow has types
        """Table with one verdict per row, in pandas or, if pandas is missing, in pyarrow.

        Response sets are JSON arrays of option keys, and pairs are JSON objects, as in a CSV file.
        `validate` accepts the table.
        """
        import pyarrow as pa  # noqa: PLC0415 -- takes 50 ms

        rows = [_row_of(verdict) for verdict in verdicts_of(self._folder)]
        schema = pa.schema(
            [(name, pa.type_for_alias(kind)) for name, kind in VERDICT_COLUMNS.items()]
        )
        return _frame(pa.Table.from_pylist(rows, schema=schema))

    def to_frame(self) -> Any:  # noqa: ANN401 -- neither pandas nor pyarrow has types
        """Return one row per judge and metric, in pandas or, if pandas is missing, in pyarrow.

        A row contains the value, its interval, the number of items, and, if the value is NA, why.
        Agreement among the raters is listed under the judge ``"raters"``.

        Examples
        --------
        >>> run = harness.run("toxicity", judges=["lexicon"], limit=20)
        >>> frame = run.to_frame()
        >>> frame[frame["metric"] == "mse(srs/srs)"]["n_used"].item()
        16
        """
        return _frame(arrow_table(self.validation))

    def metrics(self) -> dict[str, float]:
        """Return all numbers that are not NA under flat names, for experiment trackers.

        You can pass it to ``mlflow.log_metrics`` and ``wandb.log``. Names are ``judge/metric``,
        with ``_low`` and ``_high`` for the ends of the interval. NA values are left out; `to_frame`
        lists the reason for each.

        Examples
        --------
        >>> run = harness.run("toxicity", judges=["lexicon"], limit=20)
        >>> round(run.metrics()["lexicon/mse_srs_srs"], 2)
        0.85
        """
        return flat_metrics(self.validation)

    def __repr__(self) -> str:
        names = [spec.name for spec in self._folder.manifest.judges]
        listed = f"judges: {', '.join(names)}"
        judges = listed if len(names) <= MAX_NAMES else f"{len(names)} judges"
        state = self._folder.manifest.state
        return f"Run({self.path.name!r}, {state}, {judges}, ${self.cost_usd:.4f})"

    def _repr_html_(self) -> str | None:
        return self.validation._repr_html_()


@keywords(RunOptions, Server, RunPlace, Choices)
def run(
    task: TaskLike | None = None,
    judges: str | Sequence[str] | None = None,
    *,
    mapping: TableMapping | None = None,
    resume: bool | str | Path = False,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Run:
    """Run judges on the items of a task, and rank them against its human raters.

    Works in scripts and notebooks (where it uses a thread). The first Ctrl-C waits for replies in
    flight and ends the run, which you can resume. The second Ctrl-C ends it at once.

    Parameters
    ----------
    task : str, Path, Task, list of dict, or DataFrame
        Name or path of a task, a loaded task, or a table of ratings.
    judges : str or sequence of str, optional
        Aliases (``harness judges`` lists them) or litellm model strings; by default every judge
        that needs neither key nor network.
    mapping : dict, optional
        For a table: which column is what, see `TableMapping`.
    resume : bool, str or Path
        Name or path of a run to resume; True for the newest unfinished one. A resumed run keeps its
        judges and most options. It accepts cost limits, options for where judges run, and
        ``base_url``, ``key_env`` and ``judges_file``, which must define the same judges as before.
    observer : Observer, optional
        Receives progress updates. By default, messages for the user are logged under ``"harness"``.
    **options

    Returns
    -------
    Run
        Returned even if some judges are incomplete: see `Run.exit_code`.

    Raises
    ------
    HarnessError
        If the task, a judge or an option is wrong. Nothing was spent.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], limit=20)
    >>> run
    Run('toxicity-...', done, judges: lexicon, $0.0000)
    >>> run.validation.judge("lexicon").metrics["mse(srs/srs)"].n_used
    16
    >>> run.report_path.name
    'report.html'
    """
    stop = StopRequests()
    asked = _Asked(task, _names(judges), mapping, resume, observer)
    function = partial(_run, asked, options, stop)
    return wait_for(function, stop)


@keywords(RunOptions, Server, RunPlace, Choices)
async def arun(
    task: TaskLike | None = None,
    judges: str | Sequence[str] | None = None,
    *,
    mapping: TableMapping | None = None,
    resume: bool | str | Path = False,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Run:
    """Run judges as `run` does, without blocking the event loop.

    If you cancel the call, it waits for replies in flight and ends the run, which you can resume.
    Concurrent runs take turns. Parameters are the same as for `run`.

    Raises
    ------
    HarnessError
        As for `run`.

    Examples
    --------
    >>> async def main():
    ...     return await harness.arun("toxicity", judges=["lexicon"], limit=20)
    >>> asyncio.run(main()).exit_code
    0
    """
    stop = StopRequests()
    asked = _Asked(task, _names(judges), mapping, resume, observer)
    running = asyncio.get_running_loop().run_in_executor(None, partial(_run, asked, options, stop))
    try:
        return await asyncio.shield(running)
    except HarnessError as error:
        raise in_python(error) from None
    except asyncio.CancelledError:
        stop.request()
        await asyncio.wait([running])
        raise


def load_run(run: str | Path | None = None, *, out: str | Path | None = None) -> Run:
    """Open a run folder.

    Parameters
    ----------
    run : str or Path, optional
        Path of the folder, or its name in ``out``; by default, the newest run.
    out : str or Path, optional
        Folder that contains the run folders; by default ``$HARNESS_RUNS`` or ``./runs``.

    Raises
    ------
    RunError
        If the run does not exist or cannot be read.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], limit=20)
    >>> harness.load_run(run.path).verdicts.shape[0]
    40
    """
    return Run(folder_of(run, _path(out)))


@keywords(Limit, Server, RunPlace)
def confirm(
    run: str | Path,
    judge: str,
    *,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Run:
    """Test one judge of a run on its held-out items, and recommend whether to use it.

    You can confirm only one judge, and only once. If a confirmation was interrupted, the same call
    resumes it. The confirmation is written to the run's folder.

    Parameters
    ----------
    run : str or Path
        A run with a holdout, by name or path.
    judge : str
        Name of the judge in that run.
    observer : Observer, optional
        As for `run`.
    **options

    Returns
    -------
    Run
        The confirmation, in the run's subfolder ``confirmation``.

    Raises
    ------
    HarnessError
        If the run has no held-out items or no such judge, or the items were used before.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], holdout=0.3, new_ledger=True)
    >>> harness.confirm(run.path, "lexicon").path.name
    'confirmation'
    """
    stop = StopRequests()
    place, server = read_options(RunPlace, options), read_options(Server, options)
    folder, limit = find_run(place.out, str(run)), read_options(Limit, options)
    plan = plan_confirmation(folder, judge, limit=limit, server=server)
    place = place.model_copy(update={"out": folder.path})
    function = partial(_run_plan, plan, place, observer or LogObserver(), stop)
    return wait_for(function, stop)


class _Asked(NamedTuple):
    """Arguments of `run` other than options."""

    task: TaskLike | None
    judges: tuple[str, ...] | None
    mapping: TableMapping | None
    resume: bool | str | Path
    observer: Observer | None


def _run(asked: _Asked, options: Mapping[str, object], stop: StopRequests) -> Run:
    place = read_options(RunPlace, options)
    check_place(place)
    plan = _plan_resumed(asked, options, place) if asked.resume else _plan_new(asked, options)
    return _run_plan(plan, place, asked.observer or LogObserver(), stop)


def _run_plan(plan: Plan, place: RunPlace, observer: Observer, stop: StopRequests) -> Run:
    with TURN:
        result = run_plan(plan, observer=observer, out=place.out, place=place, stop=stop)
    run = Run(result.folder)
    run.validation, run.cost_usd = result.validation, result.cost_usd
    return run


def _plan_new(asked: _Asked, values: Mapping[str, object]) -> Plan:
    task, options = asked.task, read_options(RunOptions, values)
    if task is None:
        raise HarnessError("pass a task, e.g. 'toxicity', or a run to resume")
    is_table = not isinstance(task, str | Path)
    subject = load_task(task, mapping=asked.mapping) if is_table else str(task)
    if asked.mapping and not is_table:
        raise HarnessError(NO_MAPPING)
    if isinstance(subject, Task) and not subject.folder.is_dir() and not options.item_text:
        raise HarnessError(
            "a table cannot be run with item_text=False, because the run couldn't be resumed"
        )
    choices, server = read_options(Choices, values), read_options(Server, values)
    return plan_run(subject, asked.judges, options, choices=choices, server=server)


def _plan_resumed(asked: _Asked, values: Mapping[str, object], place: RunPlace) -> Plan:
    kept = {name for name, value in values.items() if value is not None}
    for model in (ResumeOptions, Server, RunPlace):
        kept -= model.model_fields.keys()
    leave_out(kept, "a resumed run keeps its options", ", or start a new run")
    if asked.judges is not None or asked.mapping or not isinstance(asked.task, str | Path | None):
        raise HarnessError("a resumed run keeps its judges and its task. Leave out both arguments")
    name = None if asked.resume is True else str(asked.resume)
    folder = find_run(place.out, name, unfinished=True)
    task = None if asked.task is None else str(asked.task)
    limit, server = read_options(ResumeOptions, values), read_options(Server, values)
    return plan_resumed_run(folder, limit=limit, task=task, server=server)


def folder_of(run: Run | str | Path | None, out: Path | None) -> RunFolder:
    """Return the folder of the run with a given name or path, or else of the newest run."""
    if isinstance(run, Run):
        return run._folder  # noqa: SLF001 -- its own module
    return find_run(out, None if run is None else str(run))


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _names(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else strings(names)


def _frame(table: pa.Table) -> Any:  # noqa: ANN401 -- neither pandas nor pyarrow has types
    try:
        return table.to_pandas()
    except ModuleNotFoundError:
        return table


def _row_of(verdict: Verdict) -> dict[str, object]:
    row = {
        name: getattr(verdict.reply if name in OF_REPLY else verdict, name, None)
        for name in VERDICT_COLUMNS
    }
    row["reply"] = verdict.reply and verdict.reply.text
    if row["value"] is not None and not isinstance(row["value"], str):
        row["value"] = json.dumps(msgspec.to_builtins(verdict.value))
    return row
