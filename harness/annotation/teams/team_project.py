"""Team projects for rating tools: writing a project by the tool's name, and reading exports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.annotation.teams import argilla_project, label_studio_project
from harness.annotation.teams.screens import assignments_csv
from harness.annotation.teams.team_answers import TeamAnswer, TeamAnswers, collected_answers
from harness.curation.importing.new_folder import new_folder
from harness.errors import TaskError
from harness.files.regular_files import read_file, write_file
from harness.files.tables.checks import identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from harness.annotation.teams.screens import TeamScreen
    from harness.tasks import Task

ASSIGNMENTS = "assignments.csv"


@dataclass(frozen=True, slots=True)
class Tool:
    """A rating tool for teams.

    Attributes
    ----------
    files : callable
        Returns a project's files by name, for screens with the same form.
    is_export : callable
        Returns whether a file is an export of such a project.
    read : callable
        Reads an export from its content and name.
    """

    files: Callable[[Task, Sequence[TeamScreen]], Mapping[str, bytes]]
    is_export: Callable[[bytes], bool]
    read: Callable[[bytes, str], list[TeamAnswer]]


TOOLS: dict[str, Tool] = {
    "label-studio": Tool(
        label_studio_project.project_files,
        label_studio_project.is_export,
        label_studio_project.read_export,
    ),
    "argilla": Tool(
        argilla_project.project_files, argilla_project.is_export, argilla_project.read_export
    ),
}


def write_project(task: Task, screens: Sequence[TeamScreen], folder: Path, tool: str) -> list[str]:
    """Write one project per form for a tool, and the raters' assignments.

    Parameters
    ----------
    folder : Path
        Must not exist yet.
    tool : str
        A name in `TOOLS`.

    Returns
    -------
    list of str
        Names of the files.

    Raises
    ------
    TaskError
        If there is nothing to rate, or the folder exists or cannot be written.
    """
    if not screens:
        raise TaskError(f"task {task.name}: these raters have already rated all of these items.")
    files: dict[str, bytes] = {ASSIGNMENTS: assignments_csv(screens).encode()}
    for form in dict.fromkeys(screen.form for screen in screens):
        same = [screen for screen in screens if screen.form == form]
        files |= {f"{form}/{name}": data for name, data in TOOLS[tool].files(task, same).items()}
    with new_folder(folder) as part:
        for name, data in files.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(part / name, data)
    return list(files)


def read_team_export(path: Path, task: Task, names: Mapping[str, str]) -> TeamAnswers:
    """Read a team's answers from an export of a task's project.

    Parameters
    ----------
    names : dict of str to str
        Rater's name by the account's name or number.

    Raises
    ------
    TaskError
        If it isn't an export of such a project, or belongs to another task.
    """
    try:
        content = read_file(path)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror}).") from None
    tool = next((tool for tool in TOOLS.values() if tool.is_export(content)), None)
    if tool is None:
        raise TaskError(
            f"{path}: this is not a JSON export of a project that `harness curate export --to "
            f"{'|'.join(TOOLS)}` made. Export the project as JSON."
        )
    given = tool.read(content, str(path))
    if others := {g.screen.harness_task for g in given} - {task.name}:
        raise TaskError(
            f"{path}: the export contains ratings for task {min(others)!r}, not for {task.name!r}."
        )
    if unknown := names.keys() - {answer.rater for answer in given}:
        known = ", ".join(sorted({answer.rater for answer in given})) or "nobody"
        raise TaskError(
            f"--rater-name {min(unknown)}: the export has no such account. The accounts are "
            f"{known}."
        )
    renamed = [replace(answer, rater=_rater(answer.rater, names, path)) for answer in given]
    return collected_answers(task, str(path), renamed)


def _rater(account: str, names: Mapping[str, str], path: Path) -> str:
    name = names.get(account, f"annotator {account}" if account.isdecimal() else account)
    return identifier(name, "rater", str(path))
