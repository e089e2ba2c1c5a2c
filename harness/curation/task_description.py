"""The commented `task.yaml` of a task that was made from a table."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from harness.tasks.options import DEFAULT_PROPERTY
from harness.tasks.schema import OPEN_SCALES, number_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from harness.command_options import RanksBy
    from harness.curation.import_plan import Plan
    from harness.curation.option_guess import Answers

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./()'-]*")
WORDS = frozenset({"yes", "no", "true", "false", "null", "on", "off", "y", "n", "none"})


def scalar(text: str) -> str:
    """Write a text as a YAML value.

    Examples
    --------
    >>> scalar("Not toxic"), scalar("4"), scalar("a: b")
    ('Not toxic', '"4"', '"a: b"')
    """
    plain = PLAIN.fullmatch(text) and text == text.strip() and text.casefold() not in WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)


def sequence(texts: Sequence[str]) -> str:
    """Write texts as a YAML list."""
    return f"[{', '.join(map(scalar, texts))}]"


def _source(plan: Plan) -> str:
    file = plan.table.path.name
    return f"{plan.source}; imported from {file}" if plan.source else file


def describe_task(
    plan: Plan, raters: Mapping[str, int], fields: Collection[str], *, ranks_by: RanksBy
) -> str:
    """Return the commented `task.yaml` of a planned task."""
    answers, mapping = plan.answers, plan.mapping
    shown = [plan.fields[name] for name in mapping.text if plan.fields[name] in fields]
    lines = [
        f"# Made from {plan.table.path.name}. `harness schema task` lists every field.",
        f"name: {scalar(plan.name)}",
        "",
        "# What is rated, as a phrase. Judges read it: say what your raters were asked.",
        f"property: {scalar(plan.property or DEFAULT_PROPERTY)}",
        "# What else raters were told, if anything; judges are told the same.",
        "# instructions: ...",
        "",
        "# binary, nominal, ordinal (options in order), pairwise, continuous or text.",
        f"scale: {answers.scale}",
        *_scale_lines(answers),
        "# Whether CANNOT_ASSESS is an answer.",
        f"abstain: {'true' if answers.abstain else 'false'}",
        *_ranking_lines(answers, ranks_by),
        "",
        "# expert, skilled or crowd: how much better than one rater a judge must be (eps).",
        f"raters: {plan.kind}",
        "# real: a rater's name is a person. positional: it is only a place within the item, and",
        "# then no test of single raters makes sense.",
        f"rater_ids: {plan.rater_ids}",
        f"# {len(raters)} raters gave {sum(raters.values())} ratings.",
    ]
    if answers.ignore:
        lines += [
            "# Labels that are counted and left out.",
            f"ignore_labels: {sequence(answers.ignore)}",
        ]
    if shown:
        lines += ["", "# The fields of items.jsonl that judges see.", f"text: {sequence(shown)}"]
    lines += [
        "",
        "# Where the data come from, and on what terms.",
        f"source: {scalar(_source(plan))}",
        f"licence: {scalar(plan.licence)}" if plan.licence else "# licence: ...",
    ]
    return "\n".join(lines) + "\n"


def _scale_lines(answers: Answers) -> list[str]:
    """Return the options or, of a continuous scale, the bounds."""
    if answers.scale == "text":
        return [
            "# How similar texts are: a table with the columns text, other and similarity, or",
            "# {embedding: NAME} for the cosine of vectors by a model of judges.yaml; without",
            "# it, the share of their words that two texts have in common.",
            "# similarity: similarity.csv",
        ]
    if answers.scale == "continuous":
        low, high = map(number_text, answers.bounds or (0.0, 100.0))
        bounds = f"bounds: [{low}, {high}]"
        return [
            "# The least and the greatest number; without them, any number is an answer.",
            bounds if answers.bounds else f"# {bounds}",
        ]
    return [
        "# Each option has the key that the files use, and may have a label and a description.",
        "options:",
        *(_option_line(key, label) for key, label in answers.labels.items()),
        "# The options that count as positive, for decisions at the cut-off tau.",
        _field_or_example("positive", answers.positive, list(answers.labels)[:1]),
        "# An item is positive when at least this share of raters would accept a positive option.",
        "# tau: 0.5",
    ]


def _ranking_lines(answers: Answers, ranks_by: RanksBy) -> list[str]:
    if answers.scale in OPEN_SCALES:
        return []
    return [
        "# Ratings that rank judges, forced_choice or response_set, whatever is collected later.",
        f"ranks_by: {ranks_by}",
    ]


def _option_line(key: str, label: str) -> str:
    more = f", label: {scalar(label)}" if label != key else ""
    return f"  - {{key: {scalar(key)}{more}}}"


def _field_or_example(field: str, values: Sequence[str], example: Sequence[str]) -> str:
    """Return a field with its values, or a commented example."""
    return f"{field}: {sequence(values)}" if values else f"# {field}: {sequence(example)}"
