"""`harness tasks`, `judges`, `runs` and `schema`: what there is."""

from __future__ import annotations

import json
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.errors import JudgeUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec


def tasks(*, as_json: options.Json = False) -> None:
    """List the tasks that --task finds by name.

    They are looked for in $HARNESS_TASKS, in ./datasets, and among those that come along.

    \b
    Examples:
      harness tasks
      harness tasks --json
    """
    from harness.tasks import available_tasks, describe

    rows = [describe(folder) for _, folder in available_tasks()]
    show(rows, as_json=as_json, empty="No tasks. Make a folder with a task.yaml below ./datasets.")


def judges(*, judges_file: options.JudgesFile = None, as_json: options.Json = False) -> None:
    """List the judges that --judges finds by alias, and whether each can run here.

    \b
    Examples:
      harness judges
      harness judges --judges-file judges.yaml --json
    """
    from harness.judging.judges.config import load_judges

    show([_about(spec) for spec in load_judges(judges_file).values()], as_json=as_json)
    if not as_json:
        typer.echo(
            "\nAny litellm model string works as it is: --judges openai/gpt-4o,ollama/llama3"
        )


def _about(spec: JudgeSpec) -> dict[str, object]:
    """One judge's line: who it is, and whether it can be asked here and now."""
    from harness.judging.judges.registry import check

    try:
        check(spec)
        state = "yes"
    except JudgeUnavailable as reason:
        state = str(reason).removeprefix(f"{spec.name}: ")
    return {
        "name": spec.name,
        "kind": spec.kind,
        "model": spec.model,
        "samples": spec.samples,
        "ready": state,
    }


def runs(*, out: options.Out = None, as_json: options.Json = False) -> None:
    """List run folders, newest first.

    \b
    Examples:
      harness runs
      harness runs --out runs --json
    """
    from harness.runs import default_out, list_runs

    found = list_runs(out or default_out())
    rows = [
        {
            "run": run.path.name,
            "state": run.manifest.state,
            "created": run.manifest.created if as_json else _minute(run.manifest.created),
            "judges": ", ".join(spec.name for spec in run.manifest.judges),
        }
        for run in found.readable
    ]
    show(rows, as_json=as_json, empty="No runs here yet. Begin with: harness run --task toxicity")
    if found.warning:
        typer.echo(found.warning, err=True)


def _minute(time: str) -> str:
    """Write an ISO 8601 time as people read it, to the minute."""
    return time[:16].replace("T", " ")


def schema(
    what: Annotated[
        Literal["metrics", "verdicts", "task"], typer.Argument(help="The file it is the schema of.")
    ],
) -> None:
    """Print the JSON schema of metrics.json, of a line of verdicts.jsonl, or of task.yaml.

    \b
    Examples:
      harness schema task
      harness schema metrics > metrics.schema.json
    """
    typer.echo(json.dumps(schema_of(what), indent=2))


def schema_of(what: str) -> Mapping[str, object]:
    """Return the JSON schema of a file."""
    match what:
        case "metrics":
            from harness.analysis import Validation

            return Validation.json_schema()
        case "verdicts":
            from harness.judging.parsing.verdict import verdict_schema

            return verdict_schema()
        case _:
            from harness.tasks import task_schema

            return task_schema()


def show(rows: Sequence[Mapping[str, object]], *, as_json: bool, empty: str = "") -> None:
    """Print rows that share their keys, as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps(list(rows), indent=2))
        return
    if not rows:
        typer.echo(empty)
        return
    from harness.report.text_table import draw_table

    cells = [[str(value) for value in row.values()] for row in rows]
    width, styled = get_terminal_size().columns, sys.stdout.isatty()
    typer.echo(draw_table(list(rows[0]), cells, width=width, styled=styled))
