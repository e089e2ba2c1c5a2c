"""What is asked of a judge: a unit, its question and the messages that carry it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.tasks import Item, TemplateName
    from harness.tasks.images import Image
    from harness.tasks.item import Elicitation


NO_FILES: Mapping[TemplateName, str] = MappingProxyType({})


class Message(NamedTuple):
    """A turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str
    image: Image | None = None


class Unit(NamedTuple):
    """A unit of work for a judge: item, elicitation and sample number."""

    item: str
    elicitation: Elicitation
    sample: int = 0


class Question(NamedTuple):
    """What the messages of a unit ask.

    Attributes
    ----------
    item : Item
        As it is shown: its two answers are swapped where they are asked about in the other order.
    elicitation : str
        How it is asked for.
    sample : int
        Decides the order of the options, where that is shuffled.
    rated : Item
        The same item as the task has it.
    own : mapping of str to str
        Files of the judge's own templates, by the name of the template that each replaces.
    """

    item: Item
    elicitation: Elicitation
    sample: int
    rated: Item
    own: Mapping[TemplateName, str] = NO_FILES
