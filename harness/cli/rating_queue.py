"""`harness curate next`: what to rate next, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json, show, write
from harness.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.curation.audit.finding import Finding
    from harness.tasks import Task

EVIDENCE = {
    "consistency": "In simulations this beats random picking once each item has one answer.",
    "annotator-test": "In simulations the standard error of judge less rater is 10 to 14 % smaller "
    "than with random picking.",
}
FINDING = typer.Option(help="Items and raters of a finding of `harness curate audit`, by its kind.")


def next_ratings(
    task: options.TaskName,
    *,
    budget: Annotated[int, typer.Option(min=1, help="Answers to collect; a pair is two.")],
    quantity: Annotated[
        Literal["consistency", "annotator-test", "estimate"],
        typer.Option("--for", help="What the ratings are for."),
    ] = "consistency",
    finding: Annotated[str | None, FINDING] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="With --finding: verdicts of judges, where the audit had them."),
    ] = None,
    queue_file: Annotated[
        Path | None, typer.Option("--queue", help="Write a csv file for harness annotate --queue.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="With --for estimate: the judge of the estimate.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="With --for estimate: the items without ratings.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--as", help="With --for estimate: name or path of the folder to make."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="With --for estimate: the run, by name or path; the newest by default."),
    ] = None,
    out: options.Out = None,
    tau: options.Tau = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """List the ratings that are worth most: choices of one more rater, and pairs with a set.

    The value, per answer, is the expected fall of the number of items on the wrong side of the
    cut-off (consistency), or the growth of what the annotator test rests on (annotator-test). With
    --finding, the items are those of a finding of the audit, in its order. Repeat it with the new
    ratings.

    For an estimate, items without ratings are drawn, about --budget of them, and written as a task
    of their own. Those are likeliest of which the judge's verdict says least; each has its
    probability beside it, so that their ratings, weighted by it, stand for all items.

    Of up to 20 raters, "raters" names those who have not rated the item so. Raters whom the audit
    suspects are not offered. harness annotate asks the named raters alone, and everybody where
    none is named.

    \b
    Examples:
      harness curate next ./mine --budget 100 --queue queue.csv
      harness curate next ./mine --budget 20 --finding single_rater_items
      harness curate next TASK --for estimate --judge NAME --items FILE
    """
    of_estimate = {"--judge": judge, "--items": items, "--as": name, "--run": run, "--out": out}
    if quantity == "estimate":
        others = {"--finding": finding, "--verdicts": verdicts, "--queue": queue_file, "--tau": tau}
        _check_left_out(others, "it does not go with --for estimate")
        if judge is None or items is None or name is None:
            raise typer.BadParameter("it takes --judge, --items and --as", param_hint="--for")
        draw = _Drawing(task, judge, items, options.task_folder(name), budget)
        draw.write(out, run, seed=seed, as_json=as_json)
        return
    _check_left_out(of_estimate, "it goes with --for estimate")
    from harness.curation.audit import suspected_raters
    from harness.curation.audit.audit_report import TITLES
    from harness.curation.rating_queue import next_ratings as best_ratings
    from harness.curation.rating_queue import queue_csv, ratings_again, rows_of_queue
    from harness.report.text_table import paragraph
    from harness.tasks import load_task

    loaded = load_task(task)
    suspected = suspected_raters(loaded)
    if finding:
        found = finding_of(loaded, finding, verdicts, seed)
        queue = ratings_again(loaded, found.items, budget, suspected=suspected)
        notes = []
    else:
        queue = best_ratings(
            loaded, budget, quantity=quantity, suspected=suspected, tau=tau, seed=seed
        )
        notes = [EVIDENCE[quantity]]
    names = ", ".join(f"{rater} ({TITLES[kind]})" for rater, kind in suspected.items())
    notes += [f"Not offered, as the audit suspects them: {names}."] if names else []
    if as_json:
        echo_json([asdict(row) for row in queue])
    elif queue_file is None:
        show(rows_of_queue(queue), empty=f"No rating changes what is expected for {quantity}.")
        echo("\n".join(["", *map(paragraph, notes)]) if queue else "")
    if queue_file is not None:
        write(queue_file, queue_csv(queue))
    if queue_file is not None and not as_json:
        n_pairs = sum(row.elicitation == "paired" for row in queue)
        echo(f"Wrote {queue_file}: {len(queue)} ratings, {n_pairs} of them pairs.")
        echo("\n".join(map(paragraph, notes)))


def _check_left_out(given: Mapping[str, object], problem: str) -> None:
    for flag, value in given.items():
        if value is not None:
            raise typer.BadParameter(problem, param_hint=flag)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Items to draw for an estimate."""

    task: str
    judge: str
    items: Path
    folder: Path
    n_labels: int

    def write(self, out: Path | None, run: str | None, *, seed: int, as_json: bool) -> None:
        """Draw, write the folder, and say what comes next."""
        import numpy as np

        from harness.curation.new_folder import check_new
        from harness.edges import edge

        edge("estimation")
        from harness.estimation.active_draw import draw_items, write_draw
        from harness.runs import find_run
        from harness.tasks import load_task

        check_new(self.folder)
        task, folder = load_task(self.task), find_run(out, run)
        rated = load_task(str(folder.path / "task")).name
        if rated != task.name:
            raise TaskError(
                f"{folder.path}: it is a run of {rated}, not of {task.name}",
                "name another with --run",
            )
        rng = np.random.default_rng(seed)
        draw = draw_items(folder, self.judge, self.items, self.n_labels, rng=rng)
        write_draw(task, draw, self.folder)
        if as_json:
            drawn = zip(draw.items, draw.probabilities.tolist(), strict=True)
            rows = [{"item": item.id, "probability": p} for item, p in drawn]
            echo_json({"folder": str(self.folder), "n_items": draw.n_items, "drawn": rows})
            return
        least, most = draw.probabilities.min(), draw.probabilities.max()
        asked = "" if draw.answers == "forced_choice" else f" --elicitation {draw.answers}"
        folder_name, items = (options.argument(path) for path in (self.folder, self.items))
        echo(
            f"Wrote {self.folder}: {len(draw.items)} of {draw.n_items:,} items, each drawn with a "
            f"probability of {least:.2%} to {most:.2%}.\n"
            "Next:\n"
            f"  harness annotate {folder_name} --rater NAME{asked}\n"
            f"  harness annotate {folder_name} --merge\n"
            f"  harness run --task {folder_name} --judges {self.judge}\n"
            f"  harness estimate --judge {self.judge} --items {items}"
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
