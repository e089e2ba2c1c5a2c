"""Names of tasks and runs as commands need them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import join

from harness.errors import TaskError
from harness.files.user_folders import resume_command
from harness.tasks.folders import find_task, takes_ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Names by which commands find a validated task and run. Empty for data in memory.

    Attributes
    ----------
    task : str
        The task, in the form that ``--task`` accepts.
    takes_ratings : bool
        Whether raters can rate it with `harness annotate`.
    run : str
        Path of the run folder.
    server : tuple of str
        Options that locate the run's judges.
    """

    task: str = ""
    takes_ratings: bool = False
    run: str = ""
    server: tuple[str, ...] = ()

    def command_to_resume(self) -> str:
        """Return the command that sends the run's missing requests."""
        return resume_command(Path(self.run), options=self.server)

    def command_to_watch(self, *options: str) -> str:
        """Return the command that re-validates the run's judges."""
        return join(["harness", "revalidate", self.run, *options, *self.server])

    def command_to_improve(self, judge: str) -> str:
        """Return the command that searches for a better way to run one of the run's judges."""
        return join(["harness", "improve", self.run, "--judge", judge, *self.server])


NOWHERE = Location()


def location_of(task: str) -> Location:
    """Return the location of a task, given by name or path. It is empty without a task."""
    try:
        return Location(task=task, takes_ratings=takes_ratings(find_task(task)))
    except TaskError:  # the task was moved, belongs to somebody else, or is a table in memory
        return NOWHERE
