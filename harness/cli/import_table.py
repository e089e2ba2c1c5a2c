"""`harness curate import`: a task of a table of ratings."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness.cli import options
from harness.cli.binding import group
from harness.cli.output import echo, echo_json
from harness.cli.team import import_answers
from harness.errors import HarnessError, TaskError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.curation import AnswerSettings, ImportPlan, ImportSummary, MaxRejected, Table

WIDTH = 80
Columns = list[str] | None
COLUMNS: dict[str, Any] = {  # options by role of the columns, and how their cells are read
    "id": Annotated[
        Columns, typer.Option("--id", help="Columns that name the item, joined if several.")
    ],
    "text": Annotated[Columns, typer.Option(help="Columns that judges are shown.")],
    "raters": Annotated[Columns, typer.Option(help="Columns of ratings, one per rater.")],
    "pattern": Annotated[
        str | None,
        typer.Option(help="What columns per criterion and rater are called: {criterion}_{rater}."),
    ],
    "rater": Annotated[str | None, typer.Option(help="Column that names the rater of a row.")],
    "label": Annotated[str | None, typer.Option(help="With --rater: column of the rating.")],
    "criteria": Annotated[
        Columns, typer.Option(help="With --rater: columns of ratings, one per criterion.")
    ],
    "set": Annotated[str | None, typer.Option(help="With --rater: column of the response set.")],
    "sets": Annotated[
        Columns, typer.Option(help="With --rater: columns of 0 and 1, one per option of the set.")
    ],
    "counts": Annotated[
        Columns, typer.Option(help="Columns of the number, or share, of raters per option.")
    ],
    "votes": Annotated[
        Columns, typer.Option(help="Column of all ratings of an item: a list, or counts.")
    ],
    "total": Annotated[
        str | None, typer.Option(help="Column of the number of raters, for shares.")
    ],
    "n_raters": Annotated[
        int | None, typer.Option(min=1, help="Number of raters of every item, for shares.")
    ],
    "lists": Annotated[
        Literal["ratings", "sets", "counts", "raters"] | None,
        typer.Option(help="What a list or numbers by name in a cell are."),
    ],
    "separator": Annotated[
        str | None,
        typer.Option(help="What divides the options of a response set in a cell, such as ';'."),
    ],
    "judges": Annotated[
        Columns,
        typer.Option(
            "--judges", "-j", help="Columns of verdicts, or judges among the raters; none."
        ),
    ],
    "group": Annotated[
        str | None, typer.Option(help="Column of the document or prompt that items share.")
    ],
    "criterion": Annotated[
        str | None, typer.Option(help="Column of what is rated, where that differs.")
    ],
    "rated_at": Annotated[
        str | None, typer.Option(help="With --rater: column of the time of a rating.")
    ],
}
FILES: dict[str, Any] = {  # options by field of `FileOptions`
    "sheets": Annotated[
        Columns, typer.Option("--sheet", help="Sheets of a workbook, read one after the other.")
    ],
    "encoding": Annotated[str | None, typer.Option(help="Of texts that are not UTF-8.")],
    "drop": Annotated[Columns, typer.Option(help="Columns to leave out.")],
}
LABELS: dict[str, Any] = {  # options by field of `AnswerSettings`
    "options": Annotated[
        Columns, typer.Option("--options", help="Labels that are options, in order.")
    ],
    "positive": Annotated[Columns, typer.Option(help="Options that count as positive.")],
    "abstain": Annotated[
        Columns, typer.Option(help="Labels of a rater who could not say (CANNOT_ASSESS).")
    ],
    "ignore": Annotated[Columns, typer.Option(help="Labels to count and leave out.")],
    "rename": Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL=OPTION", help="A label that means an option; repeatable."),
    ],
    "scale": Annotated[
        Literal["binary", "nominal", "ordinal", "pairwise", "continuous", "text"] | None,
        typer.Option(help="Scale of the answers."),
    ],
    "bounds": Annotated[
        str | None,
        typer.Option(metavar="LOW,HIGH", help="Least and greatest number of a continuous scale."),
    ],
    "decimal": Annotated[
        Literal["comma", "point"] | None,
        typer.Option(help="Whether 3,5 in a cell is a number; asked where it may be one."),
    ],
    "on_duplicate": Annotated[
        Literal["reject", "last"] | None,
        typer.Option(help="Whether a second rating is rejected, or the last by its time counts."),
    ],
    "scales": Annotated[
        Literal["shared", "own"] | None,
        typer.Option(help="One task for all criteria, or one for each; by default as labels do."),
    ],
}


@group("files", FILES)
@group("columns", COLUMNS)
@group("labels", LABELS)
def import_(  # noqa: C901 -- a branch per source
    sources: Annotated[
        list[Path],
        typer.Argument(help="Table of ratings, or export of a tool; several files, one per rater."),
    ],
    *,
    name: Annotated[
        str | None, typer.Option("--as", help="Name or path of the folder to make.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(help="Task to add the ratings of a project of `harness curate export` to."),
    ] = None,
    rater_names: Annotated[
        list[str] | None,
        typer.Option(
            "--rater-name",
            metavar="ACCOUNT=NAME",
            help="With --into: who an account of the tool is; repeatable.",
        ),
    ] = None,
    outdated: Annotated[
        bool,
        typer.Option(
            "--outdated",
            help="With --into: also ratings made when the item's text or options were others.",
        ),
    ] = False,
    recipe_name: Annotated[
        str | None,
        typer.Option(
            "--recipe", help="How a published data set is read: a bundled recipe, or a YAML file."
        ),
    ] = None,
    files: dict[str, Any],
    columns: dict[str, Any],
    property_: Annotated[
        str, typer.Option("--property", help="What is rated, as a phrase that judges read.")
    ] = "",
    labels: dict[str, Any],
    rater_ids: Annotated[
        Literal["real", "positional"] | None,
        typer.Option(help="Whether a rater is a person, or a position within the item."),
    ] = None,
    kind: Annotated[
        Literal["expert", "skilled", "crowd"] | None,
        typer.Option(help="Kind of raters; sets eps to 0.2, 0.15 or 0.1."),
    ] = None,
    max_rejected: Annotated[
        str,
        typer.Option(
            metavar="N|N%", help="Most rows and cells that may be rejected, or share of answers."
        ),
    ] = "5%",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write without asking for confirmation.")
    ] = False,
    dry_run: options.ShowReading = False,
    as_json: options.Json = False,
) -> None:
    """Make a task of a table of ratings.

    The roles of the columns are found by what depends on what, by values, and by names last, and
    shown. Where values do not imply a role or the meaning of a label, nothing is written: the
    command asks, or without a terminal prints a draft and the command that accepts it. Several
    columns are separated by commas. Verdicts of judges in the table are written to verdicts.csv,
    rows that cannot be used to rejected.csv.

    \b
    Examples:
      harness curate import ratings.csv --as mine
      harness curate import wide.csv --as mine --raters ann1,ann2,ann3 --text body
      harness curate import long.csv --as mine --id doc --rater who --label answer
      harness curate import counts.csv --as mine --counts n_toxic,n_not_toxic
      harness curate import ana.csv ben.csv --as mine
      harness curate import human.parquet --as mt-bench --recipe mt-bench
      harness curate import project-1.json --into ./mine --rater-name 1=ann
    """
    if (name is None) is (into is None):
        raise typer.BadParameter("name the task to make (--as) or to add ratings to (--into)")
    if into is not None:
        if len(sources) > 1:
            raise typer.BadParameter("--into takes one file")
        import_answers(sources[0], into, rater_names or (), outdated=outdated, as_json=as_json)
        return
    if rater_names or outdated:
        raise typer.BadParameter("--rater-name and --outdated go with --into")
    assert name is not None, "checked above"
    folder = options.task_folder(name)
    from harness.curation import FileOptions, check_new, read_source
    from harness.curation.import_recipe import read_recipe
    from harness.curation.task_export import sidecar_of

    check_new(folder)
    recipe = read_recipe(recipe_name) if recipe_name else None
    if len(sources) == 1 and (described := sidecar_of(sources[0])).is_file():
        _import_exported(sources[0], described, folder, as_json=as_json)
        return
    most = options.max_rejected(max_rejected)
    settings = _answer_settings(columns, labels)
    how = FileOptions(
        sheets=_split(files["sheets"]),
        encoding=files["encoding"] or "",
        drop=_split(files["drop"]),
        plain=recipe is not None,
    )
    roles: dict[str, Sequence[str]] = {
        role: names if isinstance(names, list) else [names]
        for role, names in columns.items()
        if names
    }
    if recipe:
        roles = {**recipe.columns, **roles}
        changed = {field: value for field, value in asdict(settings).items() if value}
        settings = replace(recipe.answers, **changed)
    draft = _Draft(
        name=folder.name,
        table=read_source(sources, derive=recipe.derive if recipe else None, how=how),
        roles=roles,
        settings=settings,
        property=property_ or (recipe.property if recipe else ""),
        rater_ids=rater_ids or (recipe.rater_ids if recipe else None),
        kind=kind or (recipe.kind if recipe else None),
        source=recipe.source if recipe else "",
        licence=recipe.licence if recipe else "",
    )
    command = ["harness", "curate", "import", *map(str, sources), "--as", name]
    command += [word for sheet in how.sheets for word in ("--sheet", sheet)]
    command += ["--encoding", how.encoding] if how.encoding else []
    command += [word for column in how.drop for word in ("--drop", column)]
    command += ["--property", property_] if property_ else []
    plans = _confirm(draft, ask=not (yes or dry_run), quiet=as_json)
    if questions := questions_of(plans):
        if as_json:
            _print_json([_as_json(plan, None) for plan in plans])
        else:
            echo(_draft_text(plans[0], command))
        raise TaskError(f"{plans[0].table.path}: {'; '.join(questions)}.")
    if dry_run:
        if as_json:
            _print_json([_as_json(plan, None) for plan in plans])
        return
    _write(plans, folder, most, as_json=as_json)


def _draft_text(plan: ImportPlan, command: Sequence[str]) -> str:
    """Write the columns of a draft, the command that accepts it, and those for other readings."""
    from harness.curation import accepting, columns_block

    lines = ["", "Nothing is written. This is a draft:", "", *columns_block(plan)]
    for number, words in enumerate(accepting(plan)):
        lines += [["", "If it is right:"], ["If it is not, perhaps:"], []][min(number, 2)]
        lines.append(f"  {shlex.join([*command, *words])}")
    return "\n".join(lines)


def _answer_settings(columns: dict[str, Any], labels: Mapping[str, Any]) -> AnswerSettings:
    """Take what is said about answers from the options, and leave the roles of columns."""
    from harness.curation import AnswerSettings

    return AnswerSettings(
        scale=labels["scale"],
        options=_split(labels["options"]),
        positive=_split(labels["positive"]),
        abstain=_split(labels["abstain"]),
        ignore=_split(labels["ignore"]),
        rename=tuple(labels["rename"] or ()),
        bounds=_bounds(labels["bounds"], labels["scale"]),
        n_raters=columns.pop("n_raters"),
        lists=columns.pop("lists"),
        separator=(columns.pop("separator") or "").replace("\\n", "\n") or None,
        decimal=labels["decimal"],
        scales=labels["scales"],
        on_duplicate=labels["on_duplicate"] or "reject",
    )


def _bounds(text: str | None, scale: str | None) -> tuple[float, float] | None:
    """Read the least and the greatest number of a scale."""
    from harness.tasks.schema import as_number

    if text is None:
        return None
    if scale != "continuous":
        raise typer.BadParameter("--bounds needs --scale continuous")
    low, high = (as_number(part.strip()) for part in text.partition(",")[::2])
    if low is None or high is None or low >= high:
        raise typer.BadParameter(f"--bounds: found {text!r}; write LOW,HIGH such as 0,100")
    return low, high


def _import_exported(source: Path, described: Path, folder: Path, *, as_json: bool) -> None:
    """Make a task of a table that `harness curate export` wrote."""
    from harness.curation.task_export import import_exported

    summary = import_exported(source, folder)
    if as_json:
        echo_json({"folder": str(folder), **asdict(summary)}, indent=None)
        return
    counts = f"{summary.n_items} items, {summary.n_ratings} ratings, {summary.n_verdicts} verdicts"
    echo(f"Read as {described.name} says.\nWrote {folder}: {counts}.")


def _split(texts: list[str] | None) -> tuple[str, ...]:
    parts = (part.strip() for text in texts or () for part in text.split(","))
    return tuple(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What the user said about a table so far."""

    name: str
    table: Table
    roles: Mapping[str, Sequence[str]]
    settings: AnswerSettings
    property: str
    rater_ids: Literal["real", "positional"] | None
    kind: Literal["expert", "skilled", "crowd"] | None
    source: str = ""
    licence: str = ""

    def plans(self) -> tuple[ImportPlan, ...]:
        from harness.curation import make_plans

        plans = make_plans(
            self.name,
            self.table,
            self.roles,
            settings=self.settings,
            property_rated=self.property,
            rater_ids=self.rater_ids,
            kind=self.kind,
        )
        return tuple(replace(p, source=self.source, licence=self.licence) for p in plans)

    def _with(self, fields: dict[str, Any]) -> _Draft:
        return replace(self, settings=replace(self.settings, **fields))

    def changed(self, answer: str) -> _Draft:
        """Return the draft after a change such as ``raters=a,b`` or ``ignore=n/a``."""
        role, _, names = answer.partition("=")
        role = role.strip().removeprefix("--").replace("-", "_")
        if role in {"options", "positive", "abstain", "ignore"}:
            return self._with({role: _split([names])})
        if role in {"lists", "scales", "scale", "decimal"}:
            return self._with({role: names.strip()})
        if role == "rename":
            return self._with({role: (*self.settings.rename, names.strip())})
        if role == "n_raters" and names.strip().isdecimal():
            return self._with({role: int(names)})
        return replace(self, roles={**self.roles, role: [names.strip()]})


def _confirm(draft: _Draft, *, ask: bool, quiet: bool) -> tuple[ImportPlan, ...]:
    """Show how the table is read, until the user accepts it."""
    plans = draft.plans()
    ask = ask and sys.stdin.isatty() and sys.stdout.isatty()
    if not quiet:
        echo(_describe(plans, unclear=ask))
    if not ask:
        return plans
    while True:
        answer = typer.prompt(
            "A change such as raters=a,b, y or Enter to write it, or q to quit",
            default="",
            show_default=False,
        ).strip()
        if answer.casefold() in {"q", "quit", "n", "no"}:
            raise TaskError("nothing was written.")
        if answer.casefold() in {"", "y", "yes"}:
            if not questions_of(plans):
                phrase = "What is rated, as a phrase for judges"
                rated = draft.property or typer.prompt(phrase)
                return replace(draft, property=rated).plans()
            echo("Say first what is unclear.")
            continue
        try:
            changed = draft.changed(answer)
            draft, plans = changed, changed.plans()
        except HarnessError as error:
            echo(f"{error}")
        else:
            echo(_describe(plans))


def questions_of(plans: Sequence[ImportPlan]) -> list[str]:
    """Return what is unclear in any of several plans."""
    return list(dict.fromkeys(question for plan in plans for question in plan.questions()))


def _write(plans: Sequence[ImportPlan], folder: Path, most: MaxRejected, *, as_json: bool) -> None:
    from harness.curation import check_new, make_task

    folders = [folder.with_name(plan.name) for plan in plans]
    for path in folders:
        check_new(path)
    summaries = [
        make_task(plan, path, max_rejected=most) for plan, path in zip(plans, folders, strict=True)
    ]
    made = list(zip(plans, summaries, strict=True))
    if as_json:
        _print_json([_as_json(plan, summary) for plan, summary in made])
    else:
        echo("\n".join(_summarize(plan, summary) for plan, summary in made))


def _print_json(tasks: Sequence[Mapping[str, object]]) -> None:
    """Print a task as an object, several as a list."""
    echo_json(tasks[0] if len(tasks) == 1 else tasks)


def _as_json(plan: ImportPlan, summary: ImportSummary | None) -> dict[str, object]:
    """Return how a table is read and, once written, what came of it."""
    reading: dict[str, object] = {
        "rows": plan.table.n_rows,
        "layout": plan.mapping.layout,
        "columns": {role: list(names) for role, names in plan.mapping.by_role().items()},
        "scale": plan.answers.scale,
        "options": dict(plan.answers.labels),
        "positive": list(plan.answers.positive),
        "kind": plan.kind,
        "rater_ids": plan.rater_ids,
        "questions": list(plan.questions()),
        "notes": list(plan.notes),
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
        "choice_outside_endorsed_set": summary.n_outside,
        "rejected": [
            {"line": row.line, "column": row.column, "reason": row.reason}
            for row in summary.rejected
        ],
    }


def _describe(plans: Sequence[ImportPlan], *, unclear: bool = True) -> str:
    """Write how a table is read and, unless an error says it, what is unclear."""
    from harness.curation import LAYOUTS

    first = plans[0]
    mapping = first.mapping
    rows = [(role, ", ".join(names)) for role, names in mapping.by_role().items()]
    if not mapping.id:
        rows.insert(0, ("id", "none: rows are numbered"))
    if not mapping.text:
        rows.append(("text", "none: judges cannot be asked, only validated"))
    if unused := mapping.unused(first.table):
        rows.append(("left out" if mapping.rater else "kept", ", ".join(unused)))
    for plan in plans:
        rows += _answer_rows(plan)
    rows.append(("raters are", f"{first.kind} (--kind)"))
    if first.rater_ids == "positional":
        rows.append(("rater ids", "positional: a rater is a position, not a person (--rater-ids)"))
    heading = f"{first.table.path.name}: {first.table.n_rows} rows, {LAYOUTS[mapping.layout]}"
    lines = [_wrapped(f"  {name:<12}", text) for name, text in rows]
    notes = dict.fromkeys(note for plan in plans for note in plan.notes)
    lines += [_wrapped("note: ", note) for note in notes]
    lines += [_wrapped("unclear: ", question) for question in questions_of(plans) if unclear]
    return "\n".join([heading, "", *lines])


def _answer_rows(plan: ImportPlan) -> list[tuple[str, str]]:
    answers = plan.answers
    rows = [("task", plan.name)] if plan.criterion is not None else []
    rows.append(("scale", answers.scale))
    if answers.scale == "continuous":
        low, high = answers.bounds or (None, None)
        rows.append(("bounds", "none (--bounds)" if low is None else f"{low:g} to {high:g}"))
    elif answers.scale != "text":
        rows.append(("options", ", ".join(answers.labels.values())))
        rows.append(("positive", ", ".join(answers.positive) or "none (--positive)"))
    return rows


def _wrapped(indent: str, text: str) -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
    )


def _summarize(plan: ImportPlan, summary: ImportSummary) -> str:
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
    if summary.n_outside:
        pairs = "1 pair" if summary.n_outside == 1 else f"{summary.n_outside} pairs"
        lines.append(
            _wrapped(
                "",
                f"{pairs} with a choice outside the rater's own set: kept as two ratings, and left "
                "out of F and beta (choice_outside_endorsed_set).",
            )
        )
    if summary.textless:
        items = ", ".join(summary.textless)
        lines.append(_wrapped("", f"Without a text: {items}. Judges need a text for every item."))
    if not plan.property:
        lines.append(f"Describe what was rated under 'property' in {summary.folder}/task.yaml.")
    folder = options.argument(summary.folder)
    verdicts = f" --verdicts {folder}/verdicts.csv" if summary.judges else ""
    lines += ["Next:", f"  harness validate --task {folder}{verdicts}"]
    if plan.mapping.text:
        lines.append(f"  harness run --task {folder} --judges gpt,claude --dry-run")
    return "\n".join(lines)
