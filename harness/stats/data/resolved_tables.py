"""Rating tables after abstentions or criteria are resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import numbered, ratio
from harness.stats.data.forms import hard, reaches
from harness.stats.data.option_space import OptionSpace
from harness.stats.data.rating_table import ELICITATIONS, OUTCOMES, Distributions, RatingTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import Counts, FloatArray, IntArray
    from harness.stats.modes import AbstentionMode

CHOICE, SET, PAIR = range(len(ELICITATIONS))
ANSWERED, ABSTAINED = OUTCOMES.index("answered"), OUTCOMES.index("abstained")
MET, UNMET = "met", "unmet"
ITEM_SPACE = OptionSpace.singletons((MET, UNMET))  # of whole items


def resolve_abstentions(
    table: RatingTable, mode: AbstentionMode, *, option: str = ""
) -> RatingTable:
    """Convert abstentions as the mode specifies.

    Parameters
    ----------
    table : RatingTable
        Table with abstentions among its outcomes.
    mode : {"exclude", "recode", "third_class"}
        exclude returns the table unchanged. recode counts an abstention as the choice ``option``
        and as the response set with only ``option``. third_class does the same with a separate
        option that is added to the space.
    option : str
        Option that abstentions become; with third_class, the name of the new option.

    Returns
    -------
    RatingTable
        Its outcomes count these abstentions as answered.

    Raises
    ------
    ValueError
        If the option is unknown, or with third_class, if it already exists.

    Notes
    -----
    Rao and Callison-Burch 2026, section 6: these are three estimands, not three ways to prepare
    data for one.
    """
    if mode == "exclude":
        return table
    grown = _with_option(table, option) if mode == "third_class" else table
    k, v = grown.space.option_index(option), grown.space.set_index((option,))
    abstained = table.outcomes[:, :, ABSTAINED]
    outcomes = grown.outcomes.copy()
    outcomes[:, :, ANSWERED] += abstained
    outcomes[:, :, ABSTAINED] = 0
    elicited = np.asarray(table.outcomes.any(axis=(0, 2)), dtype=np.bool_)
    choices, sets = grown.forced_choice.copy(), grown.response_set.copy()
    for counts, column, own in ((choices, k, CHOICE), (sets, v, SET)):
        place = own if elicited[own] else PAIR
        added: Counts = abstained[:, place]
        if ELICITATIONS[own] in table.exact:  # shares among all replies, not only answered ones
            added = np.nan_to_num(ratio(added, outcomes[:, place, ANSWERED]))
            np.multiply(counts, 1.0 - added[:, None], out=counts)
        counts[:, column] += added
    joint = grown.joint
    if joint is not None:
        joint = joint.copy()
        joint[:, k, v] += abstained[:, PAIR]
    return replace(grown, forced_choice=choices, response_set=sets, joint=joint, outcomes=outcomes)


def _with_option(table: RatingTable, option: str) -> RatingTable:
    """Add an option that nobody has chosen, along with a response set that contains only it."""
    old = table.space
    space = OptionSpace((*old.options, option), (*old.sets, (option,)), old.sets_known)
    places = [space.set_index(members) for members in old.sets]
    n, K, V = len(table.items), len(space.options), len(space.sets)
    is_exact = "response_set" in table.exact
    sets: Counts = np.zeros((n, V)) if is_exact else np.zeros((n, V), np.int64)
    nobody = np.zeros(n, np.int64)
    choices: Counts = np.c_[table.forced_choice, nobody]
    sets[:, places] = table.response_set
    joint: IntArray | None = None
    if table.joint is not None:
        joint = np.zeros((n, K, V), np.int64)
        joint[:, :-1, places] = table.joint
    return replace(table, space=space, forced_choice=choices, response_set=sets, joint=joint)


def one_verdict_per_group(
    table: RatingTable,
    groups: Sequence[str],
    *,
    positive: Sequence[str],
    threshold: float = 1.0,
    weights: FloatArray | None = None,
) -> RatingTable:
    """Combine each group's criteria into one verdict: whether enough of them are met.

    Parameters
    ----------
    table : RatingTable
        Table with one item per decision.
    groups : n names
        Subject of each decision.
    positive : sequence of str
        An item is met if the mode of its forced choices is one of these; a tie counts in part.
    threshold : float in (0, 1], optional
        Share of a group's items, or of their weight, that must be met; 1 requires all.
    weights : (n,) array, optional
        Weight of each decision; nan if its group has no verdict. Default: 1.

    Returns
    -------
    RatingTable
        One item per group, over the options "met" and "unmet"; empty if an item of the group has no
        choice.

    Raises
    ------
    ValueError
        If the items do not have one group each, or a positive option is unknown.

    Notes
    -----
    The item level of Rao and Callison-Burch 2026, section 5.1.
    """
    if len(groups) != len(table.items):
        raise ValueError(f"groups has {len(groups)} entries for {len(table.items)} items")
    mask = table.space.option_mask(positive)
    met: FloatArray = hard(Distributions.of(table).O)[:, mask].sum(axis=1)  # nan remains nan
    names, of_item = numbered(groups)
    w = np.ones(len(met)) if weights is None else weights
    passes = enough_met(met, of_item, w, threshold)
    n = len(names)
    choices = np.stack([passes == 1.0, passes == 0.0], axis=1).astype(np.int64)
    outcomes = np.zeros((n, len(ELICITATIONS), len(OUTCOMES)), np.int64)
    outcomes[:, CHOICE, ANSWERED] = choices.sum(axis=1)
    return RatingTable(
        space=ITEM_SPACE,
        name=table.name,
        items=names,
        forced_choice=choices,
        response_set=np.zeros_like(choices),
        joint=None,
        outcomes=outcomes,
    )


def enough_met(
    met: FloatArray, of_item: IntArray, weights: FloatArray, threshold: float
) -> FloatArray:
    """Return 1 for items whose weighted share of met criteria reaches a threshold, else 0 or nan.

    ``met`` and ``weights`` are (N,) for decisions; the result is (n,) for the items they belong to.
    """
    n = int(of_item.max(initial=-1)) + 1
    share = ratio(np.bincount(of_item, met * weights, n), np.bincount(of_item, weights, n))
    return reaches(share, threshold)
