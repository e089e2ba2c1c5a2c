"""Groups of metrics (Guerdan et al. 2025, table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.analysis import Validation


@dataclass(frozen=True, slots=True)
class Group:
    """A family of metrics.

    Attributes
    ----------
    family : str
        As the metrics' own facts name it.
    description : str
        What they compare, in a sentence.
    """

    family: str
    description: str

    @property
    def title(self) -> str:
        """The family as a heading."""
        return self.family[:1].upper() + self.family[1:]


GROUPS = (
    Group(
        "downstream",
        "What the judge is used for: deciding item by item, and estimating how many are positive.",
    ),
    Group(
        "continuous multi-label",
        "How likely each option is to be found reasonable, compared option by option.",
    ),
    Group(
        "categorical multi-label",
        "Whether the judge stays within the options that the raters allow.",
    ),
    Group("distributional", "How often each option is chosen, compared as distributions."),
    Group("categorical", "One label a side: the most frequent answer, right or wrong."),
    Group("binary", "The same, with the positive options against all others."),
)
OTHER = Group("further", "Metrics outside these groups.")


def grouped(v: Validation, names: Iterable[str]) -> list[tuple[Group, list[str]]]:
    """Return the groups that hold any of these metrics, in order; every name is in one of them."""
    family = {facts.name: facts.family for facts in v.metrics}
    families = {group.family for group in GROUPS}
    members: dict[str, list[str]] = {}
    for name in names:
        group = family.get(name, "")
        members.setdefault(group if group in families else OTHER.family, []).append(name)
    groups = (*GROUPS, OTHER)
    return [(group, members[group.family]) for group in groups if group.family in members]
