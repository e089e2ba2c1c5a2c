"""What to do next, as actions of a page: commands to copy, and a list of the items to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.charts import items_link
from harness.report.formatting import counted
from harness.report.next_steps import READ_ERRORS, next_steps

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.report.html.details import Details


@dataclass(frozen=True, slots=True)
class Action:
    """One next step.

    Attributes
    ----------
    parts : tuple of (str, bool)
        Its text in pieces; True for a command to copy.
    link, link_text : str
        A filtered list of items on the page; "" for none.
    """

    parts: tuple[tuple[str, bool], ...] = ()
    link: str = ""
    link_text: str = ""


def actions(v: Validation, details: Details | None) -> list[Action]:
    """Return each next step with its commands, and with a link if it's about items."""
    return [_action(v, details, sentence) for sentence in next_steps(v)]


def _action(v: Validation, details: Details | None, sentence: str) -> Action:
    leader = v.decision.leader
    n_wrong = _n_wrong(details, leader) if leader and sentence in READ_ERRORS.values() else 0
    if n_wrong:
        link = items_link(judge=leader or "", agreement="differs")
        wrong = f"the {counted([n_wrong])} that {leader} gets wrong"
        return Action(link=link, link_text=f"Read {wrong}")
    pieces = enumerate(sentence.removesuffix("`.").split("`"))
    return Action(tuple((text, bool(i % 2)) for i, text in pieces if text))


def _n_wrong(details: Details | None, judge: str) -> int:
    """Count the listed items on which most of a judge's replies differ from most raters'."""
    if details is None or judge not in details.items.judges:
        return 0
    j = details.items.judges.index(judge)
    return sum(row.judges[j].agreement == "differs" for row in details.items.rows)
