"""What values do not imply: a question, what the draft takes, and other readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Doubt:
    """A question that values do not answer.

    Attributes
    ----------
    question : str
        What is unclear, with the options that settle it.
    accept : mapping of str to object
        Settings of the answers that the draft takes, where they are not those of the user.
    others : tuple of mapping
        Roles and settings of other readings, each as far as it differs from the draft.
    about : tuple of str
        Roles that are unclear, beside those of other readings.
    in_table : bool
        Whether no option settles it, but a change of the table alone.
    """

    question: str
    accept: Mapping[str, object] = field(default_factory=dict)
    others: tuple[Mapping[str, object], ...] = ()
    about: tuple[str, ...] = ()
    in_table: bool = False
