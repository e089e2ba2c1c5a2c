"""Acceptance of verdicts on unlabelled items without human review, one chunk of items at a time."""

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
    """Number of verdicts on unlabelled items that can be accepted.

    Attributes
    ----------
    n_accepted, n_items : int
        Number of accepted verdicts, and of unlabelled items.
    max_error, level : float
        With confidence ``level``, the accepted verdicts' mean error in the population is at most
        ``max_error``.
    error_kind : {"majority", "rater", "set"}
        Definition of an error.
    path : Path
        File with a row for each item.
    """

    n_accepted: int
    n_items: int
    max_error: float
    level: float
    error_kind: ErrorKind
    path: Path


class AcceptedItems:
    """Writer of verdicts on unlabelled items that accepts those above a threshold from rated items.

    The judge runs once on each unlabelled item, so the threshold uses only its first reply to each
    rated item. Agreement between several replies therefore can't serve as the judge's confidence.
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
        """Add the verdicts on a chunk of items, and append them to the file."""
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
        """Number of verdicts that can be accepted so far."""
        return AcceptedShare(
            n_accepted=self.n_accepted,
            n_items=self.n_items,
            max_error=self.trust.max_error,
            level=self.trust.level,
            error_kind=self.trust.error_kind,
            path=self.path,
        )


def check_trusting(trusting: Trusting, answers: AnswerKind, *, votes: bool, weighted: bool) -> bool:
    """Return whether an error bound is set. Reject a bound that an estimate can't apply.

    Raises
    ------
    OptionError
        If the estimate uses response sets or strata, the judge's verdicts are votes, or a kind of
        error is set without a bound.
    """
    if trusting.max_error is None:
        if trusting.error_kind != "majority":
            raise OptionError(
                "error_kind", "this option works only with {max_error}", "Add that option"
            )
        return False
    if answers != "forced_choice":
        problem = "this estimate uses response sets, but only single answers can be accepted"
        raise OptionError(
            "max_error", problem, "Leave out {max_error}, or validate with {ranks_by} forced_choice"
        )
    if weighted:
        problem = "there's no error bound for items weighted by strata"
        raise OptionError("max_error", problem, "Leave out {max_error} or {strata}")
    if votes:
        problem = "the judge's verdicts are votes, but an estimate requests one reply per item"
        raise OptionError("max_error", problem, "Leave out {max_error}")
    return True
