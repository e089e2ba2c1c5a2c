"""A table is read in one place, and ``task.yaml`` is written in one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from support.source_trees import nodes_of

HARNESS = Path(__file__).resolve().parent.parent / "harness"


def modules_that(*names: str) -> set[str]:
    """Return the modules that use an attribute or a name, each dotted as it is written."""
    return {module for module, used in names_by_module().items() if used & set(names)}


@cache
def names_by_module() -> dict[str, frozenset[str]]:
    """Return the dotted names that each module uses."""
    return {
        str(path.relative_to(HARNESS).with_suffix("")).replace("/", "."): used_names(path)
        for path in HARNESS.rglob("*.py")
    }


def used_names(path: Path) -> frozenset[str]:
    nodes = nodes_of(path)
    return frozenset(filter(None, map(dotted, nodes)))


def dotted(node: ast.AST) -> str:
    """Return ``a`` or ``a.b.c``, and "" for all that is not such a name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            owner = dotted(value)
            return f"{owner}.{name}" if owner else ""
    return ""


def test_one_module_writes_task_yaml():
    """The others describe fields; the example of ``curate new`` is a file that is copied."""
    assert modules_that("yaml.dump", "yaml.safe_dump") == {"tasks.write"}
    for path in HARNESS.rglob("*.py"):
        text = path.read_text("utf-8")
        nodes = nodes_of(path) if re.search(r"TASK_FILE|task\.yaml", text) else ()
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        written = [
            ast.unparse(call)
            for call in calls
            if ast.unparse(call.func).endswith(("write_file", "write_text", "write_bytes"))
            and re.search(r"TASK_FILE|'task\.yaml'", ast.unparse(call))
        ]
        assert bool(written) is (path.name == "write.py"), (path, written)


def test_one_package_opens_tables():
    """Whatever a table is for, its bytes are read by ``harness.files.tables``."""
    opening = {
        "csv.reader",
        "csv.DictReader",
        "parquet.ParquetFile",
        "parquet.read_table",
        "pq.ParquetFile",
        "pq.read_table",
        "load_workbook",
    }
    assert modules_that(*opening) <= {"files.tables.reader", "files.tables.native_readers"}
    by_pandas = [
        module
        for module, used in names_by_module().items()
        if any(re.fullmatch(r"(pd|pandas|pl|polars)\.(read|scan)_\w+", name) for name in used)
    ]
    assert by_pandas == []


def test_few_modules_know_csv():
    """One reads it; the others write it."""
    users = {
        str(path.relative_to(HARNESS).with_suffix("")).replace("/", ".")
        for path in HARNESS.rglob("*.py")
        if re.search(r"^\s*(import csv\b|from csv import)", path.read_text("utf-8"), re.MULTILINE)
    }
    reading, *writing = "files.tables.reader", "files.tables.writer", "report.export"
    assert users == {reading, *writing, "curation.importing.convert"}


READ_WHOLE = {  # modules that read a file without a limit: files of the package, or checked before
    "annotation.local_page",
    "curation.importing.new_folder",
    "curation.importing.source_formats",
    "curation.verdicts.inspect_logs",
    "curation.verdicts.promptfoo_results",
    "curation.verdicts.verdict_tables",
    "judging.model_names",
    "report.html.rendering",
    "report.served.loopback",
    "report.served.run_pages",
    "revalidation.schedule",
    "stats.__init__",
    "files.tables.reader",
}


def test_a_file_of_others_is_read_up_to_a_limit():
    """By ``files.read_file``, or after its size was checked."""
    users = {
        str(path.relative_to(HARNESS).with_suffix("")).replace("/", ".")
        for path in HARNESS.rglob("*.py")
        if re.search(r"\.read_(bytes|text)\(", path.read_text("utf-8"))
    }
    assert users == READ_WHOLE


def test_one_class_turns_rows_into_ratings():
    """An import, rows in memory and a data set in place differ in what they do with them."""
    assert modules_that("TableReader") == {"tasks.columns.table_reader", "tasks.dataset_table"}
    assert modules_that("TableTask") == {
        "curation.importing.reading_facts",
        "curation.importing.import_plan",
        "api.table_tasks",
        "tasks.load",
    }
    cells = modules_that("labels_of") - {
        "tasks.columns.cell_values",
        "curation.importing.import_plan",
    }
    assert all(name.startswith("tasks.columns.") or "guess" in name for name in cells), cells


def test_one_class_says_which_answers_a_task_admits():
    """Ratings, verdicts from another tool and answers of a page or a team are read by one rule."""
    assert modules_that("AnswerRules.of") == {
        "annotation.questions",
        "judging.parsing.external_verdicts",
        "tasks.human_ratings",
    }
    checking = modules_that("checked_value") - {"annotation.questions"}
    assert checking >= {"annotation.merged_ratings", "annotation.teams.team_answers"}


def test_values_of_verdicts_are_read_by_one_class():
    """Those of `--verdicts`, and those that `harness curate verdicts` writes for it."""
    assert modules_that("ValueReader") == {
        "judging.parsing.external_verdicts",
        "curation.verdicts.verdict_import",
    }
    matching = modules_that("key_text", "open_answer", "parse_open") - {
        "curation.verdicts.promptfoo_results",  # names of items
        "curation.verdicts.verdict_tables",  # names of items and judges
        "judging.parsing.external_verdicts",
    }
    assert not any(name.startswith("curation") for name in matching), matching


@pytest.mark.slow
def test_one_loop_asks_units():
    """A batch, a look, a probe and a race have units asked by it, and none by itself."""
    assert modules_that("Asker") == {"judging.running.asker"}


def test_no_attribute_of_a_judge_is_set_from_outside():
    """But for the copy that an endpoint makes of itself; a session keeps the job of its judge."""
    found = [
        (path.name, ast.unparse(target))
        for path in HARNESS.rglob("*.py")
        if re.search(r"judge\.|setattr\(judge", path.read_text("utf-8"))
        for node in nodes_of(path)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if re.search(r"(^|\.)judge\.\w+$", ast.unparse(target))
        or ast.unparse(node).startswith("setattr(judge")
    ]
    assert sorted(found) == [("endpoint.py", "judge.wire"), ("session.py", "judge.job")]
