"""Write workflows, pipelines, crontab lines and timers that re-validate a run on a schedule."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from harness.app.ask import ClusterEdge
from harness.errors import JudgeError, RunError, TaskError
from harness.files.user_folders import user_file
from harness.judging.judges.config import bundled_judges, load_judges
from harness.judging.judges.judge_registry import address_of, own_judges
from harness.loading import edge
from harness.options.concerns import NO_SERVER, Server
from harness.revalidation.watched_judges import judges_in_use, watched_judges
from harness.tasks.folders import bundled, find_task
from harness.tasks.item import TASK_FILE
from harness.tasks.schema import read_task_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from jinja2 import Environment

    from harness.judging.judge_spec import JudgeSpec
    from harness.revalidation import Period, Target
    from harness.revalidation.records import Look
    from harness.runs.run_folder import RunFolder


PERIODS: dict[Period, timedelta] = {
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=28),
}
N_PERIODS = 2  # periods without a round until one is overdue
EARLY = 0.1  # share of a period, so that a slightly early scheduler isn't turned away
MAX_AHEAD = timedelta(minutes=5)  # tolerance for other machines' clocks
CRON: dict[Period, str] = {"day": "17 5 * * *", "week": "17 5 * * 1", "month": "17 5 1 * *"}
# GitHub removes caches unused for 7 days, so extra calls without a due round keep the history.
GITHUB_CRON: dict[Period, str] = CRON | {"week": "17 5 * * 1,4", "month": "17 5 * * 1,4"}
CALENDAR: dict[Period, str] = {
    "day": "*-*-* 05:17:00",
    "week": "Mon *-*-* 05:17:00",
    "month": "*-*-01 05:17:00",
}
TEMPLATES: dict[Target, dict[str, str]] = {
    "github": {"revalidate-{slug}.yml": "github.yml.jinja"},
    "gitlab": {"revalidate-{slug}.gitlab-ci.yml": "gitlab.yml.jinja"},
    "cron": {"revalidate-{slug}.crontab": "crontab.jinja"},
    "systemd": {
        "revalidate-{slug}.service": "service.jinja",
        "revalidate-{slug}-failed.service": "failed.jinja",
        "revalidate-{slug}.timer": "timer.jinja",
    },
}
INSIDE_REPOSITORY = {"github", "gitlab"}
KEYS_FILE = "~/.config/judge-harness/env"
DISTRIBUTION = "judge-harness"
REPOSITORY = f"git+https://HOST/OWNER/{DISTRIBUTION}@REVISION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Settings for re-validating a run on a schedule.

    Attributes
    ----------
    run : str
        Name of the run or exported baseline in the place where the schedule runs.
    every : {"day", "week", "month"}
        Period of the schedule.
    options : tuple of str
        Additional arguments of ``harness revalidate``.
    keys : tuple of str
        Environment variables that contain the judges' keys; only their names are written.
    package : str
        Package that a pipeline installs with ``pip install``; other schedules don't install
        anything.
    """

    run: str
    every: Period
    options: tuple[str, ...]
    keys: tuple[str, ...]
    package: str = ""

    @property
    def slug(self) -> str:
        """Name of the schedule, made of letters, digits and hyphens."""
        name = Path(self.run).name
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
        return plain or sha256(name.encode()).hexdigest()[:12]


def keys_of(judges: Iterable[JudgeSpec], key_env: str | None = None) -> tuple[str, ...]:
    """Return the sorted environment variables that judges need. ``key_env`` is the server's."""
    return tuple(sorted(filter(None, {key_env, *(judge.key_env for judge in judges)})))


class Watched(NamedTuple):
    """Judges that a schedule watches (empty for all), and a sentence about them."""

    judges: tuple[str, ...]
    sentence: str


def watched_by_schedule(run: RunFolder, names: Collection[str] | None) -> Watched:
    """Choose the judges that a schedule watches.

    Parameters
    ----------
    run : RunFolder
        A run or exported baseline.
    names : collection of str or None
        Names of judges, or ``all``; by default the run's best judge and those not significantly
        different from it.

    Raises
    ------
    RunError
        If the run has no judge with one of the names.
    """
    everyone = tuple(spec.name for spec in run.manifest.judges)
    if names is not None:
        chosen = () if "all" in names else tuple(names)
        watched_judges(run, chosen)
        return Watched(chosen, f"Watches {', '.join(chosen or everyone)}.")
    in_use = judges_in_use(run)
    watched = {spec.name for spec in watched_judges(run, in_use)}
    if len(watched) == len(everyone):
        reason = "" if in_use else ", because the run doesn't show which one is the best"
        return Watched((), f"Watches {', '.join(everyone)}{reason}.")
    close = ", which are not significantly different" if in_use[1:] else ", the best judge"
    return Watched(
        in_use,
        f"Watches {', '.join(in_use)}{close}. To watch all {len(everyone)}: --judges all",
    )


def options_of(
    run: RunFolder,
    target: Target,
    *,
    task: str | None = None,
    server: Server = NO_SERVER,
    judges: Collection[str] = (),
) -> tuple[str, ...]:
    """Return the command-line options for a run's task and judges on the scheduler's machine.

    Environment variables of this machine, such as ``$HARNESS_JUDGES`` and ``$HARNESS_TASKS``,
    aren't set there.

    Parameters
    ----------
    run : RunFolder
        A run or exported baseline.
    target : {"github", "gitlab", "cron", "systemd"}
        Where the schedule runs; a pipeline only has the repository.
    task : str or None
        Name or path of the task there; by default, where this machine finds it.
    server : Server
        Judges file, or address and key there; by default the run's, if all judges share them.
    judges : collection of str
        Watched judges; empty for all.

    Raises
    ------
    RunError
        If the schedule could not find the task, or would reject the judges.
    JudgeError
        If the judges file cannot be read.
    TaskError
        If the task has no options.
    """
    if (copied := run.path / "task" / TASK_FILE).is_file():
        read_task_file(copied).require_options("re-validation")
    if target in INSIDE_REPOSITORY:
        for path in (task, server.judges_file):
            if path:
                _check_inside(Path(path), "Pass its path in the repository.")
        task = task or _task_inside(run)
    else:
        task = task or _task_here(run)
    specs = watched_judges(run, judges)
    there = _server_there(run, specs, target, server)
    return (*(["--task", task] if task else []), *there.words())


class StoreOptions(NamedTuple):
    """Options, keys and package extra that a schedule needs for a shared store."""

    options: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    extra: str = ""


def options_of_store(address: str | None) -> StoreOptions:
    """Return a schedule's settings for a shared store. They name its password without revealing it.

    Raises
    ------
    RunError
        If the address can't be used, or contains a password.
    """
    if address is None:
        return StoreOptions()
    edge("cluster", ClusterEdge).check_address(address)
    variable = (
        "PGPASSWORD" if urlsplit(address).netloc or urlsplit(address).path else "HARNESS_STORE"
    )
    return StoreOptions(("--store", address), (variable,), "[postgres]")


def package_of(target: Target, source: str | None, extra: str = "") -> str:
    """Return the package that a pipeline installs, or "" to use the installed harness.

    Parameters
    ----------
    target : {"github", "gitlab", "cron", "systemd"}
        Where the schedule runs.
    source : str or None
        Address of a repository (``git+https://...``), or of a wheel, or the path of a wheel in the
        repository. By default, the source that this harness was installed from.
    extra : str
        Extra of the package with its brackets, as in ``[postgres]``.

    Raises
    ------
    RunError
        If the source isn't one of these, or contains a user's name or password, or there is no
        default.
    """
    if target not in INSIDE_REPOSITORY:
        if source is not None:
            raise RunError(f"--package doesn't apply to {target}, which doesn't install anything.")
        return ""
    source = source or _installed_from()
    if source is None:
        raise RunError(
            f"{target} installs the harness. Pass its repository, --package {REPOSITORY}, or a "
            "wheel in your repository, --package wheels/NAME.whl."
        )
    parts = urlsplit(source)
    if parts.scheme.startswith("http") and not parts.path.endswith(".whl"):
        source = f"git+{source}"
    elif not parts.scheme.startswith(("http", "git+")):
        if parts.scheme or not source.endswith(".whl"):
            raise RunError(
                f"--package names neither a repository nor a wheel. Anyone can claim a name at a "
                f"package index, so pass {REPOSITORY} or the path of a wheel in your repository."
            )
        _check_inside(Path(source), "Pass the wheel's path in the repository.")
        return f"./{Path(source)}{extra}"
    if parts.password or (parts.username and not parts.scheme.endswith("ssh")):
        raise RunError(
            "--package contains a user name or password, which would be written into the files."
        )
    return f"{DISTRIBUTION}{extra} @ {source}"


def _installed_from() -> str | None:
    """Return the URL that this harness was installed from. None for a folder or package index."""
    recorded = distribution(DISTRIBUTION).read_text("direct_url.json")  # PEP 610
    origin = json.loads(recorded) if recorded else {}
    if "vcs_info" in origin:
        return f"{origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    address = origin.get("url", "")
    return address if address.startswith("http") else None


def _task_inside(run: RunFolder) -> str | None:
    """Return a pipeline's name for the task with item texts. None if the run contains the texts."""
    config = run.manifest.config
    if config.item_text:
        return None
    with suppress(TaskError):
        folder, here = find_task(config.task).resolve(), Path.cwd().resolve()
        if folder.parent == bundled("datasets").resolve():
            return folder.name
        if folder.is_relative_to(here):
            return str(folder.relative_to(here))
    raise RunError(
        f"{run.path}: this folder contains neither item texts nor the task. Pass a path in the "
        "repository with --task, or export the baseline with --item-text."
    )


def _task_here(run: RunFolder) -> str | None:
    """Return this machine's path of the task, or None if the run contains the item texts."""
    if run.manifest.config.item_text:
        return None
    folder = find_task(run.manifest.config.task).resolve()
    return folder.name if folder.parent == bundled("datasets").resolve() else str(folder)


def _server_there(
    run: RunFolder, specs: Sequence[JudgeSpec], target: Target, server: Server
) -> Server:
    """Return where a scheduled round finds the run's judges."""
    is_pipeline = target in INSIDE_REPOSITORY
    file = server.judges_file or (None if is_pipeline else _file_of_environment())
    registry = bundled_judges() if is_pipeline and not file else load_judges(file)
    remote = [*specs, *filter(None, [run.manifest.embedder])]
    redirects = server.allow_redirects or any(spec.allow_redirects for spec in specs)
    refused = ""
    for base_url, key_env in dict.fromkeys(
        [(server.base_url, server.key_env), address_of(specs, registry)]
    ):
        there = Server(
            base_url=base_url, key_env=key_env, judges_file=file, allow_redirects=redirects
        )
        try:
            own_judges(remote, registry, there)
        except JudgeError as error:
            refused = refused or str(error).partition(":")[0]
        else:
            return there
    raise RunError(
        f"{run.path}: {target} can't run {refused}, because no judges.yaml there defines the "
        "judge as it was validated",
        f"{'Commit' if is_pipeline else 'Write'} a file that does, and name it with --judges-file.",
    )


def _file_of_environment() -> Path | None:
    """Return the user's judges file if only this machine's environment points to it."""
    file, home = user_file(), Path("~/.config").expanduser()
    return file.absolute() if file and not file.is_relative_to(home) else None


def files_of(schedule: Schedule, target: Target) -> dict[str, str]:
    """Return a schedule's files by name.

    Raises `RunError` if a pipeline's run isn't named by a path inside the repository, or a name
    contains a line break or an expression.
    """
    _check_words(schedule, target)
    environment = _environment()
    words = {
        "slug": schedule.slug,
        "schedule": schedule,
        "cron": (GITHUB_CRON if target == "github" else CRON)[schedule.every],
        "calendar": CALENDAR[schedule.every],
        "options": ["--if-due", schedule.every, *schedule.options],
        "folder": str(Path.cwd()),
        "program": _program(),
        "keys_file": KEYS_FILE,
    }
    return {
        name.format(slug=schedule.slug): environment.get_template(template).render(words)
        for name, template in TEMPLATES[target].items()
    }


def _program() -> str:
    """Return the path of this harness's command. The command on ``PATH`` can be a different one."""
    beside = Path(sys.executable).parent / "harness"
    return str(beside if beside.is_file() else Path(shutil.which("harness") or beside).absolute())


def unset_keys(keys: Iterable[str]) -> list[str]:
    """Return variables that `KEYS_FILE` does not set. Cron and systemd read only this file."""
    try:
        text = Path(KEYS_FILE).expanduser().read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    is_set = set(re.findall(r"^(?:export )?(\w+)=", text, re.MULTILINE))
    return [key for key in keys if key not in is_set]


def time_until_due(last: Look | None, every: Period) -> timedelta:
    """Return the time until the next round is due. It is zero or negative if the round is due now.

    A round is due if the last one is at least nine tenths of the period old. It is due at once if
    the last one has missing replies, or is dated in the future because a clock was ahead.
    """
    if last is None:
        return timedelta(0)
    received = {judge.judge for judge in last.judges if not judge.may_bring_more}
    is_missing = any(j.verdict == "not asked" for j in last.judges)
    if is_missing or last.ended.keys() - received or is_ahead(last):
        return timedelta(0)
    at = datetime.fromisoformat(last.at)
    return at + (1 - EARLY) * PERIODS[every] - datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Lateness:
    """Time that a run has gone without a scheduled round.

    Attributes
    ----------
    every : {"day", "week", "month"}
        The period of the schedule.
    last : str
        Time of the last round with replies; of the run if there is none.
    has_looks : bool
        Whether there is such a round.
    age : timedelta
        Time since then.
    """

    every: Period
    last: str
    has_looks: bool
    age: timedelta

    @property
    def is_overdue(self) -> bool:
        """Whether no round got replies for two periods."""
        return self.age > N_PERIODS * PERIODS[self.every]

    @property
    def sentence(self) -> str:
        """Sentence about the missing rounds."""
        days = f"{self.age.days} days ago, on {self.last[:10]}"
        last = f"The last round with replies was {days}"
        if not self.has_looks:
            last = f"There's no round with replies, and the run was made {days}"
        missing = " Check that the schedule still runs." if self.is_overdue else ""
        state = "Overdue" if self.is_overdue else "Not overdue"
        return f"{state}: a round is scheduled every {self.every}. {last}.{missing}"


def lateness(run: RunFolder, looks: Sequence[Look], every: Period | None) -> Lateness:
    """Return the time since a scheduled round of a run got replies.

    Parameters
    ----------
    run : RunFolder
        The run, or an exported baseline.
    looks : sequence of Look
        All of its rounds.
    every : {"day", "week", "month"} or None
        The period; by default that of the last round with ``--if-due``.

    Raises
    ------
    RunError
        If no round had a period.
    """
    scheduled = [look.every for look in looks if look.every]
    period = every or (scheduled[-1] if scheduled else None)
    if period is None:
        raise RunError(
            f"{run.path}: no round was scheduled, so the time between rounds is unknown",
            "Pass --every day, week or month",
        )
    answered = [look.at for look in looks if look.streams]
    last = answered[-1] if answered else run.manifest.created
    age = datetime.now(UTC) - datetime.fromisoformat(last)
    return Lateness(period, last, bool(answered), age)


def is_ahead(look: Look) -> bool:
    """Return whether a round's date is in the future."""
    return datetime.fromisoformat(look.at) > datetime.now(UTC) + MAX_AHEAD


def _check_words(schedule: Schedule, target: Target) -> None:
    for word in (schedule.run, *schedule.options, schedule.package, str(Path.cwd())):
        if not word.isprintable() or "${{" in word:
            raise RunError(f"{word!r} can't be written into a schedule. Use a different name.")
    if target in INSIDE_REPOSITORY:
        _check_inside(
            Path(schedule.run),
            "Export the baseline into the repository and name it by its path there: harness "
            f"revalidate export {shlex.quote(schedule.run)} baselines/{schedule.slug}",
        )


def _check_inside(path: Path, advice: str) -> None:
    if path.is_absolute() or ".." in path.parts:
        raise RunError(f"{path}: a pipeline only sees its repository. {advice}")


def _systemd_word(word: str) -> str:
    r"""Quote a word for ``ExecStart``, in which ``%``, ``$`` and ``\`` are special."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("%", "%%").replace("$", "$$") + '"'


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- when needed

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 -- no HTML; each template quotes for its own syntax
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[[str], str]] = {
        "yaml": json.dumps,  # a JSON string is a YAML string
        "sh": shlex.quote,
        "cron": lambda line: line.replace("%", "\\%"),
        "systemd": _systemd_word,
        "percent": lambda path: path.replace("%", "%%"),
    }
    environment.filters.update(filters)
    return environment
