"""A record is a record, and a parameter has a type: what `Any` may stand for is listed here."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HARNESS = Path(__file__).resolve().parent.parent / "harness"
RECORD = "dict[str, Any]"
OF_UNTYPED_LIBRARIES = {  # parameters that hold objects of libraries without types
    "tasks.tables.native_readers:_cells:table",
    "tasks.tables.native_readers:_check_declared:declared",
    "tasks.tables.native_readers:_unpacked_bytes:array",
}
OF_OPTIONS = {  # records whose fields are those of another class, or a table of the module
    "command_options",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(HARNESS.rglob("*.py")):
        if "_bundled" not in path.parts:
            name = ".".join(path.relative_to(HARNESS).with_suffix("").parts)
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    yield from (node for node in ast.walk(tree) if isinstance(node, kinds))


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
        f"{name}:{function.name}:{parameter.arg}"
        for name, tree in modules()
        for function in functions(tree)
        for parameter in parameters(function)
        if written(parameter.annotation) == "Any"
    }
    assert untyped == OF_UNTYPED_LIBRARIES


def test_no_record_is_a_dict_of_anything():
    """What a function takes or returns and what an object holds has named fields, or is a
    `JsonObject`: JSON that others write."""
    found = set()
    for name, tree in modules():
        for function in functions(tree):
            annotations = [function.returns, *(p.annotation for p in parameters(function))]
            found |= {name for annotation in annotations if RECORD in written(annotation)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                found |= {name for field in fields if RECORD in written(field.annotation)}
    assert found == OF_OPTIONS


FIXED_WORDS = {  # names of values with a fixed set of words
    *("better", "elicitation", "kind", "level", "mode", "outcome", "ranks_by", "rater_ids"),
    *("reason", "scale", "state", "status", "unit", "interval_method", "origin"),
    *("interval_reason", "method", "estimand"),
}
WRITTEN_BY_OTHERS = {  # the words of a file, a page, an option or a column before they are read
    "annotation.local_page:elicitation",
    "cli.rating_queue:kind",
    "curation.convert:elicitation",
    "curation.verdict_sources.verdict_entries:elicitation",
    "interop.annotation_tools:status",
    "stats.inference.interval_methods:method",
    "tasks.columns.column_mapping:elicitation",
    "tasks.columns.table_answers:elicitation",
    "tasks.columns.table_reader:elicitation",
    "tasks.tables.native_readers:kind",
}
OPEN_SETS = {  # plug-ins and users add kinds of judges, metrics and perturbations; pydantic, slugs
    "analysis.inputs:kind",
    "analysis.result:kind",
    "errors:kind",
    "judging.judges.judge_registry:kind",
    "probe.flip_rates:kind",
    "probe.perturbations:kind",
    "stats.inference.metric:kind",
    "stats.metrics.confusion:kind",
    "stats.metrics.distributional:kind",
    "stats.metrics.multi_label:kind",
}
OF_REQUESTS = {  # of HTTP, and why a call or a reply failed: codes of services among them
    "batch.batch_apis:method",
    "batch.batch_apis:reason",
    "errors:reason",
    "judging.judges.config:reason",
    "judging.judges.response_errors:reason",
    "judging.parsing.grammar:reason",
    "judging.parsing.verdict:reason",
    "judging.running.ask:reason",
    "judging.running.rate_limit:reason",
    "judging.storage.verdict_columns:reason",
}
SENTENCES = {  # in the words of the reader, with what was found
    "annotation.questions:reason",
    "app:reason",
    "cli.progress:reason",
    "curation.audit.finding:reason",
    "curation.convert:reason",
    "curation.rating_queue:reason",
    "curation.verdict_sources.verdict_import:reason",
    "experiments.self_test:reason",
    "gates:reason",
    "judging.running.recorder:reason",
    "judging.running.session:reason",
    "racing.race_rounds:reason",
    "report.charts:reason",
    "revalidation.records:reason",
    "tasks.columns.table_reader:reason",
    "tasks.dataset_table:reason",
}


def test_a_value_with_a_fixed_set_of_words_has_that_type():
    """`elicitation: str` stood at 23 places, `reason: str` at 90: any word passed."""
    found = set()
    for name, tree in modules():
        fields = [
            (part.target.id, part.annotation)
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        ]
        taken = [
            (p.arg, p.annotation) for function in functions(tree) for p in parameters(function)
        ]
        found |= {
            f"{name}:{word}"
            for word, annotation in (*fields, *taken)
            if word in FIXED_WORDS and written(annotation) in {"str", "str | None"}
        }
    assert found == WRITTEN_BY_OTHERS | OPEN_SETS | OF_REQUESTS | SENTENCES


def test_json_of_others_has_one_type():
    """Written once, so that it is found where it is read."""
    aliases = {
        name
        for name, tree in modules()
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and written(node.annotation) == "TypeAlias"
        and written(node.value) == RECORD
    }
    assert aliases == {"json_values"}
