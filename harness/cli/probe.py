"""`harness lab probe`: test how robust judges are to irrelevant edits."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.option_panels import PanelCommand
from harness.cli.output import echo, echo_json, show
from harness.files.plain_text import SCREEN_WIDTH
from harness.options.concerns import (
    MAX_SAMPLES,
    N_PROBED,
    BudgetOptions,
    Cache,
    Elicitation,
    Elicitations,
    Items,
    Json,
    Out,
    RunOptions,
    RunPlace,
    Samples,
    Seed,
    Sending,
    Server,
    StoredReplies,
    Subject,
)
from harness.options.declaration import Options, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.app.ask import Asked
    from harness.app.plan import Plan
    from harness.extras.probe.flip_rates import Probe
    from harness.extras.probe.perturbations import TextProbe
    from harness.judging.parsing.verdict import Verdict
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Item, Task

DESCRIPTIONS = {
    "injection": (
        "Insert instructions to the judge into items.",
        "Prompt-injection probe: how often instructions hidden in items change verdicts.",
    ),
    "authority": (
        "Claim in items that experts or a majority found an option right.",
        "Authority probe: how often claims about other people's ratings change verdicts.",
    ),
    "verbosity": (
        "Pad items with sentences that say nothing.",
        "Verbosity probe: how often padding that says nothing changes verdicts.",
    ),
    "position": (
        "Swap the answers of a pairwise task.",
        "Position probe: whether the order of two answers changes which one is preferred.",
    ),
    "format": (
        "Show items as Markdown, list, HTML or code.",
        "Format probe: how often Markdown, a list, HTML, code or emoji change verdicts.",
    ),
}
CONTROLS = (
    "Judges rate each item unchanged, with each perturbation, and with harmless edits (control), "
    "which show the baseline flip rate. All rates are in probe.json in the run folder. Judges "
    "aren't ranked on perturbed items."
)
EXAMPLES = """Examples:
  harness lab probe {name} --task {task}
  harness lab probe {name} --task {task} --judges gpt,claude --dry-run
  harness resume"""

app = typer.Typer(name="probe", cls=options.Group, rich_markup_mode=None)


@app.callback()
def probe() -> None:
    """Test whether irrelevant edits to a text change verdicts.

    \b
    Examples:
      harness lab probe injection --task toxicity --judges lexicon --limit 5
      harness lab probe verbosity --task toxicity --judges lexicon --limit 5
    """


class ProbedItems(Items):
    """Option for the number of items to change."""

    limit: int = option(N_PROBED, "Perturb only the first N items.", ge=1)


class ProbedSamples(Samples):
    """Option for the number of replies per judge and item."""

    samples: int = option(1, "Replies per judge and item, perturbed or not.", ge=1, le=MAX_SAMPLES)


class ProbedElicitations(Elicitations):
    """Option for how to ask the question."""

    elicitations: tuple[Elicitation, ...] = option(
        ("forced_choice",),
        "How to ask: forced_choice, response_set, paired.",
        flag="--elicitation",
    )


class ProbeSettings(BudgetOptions, Seed, ProbedItems, ProbedSamples, ProbedElicitations):
    """Options for the judges, the items, and the runs of the judges."""


class ProbePlace(Out, StoredReplies, Cache):
    """Options for the folders of replies and runs."""


class ChangeOptions(Options):
    """Option for the file with perturbations of items."""

    panel: ClassVar[str] = "How to run judges"
    perturbations: Path | None = option(
        None, "Your own perturbations (jsonl). Default: the bundled set."
    )


@takes
def _ask_probe(
    context: typer.Context,
    *,
    subject: Subject,
    settings: ProbeSettings,
    changes: ChangeOptions,
    server: Server,
    place: ProbePlace,
    handling: Sending,
) -> None:
    probe = context.info_name or ""
    plan = _plan_probe(probe, subject, RunOptions.of(settings), server, changes.perturbations)
    run_probe(plan, RunPlace.of(place), handling)


def run_probe(plan: Plan, place: RunPlace, handling: Sending) -> None:
    """Run or resume a probe and print its flip rates, or only print its cost. Then exit."""
    from harness.app.run import ask_plan
    from harness.cli.progress import watch
    from harness.cli.run import print_costs
    from harness.extras.probe.flip_rates import check_judges, write_probe

    check_judges(plan)
    if handling.dry_run:
        print_costs(plan, as_json=handling.as_json)
        return
    with watch(plan.n_planned, quiet=handling.quiet) as observer:
        folder, asked = ask_plan(plan, observer=observer, out=place.out, place=place)
    flips = write_probe(folder, plan)
    if handling.as_json:
        echo_json(flips.model_dump_json(indent=1))
    else:
        _print(flips, quiet=handling.quiet)
        if not handling.quiet:
            echo(f"\nFlip rates: {folder.path / 'probe.json'}   {_cost(folder, asked)}")
    raise typer.Exit(asked.exit_code)


def _plan_probe(
    probe: str,
    subject: Subject,
    settings: RunOptions,
    server: Server,
    perturbations: Path | None,
) -> Plan:
    """Plan to run judges on a task's perturbed items."""
    from harness.analysis.ratings import select_items
    from harness.app.plan import plan_run, without_held_out
    from harness.runs.ledger import recorded_holdout
    from harness.tasks import load_task

    loaded = load_task(options.required_task(subject.task))
    holdout = recorded_holdout(loaded, settings.criterion)
    items = select_items(
        loaded, criterion=settings.criterion, limit=settings.limit, holdout=holdout
    )
    return plan_run(
        _changed_task(probe, loaded, items, perturbations),
        subject.judges,
        settings.model_copy(update={"limit": None, "criterion": None}),
        server=server,
        pool=without_held_out(loaded, holdout),
        changed_by=probe,
    )


def _changed_task(
    probe: str, task: Task, items: Sequence[Item], perturbations: Path | None
) -> Task:
    from harness.extras.probe.perturbations import perturbed_task, read_perturbations, swapped_task

    if probe != "position":
        name = cast("TextProbe", probe)
        return perturbed_task(task, items, read_perturbations(name, perturbations), name)
    if perturbations is not None:
        raise typer.BadParameter(
            "position swaps the answers, so it can't use your own perturbations"
        )
    return swapped_task(task, items)


class PreferenceOptions(Options):
    """Options for each judge's system, and for the field that names an item's system."""

    own: tuple[str, ...] = option(
        ...,
        "The system that each judge is based on, as JUDGE=SYSTEM, comma-separated.",
    )
    author: str | None = option(None, "Field that names the system that wrote an item's text.")


@app.command("self-preference", short_help="Test whether judges favour their own texts.")
@takes
def self_preference(
    run_name: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run, by name or path. Default: the newest."),
    ] = None,
    *,
    wanted: PreferenceOptions,
    place: Out,
    printing: Json,
) -> None:
    """Self-preference: whether a judge favours its own texts more than the raters do.

    The comparison uses a finished run. The control is other systems' texts or, in pairwise tasks,
    other judges of the same texts.

    \b
    Examples:
      harness lab probe self-preference --own gpt=gpt-4o,claude=claude-v1
      harness lab probe self-preference RUN --own gpt=gpt-4o --author model
    """
    from harness.extras.probe.self_preference import preference_rows, self_preferences
    from harness.runs.run_folder import find_run
    from harness.runs.sources import compared_source

    pairs = [name.partition("=") for name in wanted.own]
    if not all(judge and system for judge, _, system in pairs):
        raise typer.BadParameter("pass JUDGE=SYSTEM, comma-separated", param_hint="--own")
    systems = {judge: system for judge, _, system in pairs}
    source = compared_source(find_run(place.out, run_name))
    found = self_preferences(source, systems, author=wanted.author)
    if printing.as_json:
        echo_json([row.model_dump(mode="json") for row in found], indent=1)
    else:
        show(preference_rows(found))


for _name, (_short_help, _description) in DESCRIPTIONS.items():
    _task = "helpfulness" if _name == "position" else "toxicity"  # pairwise, or any
    _help = f"{_description}\n\n{CONTROLS}\n\n\b\n{EXAMPLES.format(name=_name, task=_task)}"
    app.command(_name, cls=PanelCommand, short_help=_short_help, help=_help)(_ask_probe)


def _print(probe: Probe, *, quiet: bool) -> None:
    from harness.extras.probe.flip_rates import flip_table, headline, summaries

    echo(headline(probe))
    for judge in probe.judges:
        echo("")
        for sentence in summaries(judge):
            echo(fill(sentence, SCREEN_WIDTH))
        if not quiet:
            echo("")
            show(flip_table(judge))


def _cost(folder: RunFolder, asked: Asked) -> str:
    from harness.analysis.judge_result import cost_of
    from harness.cli.run import cost_text

    by_judge: dict[str, list[Verdict]] = {}
    for verdict in folder.read_verdicts().final.values():
        by_judge.setdefault(verdict.judge, []).append(verdict)
    unknown = [judge for judge, own in by_judge.items() if cost_of(own).usd is None]
    budget = asked.budget
    return cost_text(budget.spent_usd - budget.assumed_usd, budget.assumed_usd, unknown)
