"""`harness curate import`: make a task from a table of ratings."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json
from harness.cli.team import import_answers
from harness.curation.importing.import_options import (
    ColumnOptions,
    FileOptions,
    MadeTask,
    WritingOptions,
)
from harness.errors import HarnessError, TaskError, capitalised
from harness.files.plain_text import SCREEN_LINES, SCREEN_WIDTH, counted
from harness.options.concerns import Json
from harness.options.declaration import leave_out, read_options
from harness.tasks.columns.table_answers import AnswerSettings, RatedOptions
from harness.tasks.schema import MAX_POWERSET_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.curation.importing import ImportPlan, ImportSummary, MaxRejected, Table
    from harness.curation.importing.import_recipe import Recipe

MOST_WORDS = 110  # of questions
MOST_NOTES = 4
MOST_LISTED = 100  # characters of a list of columns in a question
MOST_REJECTED = 5  # rows that are listed
MOST_TASKS = 4  # tasks that are listed
TASK_INDENT = 14  # characters before a task's line


def _description(sources: Sequence[Path]) -> Path | None:
    """Return the description that `harness curate export` wrote next to a table."""
    from harness.curation.versions.task_export import sidecar_of

    described = sidecar_of(sources[0])
    return described if len(sources) == 1 and described.is_file() else None


@takes
def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Table of ratings, or a tool's export. With several files, each is a rater."
        ),
    ],
    *,
    subject: MadeTask,
    files: FileOptions,
    columns: ColumnOptions,
    rated: RatedOptions,
    settings: AnswerSettings,
    writing: WritingOptions,
    printing: Json,
) -> None:
    """Make a task from a table of ratings.

    Infers each column's role from dependencies, then values, then names, and shows you the result.
    If a column's role or a label's meaning is still unclear, nothing is written. On a terminal, the
    command asks you. Otherwise it prints a draft and the command to accept it. Separate several
    columns with commas. Verdicts of judges in the table go to verdicts.csv, and rows that can't be
    used go to rejected.csv.

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
    tables = (files, columns, rated, settings, writing)
    given = {name for options in tables for name in options.model_fields_set}
    subject.check_added_to(given)
    if subject.into is not None:
        if len(sources) > 1:
            raise typer.BadParameter("--into accepts one file")
        import_answers(sources[0], subject.into, subject, as_json=printing.as_json)
        return
    assert subject.made is not None, "the model says so"
    folder = options.task_folder(subject.made)
    from harness.curation.importing import check_new, read_source
    from harness.curation.importing.import_recipe import read_recipe

    check_new(folder)
    if (described := _description(sources)) is not None:
        leave_out(
            given | subject.model_fields_set - {"made"},
            "FILE.task.yaml next to the table already says how to read it",
        )
        _import_exported(sources[0], described, folder, as_json=printing.as_json)
        return
    most = options.max_rejected(writing.max_rejected)
    recipe = read_recipe(subject.recipe) if subject.recipe else None
    files = files.model_copy(update={"plain": recipe is not None})
    draft = _Draft(
        name=folder.name,
        table=read_source(sources, derive=recipe.derive if recipe else None, how=files),
        roles=columns.by_role(),
        settings=settings,
        said=settings,
        rated=rated,
    )
    draft = draft.completed(recipe) if recipe else draft
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    asks = is_terminal and not (writing.unasked or writing.dry_run)
    plans = _confirm(draft) if asks else draft.settled()
    if questions := questions_of(plans):
        command = ["harness", "curate", "import", *map(str, sources), "--as", subject.made]
        command += files.words()
        command += ["--property", rated.property] if rated.property else []
        if printing.as_json:
            _print_json([_as_json(plan, None) for plan in plans])
        else:
            echo(_draft_text(plans, command, draft))
        raise TaskError(f"{plans[0].table.path}: {_within_words(questions)}.")
    if not (asks or printing.as_json):
        echo(_describe(plans))
    if writing.dry_run:
        if printing.as_json:
            _print_json([_as_json(plan, None) for plan in plans])
        return
    _write(plans, folder, most, as_json=printing.as_json)


def _draft_text(plans: Sequence[ImportPlan], command: Sequence[str], draft: _Draft) -> str:
    """Print the draft and its possible readings, each with facts and a command.

    If there's no room, the roles of the draft's columns are left out, because its command lists
    them.
    """
    from harness.curation.importing import readings_of, short_words, tried_readings

    asked = {question for plan in plans for question in plan.questions()}
    tried = tried_readings(readings_of(*plans), draft.table, draft.rated, asked)
    lines = ["", "Nothing was written."]
    for reading, facts in tried:
        lines.append(f"{reading.condition}:")
        lines += [f"  {line}" for line in facts.lines()] if facts else []
        words = short_words(reading, draft.table, draft.roles, draft.settings, draft.rated)
        lines.append(f"  {shlex.join([*command, *words])}")
    described = _describe(plans, unclear=False)
    if len(described.splitlines()) + len(lines) >= SCREEN_LINES and tried:
        described = _describe(plans, unclear=False, with_roles=False)
    return "\n".join([described, *lines])


def _import_exported(source: Path, described: Path, folder: Path, *, as_json: bool) -> None:
    """Make a task from a table that `harness curate export` wrote."""
    from harness.curation.versions.task_export import import_exported

    summary = import_exported(source, folder)
    if as_json:
        echo_json({"folder": str(folder), **asdict(summary)}, indent=None)
        return
    echo(f"Read as {described.name} says.\nWrote {folder}: {summary}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """Settings that the user has chosen for a table so far.

    Attributes
    ----------
    said : AnswerSettings
        Only the user's settings. Their labels must occur in the table; a recipe's needn't.
    """

    name: str
    table: Table
    roles: Mapping[str, Sequence[str]]
    settings: AnswerSettings
    said: AnswerSettings
    rated: RatedOptions
    source: str = ""
    licence: str = ""

    def completed(self, recipe: Recipe) -> _Draft:
        """Return the draft, using a recipe's settings for anything that the user left open."""
        said = self.settings.model_dump(exclude_defaults=True)
        rated = {"property": recipe.property, "rater_ids": recipe.rater_ids, "kind": recipe.kind}
        rated |= self.rated.model_dump(exclude_defaults=True)
        return replace(
            self,
            roles={**recipe.columns, **self.roles},
            settings=recipe.answers.model_copy(update=said),
            rated=RatedOptions.model_validate(rated),
            source=recipe.source,
            licence=recipe.licence,
        )

    def plans(self) -> tuple[ImportPlan, ...]:
        from harness.curation.importing import make_plans

        plans = make_plans(
            self.name,
            self.table,
            self.roles,
            settings=self.settings,
            rated=self.rated,
        )
        self.said.check_labels(plans[0].cells)
        return tuple(replace(p, source=self.source, licence=self.licence) for p in plans)

    def settled(self) -> tuple[ImportPlan, ...]:
        """Return the plans. If only one reading makes sense, return only that reading's plans."""
        from harness.curation.importing import settled

        plans = settled(self.name, self.plans(), self.table, self.rated, self.roles)
        return tuple(replace(p, source=self.source, licence=self.licence) for p in plans)

    def _with(self, fields: Mapping[str, object]) -> _Draft:
        settings, said = (
            read_options(AnswerSettings, {**dict(before), **fields})
            for before in (self.settings, self.said)
        )
        return replace(self, settings=settings, said=said)

    def changed(self, answer: str) -> _Draft:
        """Return the draft after a change such as ``raters=a,b`` or ``ignore=n/a``."""
        role, _, names = answer.partition("=")
        role = role.strip().removeprefix("--").replace("-", "_")
        if role in {"options", "positive", "abstain", "ignore"}:
            parts = [name.strip() for name in names.split(",")]
            return self._with({role: tuple(filter(None, parts))})
        if role in {"lists", "scales", "scale", "decimal"}:
            return self._with({role: names.strip()})
        if role == "rename":
            return self._with({role: (*self.settings.rename, names.strip())})
        if role == "n_raters" and names.strip().isdecimal():
            return self._with({"raters_per_item": int(names)})
        return replace(self, roles={**self.roles, role: [names.strip()]})


def _confirm(draft: _Draft) -> tuple[ImportPlan, ...]:
    """Show how the table was read, and apply changes until the user accepts the result."""
    plans = draft.plans()
    echo(_describe(plans))
    while True:
        answer = typer.prompt(
            "A change such as raters=a,b, y or Enter to write the task, or q to quit",
            default="",
            show_default=False,
        ).strip()
        if answer.casefold() in {"q", "quit", "n", "no"}:
            raise TaskError("nothing was written.")
        if answer.casefold() in {"", "y", "yes"}:
            if not questions_of(plans):
                phrase = "The rated property, as a phrase for judges"
                rated = draft.rated.property or typer.prompt(phrase)
                named = draft.rated.model_copy(update={"property": rated})
                return replace(draft, rated=named).plans()
            echo("Answer the open questions first.")
            continue
        try:
            changed = draft.changed(answer)
            draft, plans = changed, changed.plans()
        except HarnessError as error:
            echo(f"{error}")
        else:
            echo(_describe(plans))


def questions_of(plans: Sequence[ImportPlan]) -> list[str]:
    """Return the open questions from several plans, without duplicates."""
    return list(dict.fromkeys(question for plan in plans for question in plan.questions()))


def _within_words(questions: Sequence[str]) -> str:
    """Join questions until they reach `MOST_WORDS` words. Always include the first question.

    Long lists of columns are cut, because the commands above contain them.
    """
    shown = [" ".join(map(_cut_list, text.split(" "))) for text in questions]
    while len(shown) > 1 and sum(len(text.split()) for text in shown) > MOST_WORDS:
        shown.pop()
    more = len(questions) - len(shown)
    also = f". {more} more {'questions' if more > 1 else 'question'} can follow" if more else ""
    return ". ".join((shown[0], *map(capitalised, shown[1:]))) + also


def _cut_list(word: str) -> str:
    """Cut a list in a question's word after the first name if the list is long."""
    first, comma, _ = word.partition(",")
    return f"{first},..." if comma and len(word) > MOST_LISTED else word


def _write(plans: Sequence[ImportPlan], folder: Path, most: MaxRejected, *, as_json: bool) -> None:
    from harness.curation.importing import check_new, make_task

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
        echo("\n".join(_summarize_all(made)))


def _summarize_all(made: Sequence[tuple[ImportPlan, ImportSummary]]) -> list[str]:
    """Describe the new task, or count several new tasks, and print the next commands."""
    if len(made) == 1:
        return _summarize(*made[0])
    lines = [""]
    for _, summary in made[:MOST_TASKS]:
        lines.append(f"Wrote {summary.folder}: {_counted(summary)}{_rejected_of(summary)}.")
    more = len(made) - MOST_TASKS
    lines += [f"Wrote {more} more tasks."] if more > 0 else []
    plan, summary = made[0]
    if not plan.rated.property:
        lines.append("In each task.yaml, write what was rated under 'property'.")
    return [*lines, *_next_commands(plan, summary)]


def _rejected_of(summary: ImportSummary) -> str:
    """Return how many rows were rejected, and the file that lists them."""
    place = summary.folder / "rejected.csv"
    return f", {summary.n_rejected} rejected ({place})" if summary.n_rejected else ""


def _print_json(tasks: Sequence[Mapping[str, object]]) -> None:
    """Print one task as a JSON object, or several tasks as a list."""
    echo_json(tasks[0] if len(tasks) == 1 else tasks)


def _as_json(plan: ImportPlan, summary: ImportSummary | None) -> dict[str, object]:
    """Return how a table was read and, once the task is written, its counts."""
    reading: dict[str, object] = {
        "rows": plan.table.n_rows,
        "layout": plan.mapping.layout,
        "columns": {role: list(names) for role, names in plan.mapping.by_role().items()},
        "scale": plan.answers.scale,
        "options": dict(plan.answers.labels),
        "positive": list(plan.answers.positive),
        "kind": plan.rated.kind,
        "rater_ids": plan.rated.rater_ids,
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


def _describe(plans: Sequence[ImportPlan], *, unclear: bool = True, with_roles: bool = True) -> str:
    """Print how a table was read, and its open questions unless an error shows them."""
    from harness.curation.importing import LAYOUTS, names_of

    first = plans[0]
    mapping = first.mapping
    rows = [(role, names_of(names)) for role, names in mapping.by_role().items()]
    rows = rows if with_roles else []
    if not mapping.id:
        rows.insert(0, ("id", "none: rows are numbered"))
    if not (mapping.text or mapping.image):
        rows.append(("text", "none: you can only validate judges, not run them"))
    if unused := mapping.unused(first.table):
        kept = [name for name in unused if name in first.columns.fields]
        rows += [("kept", names_of(kept))] if kept else []
        left_out = [name for name in unused if name not in kept]
        rows += [("left out", names_of(left_out))] if left_out else []
    rows += _answer_rows(first) if len(plans) == 1 else _task_rows(plans)
    if with_roles:
        rows.append(("raters are", f"{first.rated.kind} (--kind)"))
    if first.rated.rater_ids == "positional":
        rows.append(("rater ids", "positional: a rater is a position, not a person (--rater-ids)"))
    n_rows = counted([first.table.n_rows], "row")
    heading = f"{first.table.path.name}: {n_rows}, {LAYOUTS[mapping.layout]}"
    lines = [_wrapped(f"  {name:<12}", text) for name, text in rows]
    notes = [*dict.fromkeys(note for plan in plans for note in plan.notes)]
    most = MOST_NOTES if with_roles else 0
    lines += [_wrapped("note: ", note) for note in notes[:most]]
    if (more := len(notes) - most) > 0:
        lines.append(f"note: print {more} more note{'s' * (more != 1)} with --json")
    lines += [_wrapped("unclear: ", question) for question in questions_of(plans) if unclear]
    return "\n".join([heading, "", *lines])


def _answer_rows(plan: ImportPlan) -> list[tuple[str, str]]:
    from harness.curation.importing import names_of

    answers = plan.answers
    rows: list[tuple[str, str]] = [("scale", answers.scale)]
    if answers.scale == "continuous":
        low, high = answers.bounds or (None, None)
        rows.append(("bounds", "none (--bounds)" if low is None else f"{low:g} to {high:g}"))
    elif answers.scale != "text":
        rows.append(("options", names_of(list(answers.labels.values()))))
        rows.append(("positive", ", ".join(answers.positive) or "none (--positive)"))
    return rows


def _task_rows(plans: Sequence[ImportPlan]) -> list[tuple[str, str]]:
    """Return a line for each task, including its scale."""
    rows: list[tuple[str, str]] = []
    for plan in plans[:MOST_TASKS]:
        options = ", ".join(plan.answers.labels.values())
        text = f"{plan.name}: {plan.answers.scale}" + (f" ({options})" if options else "")
        text += f", positive: {', '.join(plan.answers.positive)}" if plan.answers.positive else ""
        cut = SCREEN_WIDTH - TASK_INDENT
        rows.append(("task", text if len(text) <= cut else f"{text[: cut - 3]}..."))
    more = len(plans) - MOST_TASKS
    return [*rows, ("", f"and {more} more tasks. List them with --json")] if more > 0 else rows


def _wrapped(indent: str, text: str) -> str:
    return fill(
        text,
        SCREEN_WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
    )


def _counted(summary: ImportSummary) -> str:
    """Return the number of items, raters, ratings, judges and verdicts."""
    counts = [("item", summary.n_items), ("rater", len(summary.raters))]
    counts += [("rating", sum(summary.raters.values()))]
    if summary.judges:
        counts += [("judge", len(summary.judges)), ("verdict", sum(summary.judges.values()))]
    listed = ", ".join(counted([n], noun) for noun, n in counts)
    return f"{listed} ({summary.n_ignored} more ignored)" if summary.n_ignored else listed


def _summarize(plan: ImportPlan, summary: ImportSummary) -> list[str]:
    """Print the contents of a task folder, its rejected rows, and the next commands."""
    lines = ["", f"Wrote {summary.folder}: {_counted(summary)}."]
    if summary.n_rejected:
        lines.append(f"Rejected: {summary.n_rejected}, listed in {summary.folder}/rejected.csv:")
        for row in summary.rejected[:MOST_REJECTED]:
            column = f"{row.column}: " if row.column else ""
            lines.append(_wrapped("  ", f"line {row.line}: {column}{row.reason}"))
    if summary.n_outside:
        pairs = "1 pair" if summary.n_outside == 1 else f"{summary.n_outside} pairs"
        lines.append(
            _wrapped(
                "",
                f"{pairs} with a choice outside the rater's own set. They're kept as two ratings "
                "and left out of F and beta (choice_outside_endorsed_set).",
            )
        )
    lines += _blank_lines(summary)
    if not plan.rated.property:
        lines.append(f"In {summary.folder}/task.yaml, write what was rated under 'property'.")
    if summary.has_sets and len(plan.answers.labels) > MAX_POWERSET_OPTIONS:
        lines.append(_set_line(plan, summary))
    return [*lines, *_next_commands(plan, summary)]


def _blank_lines(summary: ImportSummary) -> list[str]:
    """Count the items without any text, and the items with one blank text (such as in a pair)."""
    lines = []
    if n := summary.n_textless:
        items = ", ".join(summary.textless) + (", ..." if n > len(summary.textless) else "")
        leaves = "A run leaves it out" if n == 1 else "A run leaves them out"
        lines.append(f"{n} item{'s' * (n != 1)} without a text: {items}. {leaves}.")
    if n := summary.n_part_blank:
        have = "1 item has" if n == 1 else f"{n} items have"
        lines.append(
            f"{have} one blank text and one with content. Judges see the blank text as an empty "
            "answer."
        )
    return [_wrapped("", line) for line in lines]


def _next_commands(plan: ImportPlan, summary: ImportSummary) -> list[str]:
    """Return the commands that validate and run a new task."""
    folder = options.argument(summary.folder)
    file = options.argument(summary.folder / "verdicts.csv")
    verdicts = f" --verdicts {file}" if summary.judges else ""
    lines = ["Next:", f"  harness validate --task {folder}{verdicts}"]
    if plan.mapping.text or plan.mapping.image:
        lines.append(f"  harness run --task {folder} --judges gpt,claude --dry-run")
    return lines


def _set_line(plan: ImportPlan, summary: ImportSummary) -> str:
    """Describe the response sets for a task with many options."""
    file, n_options = f"{summary.folder}/task.yaml", len(plan.answers.labels)
    if listed := plan.answers.listed_sets(summary.sets):
        text = (
            f"With {n_options} options, a task must list its response sets: 'response_sets' in "
            f"{file} has {len(listed)}: those in the table, and each option by itself. Add other "
            "reasonable sets."
        )
    else:
        text = (
            f"Before you use the task, list the admissible sets under 'response_sets' in {file}: "
            f"the table has more sets of {n_options} options than can be listed."
        )
    return _wrapped("", text)
