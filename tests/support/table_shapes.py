"""Data sets of the truth folder, written out in the shapes that tables of ratings have."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

LIKERT = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")


@dataclass(frozen=True)
class Ratings:
    """Ratings of a data set: base item and criterion, rater, label."""

    name: str
    rows: tuple[tuple[str, str, str, str], ...]
    texts: dict[str, str]
    options: tuple[str, ...]

    @cached_property
    def items(self) -> list[str]:
        return list(dict.fromkeys(item for item, *_ in self.rows))

    @cached_property
    def criteria(self) -> list[str]:
        return list(dict.fromkeys(criterion for _, criterion, *_ in self.rows))

    @cached_property
    def raters(self) -> list[str]:
        return sorted({rater for *_, rater, _ in self.rows})

    def relabelled(self, change: Callable[[str], str]) -> Ratings:
        rows = tuple((i, c, r, change(v)) for i, c, r, v in self.rows)
        return Ratings(self.name, rows, self.texts, tuple(map(change, self.options)))


@cache
def read_ratings(folder: Path, n_items: int | None = None) -> Ratings:
    """Read a data set; raters are renamed ``annotator_1``, ... and every item gets a text."""
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items = {item["id"]: item for item in map(json.loads, lines)}
    base = {key: _base(key, item.get("criterion")) for key, item in items.items()}
    names = list(dict.fromkeys(base.values()))
    chosen = dict.fromkeys(names[:: len(names) // (n_items or len(names))])  # spread: labels vary
    with (folder / "ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            (base[r["item"]], items[r["item"]].get("criterion", ""), r["rater"], r["value"])
            for r in csv.DictReader(file)
            if base[r["item"]] in chosen
        ]
    raters = sorted({rater for *_, rater, _ in rows})
    annotators = {rater: f"annotator_{i}" for i, rater in enumerate(raters, 1)}
    texts = {item: f"This is the text of item number {i}." for i, item in enumerate(chosen)}
    options = tuple(map(str, meta["options"] or ()))
    return Ratings(
        folder.name, tuple((i, c, annotators[r], v) for i, c, r, v in rows), texts, options
    )


def _base(key: str, criterion: str | None) -> str:
    return key.removesuffix(criterion).rstrip("_-") if criterion else key


@dataclass
class Shape:
    """A table of a data set.

    Attributes
    ----------
    anonymous : bool
        Whether the raters of an item cannot be told apart.
    ratings : Ratings
        What an import must yield, with its labels.
    """

    header: list[str]
    cells: list[list[str]]
    ratings: Ratings
    anonymous: bool = False
    delimiter: str = ","
    encoding: str = "utf-8"
    ending: str = "csv"
    notes: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.ratings.name}.{self.ending}"
        if self.ending == "xlsx":
            return _write_xlsx(path, self.header, self.cells)
        with path.open("w", encoding=self.encoding, newline="") as file:
            csv.writer(file, delimiter=self.delimiter).writerows([self.header, *self.cells])
        return path


def _write_xlsx(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(header)
    for row in rows:
        sheet.append([int(cell) if cell.isdecimal() else cell or None for cell in row])
    book.save(path)
    return path


def wide(data: Ratings) -> Shape:
    """A row per item, or per item and criterion; a column per rater."""
    cells = {(i, c, r): v for i, c, r, v in data.rows}
    several = len(data.criteria) > 1
    header = ["item_id", "text", *(["criterion"] if several else []), *data.raters]
    rows = [
        [
            item,
            data.texts[item],
            *([criterion] if several else []),
            *(cells.get((item, criterion, rater), "") for rater in data.raters),
        ]
        for item in data.items
        for criterion in data.criteria
        if any((item, criterion, rater) in cells for rater in data.raters)
    ]
    return Shape(header, rows, data)


def long(data: Ratings) -> Shape:
    """A row per rating."""
    several = len(data.criteria) > 1
    header = ["item_id", "text", *(["criterion"] if several else []), "annotator", "label"]
    rows = [
        [item, data.texts[item], *([criterion] if several else []), rater, label]
        for item, criterion, rater, label in data.rows
    ]
    return Shape(header, rows, data)


def criteria_as_columns(data: Ratings) -> Shape:
    """A row per item and rater; a column per criterion."""
    cells: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for item, criterion, rater, label in data.rows:
        cells[item, rater][criterion] = label
    names = [criterion or "quality_label" for criterion in data.criteria]
    rows = [
        [item, data.texts[item], rater, *(labels.get(c, "") for c in data.criteria)]
        for (item, rater), labels in cells.items()
    ]
    return Shape(["item_id", "text", "annotator", *names], rows, data)


def criterion_annotator(data: Ratings) -> Shape:
    """A row per item; a column per criterion and rater."""
    cells = {(i, c, r): v for i, c, r, v in data.rows}
    pairs = [(c, r) for c in data.criteria for r in data.raters]
    names = [f"{c or 'label'}_{r.replace('annotator_', 'ann')}" for c, r in pairs]
    rows = [
        [item, data.texts[item], *(cells.get((item, *pair), "") for pair in pairs)]
        for item in data.items
    ]
    return Shape(["item_id", "text", *names], rows, data)


def _counted(data: Ratings) -> Iterator[tuple[list[str], Counter[str]]]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item, criterion, _, label in data.rows:
        counts[item, criterion][label] += 1
    several = len(data.criteria) > 1
    for (item, criterion), labels in counts.items():
        yield [item, data.texts[item], *([criterion] if several else [])], labels


def _counted_shape(
    data: Ratings, columns: Sequence[str], cells: Callable[[Counter[str]], list[str]]
) -> Shape:
    several = len(data.criteria) > 1
    header = ["item_id", "text", *(["criterion"] if several else []), *columns]
    rows = [[*opening, *cells(labels)] for opening, labels in _counted(data)]
    return Shape(header, rows, data, anonymous=True)


def _labels(data: Ratings) -> list[str]:
    return sorted({label for *_, label in data.rows})


def counts(data: Ratings) -> Shape:
    """A column per option with the number of raters, and their total."""
    labels = _labels(data)
    return _counted_shape(
        data,
        [*(f"n_{label}" for label in labels), "n_raters"],
        lambda c: [*(str(c[label]) for label in labels), str(c.total())],
    )


def soft_labels(data: Ratings) -> Shape:
    """A column per option with the share of raters, and their number."""
    labels = _labels(data)
    return _counted_shape(
        data,
        [*(f"p_{label}" for label in labels), "n_raters"],
        lambda c: [*(f"{c[label] / c.total():.6f}" for label in labels), str(c.total())],
    )


def lists(data: Ratings) -> Shape:
    """A column with all of an item's ratings."""
    return _counted_shape(data, ["labels"], lambda c: [json.dumps([*c.elements()])])


def bom(data: Ratings) -> Shape:
    """A wide table with a byte order mark."""
    shape = wide(data)
    shape.encoding = "utf-8-sig"
    return shape


def semicolons(data: Ratings) -> Shape:
    """A long table with semicolons between the cells."""
    shape = long(data)
    shape.delimiter = ";"
    return shape


def excel(data: Ratings) -> Shape:
    """A wide workbook."""
    shape = wide(data)
    shape.ending = "xlsx"
    return shape


def likert_words(data: Ratings) -> Shape:
    """A long table with words for the steps of an ordinal scale of five."""
    if data.options == tuple("12345"):
        words = dict(zip("12345", LIKERT, strict=True))
        return long(data.relabelled(words.__getitem__))
    return long(data)


def mixed_case(data: Ratings) -> Shape:
    """A wide table whose labels are written in upper, lower and mixed case."""
    shape = wide(data)
    rng = random.Random(3)
    start = len(shape.header) - len(data.raters)
    for row in shape.cells:
        row[start:] = [rng.choice([cell, cell.upper(), cell.lower()]) for cell in row[start:]]
    return shape


SHAPES = (
    wide,
    long,
    criteria_as_columns,
    criterion_annotator,
    counts,
    soft_labels,
    lists,
    bom,
    semicolons,
    excel,
    likert_words,
    mixed_case,
)
