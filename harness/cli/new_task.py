"""`harness new-task`: a commented example to edit, or a task made from a table of ratings."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.errors import HarnessError, TaskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.curation import ImportSummary, Plan

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
WIDTH = 80
Columns = list[str] | None


def new_task(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or path of the folder to make.")],
    *,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Table of ratings to make it from: csv, jsonl or parquet."),
    ] = None,
    id_: Annotated[
        Columns, typer.Option("--id", help="Columns that name the item, joined if several.")
    ] = None,
    text: Annotated[Columns, typer.Option(help="Columns that judges are shown.")] = None,
    raters: Annotated[
        Columns, typer.Option(help="Columns of ratings, one per rater (a wide table).")
    ] = None,
    rater: Annotated[
        str | None, typer.Option(help="Column that names the rater (a long table).")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column that holds the rating (a long table).")
    ] = None,
    judges: Annotated[
        Columns,
        typer.Option("--judges", "-j", help="Columns of verdicts, or judges among the raters."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of the document or prompt that items share.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option(help="Column that says what is rated, where that differs.")
    ] = None,
    rated: Annotated[
        str, typer.Option("--property", help="What is rated, as a phrase that judges read.")
    ] = "",
    option: Annotated[
        Columns, typer.Option("--options", help="Labels that are options, in order.")
    ] = None,
    positive: Annotated[Columns, typer.Option(help="Options that count as positive.")] = None,
    ignore: Annotated[Columns, typer.Option(help="Labels to count and leave out.")] = None,
    scale: Annotated[
        Literal["binary", "nominal", "ordinal", "pairwise"] | None,
        typer.Option(help="Scale of the options."),
    ] = None,
    rater_ids: Annotated[
        Literal["real", "positional"] | None,
        typer.Option(help="Whether a rater is a person or only a place within the item."),
    ] = None,
    kind: Annotated[
        Literal["expert", "skilled", "crowd"] | None,
        typer.Option(help="What the raters are; sets eps, by default 0.2, 0.15 or 0.1."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take the guess without asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show how the table is read; write nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Write a task folder: an example to edit, or one made from your own table of ratings.

    With --from, the columns are guessed from what they hold and shown; correct the guess with the
    options, or accept it with --yes. Several columns are separated by commas. Verdicts of judges
    found in the table become verdicts.csv; what cannot be used is listed in rejected.csv.

    \b
    Examples:
      harness new-task politeness
      harness new-task mine --from ratings.csv
      harness new-task mine --from wide.csv --raters ann1,ann2,ann3 --text body
      harness new-task mine --from long.csv --id doc --rater who --label answer
    """
    folder = Path(name).expanduser()
    if not NAME.fullmatch(folder.name):
        raise TaskError(
            f"{folder.name!r} is no name of a task; use letters, digits, '.', '_' and '-'."
        )
    from harness.curation import (
        AnswerSettings,
        check_new,
        make_plan,
        make_task,
        profile,
        write_starter,
    )

    check_new(folder)
    if source is None:
        options.refuse_without_a_table(ctx)
        write_starter(folder.name, folder)
        typer.echo(json.dumps({"folder": str(folder)}) if as_json else _starter_words(folder))
        return
    table = profile(source)
    several = {"id": id_, "text": text, "raters": raters, "judges": judges}
    single = {"rater": rater, "label": label, "group": group, "criterion": criterion}
    given = {role: names for role, names in several.items() if names}
    given |= {role: [name] for role, name in single.items() if name}
    wanted = AnswerSettings(
        scale=scale,
        options=_split(option),
        positive=_split(positive),
        ignore=_split(ignore),
    )

    def plan_with(given: dict[str, list[str]], rated: str) -> Plan:
        return make_plan(
            folder.name,
            table,
            given,
            settings=wanted,
            property_rated=rated,
            rater_ids=rater_ids,
            kind=kind,
        )

    plan = _confirmed(plan_with, given, rated, ask=not (yes or dry_run), quiet=as_json)
    if dry_run:
        if as_json:
            typer.echo(json.dumps(_facts(plan, None), indent=2))
        return
    made = make_task(plan, folder)
    typer.echo(json.dumps(_facts(plan, made), indent=2) if as_json else _made_words(plan, made))


def _split(texts: list[str] | None) -> tuple[str, ...]:
    parts = (part.strip() for text in texts or () for part in text.split(","))
    return tuple(part for part in parts if part)


def _confirmed(
    plan_with: Callable[[dict[str, list[str]], str], Plan],
    given: dict[str, list[str]],
    rated: str,
    *,
    ask: bool,
    quiet: bool,
) -> Plan:
    """Show how the table is read, until the user says that it is right."""
    plan = plan_with(given, rated)
    if not quiet:
        typer.echo(_guess_words(plan))
    if not ask or "raters" in given or {"rater", "label"} <= given.keys():
        return plan
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TaskError(
            f"{plan.table.path}: these columns are a guess, so nothing was written; repeat with "
            "--yes to accept it, or name the columns (--raters, or --rater and --label)."
        )
    while True:
        said = typer.prompt(
            "y or Enter to write it, a change such as raters=a,b, or q to leave",
            default="",
            show_default=False,
        ).strip()
        if said.casefold() in {"", "y", "yes"}:
            rated = rated or typer.prompt("What is rated, as a phrase that judges read")
            return plan_with(given, rated)
        if said.casefold() in {"q", "quit", "n", "no"}:
            raise TaskError("nothing was written.")
        role, _, names = said.partition("=")
        try:
            plan = plan_with(changed := {**given, role.strip(): [names.strip()]}, rated)
            given = changed
        except HarnessError as error:
            typer.echo(f"{error}")
        else:
            typer.echo(_guess_words(plan))


def _facts(plan: Plan, made: ImportSummary | None) -> dict[str, object]:
    """Say what a table was read as, as data."""
    facts: dict[str, object] = {
        "rows": plan.table.n_rows,
        "layout": plan.mapping.layout,
        "columns": {role: list(names) for role, names in plan.mapping.by_role().items()},
        "scale": plan.answers.scale,
        "options": dict(plan.answers.labels),
        "positive": list(plan.answers.positive),
        "kind": plan.kind,
        "rater_ids": plan.counts.rater_ids,
        "notes": list(plan.answers.notes),
    }
    if made is None:
        return facts
    return {
        "folder": str(made.folder),
        **facts,
        "n_items": made.n_items,
        "raters": made.raters,
        "judges": made.judges,
        "n_rejected": made.n_rejected,
        "rejected": [
            {"line": one.line, "column": one.column, "reason": one.reason} for one in made.rejected
        ],
    }


def _guess_words(plan: Plan) -> str:
    mapping, answers = plan.mapping, plan.answers
    form = "a row per rating" if mapping.rater else "a column per rater"
    rows = [(role, ", ".join(names)) for role, names in mapping.by_role().items()]
    if not mapping.id:
        rows.insert(0, ("id", "none: rows are numbered"))
    if not mapping.text:
        rows.append(("text", "none: judges cannot be asked, only validated"))
    if unused := mapping.unused(plan.table):
        rows.append(("left out" if mapping.rater else "kept", ", ".join(unused)))
    rows += [
        ("scale", answers.scale),
        ("options", ", ".join(answers.labels.values())),
        ("positive", ", ".join(answers.positive) or "none (--positive)"),
        ("raters are", f"{plan.kind} (--kind)"),
    ]
    if plan.counts.rater_ids == "positional":
        rows.append(("rater ids", "positional: a column is a place, not a person (--rater-ids)"))
    head = f"{plan.table.path.name}: {plan.table.n_rows} rows, {form}"
    lines = [_wrapped(f"  {name:<12}", value) for name, value in rows]
    return "\n".join([head, "", *lines, *(_wrapped("note: ", n) for n in answers.notes)])


def _wrapped(start: str, text: str) -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
    )


def _made_words(plan: Plan, made: ImportSummary) -> str:
    counts = [(made.n_items, "item"), (len(made.raters), "rater")]
    counts += [(sum(made.raters.values()), "rating")]
    if made.judges:
        counts += [(len(made.judges), "judge"), (sum(made.judges.values()), "verdict")]
    told = ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts)
    lines = ["", f"Wrote {made.folder}: {told}."]
    if made.n_rejected:
        lines.append(f"Not used: {made.n_rejected}, listed in {made.folder}/rejected.csv:")
        lines += [
            _wrapped(
                "  ", f"line {one.line}: {one.column + ': ' if one.column else ''}{one.reason}"
            )
            for one in made.rejected
        ]
    if made.textless:
        lines.append(
            _wrapped(
                "", f"Without a text: {', '.join(made.textless)}. A run needs one for every item."
            )
        )
    if not plan.property:
        lines.append(f"Say in {made.folder}/task.yaml, under 'property', what was rated.")
    where = _path(made.folder)
    lines += ["Next:"]
    if made.judges:
        lines.append(f"  harness validate --task {where} --verdicts {where}/verdicts.csv")
    else:
        lines.append(f"  harness validate --task {where}")
    if plan.mapping.text:
        lines.append(f"  harness run --task {where} --judges gpt,claude --dry-run")
    return "\n".join(lines)


def _path(folder: Path) -> str:
    text = str(folder)
    return text if folder.is_absolute() or text.startswith(".") else f"./{text}"


def _starter_words(folder: Path) -> str:
    where = _path(folder)
    return (
        f"Wrote {folder}: task.yaml (commented), items.csv and ratings.csv, a made-up example.\n"
        f"Next:\n  harness run --task {where}\n"
        "Then put your own items and ratings in, or start from a table: "
        "harness new-task --help"
    )
