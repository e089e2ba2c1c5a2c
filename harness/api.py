"""The Python API: run judges, validate verdicts, load tasks and runs."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from harness.app import LineObserver, run_plan, validate_run, validate_verdicts
from harness.app import confirm_verdicts as decide_on_verdicts
from harness.command_options import (
    ACCEPT,
    CONFIRM,
    CONFIRM_VERDICTS,
    EXCLUDE,
    RESUME,
    REVALIDATE,
    RUN,
    VALIDATE,
    VALIDATE_RUN,
    Choices,
    Given,
    Limit,
    Out,
    RunOptions,
    RunPlace,
    Server,
    Validating,
    check_place,
    in_python,
    keywords,
)
from harness.embeddings import run_cost_usd
from harness.errors import HarnessError
from harness.report.rebuild import stored_validation
from harness.revalidation.look_options import LookOptions, use_of_look
from harness.revalidation.revalidate import revalidate as revalidate_run
from harness.run_plans import plan_confirmation, plan_resumed_run, plan_run
from harness.runs import RunFolder, find_run
from harness.sources import verdicts_of
from harness.stopping import StopRequests
from harness.table_tasks import (
    NO_MAPPING,
    Rows,
    TableMapping,
    TaskLike,
    read_task,
    strings,
    verdict_file,
    without_folder,
)
from harness.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis import Validation
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.services import Observer
    from harness.revalidation.ending import LookEnding
    from harness.run_plans import Plan

Result = TypeVar("Result")
LOG = logging.getLogger("harness")
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
_turn = threading.Lock()  # runs of one process ask in turn: request locks are held per process


class Run:
    """A run of judges on a task, and its results.

    Attributes
    ----------
    path : Path
        The run folder.
    exit_code : int or None
        0 if every judge was asked everything; see `harness.errors.ExitCode`. None for a run that
        was killed, or is still going on.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.path = folder.path
        self.exit_code = folder.manifest.exit_code

    @cached_property
    def validation(self) -> Validation:
        """The ranking, the metrics and everything else that ``metrics.json`` holds."""
        return stored_validation(self._folder) or validate_run(self._folder)

    @property
    def report_path(self) -> Path:
        """The report, an HTML page."""
        return self.path / "report.html"

    @cached_property
    def cost_usd(self) -> float:
        """Cost of all replies that were not cached; replies of unknown price count 0."""
        return run_cost_usd(self._folder)

    @property
    def verdicts(self) -> Any:  # noqa: ANN401 -- neither pandas nor pyarrow has types
        """One row per verdict: a pandas DataFrame, or a pyarrow Table where pandas is missing.

        Response sets are JSON arrays of option keys, and pairs are JSON objects, as in a CSV file.
        `validate` accepts the table.
        """
        import pyarrow as pa  # noqa: PLC0415 -- takes 50 ms

        rows = [_row_of(verdict) for verdict in verdicts_of(self._folder)]
        schema = pa.schema(
            [(name, pa.type_for_alias(kind)) for name, kind in VERDICT_COLUMNS.items()]
        )
        table = pa.Table.from_pylist(rows, schema=schema)
        try:
            return table.to_pandas()
        except ModuleNotFoundError:
            return table

    def __repr__(self) -> str:
        judges = ", ".join(spec.name for spec in self._folder.manifest.judges)
        state = self._folder.manifest.state
        return f"Run({self.path.name!r}, {state}, judges: {judges}, ${self.cost_usd:.4f})"

    def _repr_html_(self) -> str | None:
        return self.validation._repr_html_()


@keywords(RunOptions, Server, RunPlace, Choices, uses=(RUN, RESUME))
def run(
    task: TaskLike | None = None,
    judges: str | Sequence[str] | None = None,
    *,
    mapping: TableMapping | None = None,
    resume: bool | str | Path = False,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Run:
    """Ask judges about the items of a task, and rank them against its human raters.

    Works in scripts and, from a thread, in notebooks. The first Ctrl-C receives the replies in
    flight and ends the run, which can be resumed; the second ends it at once.

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
        A run to resume, by name or path; True for the newest unfinished one. A resumed run keeps
        its options: it takes no judges, but limits of cost and the place where judges are asked;
        one that was made elsewhere also ``task``, ``base_url``, ``key_env`` and ``judges_file``,
        by which its judges are asked.
    observer : Observer, optional
        Is informed of progress; by default what the user should know is logged under
        ``"harness"``.
    **options

    Returns
    -------
    Run
        Also when judges could not be asked everything: see `Run.exit_code`.

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
    return _in_thread(function, stop) if _loop_is_running() else function()


@keywords(RunOptions, Server, RunPlace, Choices, uses=(RUN, RESUME))
async def arun(
    task: TaskLike | None = None,
    judges: str | Sequence[str] | None = None,
    *,
    mapping: TableMapping | None = None,
    resume: bool | str | Path = False,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Run:
    """Do as `run` does, without blocking the event loop.

    Cancelling it receives the replies in flight and ends the run, which can be resumed.
    Concurrent runs take turns. Parameters are those of `run`.

    Raises
    ------
    HarnessError
        As `run`.

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


@keywords(Validating, Choices, uses=(VALIDATE, VALIDATE_RUN))
def validate(
    task: TaskLike | Run,
    verdicts: str | Path | Rows | None = None,
    *,
    mapping: TableMapping | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Validation:
    """Validate verdicts of judges against the human ratings of a task.

    Like the command, it counts the judges in the ledger of these ratings, which lies in the user's
    data folder (``$XDG_DATA_HOME``) or beside ``task.yaml``.

    Parameters
    ----------
    task : str, Path, Task, list of dict, DataFrame or Run
        Name or path of a task, a loaded task, or a table of ratings. A run is validated anew;
        without options its results are written again, unless ``metrics.json`` is of another
        version of the schema.
    verdicts : str, Path, list of dict, or DataFrame, optional
        At least the columns ``item``, ``judge`` and ``value``. By default the verdicts that the
        table holds, if ``task`` is one; without verdicts the human ratings are described.
    mapping : dict, optional
        For a table of ratings: which column is what, see `TableMapping`.
    **options

    Raises
    ------
    HarnessError
        If the task, the verdicts or an option is wrong.

    Examples
    --------
    >>> ratings = [
    ...     {"id": "a", "text": "Thank you!", "ann": "polite", "bob": "polite"},
    ...     {"id": "b", "text": "Read the manual.", "ann": "rude", "bob": "polite"},
    ...     {"id": "c", "text": "Go away.", "ann": "rude", "bob": "rude"},
    ... ]
    >>> verdicts = [
    ...     {"item": "a", "judge": "mine", "value": "polite"},
    ...     {"item": "b", "judge": "mine", "value": "rude"},
    ...     {"item": "c", "judge": "mine", "value": "rude"},
    ... ]
    >>> mapping = {"id": "id", "text": "text", "raters": ["ann", "bob"], "positive": ["polite"]}
    >>> validation = harness.validate(ratings, verdicts, mapping=mapping)
    >>> validation.judge("mine").metrics["hit_rate(h/h)"].value
    0.8333333333333334
    """
    given = Given(options, VALIDATE_RUN if isinstance(task, Run) else VALIDATE, Validating, Choices)
    validating, choices = given.read(Validating), given.read(Choices)
    if isinstance(task, Run):
        if verdicts is not None or mapping:
            raise HarnessError("a run is validated with its own verdicts, items and seed")
        return validate_run(task._folder, choices, new_ledger=validating.new_ledger)  # noqa: SLF001 -- its own module
    with TemporaryDirectory() as scratch:
        loaded, own_verdicts = read_task(task, mapping, Path(scratch))
        file = own_verdicts if verdicts is None else verdict_file(verdicts, Path(scratch))
        call = partial(validate_verdicts, loaded, file, validating, choices)
        try:
            return _in_thread(call, StopRequests()) if _loop_is_running() else call()
        except HarnessError as error:
            raise without_folder(error, Path(scratch)) from None


def load_task(task: TaskLike, *, mapping: TableMapping | None = None) -> Task:
    """Load a task, and check everything in it.

    Parameters
    ----------
    task : str, Path, list of dict, or DataFrame
        Name or path of a task folder, or a table of ratings.
    mapping : dict, optional
        For a table: which column is what, see `TableMapping`.

    Raises
    ------
    TaskError
        If there is no such task, or something in it is wrong.

    Examples
    --------
    >>> task = harness.load_task("toxicity")
    >>> len(task.items), [option.key for option in task.options]
    (120, ['A', 'B'])
    """
    with TemporaryDirectory() as scratch:
        return read_task(task, mapping, Path(scratch))[0]


def load_run(run: str | Path | None = None, *, out: str | Path | None = None) -> Run:
    """Open a run folder.

    Parameters
    ----------
    run : str or Path, optional
        Path of the folder, or its name below ``out``; the newest run by default.
    out : str or Path, optional
        Folder of the run folders: ``$HARNESS_RUNS`` or ``./runs`` by default.

    Raises
    ------
    RunError
        If there is no such run, or it cannot be read.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], limit=20)
    >>> harness.load_run(run.path).verdicts.shape[0]
    40
    """
    return Run(_run_folder(run, _path(out)))


@keywords(LookOptions, Out, uses=(REVALIDATE, ACCEPT, EXCLUDE), without=("dry_run",))
def revalidate(
    run: Run | str | Path | None = None,
    *,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> LookEnding:
    """Ask the judges of a finished run again, and tell drift from their own noise.

    Does what ``harness revalidate`` does.

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
        Sentence, exit code, the conditions that failed, and the verdict of each judge. A look that
        was interrupted is returned, too, and resumed by the next call.

    Raises
    ------
    HarnessError
        If the run, a judge or an option is wrong, or no judge can be asked.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], limit=20, samples=2)
    >>> ending = harness.revalidate(run)
    >>> ending.exit_code, ending.verdicts, ending.failed
    (0, {'lexicon': 'stable'}, ())
    """
    stop = StopRequests()
    given = Given(options, use_of_look(options), LookOptions, Out)
    function = partial(_revalidate, run, given, observer or _LogObserver(), stop)
    return _in_thread(function, stop) if _loop_is_running() else function()


@keywords(Limit, Server, RunPlace, uses=(CONFIRM,))
def confirm(
    run: str | Path,
    judge: str,
    *,
    observer: Observer | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Run:
    """Ask one judge of a run about the items that its ``holdout`` kept out, and decide.

    Only one judge can be confirmed, once; the same call resumes an interrupted confirmation.
    The confirmation is written into the run's own folder.

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
        That of the confirmation, in the folder ``confirmation`` of the run.

    Raises
    ------
    HarnessError
        If the run holds nothing out, has no such judge, or the items were used.

    Examples
    --------
    >>> run = harness.run("toxicity", judges=["lexicon"], holdout=0.3, new_ledger=True)
    >>> harness.confirm(run.path, "lexicon").path.name
    'confirmation'
    """
    stop = StopRequests()
    given = Given(options, CONFIRM, Limit, Server, RunPlace)
    place = given.read(RunPlace)
    folder = find_run(place.out, str(run))
    plan = plan_confirmation(folder, judge, limit=given.read(Limit), server=given.read(Server))
    place = place.model_copy(update={"out": folder.path})
    function = partial(_run_plan, plan, place, observer or _LogObserver(), stop)
    return _in_thread(function, stop) if _loop_is_running() else function()


@keywords(Validating, Choices, uses=(CONFIRM_VERDICTS,))
def confirm_verdicts(
    task: TaskLike,
    verdicts: str | Path | Rows,
    judge: str,
    *,
    mapping: TableMapping | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Validation:
    """Validate one judge on the items that the ``holdout`` of `validate` kept out, and decide.

    Only one judge can be confirmed, once. It is tested as the only judge.

    Parameters
    ----------
    task : str, Path, Task, list of dict, or DataFrame
        As for `validate`.
    verdicts : str, Path, list of dict, or DataFrame
        Verdicts of the judge on the held-out items; those of others, and on other items, are left
        out.
    judge : str
        Its name there.
    mapping : dict, optional
        As for `validate`.
    **options

    Raises
    ------
    HarnessError
        If nothing is held out, the judge has no verdicts there, or the items were used.
    """
    given = Given(options, CONFIRM_VERDICTS, Validating, Choices)
    validating, choices = given.read(Validating), given.read(Choices)
    with TemporaryDirectory() as scratch:
        loaded, _ = read_task(task, mapping, Path(scratch))
        file = verdict_file(verdicts, Path(scratch))
        call = partial(decide_on_verdicts, loaded, file, judge, validating, choices)
        try:
            return _in_thread(call, StopRequests()) if _loop_is_running() else call()
        except HarnessError as error:
            raise without_folder(error, Path(scratch)) from None


class _LogObserver(LineObserver):
    """Logs what the user should know."""

    def say(self, line: str) -> None:
        """Log a line."""
        LOG.warning("%s", line)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(function: partial[Result], stop: StopRequests) -> Result:
    """Call a function in a thread; turn interrupts of this thread into requests to stop."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(function)
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:
                stop.request()


class _Asked(NamedTuple):
    """What `run` was called with, besides options."""

    task: TaskLike | None
    judges: tuple[str, ...] | None
    mapping: TableMapping | None
    resume: bool | str | Path
    observer: Observer | None


def _run(asked: _Asked, options: Mapping[str, object], stop: StopRequests) -> Run:
    use = RESUME if asked.resume else RUN
    given = Given(options, use, RunOptions, Server, RunPlace, Choices)
    place = given.read(RunPlace)
    check_place(place)
    plan = _plan_resumed(asked, given, place.out) if asked.resume else _plan_new(asked, given)
    return _run_plan(plan, place, asked.observer or _LogObserver(), stop)


def _run_plan(plan: Plan, place: RunPlace, observer: Observer, stop: StopRequests) -> Run:
    with _turn:
        result = run_plan(plan, observer=observer, out=place.out, place=place, stop=stop)
    run = Run(result.folder)
    run.validation, run.cost_usd = result.validation, result.cost_usd
    return run


def _revalidate(
    run: Run | str | Path | None, given: Given, observer: Observer, stop: StopRequests
) -> LookEnding:
    options, out = given.read(LookOptions), given.read(Out).out
    folder = run._folder if isinstance(run, Run) else _run_folder(run, out)  # noqa: SLF001 -- its own module
    with _turn:
        return revalidate_run(folder, options, lambda _: nullcontext(observer), stop=stop)


def _plan_new(asked: _Asked, given: Given) -> Plan:
    task, options = asked.task, given.read(RunOptions)
    if task is None:
        raise HarnessError("name a task, e.g. 'toxicity', or a run to resume")
    is_table = not isinstance(task, str | Path)
    subject = load_task(task, mapping=asked.mapping) if is_table else str(task)
    if asked.mapping and not is_table:
        raise HarnessError(NO_MAPPING)
    if isinstance(subject, Task) and not subject.folder.is_dir() and not options.item_text:
        raise HarnessError("a table cannot be run with item_text=False: it could not be resumed")
    choices, server = given.read(Choices), given.read(Server)
    return plan_run(subject, asked.judges, options, choices=choices, server=server)


def _plan_resumed(asked: _Asked, given: Given, out: Path | None) -> Plan:
    if asked.judges is not None or asked.mapping or not isinstance(asked.task, str | Path | None):
        raise HarnessError("a resumed run keeps its judges and its task; leave them out")
    name = None if asked.resume is True else str(asked.resume)
    folder = find_run(out, name, unfinished=True)
    task = None if asked.task is None else str(asked.task)
    return plan_resumed_run(folder, limit=given.read(Limit), task=task, server=given.read(Server))


def _run_folder(run: str | Path | None, out: Path | None) -> RunFolder:
    return find_run(out, None if run is None else str(run))


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _names(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else strings(names)


def _row_of(verdict: Verdict) -> dict[str, object]:
    row = {
        name: getattr(verdict.reply if name in OF_REPLY else verdict, name, None)
        for name in VERDICT_COLUMNS
    }
    row["reply"] = verdict.reply and verdict.reply.text
    if row["value"] is not None and not isinstance(row["value"], str):
        row["value"] = json.dumps(msgspec.to_builtins(verdict.value))
    return row
