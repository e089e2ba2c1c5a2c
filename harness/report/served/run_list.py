"""List runs with their task, progress and main result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

import msgspec

from harness.analysis.decision import DecisionReason, DecisionVerdict
from harness.errors import HarnessError
from harness.runs.run_folder import list_runs
from harness.runs.sources import planned_units

if TYPE_CHECKING:
    from pathlib import Path

    from harness.runs.run_folder import RunFolder

VERDICT_WORDS: dict[DecisionVerdict, str] = {
    "use": "Use it",
    "use_if_independent": "Use it, if independent of the raters",
    "best_not_proven": "Not yet",
    "none": "Don't use any",
}
STATE_WORDS = {
    "planned": "not started",
    "running": "running",
    "asked": "answered, results not written",
    "done": "done",
    "stopped": "stopped",
}


class RunRow(TypedDict):
    """A run in the list. If the folder lacks a fact, its text is empty or its number is None."""

    name: str
    task: str
    created: str
    state_words: str
    is_running: bool
    judges: list[str]
    verdict: str
    leader: str
    cost: str
    n_replies: int | None
    n_planned: int | None
    last_reply: str
    has_report: bool


class _Cost(msgspec.Struct):
    usd: float | None = None


class _Judge(msgspec.Struct):
    name: str
    cost: _Cost


class _Decision(msgspec.Struct):
    verdict: DecisionVerdict
    leader: str | None = None
    reason: DecisionReason = ""


class _Race(msgspec.Struct):
    judge: str | None = None


class _Numbers(msgspec.Struct):
    """Fields of ``metrics.json`` that the list uses."""

    decision: _Decision
    judges: tuple[_Judge, ...]
    race: _Race | None = None

    @property
    def verdict(self) -> str:
        """The recommendation in words. Without a leader, no judge was compared with the raters."""
        if self.decision.reason == "raced":
            return "Race, not validated"
        is_compared = self.decision.leader is not None
        return VERDICT_WORDS[self.decision.verdict] if is_compared else "No recommendation"

    @property
    def leader(self) -> str:
        """The leading judge, or a race's judge."""
        return self.decision.leader or (self.race and self.race.judge) or ""


_DECODE = msgspec.json.Decoder(_Numbers).decode


def run_rows(out: Path) -> tuple[list[RunRow], str]:
    """Return the runs in a folder, newest first, with a warning about unreadable runs.

    Parameters
    ----------
    out : Path
        Folder of the run folders.
    """
    listed = list_runs(out)
    return [_row(folder) for folder in listed.readable], listed.warning


def _row(folder: RunFolder) -> RunRow:
    manifest = folder.manifest
    numbers, is_done = _numbers(folder), manifest.state == "done"
    n_replies, n_planned = (None, None) if is_done else _progress(folder)
    return {
        "name": folder.path.name,
        "task": manifest.config.task,
        "created": manifest.created,
        "state_words": STATE_WORDS[manifest.state],
        "is_running": manifest.state == "running",
        "judges": [spec.name for spec in manifest.judges],
        "verdict": numbers.verdict if numbers else "",
        "leader": numbers.leader if numbers else "",
        "cost": _cost(numbers) if numbers else "",
        "n_replies": n_replies,
        "n_planned": n_planned,
        "last_reply": "" if is_done else _changed(folder.verdicts),
        "has_report": (folder.path / "report.html").is_file(),
    }


def _numbers(folder: RunFolder) -> _Numbers | None:
    """Return a run's numbers, or None if their file is missing, changed or from another version."""
    data = folder.read_metrics()
    try:
        return None if data is None else _DECODE(data)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _cost(numbers: _Numbers) -> str:
    """Return the cost for judges with a known price, and the names of other judges."""
    priced = [judge.cost.usd for judge in numbers.judges if judge.cost.usd is not None]
    unpriced = [judge.name for judge in numbers.judges if judge.cost.usd is None]
    total = f"${sum(priced):.4f}"
    return f"{total}, not counting {', '.join(unpriced)} (unknown price)" if unpriced else total


def _progress(folder: RunFolder) -> tuple[int | None, int | None]:
    """Return the number of replies so far and the planned number, or None if unreadable."""
    try:
        task = folder.load_task()
        planned = planned_units(folder.manifest, task)
        log = folder.count_verdicts(task.by_id)
    except HarnessError:
        return None, None
    asked = [spec.name for spec in folder.manifest.asked_judges]
    n_planned = sum(n for name in asked for n in planned[name].values())
    return sum(len(log.by_judge.get(name, ())) for name in asked), n_planned


def _changed(path: Path) -> str:
    """Return when a file was modified, to the second. Return "" without a file."""
    try:
        time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return ""
    return time.isoformat(timespec="seconds")
