"""Tasks from folders and from tables in memory: rows, or pandas, polars or pyarrow frames."""

from __future__ import annotations

import logging
import math
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

import msgspec

from harness.errors import HarnessError, OptionError, TaskError, use_one_of
from harness.files.regular_files import write_file
from harness.loading import edge
from harness.options.declaration import options_of, read_options
from harness.tasks import Task
from harness.tasks import load_task as load_task_folder
from harness.tasks.columns.answer_cells import AnswerReader
from harness.tasks.columns.column_mapping import whole_mapping
from harness.tasks.columns.table_answers import AnswerSettings, RatedOptions, TableAnswers
from harness.tasks.load import task_from

if TYPE_CHECKING:
    from harness.files.tables import Row
    from harness.tasks.columns.table_answers import (
        CellLists,
        DecimalSign,
        OnDuplicate,
        ScaleSharing,
    )
    from harness.tasks.columns.table_columns import Table
    from harness.tasks.columns.table_reader import TableTask
    from harness.tasks.item import ClosedScale
    from harness.tasks.schema import RaterIds, RaterKind

TableRows: TypeAlias = Any  # a list of dicts, a pandas or polars DataFrame, or a pyarrow Table
TaskLike: TypeAlias = str | Path | Task | TableRows
NO_MAPPING = (
    "mapping describes the columns of a table of ratings, but you passed a task folder. Drop "
    "mapping"
)
LABEL_KEYS = ("scale", "options", "positive", "abstain", "ignore", "rename")
ANSWER_KEYS = {  # keys of a mapping, named after the options of `harness curate import`
    setting.flag.removeprefix("--").replace("-", "_"): name
    for name, setting in options_of(AnswerSettings).items()
}
LISTED_KEYS = {*LABEL_KEYS} - {"scale"}
NO_ROLES = {"name", "property", "kind", "rater_ids", "lexicon", *ANSWER_KEYS}
ROWS = "rows"  # what errors are about
LOG = logging.getLogger("harness")


class TableMapping(TypedDict, total=False):
    """Roles of a table's columns. Missing roles are inferred, as in ``harness curate import``.

    Attributes
    ----------
    name, property : str
        Name of the task, and the rated property as a phrase for judges.
    id, text : str or sequence of str
        Columns that identify the item, and columns that judges see.
    image : str
        Only ``"none"``: rows in memory have no folder for image files. To use images, import a
        table file.
    raters : sequence of str
        Columns of ratings, one per rater (a wide table).
    rater, label : str
        Columns with the rater's name and the rating (a long table).
    set, elicitation : str
        Columns with a rater's response set and the elicitation, in addition to ``rater``.
    sets : sequence of str
        Columns with 1 or 0, one per option, which make up a rater's response set.
    judges : sequence of str
        Columns with verdicts, or the names of judges among the raters.
    group, criterion : str
        Columns with the cluster to resample, and with the rated criterion.
    rated_at : str
        Column with the time of a rating, in addition to ``rater``.
    criteria, counts : sequence of str
        Columns with ratings, one per criterion; columns with counts, one per option.
    votes, total, pattern : str
        Columns with all ratings of an item, and with the number of raters; the name pattern of
        columns per criterion and rater.
    options, positive, abstain, ignore, rename : sequence of str
        Labels that are options, in order; positive options; labels of raters who abstain; labels to
        leave out; other names of an option, as ``label=option``.
    scale : {"binary", "nominal", "ordinal", "pairwise"}
        Scale of the options.
    scales : {"shared", "own"}
        Whether several criteria share a scale.
    bounds : (float, float)
        Bounds of a continuous scale.
    lists : {"ratings", "sets", "counts", "raters"}
        What a list or an object in a cell contains.
    separator, none, decimal : str
        The separator of the options in a set; the option that a blank cell or an empty set stands
        for; the decimal mark, ``"comma"`` or ``"point"``.
    n_raters : int
        Number of raters per item, if cells are shares.
    on_duplicate : {"reject", "last"}
        Whether to reject a second rating of an item by the same rater, or to use the last one.
    rater_ids : {"real", "positional"}
        Whether rater columns identify people or only positions within an item.
    kind : {"expert", "skilled", "crowd"}
        Kind of raters, which sets the cost-benefit margin eps.
    lexicon : dict
        For the judge ``lexicon``: the options for ``"positive"`` and ``"negative"`` texts.
    """

    name: str
    property: str
    id: str | Sequence[str]
    text: str | Sequence[str]
    image: str
    raters: str | Sequence[str]
    rater: str
    label: str
    judges: str | Sequence[str]
    group: str
    criterion: str
    rated_at: str
    criteria: Sequence[str]
    counts: Sequence[str]
    votes: str
    total: str
    pattern: str
    options: Sequence[str]
    positive: Sequence[str]
    abstain: Sequence[str]
    ignore: Sequence[str]
    rename: Sequence[str]
    scale: ClosedScale
    set: str
    sets: Sequence[str]
    elicitation: str
    scales: ScaleSharing
    bounds: tuple[float, float]
    lists: CellLists
    separator: str
    none: str
    decimal: DecimalSign
    n_raters: int
    on_duplicate: OnDuplicate
    rater_ids: RaterIds
    kind: RaterKind
    lexicon: Mapping[str, str]


def load_task(task: TaskLike, *, mapping: TableMapping | None = None) -> Task:
    """Load a task, and check everything in it.

    Parameters
    ----------
    task : str, Path, list of dict, or DataFrame
        Name or path of a task folder, or a table of ratings.
    mapping : dict, optional
        For a table: which column is what, see `TableMapping`.

    Raises
    ------
    TaskError
        If the task does not exist, or something in it is wrong.

    Examples
    --------
    >>> task = harness.load_task("toxicity")
    >>> len(task.items), [option.key for option in task.options]
    (120, ['A', 'B'])
    """
    return read_task(task, mapping)[0]


def read_task(task: TaskLike, mapping: TableMapping | None) -> tuple[Task, list[Row]]:
    """Load a task. Return the task and, if it is a table, the table's verdicts."""
    if isinstance(task, str | Path | Task):
        if mapping:
            raise HarnessError(NO_MAPPING)
        return (task if isinstance(task, Task) else load_task_folder(task)), []
    if unknown := sorted(map(str, {*(mapping or {})} - TableMapping.__annotations__.keys())):
        advice = use_one_of(unknown[0], TableMapping.__annotations__, none="")
        raise HarnessError(f"mapping has no key {unknown[0]!r}", advice)
    records = list(_records(task))
    try:
        return _import_rows(records, mapping or {})
    except TaskError as error:
        columns = {name for record in records for name in record}
        error.reword(lambda text: in_mapping(text, columns))
        raise


def in_mapping(text: str, columns: Collection[str]) -> str:
    r"""Rewrite an error message's flags as mapping keys, and its column lists as Python lists.

    Examples
    --------
    >>> in_mapping("give --text title,body, or --raters", {"title", "body"})
    "give mapping['text'] = ['title', 'body'], or mapping['raters']"
    >>> print(in_mapping("pass --abstain 'don'\"'\"'t know' if", ()))
    pass mapping['abstain'] = "don't know" if
    """

    def renamed(found: re.Match[str]) -> str:
        key, word = found[1].replace("-", "_"), found[2] or ""
        if key not in TableMapping.__annotations__:
            return found[0]
        is_quoted = word.startswith(("'", '"'))
        names = ("".join(shlex.split(word)) if is_quoted else word).split(",") if word else []
        if not names or not (is_quoted or {*names} <= {*columns}):
            return f"mapping[{key!r}]" + (f" {word}" if word else "")
        return f"mapping[{key!r}] = {names if len(names) > 1 else names[0]!r}"

    return re.sub(r"""--([a-z][a-z-]*)(?: ((?:'[^']*'|"[^"]*")+|[\w.,-]*\w))?""", renamed, text)


def _import_rows(
    rows: Sequence[Mapping[str, object]], mapping: TableMapping
) -> tuple[Task, list[Row]]:
    """Convert a table of ratings to a task, inferring anything that the mapping leaves out."""
    from harness.tasks.columns.table_columns import plain_table  # noqa: PLC0415 -- numpy

    roles = {role: [*strings(n)] for role, n in mapping.items() if role not in NO_ROLES}
    said = {
        ANSWER_KEYS[key]: strings(value) if key in LISTED_KEYS else value
        for key, value in mapping.items()
        if key in ANSWER_KEYS
    }
    settings = read_options(AnswerSettings, said)
    records: list[Row] = msgspec.json.decode(_ENCODE(rows))
    rated = read_options(RatedOptions, mapping)
    table = (
        plain_table(records, ROWS)
        if roles
        else edge("curation", ImportEdge).read_records(records, ROWS)
    )
    name = mapping.get("name", ROWS)
    subject = _described(name, roles, table, settings, rated) or _guessed(
        name, roles, table, settings, rated
    )
    fields = {"lexicon": mapping["lexicon"]} if "lexicon" in mapping else {}
    task, verdicts, rejected = task_from(subject, fields)
    if rejected:
        more = f" and {len(rejected) - 1} more" if len(rejected) > 1 else ""
        LOG.warning("%s: left out: %s%s", ROWS, rejected[0], more)
    return task, verdicts


def _described(
    name: str,
    roles: Mapping[str, list[str]],
    table: Table,
    settings: AnswerSettings,
    rated: RatedOptions,
) -> TableTask | None:
    """Return the task that a mapping describes, or None if roles or labels remain unclear."""
    from harness.tasks.columns.table_columns import with_whole_sets  # noqa: PLC0415 -- numpy
    from harness.tasks.columns.table_reader import ItemColumns, TableTask  # noqa: PLC0415 -- numpy

    if not settings.model_dump(exclude_defaults=True).keys() <= {*LABEL_KEYS}:
        return None
    columns = whole_mapping(roles, table)
    if columns is None or not (columns.rater or rated.rater_ids):
        return None
    who = {"kind": rated.kind or columns.kind, "rater_ids": rated.rater_ids or "real"}
    cells = AnswerReader(with_whole_sets(table), columns)
    settings.check_labels(cells)
    if settings.is_whole:
        answers = TableAnswers.of(settings, ROWS, abstain=cells.abstains)
    else:
        guess = edge("curation", ImportEdge).guess_labels(cells, settings)
        if guess.doubts:
            return None
        answers = guess.answers
    return TableTask(
        name=name,
        rated=rated.model_copy(update=who),
        cells=cells,
        answers=answers,
        columns=ItemColumns(fields=columns.item_fields(table)),
    )


def _guessed(
    name: str,
    roles: Mapping[str, list[str]],
    table: Table,
    settings: AnswerSettings,
    rated: RatedOptions,
) -> TableTask:
    """Return the task that an import of the table would create. Reject image columns."""
    curation = edge("curation", ImportEdge)
    if roles.get("image", ["none"]) != ["none"]:
        raise TaskError(
            f"{ROWS}: rows in memory have no folder for images. Write the table to a file next to "
            "the images, and import that as a task."
        )
    known = {"image": ["none"], **roles}
    plans = curation.make_plans(name, table, known, settings=settings, rated=rated)
    settled = curation.settled(name, plans, table, rated, roles)
    plan, *others = plans if settled[0].mapping.image else settled
    if others:
        criteria = ", ".join(each.columns.criterion or "" for each in (plan, *others))
        raise TaskError(
            f"{ROWS}: {criteria} have different scales. Pass only the rows for one criterion."
        )
    settings.check_labels(plan.cells)
    plan.check()
    return plan


def strings(names: object) -> tuple[str, ...]:
    """Convert one or more column names, which are numbers in some frames, to strings."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (str(names),)
    return tuple(map(str, names))


def without_folder(error: HarnessError, scratch: Path) -> HarnessError:
    """Replace paths in a temporary folder with bare file names."""
    if isinstance(error, OptionError):
        return error
    return type(error)(str(error).replace(f"{scratch}/", ""))


def verdict_file(verdicts: str | Path | TableRows, scratch: Path) -> Path:
    """Return the path of a verdict file. Rows are first written to a file in ``scratch``."""
    if isinstance(verdicts, str | Path):
        return Path(verdicts)
    return _write_rows(verdicts, scratch / "verdicts.jsonl")


def _write_rows(rows: TableRows, file: Path) -> Path:
    return write_file(file, _ENCODER.encode_lines(list(_records(rows))))


def _records(rows: TableRows) -> Iterable[Mapping[str, object]]:
    """Yield the rows of a table as dicts, with None for missing values."""
    if hasattr(rows, "to_pylist"):  # pyarrow
        records = rows.to_pylist()
    elif hasattr(rows, "to_dicts"):  # polars
        records = rows.to_dicts()
    elif hasattr(rows, "to_dict"):  # pandas
        records = rows.to_dict("records")
    elif isinstance(rows, Iterable):
        records = rows
    else:
        raise TaskError(
            f"expected a task folder, rows or a DataFrame, but found {type(rows).__name__}."
        )
    for record in records:
        if not isinstance(record, Mapping):
            raise TaskError(f"rows: expected dicts, found {type(record).__name__}")
        yield {str(name): None if _is_missing(value) else value for name, value in record.items()}


def _is_missing(value: object) -> bool:
    """Return whether a value is NaN, or pandas' NA or NaT."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or type(value).__name__ in {"NAType", "NaTType"}


def _plain(value: object) -> object:
    """Convert a numpy value or a time to a value for JSON."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)
_ENCODE = _ENCODER.encode


class LabelGuess(Protocol):
    """Inferred meaning of the answers in a table."""

    @property
    def answers(self) -> TableAnswers:
        """Options of the task, and the option that each label stands for."""

    @property
    def doubts(self) -> Sequence[object]:
        """Points that remain unclear, if any."""


class ImportEdge(Protocol):
    """Interface to curation, which infers roles and labels that the user did not specify."""

    def read_records(self, records: Sequence[Row], name: str) -> Table:
        """Read rows in memory. Errors name the source as ``name``."""

    def guess_labels(self, cells: AnswerReader, settings: AnswerSettings) -> LabelGuess:
        """Infer the meaning of the answers in a table."""

    def make_plans(
        self,
        name: str,
        table: Table,
        roles: Mapping[str, Sequence[str]],
        *,
        settings: AnswerSettings,
        rated: RatedOptions | None = ...,
    ) -> tuple[TableTask, ...]:
        """Complete the settings, check that the table can become tasks, and return the plans."""

    def settled(
        self,
        name: str,
        plans: tuple[TableTask, ...],
        table: Table,
        rated: RatedOptions,
        roles: Collection[str],
    ) -> tuple[TableTask, ...]:
        """Return the plans for the only remaining interpretation, or else plans with questions."""
