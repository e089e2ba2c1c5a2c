"""`harness new-task`: write a commented example, or a task from a table of ratings."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json
from harness.errors import HarnessError, TaskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.curation import ImportSummary, Plan

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
WIDTH = 80
Columns = list[str] | None
Roles = dict[str, list[str]]


def new_task(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or path of the folder to make.")],
    *,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Table of ratings: csv, jsonl or parquet."),
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
        str | None, typer.Option(help="Column of what is rated, where that differs.")
    ] = None,
    property_: Annotated[
        str, typer.Option("--property", help="What is rated, as a phrase that judges read.")
    ] = "",
    options_: Annotated[
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
        typer.Option(help="Whether a rater is a person, or a position within the item."),
    ] = None,
    kind: Annotated[
        Literal["expert", "skilled", "crowd"] | None,
        typer.Option(help="Kind of raters; sets eps to 0.2, 0.15 or 0.1."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept the guess without asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show how the table is read; write nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Write a task folder: an example to edit, or a task from a table of ratings.

    With --from, columns are guessed from their content and shown; correct the guess with options,
    or accept it with --yes. Several columns are separated by commas. Verdicts of judges in the
    table are written to verdicts.csv, rows that cannot be used to rejected.csv.

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
            f"{folder.name!r} is not a task name; use letters, digits, '.', '_' and '-'."
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
        options.check_without_table(ctx)
        write_starter(folder.name, folder)
        if as_json:
            echo_json(json.dumps({"folder": str(folder)}))
        else:
            echo(_starter_message(folder))
        return
    table = profile(source)
    lists = {"id": id_, "text": text, "raters": raters, "judges": judges}
    singles = {"rater": rater, "label": label, "group": group, "criterion": criterion}
    roles = {role: names for role, names in lists.items() if names}
    roles |= {role: [column] for role, column in singles.items() if column}
    settings = AnswerSettings(
        scale=scale,
        options=_split(options_),
        positive=_split(positive),
        ignore=_split(ignore),
    )

    def plan_with(roles: Roles, property_rated: str) -> Plan:
        return make_plan(
            folder.name,
            table,
            roles,
            settings=settings,
            property_rated=property_rated,
            rater_ids=rater_ids,
            kind=kind,
        )

    plan = _confirm(plan_with, roles, property_, ask=not (yes or dry_run), quiet=as_json)
    if dry_run:
        if as_json:
            echo_json(json.dumps(_as_json(plan, None), indent=2))
        return
    summary = make_task(plan, folder)
    if as_json:
        echo_json(json.dumps(_as_json(plan, summary), indent=2))
    else:
        echo(_summarize(plan, summary))


def _split(texts: list[str] | None) -> tuple[str, ...]:
    parts = (part.strip() for text in texts or () for part in text.split(","))
    return tuple(part for part in parts if part)


def _confirm(
    plan_with: Callable[[Roles, str], Plan],
    roles: Roles,
    property_rated: str,
    *,
    ask: bool,
    quiet: bool,
) -> Plan:
    """Show how the table is read, until the user accepts it."""
    plan = plan_with(roles, property_rated)
    if not quiet:
        echo(_describe(plan))
    if not ask or "raters" in roles or {"rater", "label"} <= roles.keys():
        return plan
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TaskError(
            f"{plan.table.path}: these columns are a guess, so nothing was written; accept it with "
            "--yes, or name the columns (--raters, or --rater and --label)."
        )
    while True:
        answer = typer.prompt(
            "y or Enter to write it, a change such as raters=a,b, or q to quit",
            default="",
            show_default=False,
        ).strip()
        if answer.casefold() in {"", "y", "yes"}:
            property_rated = property_rated or typer.prompt("What is rated, as a phrase for judges")
            return plan_with(roles, property_rated)
        if answer.casefold() in {"q", "quit", "n", "no"}:
            raise TaskError("nothing was written.")
        role, _, names = answer.partition("=")
        try:
            plan = plan_with(changed := {**roles, role.strip(): [names.strip()]}, property_rated)
            roles = changed
        except HarnessError as error:
            echo(f"{error}")
        else:
            echo(_describe(plan))


def _as_json(plan: Plan, summary: ImportSummary | None) -> dict[str, object]:
    """Return how a table is read and, once written, what came of it."""
    reading: dict[str, object] = {
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
    if summary is None:
        return reading
    return {
        "folder": str(summary.folder),
        **reading,
        "n_items": summary.n_items,
        "raters": summary.raters,
        "judges": summary.judges,
        "n_rejected": summary.n_rejected,
        "rejected": [
            {"line": row.line, "column": row.column, "reason": row.reason}
            for row in summary.rejected
        ],
    }


def _describe(plan: Plan) -> str:
    """Write how a table is read."""
    mapping, answers = plan.mapping, plan.answers
    layout = "a row per rating" if mapping.rater else "a column per rater"
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
        rows.append(("rater ids", "positional: a column is a position, not a person (--rater-ids)"))
    heading = f"{plan.table.path.name}: {plan.table.n_rows} rows, {layout}"
    lines = [_wrapped(f"  {name:<12}", text) for name, text in rows]
    return "\n".join([heading, "", *lines, *(_wrapped("note: ", n) for n in answers.notes)])


def _wrapped(indent: str, text: str) -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
    )


def _summarize(plan: Plan, summary: ImportSummary) -> str:
    """Write what a task folder holds, what was rejected, and the next commands."""
    counts = [(summary.n_items, "item"), (len(summary.raters), "rater")]
    counts += [(sum(summary.raters.values()), "rating")]
    if summary.judges:
        counts += [(len(summary.judges), "judge"), (sum(summary.judges.values()), "verdict")]
    counted = ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts)
    lines = ["", f"Wrote {summary.folder}: {counted}."]
    if summary.n_rejected:
        lines.append(f"Rejected: {summary.n_rejected}, listed in {summary.folder}/rejected.csv:")
        for row in summary.rejected:
            column = f"{row.column}: " if row.column else ""
            lines.append(_wrapped("  ", f"line {row.line}: {column}{row.reason}"))
    if summary.textless:
        items = ", ".join(summary.textless)
        lines.append(_wrapped("", f"Without a text: {items}. Judges need a text for every item."))
    if not plan.property:
        lines.append(f"Describe what was rated under 'property' in {summary.folder}/task.yaml.")
    folder = _argument(summary.folder)
    verdicts = f" --verdicts {folder}/verdicts.csv" if summary.judges else ""
    lines += ["Next:", f"  harness validate --task {folder}{verdicts}"]
    if plan.mapping.text:
        lines.append(f"  harness run --task {folder} --judges gpt,claude --dry-run")
    return "\n".join(lines)


def _argument(folder: Path) -> str:
    """Write a folder so that --task takes it for a path."""
    path = str(folder)
    return path if folder.is_absolute() or path.startswith(".") else f"./{path}"


def _starter_message(folder: Path) -> str:
    return (
        f"Wrote {folder}: task.yaml (commented), items.csv and ratings.csv, a made-up example.\n"
        f"Next:\n  harness run --task {_argument(folder)}\n"
        "Then replace the items and ratings, or start from a table: "
        "harness new-task --help"
    )
