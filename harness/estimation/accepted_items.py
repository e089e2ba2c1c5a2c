"""Which verdicts on unlabelled items can stand without a person, part by part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.analysis.verdict_trust import judged_by, verdict_trust
from harness.errors import OptionError
from harness.files.regular_files import append_text
from harness.files.tables.writer import csv_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.analysis import Source
    from harness.judging.parsing.verdict import Verdict
    from harness.options.result_options import Trusting
    from harness.stats.modes import ErrorKind
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind

FILE = "accepted.csv"
COLUMNS = ("item", "judge", "value", "confidence", "accepted")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedShare:
    """How many verdicts on unlabelled items can stand.

    Attributes
    ----------
    n_accepted, n_items : int
        Verdicts that can stand, of those on unlabelled items.
    max_error, level : float
        With this confidence, their mean error in the population is at most ``max_error``.
    error_kind : {"majority", "rater", "set"}
        What counts as an error.
    path : Path
        A row for each item.
    """

    n_accepted: int
    n_items: int
    max_error: float
    level: float
    error_kind: ErrorKind
    path: Path


class AcceptedItems:
    """Applies to unlabelled items what rated ones show, and writes a row for each.

    The judge is asked once about an unlabelled item, so its first replies decide about the rated
    ones, too: the agreement of several replies is no confidence here.
    """

    def __init__(
        self, source: Source, judge: str, trusting: Trusting, path: Path, *, level: float, n: int
    ) -> None:
        assert trusting.max_error is not None, "the caller checks that there is a bound"
        first = [verdict for verdict in source.verdicts[judge] if verdict.sample == 0]
        self.trust, self._rule = verdict_trust(
            replace(source, verdicts={**source.verdicts, judge: first}, replies_voted_on={}),
            judge,
            max_error=trusting.max_error,
            error_kind=trusting.error_kind,
            level=level,
            n_judges=n,
        )
        self.path = path / FILE
        self.n_accepted = self.n_items = 0

    def add(self, task: Task, items: Sequence[Item], verdicts: Sequence[Verdict]) -> None:
        """Add the verdicts on a part of the items."""
        asked = {verdict.item for verdict in verdicts}
        answered = [item for item in items if item.id in asked]
        judged = judged_by(self._rule, task, answered, self.trust.judge, verdicts)
        rows = [
            {
                "item": row.item,
                "judge": self.trust.judge,
                "value": row.value or "",
                "confidence": "" if row.confidence is None else f"{row.confidence:.6g}",
                "accepted": "true" if row.accepted else "false",
            }
            for row in judged
        ]
        text = csv_text(rows, COLUMNS)
        if not self.n_items:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.unlink(missing_ok=True)
        append_text(self.path, text if not self.n_items else text.partition("\n")[2])
        self.n_items += len(judged)
        self.n_accepted += sum(row.accepted for row in judged)

    @property
    def share(self) -> AcceptedShare:
        """How many can stand so far."""
        return AcceptedShare(
            n_accepted=self.n_accepted,
            n_items=self.n_items,
            max_error=self.trust.max_error,
            level=self.trust.level,
            error_kind=self.trust.error_kind,
            path=self.path,
        )


def check_trusting(trusting: Trusting, answers: AnswerKind, *, votes: bool, weighted: bool) -> bool:
    """Return whether the error has a bound; reject a bound that an estimate can't apply.

    Raises
    ------
    OptionError
        If the estimate asks for response sets or has strata, the judge's verdicts are votes, or
        there's an error without a bound.
    """
    if trusting.max_error is None:
        if trusting.error_kind != "majority":
            raise OptionError("error_kind", "it goes with {max_error}", "Add that one")
        return False
    if answers != "forced_choice":
        problem = "this estimate asks for response sets, and only single answers can stand"
        raise OptionError(
            "max_error", problem, "Leave {max_error} out, or validate with {ranks_by} forced_choice"
        )
    if weighted:
        problem = "no bound of the error is known for items that are weighted by strata"
        raise OptionError("max_error", problem, "Leave {max_error} or {strata} out")
    if votes:
        problem = "the judge's verdicts are votes, and an estimate asks once"
        raise OptionError("max_error", problem, "Leave {max_error} out")
    return True
