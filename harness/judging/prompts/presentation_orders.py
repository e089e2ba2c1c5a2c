"""Orders of the options in prompts, and conversion between shown and own keys.

If the keys are letters, they stay in place and the labels move (``A: Not toxic``), so neither a
position nor a letter always means the same option. Other keys, such as words and grades, move with
their labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.tasks import Option


Order = tuple[str, ...]  # the options' keys as shown; () for the task's order
N_ORDERS = 2


@dataclass(frozen=True, slots=True)
class OptionOrders:
    """Random order of the options for each sample of an item.

    Attributes
    ----------
    options : tuple of Option
        The task's options, in its order.
    seed : int
        Seed of the draw.
    """

    options: tuple[Option, ...]
    seed: int

    def order_for(self, item: str, sample: int) -> Order:
        """Return the order for a sample of an item, which is the same in all elicitations.

        In K successive samples of K options, every option appears once in every position.
        """
        block, shift = divmod(sample, len(self.options))
        keys = sorted(
            (option.key for option in self.options),
            key=lambda key: sha256(f"{self.seed}\0{item}\0{block}\0{key}".encode()).digest(),
        )
        return (*keys[shift:], *keys[:shift])

    @property
    def moves_labels(self) -> bool:
        """Whether only labels change places, because the keys are just letters."""
        return all(o.key.isalpha() and len(o.key) == 1 and o.label != o.key for o in self.options)

    def shown(self, order: Order) -> Sequence[Option]:
        """Return the options in the shown order, with their shown keys."""
        by_key = {option.key: option for option in self.options}
        if not order:
            return self.options
        moved = [by_key[key] for key in order]
        if not self.moves_labels:
            return moved
        return [
            option.model_copy(update={"key": place.key})
            for place, option in zip(self.options, moved, strict=True)
        ]

    def keys_shown(self, order: Order) -> Mapping[str, str]:
        """Map each option's own key to the key that is shown."""
        shown = (option.key for option in self.shown(order))
        own = order or (option.key for option in self.options)
        return dict(zip(own, shown, strict=True))

    def members_shown(self, order: Order, members: Iterable[str]) -> tuple[str, ...]:
        """Return the shown keys of a set's options in the order in which they are shown."""
        wanted = set(members)
        return tuple(shown for own, shown in self.keys_shown(order).items() if own in wanted)

    def own_keys(self, order: Order, shown: Iterable[str]) -> tuple[str, ...]:
        """Convert shown keys to the options' own keys, in the task's order."""
        wanted = set(shown)
        named = {own for own, key in self.keys_shown(order).items() if key in wanted}
        return tuple(option.key for option in self.options if option.key in named)


def is_swapped(item: str, turn: int) -> bool:
    """Return whether a turn shows an item's two answers in reverse order.

    Successive turns alternate. A hash of the item's id sets the first order, so that neither order
    comes first on all items.
    """
    return (sha256(item.encode("utf-8", "surrogatepass")).digest()[0] + turn) % N_ORDERS == 1
