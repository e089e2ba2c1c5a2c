"""What a search for a better way of asking a judge is about; the edge of races searches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.errors import RunError, TaskError
from harness.options.concerns import WITHIN
from harness.runs.run_folder import RunFolder, default_out
from harness.tasks import load_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from harness.analysis.improvement import Improvement
    from harness.app.plan import Plan
    from harness.judging.running.recorder import Observer
    from harness.judging.running.stopping import StopRequests
    from harness.options.concerns import RunOptions, RunPlace, Server
    from harness.options.search_options import Searching
    from harness.tasks import Task

    Watch = Callable[[Plan], AbstractContextManager[Observer]]

DIGITS = 8  # of the name of a search
JUDGES = "judges.yaml"  # in its folder, where a model writes candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSearch:
    """What is improved, on which items, and how long.

    Attributes
    ----------
    task : Task
        The rated items.
    judge : str
        An alias or a model, as it is asked now.
    options : Searching
        How long the search goes on.
    settings : RunOptions
        Criterion, seed, samples, ``within``, ``holdout`` and the limit of cost of the search.
    server : Server
        Where judges are that are not aliases.
    place : RunPlace
        Where replies and runs are kept.
    command : tuple of str
        The words of the command that goes on, without the limit of cost.
    writer : str
        An alias or a model that writes other instructions and descriptions; "" for none.
    """

    task: Task
    judge: str
    options: Searching
    settings: RunOptions
    server: Server
    place: RunPlace
    command: tuple[str, ...]
    writer: str = ""

    @property
    def asked_server(self) -> Server:
        """Where judges are, those among them whose wording was written for the search."""
        if not self.writer:
            return self.server
        return self.server.model_copy(update={"judges_file": self.path / JUDGES})

    @property
    def path(self) -> Path:
        """The folder of the search, which follows from what is searched."""
        own = self.settings
        said = (
            *(self.task.content_hash, self.judge, self.server.base_url, *self.options.words()),
            *(own.within, own.seed, own.criterion, own.samples, own.holdout, self.writer),
            *([own.prompts] if own.prompts else []),
        )
        digest = hashlib.sha256("\0".join(map(str, said)).encode()).hexdigest()[:DIGITS]
        return (self.place.out or default_out()) / f"improve-{self.task.name}-{digest}"

    @property
    def within(self) -> float:
        """Difference of mean losses that does not matter."""
        return WITHIN if self.settings.within is None else self.settings.within

    def folders(self) -> list[RunFolder]:
        """Return the rounds that were begun, in their order."""
        numbers = range(1, self.options.rounds + 1)
        paths = (self.path / f"round-{number}" for number in numbers)
        return [RunFolder.open(path) for path in paths if (path / "manifest.json").exists()]


def search_of_run(folder: RunFolder, judge: str) -> tuple[Task, dict[str, object]]:
    """Return the task of a run, and the options of a search that are the run's own.

    Raises
    ------
    RunError
        If the run did not ask the judge, or its task can't be read.
    """
    config = folder.manifest.config
    asked = [spec.name for spec in folder.manifest.asked_judges]
    if judge not in asked:
        raise RunError(f"{folder.path}: {judge!r} was not asked. Name one of {', '.join(asked)}.")
    task = folder.load_task()
    try:
        original = load_task(config.task)
    except TaskError:
        original = task
    same = original.content_hash == task.content_hash
    options = {name: getattr(config, name) for name in ("criterion", "seed", "samples")}
    options["prompts"] = folder.prompts if config.prompts else None
    return original if same else task, options


class SearchEdge(Protocol):
    """What the edge of races offers to searches."""

    def plan_first_round(self, search: JudgeSearch) -> Plan | None:
        """Plan the first round of a search; nothing is asked."""

    def improve(
        self, search: JudgeSearch, watch: Watch, stop: StopRequests | None = None
    ) -> Improvement:
        """Search for a better way of asking a judge, and test what it gains."""
