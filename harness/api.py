"""The Python API: run judges, validate verdicts, load tasks and runs."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack

import msgspec
from pydantic import ValidationError

from harness.analysis import Choices, Validation
from harness.app import (
    LineObserver,
    plan_confirmation,
    plan_resumed_run,
    plan_run,
    run_plan,
    validate_run,
    validate_verdicts,
)
from harness.curation import AnswerSettings, make_plans, make_task, read_source
from harness.embeddings import run_cost_usd
from harness.errors import HarnessError, TaskError
from harness.report.rebuild import stored_validation
from harness.revalidation.asking import LookOptions
from harness.revalidation.revalidate import revalidate as revalidate_run
from harness.runs import RunFolder, find_run
from harness.sources import verdicts_of
from harness.stopping import StopRequests
from harness.tasks import Task
from harness.tasks import load_task as load_task_folder

if TYPE_CHECKING:
    from harness.analysis.inputs import AggregationLevel, Humans
    from harness.app import Asking, Plan
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.services import Observer
    from harness.revalidation import Period
    from harness.revalidation.ending import LookEnding
    from harness.stats.data.resolved_tables import AbstentionMode
    from harness.stats.inference.interval_methods import IntervalMethod
    from harness.tasks.schema import Elicitation, RanksBy

Result = TypeVar("Result")
Rows: TypeAlias = Any  # a list of dicts, a pandas or polars DataFrame, or a pyarrow Table
TaskLike: TypeAlias = str | Path | Task | Rows
NO_MAPPING = "a mapping describes a table of ratings; leave it out for a task folder"
WITH_RESUME = ("max_cost", "max_cost_soft", "judges_file", "base_url", "key_env")
ANSWER_KEYS = ("scale", "options", "positive", "abstain", "ignore", "rename")
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


class TableMapping(TypedDict, total=False):
    """How rows become a task; what is absent is guessed, as ``harness curate import`` does.

    Attributes
    ----------
    name, property : str
        Of the task. Judges read the property: what was rated, as a phrase.
    id, text : str or sequence of str
        Columns that name the item, and columns that judges are shown.
    raters : sequence of str
        Columns of ratings, one per rater (a wide table).
    rater, label : str
        Columns of the rater's name and of the rating (a long table).
    judges : sequence of str
        Columns of verdicts, or names of judges among the raters.
    group, criterion : str
        Columns of the cluster that is resampled, and of what is rated.
    rated_at : str
        Column of the time of a rating, beside ``rater``.
    criteria, counts : sequence of str
        Columns of ratings, one per criterion, beside ``rater``; columns of counts, one per option.
    votes, total, pattern : str
        Columns of all ratings of an item and of the number of raters; how columns per criterion
        and rater are called.
    options, positive, abstain, ignore, rename : sequence of str
        Labels that are options, in order; those that are positive; those of a rater who could not
        say; those that are left out; ``label=option`` for other names of an option.
    scale : {"binary", "nominal", "ordinal", "pairwise"}
        Of the options.
    rater_ids : {"real", "positional"}
        Whether a rater is a person, or a position within the item.
    kind : {"expert", "skilled", "crowd"}
        Of raters; sets the cost-benefit margin eps.
    """

    name: str
    property: str
    id: str | Sequence[str]
    text: str | Sequence[str]
    raters: str | Sequence[str]
    rater: str
    label: str
    judges: str | Sequence[str]
    group: str
    criterion: str
    rated_at: str
    criteria: Sequence[str]
    counts: Sequence[str]
    votes: str
    total: str
    pattern: str
    options: Sequence[str]
    positive: Sequence[str]
    abstain: Sequence[str]
    ignore: Sequence[str]
    rename: Sequence[str]
    scale: Literal["binary", "nominal", "ordinal", "pairwise"]
    rater_ids: Literal["real", "positional"]
    kind: Literal["expert", "skilled", "crowd"]


class ValidationOptions(TypedDict, total=False):
    """How verdicts are validated; see `validate`."""

    tau: float | None
    metric: str | None
    ranks_by: RanksBy | None
    beta: float | None
    mode: AbstentionMode | None
    level: AggregationLevel | None
    confidence: float | None
    interval: IntervalMethod | None
    replies: int | float | Literal["inf"] | None
    min_answered: float | None
    worth: float | None
    humans: Humans | None


class RunOptions(ValidationOptions, total=False):
    """Options of `run` and `arun`; see `run`."""

    mapping: TableMapping | None
    elicitations: Sequence[Elicitation] | None
    pairs: int | None
    samples: int | None
    max_tokens: int | None
    limit: int | None
    criterion: str | None
    seed: int
    max_cost: float | None
    reply_cap: int | None
    max_cost_soft: bool
    base_url: str | None
    key_env: str | None
    judges_file: str | Path | None
    allow_redirects: bool
    batch: bool
    shuffle_options: bool
    new_ledger: bool
    holdout: float | None
    item_text: bool
    resume: bool | str | Path
    out: str | Path | None
    cache: str | Path | None
    use_cache: bool
    store: str | None
    executor: str
    observer: Observer | None


class RevalidationOptions(TypedDict, total=False):
    """Options of `revalidate`; see there."""

    judges: str | Sequence[str]
    anchor: int | None
    baseline_replies: int | None
    samples: int
    margin: float
    fail_on: str
    accept: int | None
    yes: bool
    exclude: int | None
    because: str | None
    if_due: Period | None
    notify: str | None
    task: str | Path | None
    judges_file: str | Path | None
    base_url: str | None
    key_env: str | None
    seed: int
    max_cost: float | None
    max_cost_soft: bool
    store: str | None
    out: str | Path | None
    observer: Observer | None


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


def run(
    task: TaskLike | None = None,
    judges: str | Sequence[str] | None = None,
    **options: Unpack[RunOptions],
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
    **options
        mapping : dict
            For a table: which column is what, see `TableMapping`.
        elicitations : sequence of {"forced_choice", "response_set", "paired"}
            How judges are asked about all items. By default forced choices, and response sets
            where raters gave any; elsewhere ``pairs``.
        pairs : int
            Where raters gave no response sets and a negative option has a ``sensitivity``: number
            of random items that are asked in the paired form, too (100).
        samples : int
            Times each judge is asked per item; each judge's own default if absent.
        max_tokens : int
            Tokens that a reply may have; each judge's own limit if absent.
        limit, criterion
            Only the first items; only items with this criterion.
        seed : int
            Of everything random.
        max_cost : float
            USD; the run stops before it costs more.
        reply_cap : int
            Tokens at which replies are cut off whose judge sets no ``max_tokens``; 4,096 under
            ``max_cost``.
        max_cost_soft : bool
            Whether servers are asked under ``max_cost`` that do not keep to such a limit, so that
            the run may cost more.
        base_url, key_env : str
            OpenAI-compatible server for judges that are not aliases, and the environment variable
            that holds its key.
        judges_file : str or Path
            A judges.yaml of your own.
        allow_redirects : bool
            Whether judges run whose provider's redirects cannot be refused.
        batch : bool
            Whether providers' batch interfaces are used.
        shuffle_options : bool
            Whether each sample is shown the options in another order.
        new_ledger : bool
            Whether judges that were tried on these ratings before count no more.
        holdout : float
            Share of the items that no run shows or scores until `confirm`.
        item_text : bool
            Whether the run folder keeps the items' texts (True).
        resume : bool, str or Path
            A run to resume, by name or path; True for the newest unfinished one. A resumed run
            takes no task, judges or other options but ``max_cost``, ``max_cost_soft``, ``out``,
            ``cache``, ``use_cache``, ``store``, ``executor`` and ``observer``; one that was made
            elsewhere also ``task``, ``base_url``, ``key_env`` and ``judges_file``, by which its
            judges are asked.
        out : str or Path
            Folder of the run folders: ``$HARNESS_RUNS`` or ``./runs`` by default.
        cache, use_cache
            Folder of the response cache, and whether it is used (True).
        store : str
            Address of a PostgreSQL database that takes the place of the cache and is shared with
            runs on other machines.
        executor : str
            ``local``, or ``ray`` or ``ray://HOST:PORT`` to ask on a Ray cluster, with a store.
        observer : Observer
            Is informed of progress; by default what the user should know is logged under
            ``"harness"``.
        tau, metric, ranks_by, beta, mode, level, confidence, interval, replies, min_answered,
        worth, humans
            As for `validate`.

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
    function = partial(_run, task, judges, options, stop)
    return _in_thread(function, stop) if _loop_is_running() else function()


async def arun(
    task: TaskLike | None = None,
    judges: str | Sequence[str] | None = None,
    **options: Unpack[RunOptions],
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
    running = asyncio.get_running_loop().run_in_executor(
        None, partial(_run, task, judges, options, stop)
    )
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.request()
        await asyncio.wait([running])
        raise


def validate(
    task: TaskLike | Run,
    verdicts: str | Path | Rows | None = None,
    *,
    mapping: TableMapping | None = None,
    criterion: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    new_ledger: bool = False,
    **options: Unpack[ValidationOptions],
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
    criterion : str, optional
        Only items with this criterion.
    limit : int, optional
        Only the first items.
    seed : int
        Of the resampling.
    new_ledger : bool
        Whether judges that were tried on these ratings before count no more.
    **options
        tau : float
            Share of raters who must allow an option for it to count; the task's by default.
        metric : str
            The metric that ranks, e.g. ``"hit_rate(h/h)"``.
        ranks_by : {"forced_choice", "response_set"}
            The ratings that rank where no metric is named; by default as the task says.
        beta : float in [0, 1]
            Assumed sensitivity of the raters.
        mode : {"exclude", "recode", "third_class"}
            What an abstention counts as.
        level : {"micro", "macro", "item"}
            Level of averaging over criteria.
        confidence : float
            Confidence level of the intervals (0.95).
        interval : {"score", "percentile"}
            Method of the intervals.
        replies : int or inf
            Replies per item at which judges are compared, ``math.inf`` to remove reply noise; the
            smallest number of samples among the judges by default.
        min_answered : float in [0, 1]
            Share of the rated items that a ranked judge must have answered (0.9).
        worth : float in (0, 1]
            Smallest difference that matters, as a share of the metric's range (0.05).
        humans : {"rated", "reconstructed"}
            The response sets that raters gave, or those of all who chose, estimated from the pairs
            of some; by default the latter where forced choices rank, the pairs suffice and most
            choices have no set.

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
    choices = _choices(options)
    if isinstance(task, Run):
        if verdicts is not None or mapping or criterion or limit or seed:
            raise HarnessError("a run is validated with its own verdicts, items and seed")
        return validate_run(task._folder, choices, new_ledger=new_ledger)  # noqa: SLF001 -- its own module
    with TemporaryDirectory() as scratch:
        loaded, own_verdicts = _read_task(task, mapping, Path(scratch))
        file = own_verdicts if verdicts is None else _verdict_file(verdicts, Path(scratch))
        settings: dict[str, Any] = {"criterion": criterion, "limit": limit, "choices": choices}
        settings |= {"seed": seed, "new_ledger": new_ledger}
        call = partial(validate_verdicts, loaded, file, **settings)
        try:
            return _in_thread(call, StopRequests()) if _loop_is_running() else call()
        except HarnessError as error:
            raise _without_folder(error, Path(scratch)) from None


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
        return _read_task(task, mapping, Path(scratch))[0]


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


def revalidate(
    run: Run | str | Path | None = None, **options: Unpack[RevalidationOptions]
) -> LookEnding:
    """Ask the judges of a finished run again, and tell drift from their own noise.

    Does what ``harness revalidate`` does.

    Parameters
    ----------
    run : Run, str or Path, optional
        The run, or the folder of an exported baseline; the newest run by default.
    **options
        judges : str or sequence of str
            Judges that are watched, an ensemble with its members; all by default.
        anchor, baseline_replies, seed
            Of a new baseline: only so many items, replies per item, and the seed of the items.
        samples : int
            Replies per item in this look (1).
        margin : float
            How much worse is tolerated, as a share of the metric's range (0).
        fail_on : str
            Conditions on which the exit code is 1 (``"changed,not comparable"``).
        accept, yes : int, bool
            Start a new baseline with the replies since this look; ``yes`` accepts a judge that is
            worse.
        exclude, because : int, str
            Drop the replies of this look, for this reason; nothing is asked.
        if_due : {"day", "week", "month"}
            Ask nothing if the last look is younger; end as that look did.
        notify : str
            Address to which an ending is posted whose exit code is not 0.
        task, judges_file, base_url, key_env
            Where the task is now, and your own judges, by which a run made elsewhere is asked.
        max_cost, max_cost_soft, store, out, observer
            As for `run`.

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
    function = partial(_revalidate, run, options, stop)
    return _in_thread(function, stop) if _loop_is_running() else function()


def confirm(run: str | Path, judge: str, **options: Unpack[RunOptions]) -> Run:
    """Ask one judge of a run about the items that its ``holdout`` kept out, and decide.

    Only one judge can be confirmed, once; the same call resumes an interrupted confirmation.
    The confirmation is written into the run's own folder.

    Parameters
    ----------
    run : str or Path
        A run with a holdout, by name or path.
    judge : str
        Name of the judge in that run.
    **options
        Those that a resumed run takes; see `run`.

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
    folder = find_run(_path(options.get("out")), str(run))
    function = partial(_run, None, judge, options, stop, folder)
    return _in_thread(function, stop) if _loop_is_running() else function()


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


def _run(
    task: TaskLike | None,
    judges: str | Sequence[str] | None,
    options: RunOptions,
    stop: StopRequests,
    confirmed: RunFolder | None = None,
) -> Run:
    asking: Asking = {
        "cache": _path(options.pop("cache", None)),
        "use_cache": options.pop("use_cache", True),
        "store": options.pop("store", None),
        "executor": options.pop("executor", "local"),
        "stop": stop,
    }
    observer = options.pop("observer", None) or _LogObserver()
    out = _path(options.pop("out", None))
    if confirmed is not None:
        plan = _plan_confirmation(confirmed, judges, options)
        out = confirmed.path
    elif options.get("resume"):
        plan = _plan_resumed(task, judges, options, out)
    else:
        options.pop("resume", None)
        plan = _plan_new(task, judges, options)
    with _turn:
        result = run_plan(plan, observer=observer, out=out, **asking)
    run = Run(result.folder)
    run.validation, run.cost_usd = result.validation, result.cost_usd
    return run


def _revalidate(
    run: Run | str | Path | None, options: RevalidationOptions, stop: StopRequests
) -> LookEnding:
    arguments: dict[str, Any] = dict(options)
    observer = arguments.pop("observer", None) or _LogObserver()
    out, task = _path(arguments.pop("out", None)), arguments.pop("task", None)
    folder = run._folder if isinstance(run, Run) else _run_folder(run, out)  # noqa: SLF001 -- its own module
    arguments["judges_file"] = _path(arguments.get("judges_file"))
    arguments["judges"] = _strings(arguments.pop("judges", ()))
    look_options = LookOptions(task=None if task is None else str(task), **arguments)
    with _turn:
        return revalidate_run(folder, look_options, lambda _: nullcontext(observer), stop=stop)


def _plan_new(
    task: TaskLike | None, judges: str | Sequence[str] | None, options: RunOptions
) -> Plan:
    if task is None:
        raise HarnessError("name a task, e.g. 'toxicity', or a run to resume")
    arguments: dict[str, Any] = dict(options)
    choices = _choices({name: arguments.pop(name, None) for name in Choices.model_fields})
    mapping = arguments.pop("mapping", None)
    arguments["judges_file"] = _path(arguments.get("judges_file"))
    subject = str(task) if isinstance(task, str | Path) else load_task(task, mapping=mapping)
    if isinstance(subject, str) and mapping:
        raise HarnessError(NO_MAPPING)
    if (
        isinstance(subject, Task)
        and not subject.folder.is_dir()
        and not arguments.get("item_text", True)
    ):
        raise HarnessError("a table cannot be run with item_text=False: it could not be resumed")
    names = [judges] if isinstance(judges, str) else judges
    try:
        return plan_run(subject, names, choices=choices, **arguments)
    except ValidationError as error:
        raise _option_error(error) from None


def _plan_resumed(
    task: TaskLike | None, judges: str | Sequence[str] | None, options: RunOptions, out: Path | None
) -> Plan:
    arguments: dict[str, Any] = dict(options)
    resume = arguments.pop("resume")
    settings = {name: arguments.pop(name, None) for name in WITH_RESUME}
    settings["max_cost_soft"] = bool(settings["max_cost_soft"])
    if judges is not None or arguments or not isinstance(task, str | Path | None):
        raise HarnessError("a resumed run keeps its judges and options; give max_cost alone")
    settings["judges_file"] = _path(settings["judges_file"])
    name = None if resume is True else str(resume)
    folder = find_run(out, name, unfinished=True)
    return plan_resumed_run(folder, task=None if task is None else str(task), **settings)


def _run_folder(run: str | Path | None, out: Path | None) -> RunFolder:
    return find_run(out, None if run is None else str(run))


def _plan_confirmation(
    folder: RunFolder, judges: str | Sequence[str] | None, options: RunOptions
) -> Plan:
    arguments: dict[str, Any] = dict(options)
    settings = {name: arguments.pop(name, None) for name in WITH_RESUME}
    settings["max_cost_soft"] = bool(settings["max_cost_soft"])
    settings["judges_file"] = _path(settings["judges_file"])
    if arguments:
        raise HarnessError(f"a confirmation keeps the options of its run: {', '.join(arguments)}")
    return plan_confirmation(folder, str(judges), task=None, **settings)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _choices(options: Mapping[str, object]) -> Choices:
    try:
        return Choices.model_validate(options)
    except ValidationError as error:
        raise _option_error(error) from None


def _option_error(error: ValidationError) -> HarnessError:
    fault = error.errors(include_url=False, include_context=False)[0]
    option = ".".join(map(str, fault["loc"]))
    return HarnessError(f"{option}={fault['input']!r}: {fault['msg']}")


def _read_task(
    task: TaskLike, mapping: TableMapping | None, scratch: Path
) -> tuple[Task, Path | None]:
    """Load a task; of a table, also return the file of the verdicts in it."""
    if isinstance(task, str | Path | Task):
        if mapping:
            raise HarnessError(NO_MAPPING)
        return (task if isinstance(task, Task) else load_task_folder(task)), None
    try:
        return _import_rows(task, mapping or {}, scratch)
    except TaskError as error:
        raise _without_folder(error, scratch) from None


def _import_rows(rows: Rows, mapping: TableMapping, scratch: Path) -> tuple[Task, Path | None]:
    """Make a task of a table of ratings, as ``harness curate import`` does."""
    columns: dict[str, Any] = dict(mapping)
    name = columns.pop("name", "rows")
    property_rated = columns.pop("property", "")
    answers = {key: columns.pop(key) for key in ANSWER_KEYS if key in columns}
    settings: dict[str, Any] = {"scale": answers.pop("scale", None)}
    settings |= {key: _strings(labels) for key, labels in answers.items()}
    raters = {key: columns.pop(key) for key in ("kind", "rater_ids") if key in columns}
    plan, *others = make_plans(
        name,
        read_source(_write_rows(rows, scratch / "rows.jsonl")),
        {role: [*_strings(names)] for role, names in columns.items()},
        settings=AnswerSettings(**settings),
        property_rated=property_rated,
        **raters,
    )
    if others:
        criteria = ", ".join(plan.criterion or "" for plan in (plan, *others))
        raise TaskError(f"rows: {criteria} have scales of their own; give the rows of one of them.")
    folder = make_task(plan, scratch / name).folder
    task = load_task_folder(folder).model_copy(update={"folder": Path(name)})
    verdicts = folder / "verdicts.csv"
    return task, verdicts if verdicts.exists() else None


def _strings(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _without_folder(error: HarnessError, scratch: Path) -> HarnessError:
    """Name the files of a temporary folder by their names alone."""
    return type(error)(str(error).replace(f"{scratch}/", ""))


def _verdict_file(verdicts: str | Path | Rows, scratch: Path) -> Path:
    if isinstance(verdicts, str | Path):
        return Path(verdicts)
    return _write_rows(verdicts, scratch / "verdicts.jsonl")


def _write_rows(rows: Rows, file: Path) -> Path:
    file.write_bytes(msgspec.json.Encoder(enc_hook=_plain).encode_lines(list(_records(rows))))
    return file


def _records(rows: Rows) -> Iterable[Mapping[str, object]]:
    """Yield the rows of a table as dicts; missing values are None."""
    if hasattr(rows, "to_pylist"):  # pyarrow
        records = rows.to_pylist()
    elif hasattr(rows, "to_dicts"):  # polars
        records = rows.to_dicts()
    elif hasattr(rows, "to_dict"):  # pandas
        records = rows.to_dict("records")
    else:
        records = rows
    for record in records:
        if not isinstance(record, Mapping):
            raise TaskError(f"rows: expected dicts, found {type(record).__name__}")
        yield {str(name): None if _is_missing(value) else value for name, value in record.items()}


def _is_missing(value: object) -> bool:
    """Whether a value is NaN, or pandas' NA or NaT."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or type(value).__name__ in {"NAType", "NaTType"}


def _plain(value: Any) -> object:  # noqa: ANN401 -- whatever a table holds
    """Return a value of numpy, or a time, as JSON has it."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _row_of(verdict: Verdict) -> dict[str, object]:
    row = {
        name: getattr(verdict.reply if name in OF_REPLY else verdict, name, None)
        for name in VERDICT_COLUMNS
    }
    row["reply"] = verdict.reply and verdict.reply.text
    if row["value"] is not None and not isinstance(row["value"], str):
        row["value"] = json.dumps(msgspec.to_builtins(verdict.value))
    return row
