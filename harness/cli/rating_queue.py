"""`harness curate next`: list which ratings to collect next, and draw items for an estimate."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, show, write
from harness.curation.curation_options import DrawOptions, NextOptions
from harness.errors import TaskError
from harness.options.concerns import Json, JsonOrDetails, Out

if TYPE_CHECKING:
    from pathlib import Path

    from harness.curation.audit.finding import Finding
    from harness.tasks import Task

MAX_ROWS = 15  # rows that are printed without --details
EVIDENCE = {
    "consistency": "In simulations, this order beats random picking once each item has one answer.",
    "annotator-test": (
        "In simulations, the standard error of the difference between judge and rater is 10 to "
        "14 % smaller with this order than with random picking."
    ),
    "pairs": (
        "A second pair on an item shows how response sets vary between items. With at least 30 "
        "such items, --humans modelled uses the pairs."
    ),
}


@takes
def next_ratings(task: options.TaskName, *, wanted: NextOptions, printing: JsonOrDetails) -> None:
    """List the most valuable ratings: choices by one more rater, and set-then-choice pairs.

    A rating's value, per answer, is the expected fall in the number of items on the wrong side of
    the cut-off (consistency), or the number of comparisons it adds to the annotator test
    (annotator-test). For pairs, items with one pair get a second one from a different rater. With
    --finding, the list has the items of an audit finding, in its order. Repeat the command after
    adding the new ratings.

    With up to 20 raters, "raters" names those who haven't rated the item in this form, except
    raters flagged by the audit. harness annotate shows an item to the raters in its row, or to
    everybody if the row names none.

    \b
    Examples:
      harness curate next ./mine --budget 100 --queue queue.csv
      harness curate next ./mine --budget 50 --slice language=de
      harness curate next ./mine --budget 200 --for pairs --queue queue.csv
      harness curate next ./mine --budget 20 --finding single_rater_items
    """
    from harness.curation.audit import suspected_raters
    from harness.curation.audit.audit_report import TITLES
    from harness.curation.collecting.rating_queue import next_ratings as best_ratings
    from harness.curation.collecting.rating_queue import queue_csv, ratings_again, rows_of_queue
    from harness.report.text_table import paragraph
    from harness.tasks import load_task

    loaded = load_task(task)
    suspected = suspected_raters(loaded)
    file, quantity = wanted.queue_file, wanted.quantity
    if wanted.finding:
        found = finding_of(loaded, wanted.finding, wanted.verdicts, wanted.seed)
        queue = ratings_again(loaded, found.items, wanted.budget, suspected=suspected)
        notes = []
    else:
        queue = best_ratings(
            loaded,
            wanted.budget,
            quantity=quantity,
            suspected=suspected,
            tau=wanted.tau,
            seed=wanted.seed,
            slice_of=wanted.slice_of,
        )
        notes = [EVIDENCE[quantity]]
    names = ", ".join(f"{rater} ({TITLES[kind]})" for rater, kind in suspected.items())
    notes += [f"Not listed, because the audit flags these raters: {names}."] if names else []
    if printing.as_json:
        echo_json([asdict(row) for row in queue])
    elif file is None:
        rows = rows_of_queue(queue)
        shown = rows if printing.details else rows[:MAX_ROWS]
        show(shown, empty=f"No other rating is expected to help with {quantity}.")
        if n_more := len(rows) - len(shown):
            notes.insert(
                0,
                (
                    f"To print {n_more} more ratings, pass --details. To write all, pass --queue "
                    "FILE."
                ),
            )
        echo("\n".join(["", *map(paragraph, notes)]) if queue else "")
    if file is not None:
        write(file, queue_csv(queue))
    if file is not None and not printing.as_json:
        n_pairs = sum(row.elicitation == "paired" for row in queue)
        echo(f"Wrote {file}: {len(queue)} ratings, including {n_pairs} pairs.")
        echo("\n".join(map(paragraph, notes)))


@takes
def draw(task: options.TaskName, *, drawing: DrawOptions, printing: Json) -> None:
    """Draw about --budget items without ratings for an estimate, and write them as a task.

    Items whose verdicts are least informative are drawn most often. Each item keeps its
    probability, so that the weighted ratings represent all items.

    \b
    Examples:
      harness curate draw TASK --judge NAME --items FILE --budget 200 --as drawn
    """
    import numpy as np

    from harness.curation.importing.new_folder import check_new
    from harness.loading import check_edge

    check_edge("estimation")
    from harness.estimation.active_draw import draw_items, write_draw
    from harness.runs.run_folder import find_run
    from harness.tasks import load_task

    judge, source = drawing.judge, drawing.unrated_items
    target = options.task_folder(drawing.new_name)
    check_new(target)
    rated, folder = load_task(task), find_run(drawing.out, drawing.estimating_run)
    of_run = load_task(str(folder.path / "task")).name
    if of_run != rated.name:
        raise TaskError(
            f"{folder.path}: this run is on {of_run}, not on {rated.name}",
            "Pass a different run with --run",
        )
    rng = np.random.default_rng(drawing.seed)
    drawn = draw_items(folder, judge, source, drawing.budget, rng=rng)
    write_draw(rated, drawn, target)
    if printing.as_json:
        pairs = zip(drawn.items, drawn.probabilities.tolist(), strict=True)
        rows = [{"item": item.id, "probability": p} for item, p in pairs]
        echo_json({"folder": str(target), "n_items": drawn.n_items, "drawn": rows})
        return
    least, most = drawn.probabilities.min(), drawn.probabilities.max()
    asked = "" if drawn.answers == "forced_choice" else f" --elicitation {drawn.answers}"
    folder_name, items = (options.argument(path) for path in (target, source))
    there = "".join(
        f" {quote(word)}" for word in (*folder.location.server, *Out(out=drawing.out).words())
    )
    echo(
        f"Wrote {target}: {len(drawn.items)} of {drawn.n_items:,} items, each drawn with a "
        f"probability between {least:.2%} and {most:.2%}.\nNext:\n  harness annotate "
        f"{folder_name} --rater NAME{asked}  # NAME: the rater's name\n  harness annotate merge "
        f"{folder_name}\n  harness run --task {folder_name} --judges {quote(judge)}{there}\n  "
        f"harness estimate --judge {quote(judge)} --items {items}{there}"
    )


def finding_of(task: Task, kind: str, verdicts: Path | None, seed: int) -> Finding:
    """Return the audit's finding of the given kind."""
    from harness.curation.audit import audit_task

    findings = {f.kind: f for f in audit_task(task, verdicts, seed=seed).findings}
    named = [name for name, f in findings.items() if f.items or f.raters]
    if kind not in named:
        kinds = f"has {', '.join(named)}" if named else "names no items or raters"
        raise TaskError(f"--finding {kind}: the audit of {task.name} {kinds}.")
    return findings[kind]
