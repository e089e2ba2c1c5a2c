"""What a task says of the alternative annotator test: whom to compare with, and at which margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from harness.tasks.options import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tasks.model import Item, Rating

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
N_SETS = 2


class AltTestFields(Frozen):
    """How the alternative annotator test is done; what is left out is done the usual way.

    Attributes
    ----------
    eps : float in [0, 1), or None
        Margin, in place of the usual one of the kind of raters.
    expert : str or None
        A rater with whom the judge and the others are compared, too, instead of with each other.
    gold : str or None
        The field of the items that holds the key of the right answer; compared with at margin 0.
        Judges are not shown it unless it stands in ``text``.
    quality : dict of str to float
        How much each rater weighs: a number above 0 for every one.
    combine : tuple of tuple of str
        Two sets of raters who rated different items: one of each becomes one rater, in all ways.
    """

    eps: float | None = Field(None, ge=0, lt=1)
    expert: str | None = None
    gold: str | None = None
    quality: dict[str, Positive] = Field(default_factory=dict)
    combine: tuple[tuple[str, ...], ...] = ()


def check_alt_test(
    said: AltTestFields, keys: Sequence[str], items: Sequence[Item], ratings: Sequence[Rating]
) -> None:
    """Check what a task says of the test against its items and ratings.

    Raises
    ------
    ValueError
        With a message that begins with the field, then says what was found and what to do.
    """
    raters = dict.fromkeys(rating.rater for rating in ratings)
    named = {
        "expert": () if said.expert is None else (said.expert,),
        "quality": tuple(said.quality),
        "combine": tuple(rater for one in said.combine for rater in one),
    }
    for field, given in named.items():
        if unknown := [rater for rater in given if rater not in raters]:
            raise ValueError(f"alt_test.{field}: {unknown[0]!r} rated no item; name a rater")
    if missing := [rater for rater in raters if said.quality and rater not in said.quality]:
        raise ValueError(f"alt_test.quality: {missing[0]!r} has no number; give every rater one")
    sets = said.combine
    once = len(set(named["combine"])) == len(named["combine"])
    if sets and not (len(sets) == N_SETS and all(sets) and once):
        raise ValueError("alt_test.combine: wanted two sets of raters, each rater in one")
    if twice := _rated_by_both(sets, ratings):
        raise ValueError(
            f"alt_test.combine: item {twice!r} was rated by both sets; only raters of different "
            "items can become one"
        )
    if said.gold is not None:
        _check_gold(said.gold, keys, items)


def _rated_by_both(sets: Sequence[Sequence[str]], ratings: Sequence[Rating]) -> str | None:
    rated = [{rating.item for rating in ratings if rating.rater in one} for one in sets]
    return min(set.intersection(*rated), default=None) if rated else None


def _check_gold(field: str, keys: Sequence[str], items: Sequence[Item]) -> None:
    right = {item.id: item.fields[field] for item in items if item.fields.get(field)}
    if not right:
        raise ValueError(f"alt_test.gold: no item has a field {field!r}; name the one with answers")
    for item, answer in right.items():
        if answer not in keys:
            raise ValueError(
                f"alt_test.gold: item {item!r} has {answer!r}, which is no option; "
                f"the option keys are {', '.join(keys)}"
            )
