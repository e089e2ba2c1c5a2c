"""Settings for a search for a better prompt or strategy, and the interface to searches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.errors import RunError, TaskError, in_sentences, use_one_of
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

DIGITS = 8  # hex digits in a search's name
JUDGES = "judges.yaml"  # file in a search's folder with candidates that a model wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSearch:
    """Search settings: the judge to improve, the items, and the limits.

    Attributes
    ----------
    task : Task
        The rated items.
    judge : str
        An alias or a model, with its current strategy.
    options : Searching
        Limits of the search.
    settings : RunOptions
        Criterion, seed, samples, ``within``, ``holdout`` and the cost limit of the search.
    server : Server
        Server for judges that aren't aliases.
    place : RunPlace
        Where replies and runs are stored.
    command : tuple of str
        The command that continues the search, without the cost limit.
    writer : str
        An alias or a model that writes candidate instructions and descriptions, or "" for none.
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
        """Server for the judges, including judges with wording written for the search."""
        if not self.writer:
            return self.server
        return self.server.model_copy(update={"judges_file": self.path / JUDGES})

    @property
    def path(self) -> Path:
        """The search's folder. Task, judge and options determine its name."""
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
        """Largest difference in mean loss that counts as negligible."""
        return WITHIN if self.settings.within is None else self.settings.within

    def folders(self) -> list[RunFolder]:
        """Return the run folders of the rounds started so far, in order."""
        numbers = range(1, self.options.rounds + 1)
        paths = (self.path / f"round-{number}" for number in numbers)
        return [RunFolder.open(path) for path in paths if (path / "manifest.json").exists()]


def search_of_run(folder: RunFolder, judge: str) -> tuple[Task, dict[str, object]]:
    """Return a run's task, and the search options taken from the run.

    Raises
    ------
    RunError
        If the run didn't include the judge, or the run's task can't be read.
    """
    config = folder.manifest.config
    asked = [spec.name for spec in folder.manifest.asked_judges]
    if judge not in asked:
        raise RunError(
            in_sentences(
                f"{folder.path}: this run has no judge {judge!r}",
                use_one_of(judge, asked, none="It asked none."),
            )
        )
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
    """Interface to races, which implement searches."""

    def plan_first_round(self, search: JudgeSearch) -> Plan | None:
        """Plan the first round of a search without sending requests."""

    def improve(
        self, search: JudgeSearch, watch: Watch, stop: StopRequests | None = None
    ) -> Improvement:
        """Search for a better prompt or strategy for a judge, and test its gain."""
