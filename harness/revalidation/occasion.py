"""A re-validation round, stored in ``looks/NNNN/`` of the run folder.

An occasion is a run folder without a copy of the task. Anything its log doesn't answer is
requested, so a killed round continues where it ended. The occasion's number is part of each
request's key.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from harness.analysis.judge_result import cost_of, median_latency_s
from harness.analysis.reply_dates import reply_dates
from harness.app.ask import ask_open_units, shared_store
from harness.errors import ExitCode, RunError
from harness.files.regular_files import writing_to
from harness.judging.computed_verdicts import computed_verdicts
from harness.judging.judge_spec import ENSEMBLE
from harness.judging.storage.response_cache import CacheUnusable, ResponseCache
from harness.judging.storage.verdict_log import read_log
from harness.revalidation.history import KEPT
from harness.revalidation.next_occasion import occasion_path
from harness.revalidation.records import ProviderReport
from harness.runs.run_folder import FolderUnwritable, Manifest, RunFolder, versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.app.plan import Plan
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer
    from harness.judging.running.stopping import StopRequests
    from harness.judging.strategies.strategy import Fitted
    from harness.tasks import Task


CACHE = "cache"
STOPPED = frozenset({ExitCode.INTERRUPTED, ExitCode.TERMINATED, ExitCode.COST_LIMIT})


@dataclass(frozen=True, slots=True)
class OccasionAnswers:
    """Verdicts and outcome of an occasion.

    Attributes
    ----------
    verdicts : list of Verdict
        The final verdicts.
    ended : dict of str to str
        Judges that are incomplete, with the reason.
    exit_code : ExitCode
        `DONE` or `INCOMPLETE` at its end; with other codes, it can be resumed.
    is_over : bool
        Whether repeating requests would bring nothing more.
    skipped : dict of str to str
        Judges that could not be run, with the reason; they are also in ``ended``.
    assumed_usd : float
        Part of the cost limit that may have been spent.
    """

    verdicts: list[Verdict]
    ended: dict[str, str]
    exit_code: ExitCode
    is_over: bool = True
    skipped: dict[str, str] = field(default_factory=dict)
    assumed_usd: float = 0.0


def ask_occasion(
    run: RunFolder,
    plan: Plan,
    occasion: int,
    observer: Observer,
    *,
    store: str | None = None,
    stop: StopRequests | None = None,
    is_late: bool = False,
) -> OccasionAnswers:
    """Request an occasion's missing replies, without using the response cache.

    If it ``is_late``, only submitted batches are collected, because new requests would mix two
    moments of a judge. Its separate cache contains only this occasion's replies. In a shared store,
    other occasions can't find them either.
    """
    for judge, reason in plan.skipped.items():
        observer.say(f"{judge} skipped: {reason}")
    try:
        folder = _folder(run, plan, occasion)
        if store is not None:
            name = f"{run.path.name} {folder.path.name} {folder.manifest.created}"
            replies = shared_store(store, plan, name, observer, is_private=True)
        else:
            replies = ResponseCache(folder.path / CACHE, observer.say)
        asked_plan = replace(plan, is_closed=is_late)
        asked = ask_open_units(asked_plan, folder, replies, observer=observer, stop=stop)
    except FolderUnwritable as error:
        raise RunError(f"{error.problem}. {KEPT}") from None
    except CacheUnusable as error:
        path = occasion_path(run, occasion)
        raise RunError(f"{path}: cannot be written ({error.cause}). {KEPT}") from None
    verdicts = list(folder.read_verdicts().final.values())
    ended = {**plan.skipped, **folder.manifest.ended}
    is_over = folder.manifest.state == "asked"
    assumed_usd = asked.budget.assumed_usd
    return OccasionAnswers(verdicts, ended, asked.exit_code, is_over, plan.skipped, assumed_usd)


def answers_of_occasion(run: RunFolder, occasion: int) -> OccasionAnswers:
    """Return an occasion's received replies, without sending anything."""
    folder = RunFolder.open(occasion_path(run, occasion))
    verdicts = list(folder.read_verdicts().final.values())
    return OccasionAnswers(verdicts, folder.manifest.ended, ExitCode.DONE)


def replies_of_occasions(run: RunFolder, occasions: Iterable[int]) -> list[Verdict]:
    """Return the replies of some occasions. Empty if any of their logs is not kept.

    Occasion 0 is the run itself.
    """
    paths = [occasion_path(run, occasion) if occasion else run.path for occasion in occasions]
    logs = [path / run.verdicts.name for path in paths]
    if not all(log.is_file() for log in logs):
        return []
    return list(chain.from_iterable(read_log(log).final.values() for log in logs))


def close_occasion(run: RunFolder, occasion: int) -> None:
    """Mark an occasion as recorded and remove its cache. In an export, also remove its texts.

    No later round continues it, even if the history is lost.
    """
    path = occasion_path(run, occasion)
    with suppress(RunError):  # nothing was requested, or the disk is full
        RunFolder.open(path).update(state="done")
    shutil.rmtree(path / CACHE if run.verdicts.exists() else path, ignore_errors=True)


def providers_of(verdicts: Sequence[Verdict]) -> dict[str, ProviderReport]:
    """Return for each judge what the provider reported about its replies."""
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    return {judge: _provider(own) for judge, own in by_judge.items()}


def _provider(verdicts: Sequence[Verdict]) -> ProviderReport:
    cost = cost_of(verdicts)
    replies = [verdict.reply for verdict in verdicts if verdict.reply]
    tokens = [r.completion_tokens for r in replies if r.completion_tokens is not None]
    return ProviderReport(
        models=tuple(sorted({r.model for r in replies if r.model})),
        fingerprints=tuple(sorted({r.fingerprint for r in replies if r.fingerprint})),
        cost=None if cost.usd_per_answered is None else 1000.0 * cost.usd_per_answered,
        tokens=fmean(tokens) if tokens else None,
        latency=median_latency_s(verdicts),
    )


def now() -> str:
    """Return a time in the history's format."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def date_of(verdicts: Sequence[Verdict], began: str = "") -> str:
    """Return an occasion's date: of its newest reply, else when it ``began``, else now."""
    return reply_dates([verdicts]).newest or began or now()


def _folder(run: RunFolder, plan: Plan, occasion: int) -> RunFolder:
    """Open or create the folder of an occasion."""
    path = occasion_path(run, occasion)
    if (path / "manifest.json").exists():
        return RunFolder.open(path)
    with writing_to(path, RunError):
        path.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(
        created=now(),
        config=plan.config,
        judges=plan.specs,
        hashes=run.manifest.hashes,
        versions=versions(),
    )
    folder = RunFolder(path, manifest)
    folder.update(state="running")
    return folder


def replies_by_judge(
    replies: Iterable[Verdict], specs: Sequence[JudgeSpec]
) -> dict[str, list[Verdict]]:
    """Group replies by judge."""
    by_judge: dict[str, list[Verdict]] = {s.name: [] for s in specs if s.kind != ENSEMBLE}
    for verdict in replies:
        if verdict.judge in by_judge:
            by_judge[verdict.judge].append(verdict)
    return by_judge


def occasion_verdicts(
    replies: Iterable[Verdict],
    specs: Sequence[JudgeSpec],
    task: Task,
    fitted: Mapping[str, Fitted],
    *,
    look: int,
) -> list[Verdict]:
    """Return all judges' verdicts from an occasion's replies.

    Values that depend on all replies are the run's: see `Baseline`.
    """
    by_judge = replies_by_judge(replies, specs)
    computed = computed_verdicts(specs, by_judge, task, look=look, fitted=fitted)
    return list(chain.from_iterable(computed.values()))


def with_ensembles(specs: Iterable[JudgeSpec], reasons: Mapping[str, str]) -> dict[str, str]:
    """Add the ensembles of which a member has no verdicts, with the member's reason."""
    return dict(reasons) | {
        spec.name: f"its member {member}: {reasons[member]}"
        for spec in specs
        for member in spec.members
        if member in reasons
    }
