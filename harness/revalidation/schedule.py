"""Workflows, pipelines, crontab lines and timers that re-validate a run on a schedule."""

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

from harness.command_options import NO_SERVER
from harness.edges import edge
from harness.errors import JudgeError, RunError, TaskError
from harness.judging.judges.config import bundled_judges, load_judges
from harness.judging.judges.judge_registry import own_judges
from harness.revalidation.watched_judges import judges_in_use, watched_judges
from harness.tasks.folders import bundled, find_task
from harness.tasks.schema import TASK_FILE, read_task_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from jinja2 import Environment

    from harness.judging.judges.config import JudgeSpec
    from harness.revalidation import Period, Target
    from harness.revalidation.records import Look
    from harness.runs import RunFolder


PERIODS: dict[Period, timedelta] = {
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=28),
}
EARLY = 0.1  # of a period: a scheduler that is a little early is not sent away
MAX_AHEAD = timedelta(minutes=5)  # of the clock of another machine
CRON: dict[Period, str] = {"day": "17 5 * * *", "week": "17 5 * * 1", "month": "17 5 1 * *"}
# GitHub removes caches that were not used for 7 days: calls that find nothing due keep the history.
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
        "revalidate-{slug}.timer": "timer.jinja",
    },
}
INSIDE_REPOSITORY = {"github", "gitlab"}
KEYS_FILE = "~/.config/judge-harness/env"
DISTRIBUTION = "judge-harness"
REPOSITORY = f"git+https://HOST/OWNER/{DISTRIBUTION}@REVISION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When and how a run is re-validated.

    Attributes
    ----------
    run : str
        The run or exported baseline, as it is named where the schedule runs.
    every : {"day", "week", "month"}
        How often.
    options : tuple of str
        Further words of ``harness revalidate``.
    keys : tuple of str
        Environment variables that hold the judges' keys; their names alone are written.
    package : str
        What a pipeline installs with ``pip install``; other schedules install nothing.
    """

    run: str
    every: Period
    options: tuple[str, ...]
    keys: tuple[str, ...]
    package: str = ""

    @property
    def slug(self) -> str:
        """A name of letters, digits and hyphens."""
        name = Path(self.run).name
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
        return plain or sha256(name.encode()).hexdigest()[:12]


def keys_of(judges: Iterable[JudgeSpec]) -> tuple[str, ...]:
    """Return the environment variables that judges need, sorted."""
    return tuple(sorted({judge.key_env for judge in judges if judge.key_env}))


class Watched(NamedTuple):
    """Which judges a schedule watches, empty for all, and a sentence that says so."""

    judges: tuple[str, ...]
    sentence: str


def watched_by_schedule(run: RunFolder, names: Collection[str] | None) -> Watched:
    """Choose the judges that a schedule watches.

    Parameters
    ----------
    run : RunFolder
        A run or exported baseline.
    names : collection of str or None
        Judges, or ``all``; by default the best judge of the run and those that are not
        significantly different from it.

    Raises
    ------
    RunError
        If the run has no judge of a name.
    """
    everyone = tuple(spec.name for spec in run.manifest.judges)
    if names is not None:
        chosen = () if "all" in names else tuple(names)
        watched_judges(run, chosen)
        return Watched(chosen, f"Watches {', '.join(chosen or everyone)}.")
    in_use = judges_in_use(run)
    watched = {spec.name for spec in watched_judges(run, in_use)}
    if len(watched) == len(everyone):
        reason = "" if in_use else ": the run does not say which one is the best"
        return Watched((), f"Watches {', '.join(everyone)}{reason}.")
    close = ", which are not significantly different" if in_use[1:] else ", the best judge"
    return Watched(
        in_use,
        f"Watches {', '.join(in_use)}{close}. To watch all {len(everyone)}: --judges all",
    )


def options_of(
    run: RunFolder, target: Target, *, task: str | None = None, judges_file: Path | None = None
) -> tuple[str, ...]:
    """Return the options that name a run's task and judges where the schedule runs.

    Parameters
    ----------
    run : RunFolder
        A run or exported baseline.
    target : {"github", "gitlab", "cron", "systemd"}
        A pipeline has the repository alone, and defines where requests go by its judges file.
    task : str or None
        Name or path of the task there; found where it is bundled or in this folder.
    judges_file : Path or None
        The judges file there.

    Raises
    ------
    RunError
        If a pipeline could not find the task, or would refuse the judges.
    JudgeError
        If the judges file cannot be read.
    TaskError
        If the task has no options.
    """
    if (copied := run.path / "task" / TASK_FILE).is_file():
        read_task_file(copied).require_options("re-validation")
    if target in INSIDE_REPOSITORY:
        for path in (task, judges_file):
            if path:
                _check_inside(Path(path), "name it by its path there.")
        task = task or _task_inside(run)
        _check_judges(run, judges_file)
    words = ["--task", task] if task else []
    return (*words, *(["--judges-file", str(judges_file)] if judges_file else []))


class StoreOptions(NamedTuple):
    """What a shared store adds to a schedule; ``extra`` is that of the package."""

    options: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    extra: str = ""


def options_of_store(address: str | None) -> StoreOptions:
    """Return what a shared store adds to a schedule; its password is named, not written.

    Raises
    ------
    RunError
        If the address cannot be used, or holds a password.
    """
    if address is None:
        return StoreOptions()
    edge("cluster").check_address(address)
    variable = (
        "PGPASSWORD" if urlsplit(address).netloc or urlsplit(address).path else "HARNESS_STORE"
    )
    return StoreOptions(("--store", address), (variable,), "[postgres]")


def package_of(target: Target, source: str | None, extra: str = "") -> str:
    """Return what a pipeline installs; empty where the schedule uses the installed harness.

    Parameters
    ----------
    target : {"github", "gitlab", "cron", "systemd"}
        What calls the harness.
    source : str or None
        Address of a repository (``git+https://...``), or of a wheel, or the path of a wheel in the
        repository; where this harness was installed from by default.
    extra : str
        Extra of the package with its brackets, as in ``[postgres]``.

    Raises
    ------
    RunError
        If the source is none of these, or holds a user's name or password, or there is no default.
    """
    if target not in INSIDE_REPOSITORY:
        if source is not None:
            raise RunError(f"--package does not apply to {target}: it installs nothing.")
        return ""
    source = source or _installed_from()
    if source is None:
        raise RunError(
            f"{target} installs the harness: name its repository, --package {REPOSITORY}, or a "
            "wheel in yours, --package wheels/NAME.whl."
        )
    parts = urlsplit(source)
    if parts.scheme.startswith("http") and not parts.path.endswith(".whl"):
        source = f"git+{source}"
    elif not parts.scheme.startswith(("http", "git+")):
        if parts.scheme or not source.endswith(".whl"):
            raise RunError(
                "--package names neither a repository nor a wheel. Anyone may claim a name at a "
                f"package index, so give {REPOSITORY} or the path of a wheel in your repository."
            )
        _check_inside(Path(source), "name the wheel by its path there.")
        return f"./{Path(source)}{extra}"
    if parts.password or (parts.username and not parts.scheme.endswith("ssh")):
        raise RunError("--package holds a user's name or password, which would be written down.")
    return f"{DISTRIBUTION}{extra} @ {source}"


def _installed_from() -> str | None:
    """Return the address that this harness was installed from; None from a folder or an index."""
    recorded = distribution(DISTRIBUTION).read_text("direct_url.json")  # PEP 610
    origin = json.loads(recorded) if recorded else {}
    if "vcs_info" in origin:
        return f"{origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    address = origin.get("url", "")
    return address if address.startswith("http") else None


def _task_inside(run: RunFolder) -> str | None:
    """Return how a pipeline names the task that has the item texts; None if the run has them."""
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
        f"{run.path}: it holds no item texts, and its task is not in this folder. Name a path in "
        "the repository with --task, or export the baseline with --item-text."
    )


def _check_judges(run: RunFolder, judges_file: Path | None) -> None:
    registry = load_judges(judges_file) if judges_file else bundled_judges()
    try:
        own_judges(run.manifest.judges, registry, NO_SERVER)
    except JudgeError as error:
        judge = str(error).partition(":")[0]
        raise RunError(
            f"{run.path}: a pipeline does not ask {judge} without a judges.yaml that names it. "
            "Commit that file, and name it with --judges-file."
        ) from None


def files_of(schedule: Schedule, target: Target) -> dict[str, str]:
    """Return the files of a schedule by name.

    Raises `RunError` if a pipeline's run is not named by a path inside the repository, or a name
    holds a line break or an expression.
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
        "program": shutil.which("harness") or f"{Path(sys.executable).parent}/harness",
        "keys_file": KEYS_FILE,
    }
    return {
        name.format(slug=schedule.slug): environment.get_template(template).render(words)
        for name, template in TEMPLATES[target].items()
    }


def time_until_due(last: Look | None, every: Period) -> timedelta:
    """Return how long the next look is not due; zero or less if it is.

    A look is due when the last one is at least nine tenths of the period old; at once when that is
    incomplete, or is dated in the future because a clock ran ahead.
    """
    if last is None:
        return timedelta(0)
    is_incomplete = bool(last.ended) or any(j.verdict == "not asked" for j in last.judges)
    if is_incomplete or is_ahead(last):
        return timedelta(0)
    at = datetime.fromisoformat(last.at)
    return at + (1 - EARLY) * PERIODS[every] - datetime.now(UTC)


def is_ahead(look: Look) -> bool:
    """Return whether a look is dated in the future."""
    return datetime.fromisoformat(look.at) > datetime.now(UTC) + MAX_AHEAD


def _check_words(schedule: Schedule, target: Target) -> None:
    for word in (schedule.run, *schedule.options, schedule.package):
        if not word.isprintable() or "${{" in word:
            raise RunError(f"{word!r} cannot be written into a schedule. Rename it.")
    if target in INSIDE_REPOSITORY:
        _check_inside(
            Path(schedule.run),
            "Export the baseline into the repository and name it by its path there: harness "
            f"baseline export {shlex.quote(schedule.run)} baselines/{schedule.slug}",
        )


def _check_inside(path: Path, advice: str) -> None:
    if path.is_absolute() or ".." in path.parts:
        raise RunError(f"{path}: a pipeline sees its repository alone. {advice}")


def _systemd_word(word: str) -> str:
    r"""Quote a word of ``ExecStart``, where ``%``, ``$`` and ``\`` are special."""
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
