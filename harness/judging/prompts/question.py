"""Questions for judges: units of work, and what their messages contain."""

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
    """Turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str
    image: Image | None = None


class Unit(NamedTuple):
    """Unit of work for a judge: an item, an elicitation and a sample number."""

    item: str
    elicitation: Elicitation
    sample: int = 0


class Question(NamedTuple):
    """Content of the messages for one unit of work.

    Attributes
    ----------
    item : Item
        The item as shown: its two answers are swapped if this sample uses the other order.
    elicitation : str
        The kind of answer to ask for.
    sample : int
        Sets the order of the options, if they are shuffled.
    rated : Item
        The same item, unchanged from the task.
    own : mapping of str to str
        The judge's own template files, by the name of the template that each replaces.
    """

    item: Item
    elicitation: Elicitation
    sample: int
    rated: Item
    own: Mapping[TemplateName, str] = NO_FILES
