"""Words of ordered scales, from low to high."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.tasks.columns.column_words import plain
from harness.tasks.options import key_ranks, keyed_labels

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MAX_STEPS = 20
OF_STEPS = re.compile(r"(?P<step>\d+)(?:\s*(?:/|of|out of)\s*\d+|\s+\D+).*", re.DOTALL)
SIGNS = re.compile("(?P<signs>\\*+|\u2605+|\u2b50+)\u2606*")


def plain_label(name: str) -> str:
    """Convert a label to lower case, without accents and with single spaces.

    Examples
    --------
    >>> plain_label("Très_bon"), plain_label("Neither agree nor  disagree")
    ('tres bon', 'neither agree nor disagree')
    """
    return " ".join(plain(name).replace("_", " ").replace("-", " ").replace("\u2019", "'").split())


def known_order(names: Collection[str]) -> Sequence[str] | None:
    """Return the known ordered scale that contains all labels, or None if there is none."""
    plain_labels = {plain_label(name) for name in names} if len(names) <= MAX_STEPS else {""}
    return next((order for order in ORDERS if plain_labels <= set(order)), None)


def step_numbers_of(names: Collection[str]) -> dict[str, int]:
    """Map labels such as ``1 - poor``, ``3/5``, ``2 stars`` or ``**`` to their numbers.

    The result is empty if a label has no number, or two labels have the same number.

    Examples
    --------
    >>> step_numbers_of(["★★☆", "★☆☆"]), step_numbers_of(["1/5", "poor"])
    ({'★★☆': 2, '★☆☆': 1}, {})
    """
    if keyed := keyed_labels(names):
        ranks = key_ranks(keyed)
        return ranks if all(part.key.lstrip("-").isdecimal() for part in keyed.values()) else {}
    for form in (OF_STEPS, SIGNS):
        matches = {name: form.fullmatch(name) for name in names}
        numbers = {
            name: len(match["signs"]) if form is SIGNS else int(match["step"])
            for name, match in matches.items()
            if match
        }
        if len(set(numbers.values())) == len(names):
            return numbers
    return {}


def _order(words: str) -> tuple[str, ...]:
    return tuple(plain_label(word) for word in words.split("|"))


WORDS = """
very low|low|medium|moderate|high|very high

none|low|moderate|high

none|mild|moderate|severe

none|minor|moderate|major|critical

no|maybe|yes

no|partially|yes

no|partly|yes

not relevant|somewhat relevant|relevant|highly relevant

never|rarely|sometimes|often|usually|always

strongly disagree|disagree|somewhat disagree|slightly disagree|
neither agree nor disagree|neutral|undecided|slightly agree|somewhat agree|agree|
strongly agree

very dissatisfied|dissatisfied|somewhat dissatisfied|neutral|somewhat satisfied|
satisfied|very satisfied

very unlikely|unlikely|neutral|likely|very likely

terrible|very poor|poor|fair|average|acceptable|good|very good|great|excellent

very bad|bad|average|okay|ok|good|very good

not at all|slightly|a little|somewhat|moderately|very|very much|extremely

very negative|negative|neutral|positive|very positive

much worse|worse|slightly worse|about the same|same|slightly better|better|much better

small|medium|large
"""  # an order per paragraph
ORDERS = tuple(_order(block.replace("\n", "")) for block in WORDS.strip().split("\n\n"))
