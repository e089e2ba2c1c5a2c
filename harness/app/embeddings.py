"""Embedding of raters' and judges' texts, for tasks that compare texts by vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from harness.errors import BudgetSpent, JudgeError, RunError
from harness.files.user_folders import cache_folder
from harness.judging.judge_spec import EMBEDDING
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import build, check
from harness.judging.judges.response_errors import explain
from harness.judging.parsing.text_vectors import text_id
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget, logged_cost_usd
from harness.judging.running.recorder import NoObserver
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.stopping import StopRequests, run_until_stopped
from harness.judging.running.units import Job
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import VerdictLog, read_log
from harness.runs.sources import read_vectors, texts_of
from harness.tasks import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.analysis import Source
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.running.recorder import Observer
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.storage.reply_store import Store
    from harness.judging.storage.verdict_log import LogReading
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task


def embedder_of(task: Task, registry: Callable[[], Mapping[str, JudgeSpec]]) -> JudgeSpec | None:
    """Return a task's embedding model, or None if its similarity doesn't need one.

    The registry is built only if needed, because a judges file can have errors.

    Raises
    ------
    JudgeError
        If the model that the task names is unknown or isn't an embedding model.
    """
    if task.embedding is None:
        return None
    spec = registry().get(task.embedding)
    if spec is None or spec.kind != EMBEDDING:
        raise JudgeError(
            f"task {task.name}: similarity: {task.embedding!r} is not a model of kind "
            f"{EMBEDDING} in judges.yaml. Add the model there."
        )
    return spec


def embed(
    source: Source,
    spec: JudgeSpec,
    log: Path,
    store: Store,
    *,
    observer: Observer,
    budget: CostBudget | None = None,
    retry: RetryPolicy | None = None,
    stop: StopRequests | None = None,
) -> None:
    """Request vectors for a source's distinct texts that a log doesn't contain.

    Parameters
    ----------
    source : Source
        The verdicts, and the task with its ratings.
    spec : JudgeSpec
        The model.
    log : Path
        Log to write replies to as they arrive, like a verdict log.
    store : Store
        Store for replies; it is closed at the end.
    observer : Observer
        Receives messages for the user.
    budget : CostBudget, optional
        Budget of the run, with its cost so far, including calls in this log.
    retry : RetryPolicy, optional
        Policy for retrying calls.
    stop : StopRequests, optional
        Stop requests from another thread.

    Raises
    ------
    BudgetSpent
        If the budget doesn't suffice for all texts.
    RunError
        If not all texts were embedded for a different reason, or the log can't be written.
    """
    import uvloop  # noqa: PLC0415 -- takes 10 ms, and most commands send nothing

    items = tuple(Item(text_id(text), {"text": text}) for text in texts_of(source))
    task = source.task.model_copy(
        update={"items": items, "ratings": (), "ignored": (), "text": ("text",), "image": None}
    )
    judge = build(spec, task, Prompts(task, {}))
    job = Job(judge, items, ("forced_choice",), samples=1)
    try:
        with VerdictLog.open(log) as opened:
            done = read_log(log)
            budget = budget or CostBudget(None)
            state = SessionState(
                task,
                log=opened,
                store=store,
                done=done.final,
                observer=_Messages(observer.say),
                limits=SessionLimits(budget, retry=retry),
            )
            session = Session([job], state)
            ends = uvloop.run(run_until_stopped(session, observer, stop or StopRequests()))
    finally:
        store.close()
    logged = read_log(log)
    _check_complete(spec, len(items), logged, ends.get(spec.name), budget)


def _check_complete(
    spec: JudgeSpec, n_texts: int, logged: LogReading, end: str | None, budget: CostBudget
) -> None:
    """Raise an error if texts lack a vector, because the session ended early or a call failed."""
    verdicts = logged.final.values()
    failed = [verdict.reason for verdict in verdicts if verdict.outcome == "failed"]
    n_missing = n_texts - len(verdicts) + len(failed)
    if n_missing > 0 and budget.exhausted:
        raise BudgetSpent(
            f"{spec.name}: {n_missing} of {n_texts} texts have no embedding, because --max-cost "
            f"{budget.limit_usd:g} is reached. The replies are kept. Resume the run with a higher "
            "limit."
        )
    if n_missing > 0:
        reason = end or next(iter(failed), "stopped")
        raise RunError(
            f"{spec.name}: {n_missing} of {n_texts} texts have no embedding "
            f"({explain(reason)}). The replies are kept. Resume the run."
        )


def run_cost_usd(folder: RunFolder, verdicts: LogReading | None = None) -> float:
    """Return the cost in USD of all replies that a run paid for, including embeddings.

    ``verdicts`` are the run's verdicts, if already loaded.
    """
    cost_usd = logged_cost_usd(verdicts or folder.read_verdicts())
    if folder.embeddings.exists():
        cost_usd += logged_cost_usd(read_log(folder.embeddings))
    return cost_usd


def embedded(source: Source) -> Source:
    """Add vectors to a source with another tool's verdicts.

    Raises
    ------
    HarnessError
        If the model isn't available, or the request for a text's vector failed.
    """
    spec = embedder_of(source.task, load_judges)
    if spec is None:
        return source
    check(spec)
    with TemporaryDirectory() as scratch:
        log = Path(scratch) / "embeddings.jsonl"
        cache = ResponseCache(cache_folder(), _ignore)
        embed(source, spec, log, cache, observer=_Messages(_ignore))
        return replace(source, vectors=read_vectors(log, texts_of(source)))


def _ignore(line: str) -> None:
    del line


class _Messages(NoObserver):
    """Observer that passes on messages but not progress."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def say(self, line: str) -> None:
        """Pass on a line."""
        self._say(line)
