"""The commented `task.yaml` of a task that was made from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tasks.options import DEFAULT_PROPERTY
from harness.tasks.schema import OPEN_SCALES
from harness.tasks.write import Field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from harness.command_options import RanksBy
    from harness.curation.import_plan import ImportPlan
    from harness.curation.option_guess import NamedOptions

PROPERTY = """
What is rated, as a phrase. Judges read it: say what your raters were asked."""
SCALE = """
binary, nominal, ordinal (options in order), pairwise, continuous or text."""
SIMILARITY = """\
How similar texts are: a table with the columns text, other and similarity, or
{embedding: NAME} for the cosine of vectors by a model of judges.yaml; without
it, the share of their words that two texts have in common."""
RATERS = """
expert, skilled or crowd: how much better than one rater a judge must be (eps)."""
RATER_IDS = """\
real: a rater's name is a person. positional: it is only a place within the item, and
then no test of single raters makes sense."""


def describe_task(
    plan: ImportPlan, raters: Mapping[str, int], fields: Collection[str], *, ranks_by: RanksBy
) -> Iterator[Field]:
    """Yield the commented fields of a planned task."""
    answers, table = plan.answers, plan.table.path.name
    made = f"Made from {table}. `harness schema task` lists every field."
    yield Field("name", plan.name, made)
    yield Field("property", plan.property or DEFAULT_PROPERTY, PROPERTY)
    instructions = "What else raters were told, if anything; judges are told the same."
    yield Field("instructions", "what they were told", instructions, is_example=True)
    yield Field("scale", answers.scale, SCALE)
    yield from _scale_fields(answers)
    yield Field("abstain", answers.abstain, "Whether CANNOT_ASSESS is an answer.")
    if answers.scale not in OPEN_SCALES:
        ranking = (
            "Ratings that rank judges, forced_choice or response_set, whatever is collected later."
        )
        yield Field("ranks_by", ranks_by, ranking)
    yield Field("raters", plan.kind, RATERS)
    yield Field("rater_ids", plan.rater_ids, RATER_IDS)
    yield Field("", comment=f"{len(raters)} raters gave {sum(raters.values())} ratings.")
    if answers.ignore:
        ignored = "Labels that are counted and left out."
        yield Field("ignore_labels", list(answers.ignore), ignored)
    shown = [plan.fields[name] for name in plan.mapping.text if plan.fields[name] in fields]
    if shown:
        yield Field("text", shown, "\nThe fields of items.jsonl that judges see.")
    source = f"{plan.source}; imported from {table}" if plan.source else table
    yield Field("source", source, "\nWhere the data come from, and on what terms.")
    yield Field("licence", plan.licence or "CC-BY-4.0", is_example=not plan.licence)


def _scale_fields(answers: NamedOptions) -> Iterator[Field]:
    """Yield the options or, of a continuous scale, the bounds."""
    if answers.scale == "text":
        yield Field("similarity", "similarity.csv", SIMILARITY, is_example=True)
    elif answers.scale == "continuous":
        bounds = "The least and the greatest number; without them, any number is an answer."
        ends = [int(end) if end.is_integer() else end for end in answers.bounds or (0.0, 100.0)]
        yield Field("bounds", ends, bounds, is_example=not answers.bounds)
    else:
        keys = "Each option has the key that the files use, and may have a label and a description."
        options = [
            {"key": key} | ({"label": label} if label != key else {})
            for key, label in answers.labels.items()
        ]
        yield Field("options", options, keys)
        positive = list(answers.positive) or list(answers.labels)[:1]
        decided = "The options that count as positive, for decisions at the cut-off tau."
        yield Field("positive", positive, decided, is_example=not answers.positive)
        accepted = (
            "An item is positive when at least this share of raters would accept a positive option."
        )
        yield Field("tau", 0.5, accepted, is_example=True)
