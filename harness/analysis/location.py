"""How commands find what was validated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import join

from harness.errors import TaskError
from harness.files.user_folders import resume_command
from harness.tasks.folders import find_task, takes_ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Names by which commands find what was validated; "" for what is in memory only.

    Attributes
    ----------
    task : str
        The task, as ``--task`` takes it.
    takes_ratings : bool
        Whether raters can rate it with `harness annotate`.
    run : str
        Path of the run folder.
    server : tuple of str
        Options that say where the judges of the run are.
    """

    task: str = ""
    takes_ratings: bool = False
    run: str = ""
    server: tuple[str, ...] = ()

    def command_to_resume(self) -> str:
        """Return the command that sends the missing requests of the run."""
        return resume_command(Path(self.run), options=self.server)

    def command_to_watch(self, *options: str) -> str:
        """Return the command that re-validates judges of the run."""
        return join(["harness", "revalidate", self.run, *options, *self.server])

    def command_to_improve(self, judge: str) -> str:
        """Return the command that searches for a better way of asking a judge of the run."""
        return join(["harness", "improve", self.run, "--judge", judge, *self.server])


NOWHERE = Location()


def location_of(task: str) -> Location:
    """Return how commands find a task by its name or path; one that isn't there has no name."""
    try:
        return Location(task=task, takes_ratings=takes_ratings(find_task(task)))
    except TaskError:  # it was moved, is somebody else's, or a table in memory
        return NOWHERE
