"""Commands in texts are listed, quoted, and run by a test of their situation."""

from __future__ import annotations

import ast
import re

from support.command_texts import PACKAGE, command_texts, situations
from support.source_trees import nodes_of

QUOTING = {"quote", "join", "argument", "resume_command", "words", "validate_anew", "_on_judges"}
PLAIN = {  # names, numbers and words that are made of safe characters, or are quoted elsewhere
    *("explained", "labels", "TABLE", "_escaped", "_on_labels", "slug"),
    *("SCHEMA_VERSION", "METRICS_SCHEMA", "number", "n_items", "changed_by", "kind", "budget"),
    *("task_name", "plan", "folder_name", "folder", "asked", "verdicts", "items", "name", "new"),
    *("task", "first", "second", "there", "named", "goal", "table", "copy"),
}


def values_in_commands():
    """Yield each value that a text puts into a command, with its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in nodes_of(path):
            if not isinstance(text, ast.JoinedStr):
                continue
            before = ""
            for part in text.values:
                if isinstance(part, ast.Constant):
                    before += str(part.value)
                    continue
                last = re.split(r"[`\n]", before)[-1] if before.count("`") % 2 == 0 else before
                if re.search(r"harness [a-z-]+[^`.;]*$", last.rpartition("`")[2]):
                    yield f"{path.name}:{part.lineno}", part.value
                before += "{}"


def is_quoted(value):
    """Whether a value is quoted for a shell, or is made of safe characters."""
    call = getattr(value, "func", None)
    name = getattr(call, "id", getattr(call, "attr", "")) or getattr(
        value, "id", getattr(value, "attr", "")
    )
    return name in QUOTING | PLAIN or isinstance(value, ast.BinOp | ast.Subscript)


def test_values_in_printed_commands_are_quoted():
    """A path with a space was printed bare in a dozen messages, so that its command failed."""
    bare = [f"{place}: {ast.unparse(v)}" for place, v in values_in_commands() if not is_quoted(v)]
    assert not bare, "\n".join(bare)


OF_OTHERS = "is a part of commands of other functions, which have situations"
HELP = "names a command in the help of an option"
NAME = "names the command that runs, in its messages"
FILE = "says which command wrote a file"
NOT_RUN = {  # texts with a command that no test runs, and why
    OF_OTHERS: {
        "command_to_resume: resume_command()",
        "command_to_watch: harness revalidate {} {} {}",
        "command_to_improve: harness improve {} --judge {} {}",
        "look_command: harness revalidate {} {} {}",
        "resume_command: harness resume {} {} {}",
        "run_command: harness run --task {}",
        "validate_anew: harness run --task {} --judges {}",
        "with_command: harness {}",
    },
    HELP: {
        "FindingOptions: harness curate audit",
        "Holdout: harness confirm",
        "MadeTask: harness curate export",
        "NewTaskOptions: harness curate import",
        "PromptFiles: harness improve writes such a folder",
        "NextOptions: harness annotate --queue",
        "NextOptions: harness validate",
        "TeamOptions: harness curate next",
        "TrustFiles: harness annotate --queue",
        "EstimateSubject: harness trust",
        "export: harness revalidate accepts it",
        "sufficiency_findings: harness validate",
        "FIRST_STEPS: harness curate import ratings.csv --as mine",
        "EXAMPLES: harness resume",
        "github.yml.jinja: harness revalidate overdue",
    },
    NAME: {
        "SUITE: harness gate",
        "_print_version: harness {}",
        "_annotate: harness revalidate::{}",
        "_opened: harness cache copy",
        "_rate: harness annotate",
        "describe_store: harness doctor",
        "annotate.js: harness annotate",
        "merge: harness annotate",
        "new_task: harness curate",
        "refusal: harness {}",
        "view.js: harness view",
    },
    FILE: {
        "read_export: harness curate export --to argilla",
        "read_export: harness curate export --to label-studio",
        "read_team_export: harness curate export --to {}",
    },
    "is a step of a pipeline, which tests/revalidation/test_schedule.py runs": {
        "github.yml.jinja: harness revalidate",
        "github.yml.jinja: harness history",
        "gitlab.yml.jinja: harness revalidate",
        "gitlab.yml.jinja: harness history",
    },
}


def test_each_command_in_a_text_is_run_in_its_situation():
    """A new text with a command needs a `situation`, or a reason why there can't be one."""
    texts, run = set(map(str, command_texts())), set(situations())
    not_run = set().union(*NOT_RUN.values())
    assert run | not_run == texts, (texts - run - not_run, (run | not_run) - texts)
    assert not run & not_run
