"""A record is a record, and a parameter has a type: what `Any` may stand for is listed here."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from support.source_trees import nodes_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

HARNESS = Path(__file__).resolve().parent.parent / "harness"
RECORD = "dict[str, Any]"
OF_UNTYPED_LIBRARIES = {  # parameters that hold objects of libraries without types
    "files.tables.native_readers:_cells:table",
    "files.tables.native_readers:_check_declared:declared",
    "files.tables.native_readers:_unpacked_bytes:array",
}
OF_OPTIONS = {  # records whose fields are those of another class, or a table of the module
    "options.concerns",
}


class Annotation(NamedTuple):
    """The text of an annotation: of a parameter, field, variable or alias, or of what is returned.

    Attributes
    ----------
    module : str
        Below ``harness``.
    kind : str
        ``parameter``, ``returned``, ``field``, ``variable`` or ``alias``.
    owner : str
        The function or class.
    name : str
        Of the parameter, field or alias; else "".
    text : str
        Without quotes; of an alias, what it stands for.
    """

    module: str
    kind: str
    owner: str
    name: str
    text: str


@cache
def annotations() -> tuple[Annotation, ...]:
    """Return those of all modules, which are parsed once."""
    found: list[Annotation] = []
    for path in sorted(HARNESS.rglob("*.py")):
        if "_bundled" not in path.parts:
            module = ".".join(path.relative_to(HARNESS).with_suffix("").parts)
            found += (Annotation(module, *row) for row in rows_of(path))
    return tuple(found)


def rows_of(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, owner, name and text of the annotations of a module."""
    for node in nodes_of(path):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield "returned", node.name, "", written(node.returns)
                for part in parameters(node):
                    yield "parameter", node.name, part.arg, written(part.annotation)
            case ast.ClassDef():
                fields = (part for part in node.body if isinstance(part, ast.AnnAssign))
                for part in fields:
                    yield "field", node.name, ast.unparse(part.target), written(part.annotation)
            case ast.AnnAssign():  # fields once more
                yield "variable", "", ast.unparse(node.target), written(node.annotation)
    for node in tree_of(path).body:
        if isinstance(node, ast.AnnAssign) and written(node.annotation) == "TypeAlias":
            yield "alias", "", ast.unparse(node.target), written(node.value)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.arg]:
    """Yield those that have a name of their own, which `*args` and `**options` have not."""
    arguments = function.args
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)


def written(annotation: ast.expr | None) -> str:
    """Return an annotation without quotes."""
    return "" if annotation is None else ast.unparse(annotation).replace("'", "")


def test_no_parameter_is_of_type_any():
    """It is `object` where anything is taken; `Any` is for objects of untyped libraries alone."""
    untyped = {
        f"{a.module}:{a.owner}:{a.name}"
        for a in annotations()
        if a.kind == "parameter" and a.text == "Any"
    }
    assert untyped == OF_UNTYPED_LIBRARIES


def test_no_record_is_a_dict_of_anything():
    """A value has named fields, or is a `JsonObject`: JSON that others write.

    That holds for what a function takes or returns, for fields, and for variables, in which the
    options of a call were put together.
    """
    found = {a.module for a in annotations() if a.kind != "alias" and RECORD in a.text}
    assert found == OF_OPTIONS


FIXED_WORDS = {  # names of values with a fixed set of words
    *("better", "elicitation", "kind", "level", "mode", "outcome", "ranks_by", "rater_ids"),
    *("reason", "scale", "state", "status", "unit", "interval_method", "origin"),
    *("interval_reason", "method", "estimand"),
}
WRITTEN_BY_OTHERS = {  # the words of a file, a page, an option or a column before they are read
    "api.table_tasks:elicitation",  # the name of a column
    "annotation.local_page:elicitation",
    "cli.rating_queue:kind",
    "curation.importing.convert:elicitation",
    "curation.verdicts.verdict_entries:elicitation",
    "curation.formats.annotation_tools:status",
    "tasks.columns.column_mapping:elicitation",
    "tasks.columns.table_answers:elicitation",
    "tasks.columns.table_reader:elicitation",
    "files.tables.native_readers:kind",
}
OPEN_SETS = {  # plug-ins and users add kinds of judges, metrics and perturbations; pydantic, slugs
    "analysis.recommendation_checks:kind",  # checks are declared in one tuple
    "report.verdict_words:kind",
    "analysis.inputs:kind",
    "analysis.judge_result:kind",
    "errors:kind",
    "judging.judges.judge_registry:kind",
    "extras.probe.flip_rates:kind",
    "extras.probe.perturbations:kind",
    "stats.inference.metric:kind",
    "stats.metrics.confusion:kind",
    "stats.metrics.distributional:kind",
    "stats.metrics.multi_label:kind",
}
OF_REQUESTS = {  # of HTTP, and why a call or a reply failed: codes of services among them
    "extras.batch.batch_apis:method",
    "extras.batch.batch_apis:reason",
    "errors:reason",
    "judging.judges.config:reason",
    "judging.judges.parameter_refusals:reason",
    "judging.judges.response_errors:reason",
    "judging.parsing.grammar:reason",
    "judging.parsing.verdict:reason",
    "judging.running.conversations:reason",
    "judging.running.rate_limit:reason",
    "judging.storage.verdict_columns:reason",
}
SENTENCES = {  # in the words of the reader, with what was found
    "annotation.questions:reason",
    "app.run:reason",
    "cli.progress:reason",
    "curation.audit.finding:reason",
    "curation.importing.convert:reason",
    "curation.collecting.rating_queue:reason",
    "curation.verdicts.verdict_import:reason",
    "extras.experiments.self_test:reason",
    "app.gates:reason",
    "judging.running.recorder:reason",
    "judging.running.session:reason",
    "judging.running.session_state:reason",
    "extras.racing.race_rounds:reason",
    "report.charts:reason",
    "revalidation.records:reason",
    "tasks.columns.table_reader:reason",
    "tasks.dataset_table:reason",
}


def test_a_value_with_a_fixed_set_of_words_has_that_type():
    """`elicitation: str` stood at 23 places, `reason: str` at 90: any word passed."""
    found = {
        f"{a.module}:{a.name}"
        for a in annotations()
        if a.kind in {"parameter", "field"}
        and a.name in FIXED_WORDS
        and a.text in {"str", "str | None"}
    }
    assert found == WRITTEN_BY_OTHERS | OPEN_SETS | OF_REQUESTS | SENTENCES


def test_json_of_others_has_one_type():
    """Written once, so that it is found where it is read."""
    aliases = {a.module for a in annotations() if a.kind == "alias" and a.text == RECORD}
    assert aliases == {"files.json_values"}
