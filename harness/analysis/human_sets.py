"""Source of the raters' response sets: ratings, pairs of some raters, or a beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.stats.indeterminacy.reconstruction import missing_pairs
from harness.stats.indeterminacy.translation import pairs_by_item

if TYPE_CHECKING:
    from harness.analysis.inputs import Source
    from harness.stats import RatingTable

Origin: TypeAlias = Literal["rated", "reconstructed", "assumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanSets:
    """Where the response sets of the raters come from, and which pairs there are.

    Attributes
    ----------
    origin : {"rated", "reconstructed", "assumed"}
        The sets that raters gave; those that the forced choices of all imply by the F' of the pairs
        of some; those that they imply by an assumed beta.
    by_default : bool
        Whether nobody asked for this origin.
    missing_pairs : str
        What the pairs lack to stand for the choices without a set; "" where they suffice.
    n_pairs, n_paired_items, n_paired_raters : int
        Pairs whose choice is in their set, the items that have any, and the raters who gave both
        forms on an item.
    """

    origin: Origin
    by_default: bool
    missing_pairs: str
    n_pairs: int
    n_paired_items: int
    n_paired_raters: int


def human_sets(source: Source, human: RatingTable) -> HumanSets:
    """Decide where the response sets of the raters come from.

    Unless the user says so, they are reconstructed where the pairs suffice (see `missing_pairs`),
    and beta is assumed or most forced choices have no set beside them.

    Parameters
    ----------
    human : RatingTable
        What the raters answered, abstentions resolved.
    """
    pairs, missing = pairs_by_item(human), missing_pairs(human)
    n_pairs = int(pairs.sum())
    wanted = source.beta is not None or 2 * n_pairs < human.forced_choice.sum()
    origin: Origin = "rated" if source.beta is None else "assumed"
    if source.humans == "reconstructed" or (
        source.humans is None and source.level != "item" and not missing and wanted
    ):
        origin = "reconstructed"
    return HumanSets(
        origin=origin,
        by_default=source.humans is None,
        missing_pairs=missing,
        n_pairs=n_pairs,
        n_paired_items=int(pairs.any(axis=(1, 2)).sum()),
        n_paired_raters=_n_paired_raters(source),
    )


def _n_paired_raters(source: Source) -> int:
    ratings, items = source.task.ratings, {item.id for item in source.items}
    sets = {(r.item, r.rater) for r in ratings if r.elicitation == "response_set"}
    choices = {
        (r.item, r.rater)
        for r in (ratings if sets else ())
        if r.elicitation == "forced_choice" and r.item in items
    }
    return len({rater for _, rater in sets & choices})
