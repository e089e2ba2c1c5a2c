"""`harness tasks`, `judges`, `lab metrics` and `lab schema`: list what is available."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, show
from harness.errors import JudgeUnavailable
from harness.options.concerns import Json, JudgesFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.judging.judge_spec import JudgeSpec
    from harness.stats import Metric


@takes
def tasks(*, printing: Json) -> None:
    """List the tasks that --task accepts by name.

    The harness looks for tasks in $HARNESS_TASKS, in ./datasets, and among the bundled ones.

    \b
    Examples:
      harness tasks
      harness tasks --json
    """
    from harness.tasks import available_tasks, describe

    rows = [describe(folder) for _, folder in available_tasks()]
    show(rows, as_json=printing.as_json, empty="No tasks. Make one with: harness curate new mine")


@takes
def judges(*, server: JudgesFile, printing: Json) -> None:
    """List the judges that --judges accepts by alias, and whether each can run here.

    \b
    Examples:
      harness judges
      harness judges --judges-file judges.yaml --json
    """
    from harness.judging.judges.config import load_judges

    rows = [_describe_judge(spec) for spec in load_judges(server.judges_file).values()]
    show(rows if printing.as_json else [_yes_or_no(row) for row in rows], as_json=printing.as_json)
    if not printing.as_json:
        reasons = [f"{row['name']}: {row['ready']}" for row in rows if row["ready"] != "yes"]
        echo("\n".join(["", *reasons] if reasons else []))
        echo("\nAny litellm model string is accepted: --judges openai/gpt-4o,ollama/llama3")


def _yes_or_no(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row whose last cell is "yes" or "no". The reasons appear below the table."""
    return {**row, "ready": "yes" if row["ready"] == "yes" else "no"}


def _describe_judge(spec: JudgeSpec) -> dict[str, object]:
    from harness.judging.judges.judge_registry import check

    try:
        check(spec)
        ready = "yes"
    except JudgeUnavailable as error:
        ready = str(error).removeprefix(f"{spec.name}: ")
    return {
        "name": spec.name,
        "kind": spec.kind,
        "model": spec.model,
        "samples": spec.samples,
        "ready": ready,
    }


def print_runs(out: Path | None, *, as_json: bool) -> None:
    """Print the run folders, newest first."""
    from harness.runs.run_folder import default_out, list_runs

    listed = list_runs(out or default_out())
    rows = [
        {
            "run": run.path.name,
            "state": run.manifest.state,
            "created": run.manifest.created if as_json else _minute(run.manifest.created),
            "judges": ", ".join(spec.name for spec in run.manifest.judges),
        }
        for run in listed.readable
    ]
    show(rows, as_json=as_json, empty="No runs yet. Start with: harness run --task toxicity")
    if listed.warning:
        echo(listed.warning, err=True)


def _minute(time: str) -> str:
    """Shorten an ISO 8601 time to minutes."""
    return time[:16].replace("T", " ")


@takes
def metrics(*, printing: Json) -> None:
    """List all metrics, each with its scope, range, direction and paper.

    Every metric that compares a judge with the raters works as --metric. Forms in a name are
    judge/human: h is the most common option, s the options' shares, srs the shares of raters who
    accept each option, and hrs the options that enough raters accept.

    \b
    Examples:
      harness lab metrics
      harness lab metrics --json
    """
    as_json = printing.as_json
    rows = [
        _describe_metric(metric, scope, as_json=as_json)
        for scope, group in metrics_by_scope().items()
        for metric in group
    ]
    rows += [_describe_metric(metric, "plug-in", as_json=as_json) for metric in _plugin_metrics()]
    show(rows, as_json=as_json)


def _plugin_metrics() -> Iterator[Metric]:
    """Load metrics from other distributions. Name the distributions that fail to load on stderr."""
    from harness.analysis.plugin_metrics import plugin_metric, plugin_metric_names
    from harness.errors import PluginError

    for name in plugin_metric_names():
        try:
            yield plugin_metric(name)
        except PluginError as error:
            echo(f"harness: {error}", err=True)


def metrics_by_scope() -> dict[str, Sequence[Metric]]:
    """Return all metrics, grouped by scope."""
    from harness.stats import HUMAN_AGREEMENT, METRICS, OptionSpace
    from harness.stats.metrics.advantage import ADVANTAGE
    from harness.stats.metrics.confusion import binary_metrics
    from harness.stats.metrics.ordinal import ordinal_metrics

    return {
        "all tasks": METRICS,
        "ordinal scales": ordinal_metrics([1.0, 2.0, 3.0]),
        "positive options": binary_metrics(OptionSpace.powerset(("no", "yes")), ("yes",)),
        "named raters": (ADVANTAGE,),
        "raters alone": HUMAN_AGREEMENT,
    }


def _describe_metric(metric: Metric, scope: str, *, as_json: bool) -> dict[str, object]:
    from math import isfinite

    low, high = metric.bounds
    bounds: dict[str, object] = {"range": f"{low:.3g} to {high:.3g}"}
    if as_json:
        bounds = {name: x if isfinite(x) else None for name, x in (("low", low), ("high", high))}
    return {
        "metric": metric.name,
        "display name": metric.display_name,
        "for": scope,
        **bounds,
        "better": metric.better if as_json or metric.better != "zero" else "near 0",
        "unit": metric.unit,
        "paper": metric.paper,
    }


def schema(
    name: Annotated[
        Literal["metrics", "verdicts", "task", "audit"],
        typer.Argument(help="The file.", metavar="FILE"),
    ],
) -> None:
    """Print the JSON schema of metrics.json, a line of verdicts.jsonl, task.yaml or an audit.

    \b
    Examples:
      harness lab schema task
      harness lab schema metrics > metrics.schema.json
    """
    echo_json(schema_of(name))


def schema_of(name: str) -> Mapping[str, object]:
    """Return the JSON schema of a file: ``metrics``, ``verdicts``, ``task`` or ``audit``."""
    match name:
        case "metrics":
            from harness.analysis import Validation

            return Validation.json_schema()
        case "verdicts":
            from harness.judging.parsing.verdict import verdict_schema

            return verdict_schema()
        case "audit":
            from harness.loading import check_edge

            check_edge("curation")
            from harness.curation.audit import Audit

            return Audit.json_schema()
        case _:
            from harness.tasks import task_schema

            return task_schema()
