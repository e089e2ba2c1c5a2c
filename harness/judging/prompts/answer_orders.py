"""The order of the two answers of a pairwise item, which alternates between replies.

A judge may favour the answer that stands first, whatever it says. Asked in both orders, it favours
either answer as often; its verdicts are turned back, so that they name the answers of the item.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from harness.judging.prompts.strategies import ENDORSEMENTS

if TYPE_CHECKING:
    from harness.tasks import Task

N_ORDERS = 2


def is_swapped(item: str, turn: int) -> bool:
    """Return whether the answers of an item stand in the other order in a turn.

    Successive turns alternate. A hash of the item's id decides how they begin, so that neither
    order comes first on all items.
    """
    return (sha256(item.encode("utf-8", "surrogatepass")).digest()[0] + turn) % N_ORDERS == 1


def turn_of(sample: int, strategy: str, task: Task) -> int:
    """Return the number of the turn that a sample belongs to; endorsements take one per option."""
    return sample // len(task.options) if strategy in ENDORSEMENTS else sample
