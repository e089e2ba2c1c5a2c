"""`harness curate next`: what to rate next, and why."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, show, write
from harness.curation.curation_options import DrawOptions, NextOptions
from harness.errors import TaskError
from harness.options.concerns import Choices, Json, Out, Seed, VerdictFile
from harness.options.declaration import NEXT, NEXT_ESTIMATE, NEXT_FINDING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.curation.audit.finding import Finding
    from harness.tasks import Task

EVIDENCE = {
    "consistency": "In simulations this beats random picking once each item has one answer.",
    "annotator-test": "In simulations the standard error of the difference between judge and "
    "rater is 10 to 14 % smaller than with random picking.",
    "pairs": "Two pairs on the same items show how response sets spread between items: "
    "--humans modelled uses them from 30 items on.",
}


def _use(values: Mapping[str, Any]) -> str:
    """Return what the ratings are for: the task, a finding of its audit, or an estimate."""
    if values["quantity"] == "estimate":
        return NEXT_ESTIMATE
    return NEXT if values["finding"] is None else NEXT_FINDING


@takes(NEXT, NEXT_FINDING, NEXT_ESTIMATE, use=_use)
def next_ratings(
    task: options.TaskName,
    *,
    wanted: NextOptions,
    verdicts: VerdictFile,
    drawing: DrawOptions,
    place: Out,
    choices: Choices,
    seed: Seed,
    printing: Json,
) -> None:
    """List the ratings that are worth most: choices of one more rater, and pairs with a set.

    The value, per answer, is the expected fall in the number of items on the wrong side of the
    cut-off (consistency), or the number of comparisons added to the annotator test
    (annotator-test). For pairs, items with one pair get a second, by another rater. With
    --finding, the items are those of a finding of the audit, in its order. Repeat the command
    with the new ratings.

    For an estimate, about --budget items without ratings are drawn and written as a task of their
    own. Items on which the judge's verdict is least informative are drawn most often; each keeps
    its probability, so that the weighted ratings represent all items.

    If there are up to 20 raters, "raters" names those who have not rated the item in this form.
    Raters whom the audit flags are not offered. harness annotate shows an item to the raters that
    its row names, or to everybody if it names none.

    \b
    Examples:
      harness curate next ./mine --budget 100 --queue queue.csv
      harness curate next ./mine --budget 50 --slice language=de
      harness curate next ./mine --budget 200 --for pairs --queue queue.csv
      harness curate next ./mine --budget 20 --finding single_rater_items
      harness curate next TASK --for estimate --judge NAME --items FILE
    """
    if wanted.quantity == "estimate":
        _write_draw(task, wanted.budget, drawing, place, seed=seed.seed, as_json=printing.as_json)
    else:
        _list_ratings(task, wanted, verdicts.verdicts, choices.tau, seed.seed, printing)


def _list_ratings(
    task: str,
    wanted: NextOptions,
    verdicts: Path | None,
    tau: float | None,
    seed: int,
    printing: Json,
) -> None:
    """Print the ratings that are worth most, or write them as a queue."""
    from harness.curation.audit import suspected_raters
    from harness.curation.audit.audit_report import TITLES
    from harness.curation.collecting.rating_queue import next_ratings as best_ratings
    from harness.curation.collecting.rating_queue import queue_csv, ratings_again, rows_of_queue
    from harness.report.text_table import paragraph
    from harness.tasks import load_task

    loaded = load_task(task)
    suspected = suspected_raters(loaded)
    file, quantity = wanted.queue_file, wanted.quantity
    assert quantity != "estimate", "see above"
    if wanted.finding:
        found = finding_of(loaded, wanted.finding, verdicts, seed)
        queue = ratings_again(loaded, found.items, wanted.budget, suspected=suspected)
        notes = []
    else:
        queue = best_ratings(
            loaded,
            wanted.budget,
            quantity=quantity,
            suspected=suspected,
            tau=tau,
            seed=seed,
            slice_of=wanted.slice_of,
        )
        notes = [EVIDENCE[quantity]]
    names = ", ".join(f"{rater} ({TITLES[kind]})" for rater, kind in suspected.items())
    notes += [f"Not offered, as the audit flags them: {names}."] if names else []
    if printing.as_json:
        echo_json([asdict(row) for row in queue])
    elif file is None:
        show(rows_of_queue(queue), empty=f"No further rating is expected to help {quantity}.")
        echo("\n".join(["", *map(paragraph, notes)]) if queue else "")
    if file is not None:
        write(file, queue_csv(queue))
    if file is not None and not printing.as_json:
        n_pairs = sum(row.elicitation == "paired" for row in queue)
        echo(f"Wrote {file}: {len(queue)} ratings, {n_pairs} of them pairs.")
        echo("\n".join(map(paragraph, notes)))


def _write_draw(
    name: str, n_labels: int, drawing: DrawOptions, place: Out, *, seed: int, as_json: bool
) -> None:
    """Draw items for an estimate, write them as a task, and say what comes next."""
    import numpy as np

    from harness.curation.importing.new_folder import check_new
    from harness.loading import check_edge

    check_edge("estimation")
    from harness.estimation.active_draw import draw_items, write_draw
    from harness.runs.run_folder import find_run
    from harness.tasks import load_task

    judge, source, made = drawing.estimating_judge, drawing.unrated_items, drawing.drawn_name
    if judge is None or source is None or made is None:
        raise typer.BadParameter("it takes --judge, --items and --as", param_hint="--for")
    target = options.task_folder(made)
    check_new(target)
    task, folder = load_task(name), find_run(place.out, drawing.estimating_run)
    rated = load_task(str(folder.path / "task")).name
    if rated != task.name:
        raise TaskError(
            f"{folder.path}: it is a run of {rated}, not of {task.name}",
            "Name another with --run",
        )
    draw = draw_items(folder, judge, source, n_labels, rng=np.random.default_rng(seed))
    write_draw(task, draw, target)
    if as_json:
        drawn = zip(draw.items, draw.probabilities.tolist(), strict=True)
        rows = [{"item": item.id, "probability": p} for item, p in drawn]
        echo_json({"folder": str(target), "n_items": draw.n_items, "drawn": rows})
        return
    least, most = draw.probabilities.min(), draw.probabilities.max()
    asked = "" if draw.answers == "forced_choice" else f" --elicitation {draw.answers}"
    folder_name, items = (options.argument(path) for path in (target, source))
    there = "".join(f" {quote(word)}" for word in (*folder.location.server, *place.words()))
    echo(
        f"Wrote {target}: {len(draw.items)} of {draw.n_items:,} items, each drawn with a "
        f"probability of {least:.2%} to {most:.2%}.\n"
        "Next:\n"
        f"  harness annotate {folder_name} --rater NAME{asked}  # NAME: the rater's name\n"
        f"  harness annotate {folder_name} --merge\n"
        f"  harness run --task {folder_name} --judges {quote(judge)}{there}\n"
        f"  harness estimate --judge {quote(judge)} --items {items}{there}"
    )


def finding_of(task: Task, kind: str, verdicts: Path | None, seed: int) -> Finding:
    """Return a finding of the audit by its kind."""
    from harness.curation.audit import audit_task

    findings = {f.kind: f for f in audit_task(task, verdicts, seed=seed).findings}
    named = [name for name, f in findings.items() if f.items or f.raters]
    if kind not in named:
        kinds = f"has {', '.join(named)}" if named else "names no items or raters"
        raise TaskError(f"--finding {kind}: the audit of {task.name} {kinds}.")
    return findings[kind]
