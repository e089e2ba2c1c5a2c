"""Result of checking a judge without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.serialize import schema_of
from harness.errors import ExitCode
from harness.stats import Estimate

if TYPE_CHECKING:
    from harness.files.json_values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRow:
    """Flip rate between two replies that should agree.

    Attributes
    ----------
    change : str
        Part of the check, or ``control`` for harmless edits to the text.
    flipped : Estimate
        Share of reply pairs with different answers. ``counts`` has the number of pairs ``n`` and of
        differing pairs ``k``. Its interval is exact with n = items.
    to_target : Estimate or None
        For instructions in the text, the share of pairs in which the judge follows them.
    """

    change: str
    flipped: Estimate
    to_target: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck:
    """A judge's behaviour on unlabelled items.

    Attributes
    ----------
    judge, task : str
        Names.
    n_items : int
        Items that the judge was run on.
    level : float
        Confidence level of the intervals.
    flipped : Estimate
        Share over all changes that keep the text's meaning, which excludes instructions in it.
    rows : tuple of FlipRow
        Results by change.
    outcomes : dict of str to int
        Replies by outcome; "answered" counts the readable ones.
    refused_parameters : tuple of str
        Parameters that the server rejects, in words with advice.
    cost_usd : float or None
        Cost of all replies; None if the price isn't known.
    n_replies : int
        Replies requested, including those from the cache.
    stopped : str
        Why requests stopped early; "" if they didn't.
    exit_code : ExitCode
        `DONE` if every request was sent.
    """

    judge: str
    task: str
    n_items: int
    level: float
    flipped: Estimate
    rows: tuple[FlipRow, ...]
    outcomes: dict[str, int]
    refused_parameters: tuple[str, ...]
    cost_usd: float | None
    n_replies: int
    stopped: str
    exit_code: ExitCode

    def __repr__(self) -> str:
        return f"JudgeCheck({self.judge!r}, {self.n_items} items, flipped {self.flipped.value})"

    def flipped_by(self, change: str) -> Estimate | None:
        """Return the flip rate under a prompt change, or None if the change was not tested."""
        return next((row.flipped for row in self.rows if row.change == change), None)

    @classmethod
    def json_schema(cls) -> JsonObject:
        """Return the JSON schema of ``harness check --json``."""
        return schema_of(cls)
