"""The commented `task.yaml` for a task from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.files.plain_text import counted
from harness.tasks.item import OPEN_SCALES
from harness.tasks.write import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROPERTY = """
The rated property, as a phrase for judges: write what you asked your raters."""
SCALE = """
binary, nominal, ordinal (options in order), pairwise, continuous or text."""
SIMILARITY = """\
Similarity of texts: a table with the columns text, other and similarity, or
{embedding: NAME} for the cosine of vectors from a model in judges.yaml. Default:
the share of words that two texts have in common."""
RATERS = """
expert, skilled or crowd: how much better than one rater a judge must be (eps)."""
RATER_IDS = """\
real: a rater's name is a person. positional: it is only a position within the item, so
tests of single raters make no sense."""
RANKS_BY = (
    "Kind of ratings that rank judges, forced_choice or response_set, even if you add others."
)
OPTIONS = "Each option has the key that the files use, and may have a label and a description."
RESPONSE_SETS = """\
The response sets that raters and judges can choose: the sets in the table, and
each option by itself. Judges see this list. Add other reasonable sets."""
BOUNDS = "Lowest and highest number. Without bounds, any number is allowed."
TAU = "An item is positive when at least this share of raters would accept a positive option."


def commented(
    described: Mapping[str, Any], raters: Mapping[str, int], table: str
) -> Iterator[Field]:
    """Yield a task's fields with comments, and commented-out examples of missing fields.

    Parameters
    ----------
    described : mapping of str to object
        See `harness.tasks.columns.table_reader.TableTask.described`.
    raters : mapping of str to int
        Ratings per rater.
    table : str
        Name of the table.
    """

    def field(name: str, comment: str, example: object = "") -> Field:
        given = name in described
        return Field(name, described[name] if given else example, comment, is_example=not given)

    yield field("name", f"Made from {table}. `harness lab schema task` lists every field.")
    yield field("property", PROPERTY)
    instructions = "Other instructions for raters, if any. Judges see them too."
    yield field("instructions", instructions, "your instructions")
    yield field("scale", SCALE)
    if described["scale"] == "text":
        yield field("similarity", SIMILARITY, "similarity.csv")
    elif described["scale"] == "continuous":
        yield field("bounds", BOUNDS, [0, 100])
    else:
        yield field("options", OPTIONS)
        if "response_sets" in described:
            yield field("response_sets", RESPONSE_SETS)
        decided = "The options that count as positive, for decisions at the cut-off tau."
        yield field("positive", decided, [described["options"][0]["key"]])
        yield field("tau", TAU, 0.5)
    yield field("abstain", "Whether CANNOT_ASSESS is an answer.")
    if described["scale"] not in OPEN_SCALES:
        yield field("ranks_by", RANKS_BY)
    yield field("raters", RATERS)
    yield field("rater_ids", RATER_IDS)
    given = counted([sum(raters.values())], "rating")
    yield Field("", comment=f"{counted([len(raters)], 'rater')} gave {given}.")
    if "ignore_labels" in described:
        yield field("ignore_labels", "Labels to count and leave out.")
    if "text" in described:
        yield field("text", "\nThe fields of items.jsonl that judges see.")
    if "image" in described:
        yield field("image", "\nThe field that names an image in this folder, which judges see.")
    yield field("source", "\nOrigin of the data, and terms of use.")
    yield field("licence", "", "CC-BY-4.0")
