"""Plans for creating tasks from a table: column roles, answers and item fields."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.label_joins import separator_of
from harness.curation.importing.nested_cells import unnested
from harness.curation.importing.option_guess import (
    NUMBER,
    LabelCounts,
    are_sided,
    count_labels,
    guess_answers,
    guess_rater_ids,
    keys_alone,
    merged,
    pairs_of,
)
from harness.curation.importing.picture_columns import with_pictures
from harness.curation.importing.reading_facts import facts_of
from harness.curation.importing.role_draft import Doubt
from harness.curation.importing.role_guess import guess_roles
from harness.curation.importing.structures import structured
from harness.errors import TaskError, capitalised
from harness.tasks.columns.answer_cells import NO_TOTAL, SHARE_WORDS, AnswerReader, same_names
from harness.tasks.columns.cell_values import (
    ballots_by_rater,
    label_of,
    labels_of,
    list_of,
    with_point,
)
from harness.tasks.columns.column_mapping import ColumnMapping, check, mapping_of
from harness.tasks.columns.column_words import parts
from harness.tasks.columns.table_answers import RatedOptions
from harness.tasks.columns.table_columns import (
    EMPTY,
    POSITIONAL,
    with_decimals,
    with_none,
    with_places,
    with_sets,
    with_whole_sets,
)
from harness.tasks.columns.table_reader import ItemColumns, TableTask
from harness.tasks.item import OPEN_SCALES
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import as_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.curation.importing.picture_columns import Pictures
    from harness.curation.importing.role_draft import RoleDraft
    from harness.tasks.columns.formats import Reading
    from harness.tasks.columns.table_answers import AnswerSettings
    from harness.tasks.columns.table_columns import Table

MIN_PAIRS = 10  # fewest pairs of choice and set; if no set contains the choice, it isn't chance
NO_JUDGES = "none"  # value for "there are none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan(TableTask):
    """A plan for a task from a table, or from one of the table's criteria.

    Attributes
    ----------
    settings : AnswerSettings
        Settings from the user, a recipe or the table's format.
    doubts : tuple of Doubt
        Open questions, which must be answered before a task can be written.
    notes : tuple of str
        Decisions that the user might want to change.
    pictures : mapping of str to Path or bytes
        Items' images by file name in the task's folder.
    asks_texts_later : bool
        Whether the texts that judges see are asked about once the other questions are answered.
    """

    settings: AnswerSettings
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    pictures: Pictures = field(default_factory=dict)
    asks_texts_later: bool = False

    def questions(self) -> tuple[str, ...]:
        """Return the open questions, which name the options that answer them."""
        return tuple(doubt.question for doubt in self.doubts)

    def check(self) -> None:
        """Raise `TaskError` with the open questions, if any."""
        if questions := self.questions():
            first, *others = questions
            asked = ". ".join((first, *map(capitalised, others)))
            raise TaskError(f"{self.table.path}: {asked}.")


def make_plans(
    name: str,
    table: Table,
    roles: Mapping[str, Sequence[str]],
    *,
    settings: AnswerSettings,
    rated: RatedOptions | None = None,
) -> tuple[ImportPlan, ...]:
    """Infer what the user didn't specify, and check that the table can become tasks.

    Parameters
    ----------
    name : str
        Name of the task, or its beginning if each criterion becomes a separate task.
    table : Table
        See `read_source`.
    roles : mapping of str to sequence of str
        Columns by role, as the user named them; see `mapping_of`.
    settings : AnswerSettings
        The user's settings for the answers, which override those of the table's format.
    rated : RatedOptions, optional
        The rated property and the raters. The kind of raters is crowd by default, or expert if
        their names say so. The columns show whether their ids are people.

    Returns
    -------
    plans : tuple of ImportPlan
        One plan, or one per criterion if their labels differ.

    Raises
    ------
    TaskError
        If a column is unknown, nothing looks like ratings, or the labels cannot be options.
    """
    rated = rated or RatedOptions()
    table = _with_ratings(table, lambda of: _plans(name, of, roles, settings, rated), roles)
    plans = _plans(name, table, roles, settings, rated)
    joins = [doubt for plan in plans for doubt in plan.doubts if "separator" in doubt.accept]
    if not joins:
        return plans
    separator = str(joins[0].accept["separator"]).replace("\\n", "\n")
    try:  # roles can change too, once labels are separated
        split = settings.model_copy(update={"separator": separator})
        apart = _plans(name, table, roles, split, rated)
    except TaskError:
        return plans
    return tuple(replace(plan, doubts=(joins[0], *plan.doubts)) for plan in apart)


def _with_ratings(
    table: Table,
    plans_of: Callable[[Table], tuple[ImportPlan, ...]],
    roles: Mapping[str, Sequence[str]],
) -> Table:
    """Return the table, in unnested form if objects inside cells contain the ratings.

    The columns that the user named decide. Otherwise, a table that can be read without questions
    stays unchanged.
    """
    nested = None if table.reading.columns else unnested(table)
    if nested is None:
        return table
    named = {part for names in roles.values() for name in names for part in name.split(",")}
    if not named.isdisjoint(nested.columns.keys() ^ table.columns.keys()):
        return table if named.isdisjoint(nested.columns.keys() - table.columns.keys()) else nested
    try:
        plans = plans_of(table)
    except TaskError:
        plans = ()
    if plans and not any(plan.doubts for plan in plans) and not facts_of(plans).is_absurd:
        has_labels = nested.columns.keys() >= {*plans[0].mapping.rating_columns}
        return table if has_labels else nested
    try:
        mapping = plans_of(nested)[0].mapping
    except TaskError:
        return table
    return table if table.columns.keys() >= {*mapping.rating_columns} else nested


def _plans(
    name: str,
    table: Table,
    roles: Mapping[str, Sequence[str]],
    settings: AnswerSettings,
    rated: RatedOptions,
) -> tuple[ImportPlan, ...]:
    """Infer what the user didn't specify, without unnesting the table."""
    unclear = [] if "judges" in roles else _unclear_names(table.reading)
    roles = {**table.reading.columns, **roles}
    if (*roles.get("rater", ()),) == (POSITIONAL,) and POSITIONAL not in table.columns:
        if not roles.get("id"):
            raise TaskError(
                f"{table.path}: --rater {POSITIONAL} needs a column for the item. Pass --id."
            )
        table = with_places(table, mapping_of({"id": roles["id"]}, table).id)
    table = table if table.reading.columns else structured(table, roles)
    fixed = mapping_of(roles, table)
    settings = _with_format(settings, table.reading)
    raw = table
    table = with_decimals(table, fixed.by_role()) if settings.decimal == "comma" else table
    table = with_sets(table, settings.separator, fixed.by_role()) if settings.separator else table
    if not table.reading.columns and "elicitation" not in table.columns:
        table = with_whole_sets(table)
    draft = guess_roles(table, fixed, roles, settings.scale)
    table, mapping = draft.table, draft.mapping
    if mapping.judges == (NO_JUDGES,):
        mapping = replace(mapping, judges=())
    table, mapping, pictures = _pictured(table, mapping, draft, roles)
    check(mapping, table)
    _check_effect(settings, mapping, raw)
    table, joined = _with_choices(table, mapping)
    table, corrections = _corrected(table, mapping, settings)
    mapping, list_doubts = _read_lists(mapping, table, settings)
    if settings.none and not mapping.sets:
        table = with_none(table, mapping.rating_columns, settings.none)
    reader = AnswerReader(
        table,
        mapping,
        settings.raters_per_item,
        settings.lists,
        settings.separator,
        settings.none,
    )
    counts = count_labels(reader, is_open=settings.scale in OPEN_SCALES)
    where = str(table.path)
    if settings.scales and len(counts) <= 1:
        raise TaskError(f"{where}: --scales works only with several criteria. Leave out --scales.")
    shared = len(counts) <= 1 or (
        settings.scales != "own"
        and (settings.scales == "shared" or settings.scale in OPEN_SCALES or _one_scale(counts))
    )
    by_task = {None: merged(counts.values())} if shared else counts
    doubts = (*unclear, *draft.doubts, *list_doubts, *_line_doubts(table, mapping))
    doubts += (*_share_doubts(reader), *_none_doubts(reader, settings), *corrections)
    who = {
        "kind": rated.kind or mapping.kind,
        "rater_ids": rated.rater_ids or guess_rater_ids(reader),
    }
    pairs = pairs_of(mapping.text)
    sided = [of_task for of_task in by_task.values() if are_sided(of_task)]
    plans = []
    for criterion, of_task in by_task.items():
        of_pair = None if sided and of_task not in sided else pairs
        guess = guess_answers(of_task, settings, where, pairs=of_pair)
        joint = criterion is None and mapping.has_several_criteria
        plans.append(
            ImportPlan(
                name=name if criterion is None else f"{name}-{_slug(criterion)}",
                rated=rated.model_copy(update=who),
                cells=reader,
                answers=guess.answers,
                columns=ItemColumns(
                    fields=mapping.item_fields(table), criterion=criterion, joint=joint
                ),
                settings=settings,
                doubts=(*doubts, *guess.doubts),
                notes=(*table.notes, *draft.notes, *joined, *guess.notes),
                pictures=pictures,
            )
        )
    rest = [tuple(d for d in plan.doubts if not d.is_last) for plan in plans]
    if any(rest) and rest != [plan.doubts for plan in plans]:
        plans = [
            replace(plan, doubts=doubts, asks_texts_later=True)
            for plan, doubts in zip(plans, rest, strict=True)
        ]
    return tuple(plans)


def _pictured(
    table: Table, mapping: ColumnMapping, draft: RoleDraft, roles: Mapping[str, Sequence[str]]
) -> tuple[Table, ColumnMapping, Pictures]:
    """Find items' images. If one can't be used, drop the image role and add a note.

    If the user named the column, the error is raised instead.
    """
    if not mapping.image:
        return table, mapping, {}
    try:
        pictured, pictures = with_pictures(table, mapping.image)
    except TaskError as error:
        if "image" in roles:
            raise
        draft.notes.append(
            f"{mapping.image} names images that can't be shown: {str(error).removesuffix('.')}"
        )
        return table, replace(mapping, image=""), {}
    return pictured, mapping, pictures


def _unclear_names(reading: Reading) -> list[Doubt]:
    """Ask whether raters are people or programs if the format doesn't say."""
    if not reading.unclear:
        return []
    known = tuple(reading.columns.get("judges", ()))
    every = ",".join((*known, *reading.unclear))
    question = (
        f"can't tell whether {', '.join(reading.unclear)} are people or a program. Pass --judges "
        f"{quote(','.join(known) or NO_JUDGES)} if they are people, or --judges {quote(every)} "
        "if not"
    )
    return [Doubt(question, others=({"judges": (*known, *reading.unclear)},))]


def _with_format(settings: AnswerSettings, reading: Reading) -> AnswerSettings:
    """Complete the user's settings with the format's settings."""
    of_format = {
        "scale": settings.scale or reading.scale,
        "options": settings.options or reading.options,
        "lists": settings.lists or reading.lists,
    }
    return settings.model_copy(update=of_format)


def _check_effect(settings: AnswerSettings, mapping: ColumnMapping, table: Table) -> None:
    """Reject settings that have no effect on a table with certain roles."""
    is_counted = bool(mapping.counts or mapping.votes)
    names = (*mapping.rating_columns, *mapping.judge_columns(table))
    columns = [table.columns[name] for name in names]
    texts = [text for column in columns for text in column.values]
    lists = is_counted or any(list_of(text) is not None for text in texts)
    faults = {
        "--n-raters works only with counts of raters": settings.raters_per_item and not is_counted,
        "--lists works only for cells with several ratings": settings.lists and not lists,
        "--on-duplicate last needs a row per rating": settings.on_duplicate == "last"
        and not mapping.rater,
        f"no rating contains the --separator {settings.separator!r}": settings.separator
        and not any(settings.separator in text for text in texts),
        "no rating has a decimal comma (see --decimal)": settings.decimal == "comma"
        and not any(with_point(text) != text for text in texts),
    }
    for fault, is_one in faults.items():
        if is_one:
            raise TaskError(f"{table.path}: {fault}. Leave out this option.")


def _one_scale(counts: Mapping[str, LabelCounts]) -> bool:
    """Return whether criteria share a scale: the same numbers, or labels from a common list."""
    sets = [
        {label.casefold() for label in c.humans} - {CANNOT_ASSESS.casefold()}
        for c in counts.values()
    ]
    union = set().union(*sets)
    bare = keys_alone(union)
    sets = [{bare.get(label, label) for label in labels} for labels in sets]
    numeric = [{x for x in labels if as_number(x) is not None} for labels in sets]
    if any(numeric):
        return all(labels == numeric[0] for labels in numeric)
    union -= bare.keys()
    return any(labels == union for labels in sets)


def _slug(criterion: str) -> str:
    """Convert a criterion to an ending for a task's name."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in criterion)
    return text[:32] or "criterion"


def _read_lists(
    mapping: ColumnMapping, table: Table, settings: AnswerSettings
) -> tuple[ColumnMapping, list[Doubt]]:
    """Decide whether lists in cells are ratings from several raters or response sets."""
    if mapping.layout != "votes" or mapping.rater or settings.lists == "ratings":
        return mapping, []
    if settings.lists == "sets":
        return replace(mapping, votes=(), total="", raters=mapping.votes), []
    cells = [text for name in mapping.votes for text in table.columns[name].values]
    lists = [parts for text in cells if (parts := list_of(text)) and ballots_by_rater(text) is None]
    repeats = any(len(parts) > len({str(part) for part in parts}) for parts in lists)
    if repeats or not lists:
        return mapping, []
    names = ", ".join(mapping.votes)
    text = f"the lists in {names!r} could be several raters' ratings or one rater's set"
    question = f"{text}. Pass --lists ratings or --lists sets"
    return mapping, [Doubt(question, {"lists": "ratings"}, ({"lists": "sets"},))]


def _line_doubts(table: Table, mapping: ColumnMapping) -> list[Doubt]:
    """Ask about ratings with several lines, which could be response sets."""
    for name in (*mapping.raters, mapping.label, mapping.set, *mapping.criteria):
        texts = table.columns[name].values if name else ()
        if any("\n" in text for text in texts) and separator_of(texts) == "\n":
            question = (
                f"the lines of a cell in {name} could be a response set. Pass --separator '\\n'"
            )
            return [Doubt(question, {"separator": "\\n"})]
    return []


def _share_doubts(reader: AnswerReader) -> list[Doubt]:
    """Ask for the number of raters if the table contains shares without it."""
    mapping = reader.mapping
    if not (mapping.counts or mapping.votes) or mapping.total or reader.n_raters:
        return []
    named = any(not SHARE_WORDS.isdisjoint(parts(name)) for name in mapping.counts)
    if not named and all(answer.problem != NO_TOTAL for answer in reader.answers()):
        return []
    question = (
        "the columns contain shares, so the number of raters is needed. Pass --n-raters N, or "
        "--total with its column"
    )
    return [Doubt(question, {"raters_per_item": NUMBER})]


def _with_choices(table: Table, mapping: ColumnMapping) -> tuple[Table, list[str]]:
    """Add each rater's forced choice to the rater's set if none of the sets contains its choice."""
    if not (mapping.label and mapping.set):
        return table, []
    choices = [label_of(text) for text in table.columns[mapping.label].by_row()]
    sets = [list(labels_of(text)[0]) for text in table.columns[mapping.set].by_row()]
    pairs = [(x, [*map(str.casefold, of)]) for x, of in zip(choices, sets, strict=True) if x and of]
    if len(pairs) < MIN_PAIRS or any(choice.casefold() in labels for choice, labels in pairs):
        return table, []
    cells = [
        json.dumps([choice, *of], ensure_ascii=False) if choice else ""
        for choice, of in zip(choices, sets, strict=True)
    ]
    note = f"{mapping.set} never contains the choice, so it is read as the other reasonable options"
    return table.with_column(mapping.set, cells), [note]


def _none_doubts(reader: AnswerReader, settings: AnswerSettings) -> list[Doubt]:
    """Ask whether raters without an option chose none or could not say."""
    if settings.none:
        return []
    sets, empty = reader.mapping.sets, 0
    cells = (text for n in reader.mapping.rating_columns for text in reader.table.columns[n].values)
    if sets or reader.mapping.votes or any(list_of(text) == [] for text in cells):
        empty = sum(list_of(of.text) == [] for of in reader.answers() if not of.is_judge)
    if sets:
        empty += int(np.all([reader.table.columns[n].codes == EMPTY for n in sets], axis=0).sum())
    if not empty:
        return []
    times = "once" if empty == 1 else f"{empty} times"
    question = (
        f"a rater chose none of the options {times}. Pass --none 'none of these' if that is an "
        f"answer, or --none {CANNOT_ASSESS} if the rater couldn't say"
    )
    return [Doubt(question, {"none": "none of these"}, ({"none": CANNOT_ASSESS},))]


def _corrected(
    table: Table, mapping: ColumnMapping, settings: AnswerSettings
) -> tuple[Table, list[Doubt]]:
    """Blank the ratings that the same rater corrected later, or ask whether to.

    A blank cell isn't a rating and doesn't correct an earlier rating.
    """
    if not mapping.rater or mapping.votes or mapping.rater == POSITIONAL:
        return table, []
    order = table.columns[mapping.rated_at].by_row() if mapping.rated_at else []
    if settings.on_duplicate == "last" and not order:
        raise TaskError(
            f"{table.path}: --on-duplicate last needs the times of the ratings. Pass --rated-at."
        )
    people = same_names(table.columns[mapping.rater])
    names = [people[text] for text in table.columns[mapping.rater].by_row()]
    within = [n for n in (mapping.criterion, mapping.elicitation) if n]
    keys = list(zip(table.keys((*mapping.id, *within)).tolist(), names, strict=True))
    single = [(n,) for n in (mapping.label, mapping.set, *mapping.criteria) if n]
    n_corrected = 0
    for columns in [*single, *([mapping.sets] if mapping.sets else [])]:
        former, is_changed = _former(table, columns, keys, order)
        n_corrected += sum(is_changed)
        if settings.on_duplicate == "last":
            table = table.blanked(columns, np.array(former, dtype=np.int64))
    if settings.on_duplicate == "reject" and order and n_corrected:
        are = "rating is" if n_corrected == 1 else "ratings are"
        question = (
            f"{n_corrected} {are} corrected later. Pass --on-duplicate last to use the last one, "
            "or reject to keep the first"
        )
        return table, [Doubt(question, {"on_duplicate": "last"})]
    return table, []


def _former(
    table: Table, columns: Sequence[str], keys: Sequence[tuple[int, str]], order: Sequence[str]
) -> tuple[list[int], list[bool]]:
    """Return the rows that the rater corrected, and whether each differs from the latest row."""
    filled = np.any([table.columns[name].codes != EMPTY for name in columns], axis=0)
    answers = table.keys(columns)
    latest: dict[tuple[int, str], int] = {}
    former = []
    for row in np.flatnonzero(filled).tolist():
        before = latest.setdefault(keys[row], row)
        if before != row:
            is_late = not order or order[row] >= order[before]
            former.append(before if is_late else row)
            latest[keys[row]] = row if is_late else before
    return former, [bool(answers[row] != answers[latest[keys[row]]]) for row in former]
