"""Writes the pages of docs/reference from the code: `python docs/generate.py [FOLDER]`.

`tests/docs/test_docs.py` fails when what this writes is not what is committed. The pages in `BUILT`
are not: run this before `mkdocs build`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from formulas import BINARY, FORMULAS, NUMERIC, ORDINAL, RATERS, SENSITIVITY, TEXTS
from typer.testing import CliRunner

from harness import stats
from harness.analysis import Validation
from harness.cli import app
from harness.cli.lists import schema_of
from harness.files.regular_files import MAX_ENTRIES
from harness.files.strict_yaml import MAX_YAML_BYTES, MAX_YAML_DEPTH
from harness.files.tables import LIMITS
from harness.files.tables.checks import IMPORT_LIMITS, MAX_ID_CHARS
from harness.files.tables.strict_json import MAX_DEPTH
from harness.judging.parsing.verdict import (
    MAX_CELLS,
    MAX_JUDGES,
    MAX_NAME_CHARS,
    Verdict,
    verdict_schema,
)
from harness.report.glossary import GLOSSARY, PAPER_SYMBOLS
from harness.report.words import REASONS
from harness.stats.data.option_space import OptionSpace
from harness.stats.metrics import confusion
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.metrics.confusion import binary_metrics
from harness.stats.metrics.gwet import ac2_of_raters
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT
from harness.stats.metrics.icc import ICC
from harness.stats.metrics.ordinal import ordinal_metrics
from harness.stats.metrics.registry import METRICS
from harness.stats.metrics.set_agreement import set_agreement_metrics
from harness.stats.open_scales.open_metrics import numeric_metrics
from harness.stats.open_scales.text_answers import SIMILARITY
from harness.stats.selection.judge_sums import BETA, CROSS_CALL_BETA
from harness.tasks.dataset_fields import DatasetFields
from harness.tasks.options import MAX_KEY_CHARS, MAX_LABEL_CHARS, Lexicon, Option, Wording
from harness.tasks.schema import (
    MAX_OPTIONS,
    MAX_PHRASE_CHARS,
    MAX_POWERSET_OPTIONS,
    MAX_RESPONSE_SETS,
    TaskFile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.stats.inference.metric import Metric

HERE = Path(__file__).resolve().parent
BUILT = ("cli.md", "schemas.md", "coverage-rows.md")  # made when the site is published
SENSITIVITIES = (BETA, CROSS_CALL_BETA)
MARK = "<!-- Made by docs/generate.py from the code; do not edit. -->"


def main(folder: Path) -> None:
    """Write every generated page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "cli.md": cli(),
        "coverage-rows.md": coverage_rows(),
        "files.md": files(),
        "glossary.md": glossary(),
        "metrics.md": metrics(),
        "schemas.md": schemas(),
        "statistics.md": statistics(),
    }
    for name, text in pages.items():
        title, *rest = text.splitlines()  # the title first, as the site takes it from there
        body = "\n".join(line.rstrip() for line in (title, "", MARK, *rest))
        (folder / name).write_text(body + "\n", encoding="utf-8", newline="\n")


def fragment(name: str) -> str:
    """Prose that stands between generated parts."""
    return (HERE / "fragments" / f"{name}.md").read_text(encoding="utf-8")


def cli() -> str:
    """Help of every command, with every option."""
    os.environ["COLUMNS"] = "80"
    parts = [
        "# Command line",
        "",
        "`harness` alone says what to type first. Every help page, in full:",
        "",
    ]
    for words, command in _commands(typer.main.get_command(app)):
        has_more = any(parameter.name == "help_all" for parameter in command.params)
        flag = "--help-all" if has_more else "--help"
        shown = CliRunner().invoke(app, [*words, flag], prog_name="harness")
        title = " ".join(["harness", *words])
        parts += [f"## {title}", "", "```text", shown.output.rstrip(), "```", ""]
    return "\n".join([*parts, fragment("exit-codes")])


def _commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 -- typer's own type is private
    yield words, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, (*words, name))


def coverage_rows() -> str:
    """Every row of the simulations of decisions and intervals."""
    sys.path.append(str(HERE.parent))
    from benchmarks.decision import all_rows  # noqa: PLC0415 -- found in the repository alone

    return all_rows()


def files() -> str:
    """The task folder, verdict files and the run folder, field by field."""
    parts = [
        "# File formats",
        "",
        fragment("task-folder"),
        "### task.yaml",
        "",
        *_fields(TaskFile),
        "#### An option",
        "",
        *_fields(Option),
        "#### lexicon",
        "",
        *_fields(Lexicon),
        "#### verbalised",
        "",
        *_fields(Wording),
        "#### datasets",
        "",
        *_fields(DatasetFields),
        fragment("tables"),
        *_fields(Verdict, verdict_schema()),
        fragment("run-folder"),
        *_fields(Validation, Validation.json_schema()),
        "The whole schemas are on [their own page](schemas.md).",
        "",
        *_limits(),
    ]
    return "\n".join(parts)


def _limits() -> list[str]:
    """A table of what is refused for its size."""
    mib = 1 << 20
    rows = (
        ("table: size of the file", f"{LIMITS.n_bytes // mib:,} MiB"),
        ("table: size of a JSON file", f"{LIMITS.json_bytes // mib} MiB"),
        ("table: what a parquet file unpacks to", f"{LIMITS.unpacked_bytes // mib} MiB"),
        ("table: line", f"{LIMITS.line_bytes // mib} MiB"),
        ("table: text of a cell", f"{LIMITS.field_chars:,} characters"),
        ("table: rows", f"{LIMITS.n_rows:,}"),
        ("table: columns", f"{LIMITS.n_columns}; {IMPORT_LIMITS.n_columns:,} on import"),
        ("table: id of an item, rater, group or criterion", f"{MAX_ID_CHARS} characters"),
        ("JSON: nesting", f"{MAX_DEPTH} levels"),
        ("YAML: size of the file", f"{MAX_YAML_BYTES // 1024} KiB"),
        ("YAML: nesting", f"{MAX_YAML_DEPTH} levels"),
        ("task: options", f"{MAX_OPTIONS}"),
        ("task: response sets that are listed", f"{MAX_RESPONSE_SETS:,}"),
        (
            "task: options where response sets are `all`",
            f"{MAX_POWERSET_OPTIONS}; with more, only choices are asked",
        ),
        ("task: property, notice, source, licence", f"{MAX_PHRASE_CHARS:,} characters"),
        ("task: key, label of an option", f"{MAX_KEY_CHARS}, {MAX_LABEL_CHARS} characters"),
        (
            "judges of a run or of a file of verdicts",
            f"{MAX_JUDGES}; judges times squared options: {MAX_CELLS:,}",
        ),
        ("name of a judge", f"{MAX_NAME_CHARS} characters"),
        ("files in a run folder", f"{MAX_ENTRIES:,}"),
    )
    heads = ["## Limits", "", "Larger input is rejected with a one-line error and never cut.", ""]
    return [*heads, "| what | at most |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows), ""]


def _fields(model: Any, schema: dict[str, Any] | None = None) -> list[str]:  # noqa: ANN401 -- a class with fields
    """A table of a model's fields: type, default and what its docstring says."""
    descriptions: dict[str, str] = {}
    for base in reversed(model.__mro__):
        descriptions |= _attributes(base.__doc__ or "")
    schema = schema or model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in schema["properties"].items():
        default = "required" if name in required else f"`{json.dumps(field.get('default'))}`"
        kind = _type(field).replace("|", "\\|")
        meaning = descriptions.get(name, field.get("description", ""))
        rows.append(f"| `{name}` | {kind} | {default} | {meaning} |")
    return [*rows, ""]


def _attributes(doc: str) -> dict[str, str]:
    """What the Attributes section of a docstring says of each name."""
    descriptions: dict[str, str] = {}
    names: list[str] = []
    inside = False
    for line in cleandoc(doc).splitlines():
        if line == "Attributes":
            inside = True
        elif inside and re.match(r"[\w, ]+ : ", line):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
        elif inside and names and line.startswith("    "):
            for name in names:
                text = line.strip().replace("``", "`").replace("|", "\\|")
                descriptions[name] = f"{descriptions.get(name, '')} {text}".strip()
        elif inside and line and not line.startswith("-"):
            inside = False
    return descriptions


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        kinds = [_type(member) for member in field["anyOf"] if member.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    if field.get("type") == "object":
        return "mapping"
    if "$ref" in field:
        return field["$ref"].rsplit("/", 1)[-1]
    return str(field.get("type", "any"))


def metrics() -> str:
    """Every metric with formula, reading, direction, bounds, unit and source."""
    bases = list(dict.fromkeys(base_name(row.name) for row in (*METRICS, ADVANTAGE)))
    measures = (*confusion.BINARY, *confusion.DIAGNOSTICS)
    ordinal = ordinal_metrics(range(5))  # options that are amounts: all of them apply
    of_sets = set_agreement_metrics(OptionSpace.powerset(("yes", "no")).membership)
    among = (*HUMAN_AGREEMENT, ac2_of_raters(range(5)), *ICC, *of_sets)
    numeric, yes_or_no = (
        numeric_metrics(float("inf")),
        OptionSpace(("yes", "no"), (("yes",), ("no",))),
    )
    parts = [
        fragment("metrics"),
        *_formulas(bases, FORMULAS),
        "## Metrics of ordinal tasks",
        "",
        (
            "h and j are the places of the two modes on the scale. These metrics are reported "
            "in addition to those above."
        ),
        "",
        *_formulas([row.kind for row in ordinal], ORDINAL, _papers(ordinal)),
        "## Metrics of yes-or-no decisions",
        "",
        "These metrics need both positive and negative options. TP, FN, FP and TN are numbers of",
        "items. FN counts items that only the raters' mode calls positive. A = (TP + FN)(FN + TN),",
        "B = (TP + FP)(FP + TN). No view shows `prevalence`, `predicted_rate`, `p_e` and",
        "`kappa_over_phi`, which are in `harness.stats.metrics.confusion.DIAGNOSTICS`.",
        "",
        *_formulas([metric.name for metric in measures], BINARY, _papers(measures)),
        "## Metrics of numbers",
        "",
        "x is a number that the judge gave to an item, y the mean of the raters' numbers. Replies",
        "to the same item share its weight.",
        "",
        *_formulas([row.name for row in numeric], NUMERIC, _papers(numeric)),
        "## Metrics of texts",
        "",
        *_formulas([SIMILARITY.name], TEXTS, _papers((SIMILARITY,))),
        "## Hidden options",
        "",
        (
            "These metrics describe the raters and each judge, if the task has both positive "
            "and negative options."
        ),
        "",
        *_formulas([row.name for row in SENSITIVITIES], SENSITIVITY, _papers(SENSITIVITIES)),
        "## Agreement among raters",
        "",
        *_formulas([row.name for row in among], RATERS, _papers(among)),
        "## Direction, bounds and source",
        "",
        "With options:",
        "",
        *_bounds((*METRICS, ADVANTAGE, *ordinal, *binary_metrics(yes_or_no, ("yes",)))),
        "With numbers, whose width is the greatest minus the least of the scale, and texts:",
        "",
        *_bounds((*numeric, SIMILARITY)),
        "## Reasons of NA",
        "",
        "`reason` is the code for a missing value, and `interval_reason` for a missing interval.",
        "CSV and JSON contain these codes. The terminal, the page and the card explain them.",
        "",
        "| reason | in words |",
        "| --- | --- |",
        *(f"| `{reason}` | {words} |" for reason, words in sorted(REASONS.items())),
        "",
    ]
    return "\n".join(parts)


def _bounds(rows: Sequence[Metric]) -> list[str]:
    """A table of direction, bounds, unit and source."""
    table = ["| metric | better | bounds | unit | source |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        low, high = (f"{x:.3g}".replace("inf", "∞") for x in row.bounds)
        name = row.name.replace("|", "\\|")
        table.append(f"| `{name}` | {row.better} | {low} to {high} | {row.unit} | {row.paper} |")
    return [*table, ""]


def glossary() -> str:
    """Return every word of the report's glossary, and what the papers call it."""
    rows = [f"| {term.name} | {term.meaning} | {term.papers} |" for term in GLOSSARY]
    head = ["| word | meaning | in the papers |", "| --- | --- | --- |"]
    symbols = [f"| `{kind}` | {symbol} |" for kind, symbol in PAPER_SYMBOLS.items()]
    heads = ["| metric | in the papers |", "| --- | --- |"]
    title = [
        "# Glossary",
        "",
        "This page lists the terms in the report, and what the papers call them.",
        "",
    ]
    return "\n".join([*title, *head, *rows, "", "## Metrics", "", *heads, *symbols, ""])


def _papers(rows: Sequence[Any]) -> dict[str, str]:
    return {name: row.paper for row in rows for name in (row.name, row.kind)}


def _formulas(
    names: Sequence[str],
    table: Mapping[str, tuple[str, str]],
    papers: Mapping[str, str] | None = None,
) -> list[str]:
    """A table of formulas and readings, with sources where they are not given per row below."""
    if missing := [name for name in names if name not in table]:
        raise SystemExit(f"docs/formulas.py: {missing[0]!r} has no formula; add one.")
    rows = ["| metric | formula | reading | source |", "| --- | --- | --- | --- |"]
    if papers is None:
        rows = ["| metric | formula | reading |", "| --- | --- | --- |"]
    for name in names:
        formula, reading = table[name]
        source = f" {papers[name]} |" if papers else ""
        rows.append(f"| `{name}` | {formula} | {reading} |{source}")
    return [*rows, ""]


def base_name(name: str) -> str:
    """Name of a metric without its forms and its smoothing."""
    return re.sub(r"_(dirichlet|beta)_[\d.]+$", "", name.partition("(")[0])


def schemas() -> str:
    """The JSON schemas that `harness lab schema` prints."""
    parts = ["# JSON schemas", "", "As `harness lab schema NAME` prints them.", ""]
    for name in ("task", "verdicts", "metrics", "audit"):
        text = json.dumps(schema_of(name), indent=2)
        parts += [f"## {name}", "", "```json", text, "```", ""]
    return "\n".join(parts)


TABLES_OF_METRICS = {
    "BINARY": "The metrics of yes-or-no decisions.",
    "HUMAN_AGREEMENT": "The coefficients of agreement among raters.",
    "METRICS": "The metrics of every task with options.",
    "ORDINAL_METRICS": "The further metrics of ordinal tasks, whose options are 1 to K.",
}


def statistics() -> str:
    """What `harness.stats` offers, with the first line of each docstring."""
    by_module: dict[str, list[str]] = {}
    for name in sorted(stats.__all__):
        member = getattr(stats, name)
        module = str(getattr(member, "__module__", "Tables of metrics"))
        first = TABLES_OF_METRICS.get(name) or member.__doc__.strip().splitlines()[0]
        meaning = first.replace("|", "\\|").replace("``", "`")
        by_module.setdefault(module, []).append(f"| `{name}` | {meaning} |")
    parts = [fragment("statistics")]
    for module, rows in sorted(by_module.items()):
        title = module.removeprefix("harness.stats.")
        parts += [f"## {title}", "", "| name | meaning |", "| --- | --- |", *rows, ""]
    return "\n".join(parts)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "reference")
