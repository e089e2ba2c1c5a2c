"""`harness curate export --to` and `import --into`: exchange ratings with rating tools."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING

import typer

from harness.cli.annotate import check_own_files, check_property, merge_summary
from harness.cli.output import echo, echo_json
from harness.loading import check_edge

if TYPE_CHECKING:
    from pathlib import Path

    from harness.curation.curation_options import TeamOptions
    from harness.curation.importing.import_options import MadeTask
    from harness.tasks import Task


def export_project(
    task: Task, folder: Path, project: TeamOptions, tool: str, *, seed: int, as_json: bool
) -> None:
    """Write a project, and print the next steps."""
    check_edge("annotation")
    from harness.annotation.teams.screens import make_team_screens
    from harness.annotation.teams.team_project import write_project

    check_property(task)
    screens = make_team_screens(
        task,
        form=project.form,
        queue=project.team_queue,
        raters=project.team or (),
        per_item=project.per_item,
        seed=seed,
    )
    files = write_project(task, screens, folder, tool)
    load = {
        rater: sum(rater in screen.raters for screen in screens)
        for rater in dict.fromkeys(name for screen in screens for name in screen.raters)
    }
    if as_json:
        echo_json({"folder": str(folder), "files": files, "screens": len(screens), "raters": load})
        return
    echo(f"Wrote {folder}: {len(screens)} screens in {', '.join(files)}.")
    if load:
        echo("Screens by rater: " + ", ".join(f"{name} {n}" for name, n in load.items()) + ".")
    folder_name = quote(str(task.folder))
    echo(
        "When all screens are rated, export them from the tool. Then:\n"
        f"  harness curate import EXPORT --into {folder_name}  # EXPORT: that file"
    )


def import_answers(source: Path, name: str, said: MadeTask, *, as_json: bool) -> None:
    """Add a team's ratings to a task. Each rating is added only once."""
    check_edge("annotation")
    from harness.annotation import merge_ratings
    from harness.annotation.teams.team_answers import problems_in_words
    from harness.annotation.teams.team_project import read_team_export
    from harness.tasks import load_task

    pairs = [text.partition("=") for text in said.rater_names]
    if any(not (account and person) for account, _, person in pairs):
        raise typer.BadParameter("write ACCOUNT=NAME", param_hint="--rater-name")
    task = load_task(name, unrated=True)
    check_own_files(task.folder)
    answers = read_team_export(source, task, {account: person for account, _, person in pairs})
    merged = merge_ratings(
        task, answers.collected, source=source.name, keep_outdated=said.outdated_answers
    )
    if as_json:
        fields = {
            key: value for key, value in asdict(merged).items() if key not in {"path", "rows"}
        }
        counts = {"n_ratings": merged.n_ratings, "n_replaced": answers.n_replaced}
        unused = {"problems": answers.problems, "unassigned": list(answers.unassigned)}
        echo_json({"file": str(merged.path), **counts, **unused, **fields})
        return
    echo(merge_summary("Added to", merged, keep_outdated=said.outdated_answers))
    if answers.n_replaced:
        echo(f"Replaced by a later answer from the same rater: {answers.n_replaced}.")
    if answers.unassigned:
        echo(f"Answered screens that were assigned to others: {', '.join(answers.unassigned)}.")
    if answers.problems:
        echo(f"Left out, because they aren't answers: {len(answers.problems)}:")
        echo("\n".join(f"  {line}" for line in problems_in_words(answers.problems)))
    if not merged.n_unrated:
        echo(f"Next:\n  harness validate --task {quote(name)}")
