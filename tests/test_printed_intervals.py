"""Every interval that is printed names its procedure, and how often that holds is published."""

from __future__ import annotations

import ast
import csv
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from support.source_trees import source_nodes

from harness.stats.modes import IntervalConstruction

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"
PROCEDURES = frozenset(get_args(IntervalConstruction))
NAMES_ITSELF = {"Interval"}  # it has its method with it
NO_INTERVALS = {  # fields that are called low and high for another reason
    "Band": "lines of a chart",
    "Bound": "two estimates, each with its interval",
    "EndorsementLimit": "limits that the user names",
    "IntervalRow": "what a chart draws of an `Interval`",
    "Piece": "a range of beta between two break points",
    "PixelScale": "the axis of a chart",
    "AnnotatorPower": "the range of a simulated number",
}
ALIASES = {"InvertedEnd": {"inverted test"}, "FEnds": {"profile likelihood", "exact"}}

pytestmark = pytest.mark.slow  # reads the whole source


@cache
def classes_and_calls():
    """Return all classes of the package, and all calls."""
    nodes = source_nodes()
    return tuple(
        [node for node in nodes if isinstance(node, kind)] for kind in (ast.ClassDef, ast.Call)
    )


@cache
def printed_ends():
    """Return the annotation of every field that is an end, by class and field."""
    ends = {}
    for node in classes_and_calls()[0]:
        if node.name in NO_INTERVALS:
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                name = field.target.id
                if re.fullmatch(r"(\w+_)?(low|high|lower|upper)", name):
                    ends[f"{node.name}.{name}"] = ast.unparse(field.annotation)
    return ends


def procedures_in(annotation):
    """Return the procedures that an annotation names."""
    named = set(re.findall(r"'([^']+)'", " ".join(re.findall(r"MadeBy\(([^)]*)\)", annotation))))
    for alias, procedures in ALIASES.items():
        if re.search(rf"\b{alias}\b", annotation):
            named |= procedures
    return named


@cache
def methods_of_intervals():
    """Return the words that an `Interval` is made with."""
    found = set()
    for node in classes_and_calls()[1]:
        if getattr(node.func, "id", "") in {"Interval", "replace"}:
            words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            found |= words & PROCEDURES
    return found


@cache
def published():
    """Return the rows of the page's table of procedures: its names, and what it points to."""
    section = PAGE.read_text("utf-8").partition("## Every interval by its procedure")[2]
    section = section.partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\|([^|]*)\|$", section, re.MULTILINE)
    return dict(rows)


@cache
def known_rows():
    """Return the names of the rows of the two files of coverage."""
    names = set()
    for file, column in (("intervals.csv", "interval"), ("decision.csv", "claim")):
        with (ROOT / "benchmarks" / file).open(encoding="utf-8", newline="") as lines:
            names |= {row[column] for row in csv.DictReader(lines)}
    return names


def slugs_of(page):
    """Return the anchors of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def test_every_end_names_its_procedure():
    """Terminal, page, JSON, gate, plan, drift and estimate print these fields, or an `Interval`."""
    named = {
        field: procedures_in(annotation)
        for field, annotation in printed_ends().items()
        if field.split(".")[0] not in NAMES_ITSELF
    }
    unnamed = [field for field, procedures in named.items() if not procedures]
    assert unnamed == [], "these don't say how they come about. Annotate them with MadeBy"
    assert set().union(*named.values()) <= PROCEDURES


def test_fields_that_are_no_intervals_exist():
    """A class that is gone leaves the list."""
    assert NO_INTERVALS.keys() <= {node.name for node in classes_and_calls()[0]}


def test_every_procedure_is_used():
    """One that no field and no `Interval` names is left out of the type."""
    in_fields = set().union(*map(procedures_in, printed_ends().values()))
    assert in_fields | methods_of_intervals() == PROCEDURES


@pytest.mark.parametrize("procedure", sorted(PROCEDURES))
def test_every_procedure_has_its_row(procedure):
    """In intervals.csv or decision.csv by name, or in the table that the page links to."""
    assert procedure in published(), f"{procedure} is not in the table of {PAGE.name}"
    cell = published()[procedure]
    rows = set(re.findall(r'"([^"]+)"', cell))
    links = re.findall(r"\]\(([^)#]*)#([^)]+)\)", cell)
    assert rows or links, f"{procedure} has neither rows nor a table"
    assert rows <= known_rows()
    for page, anchor in links:
        assert anchor in slugs_of(PAGE.parent / page if page else PAGE)
