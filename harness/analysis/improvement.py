"""Result of a search for a better prompt or strategy for a judge."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.analysis.serialize import to_json

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.stats.selection.paired_gain import PairedGain

NoClaim: TypeAlias = Literal["", "seen", "spent"]
SearchEnding: TypeAlias = Literal["improved", "not_improved", "no_claim", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Candidate prompt or strategy for the judge, which took part in a race.

    Attributes
    ----------
    round : int
        Round, from 1.
    judge : str
        Its name, which describes its prompt.
    fingerprint : str
        Its fingerprint in the ledger.
    n_items, n_calls : int
        Development items that it was run on in its round, and its replies.
    usd : float or None
        Original cost of these replies; None if a price is unknown.
    left_at_items : int or None
        Items drawn when it was shown to be no better than the best; None if it was not.
    is_best : bool
        Whether it had the lowest loss of its round.
    """

    round: int
    judge: str
    fingerprint: str
    n_items: int
    n_calls: int
    usd: float | None
    left_at_items: int | None
    is_best: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Improvement:
    """Result of a search for a better way to run a judge.

    Attributes
    ----------
    task, judge : str
        The rated task, and the judge in its original form.
    best : str
        The way of asking with the lowest loss on development items; ``judge`` if none is lower.
    ending : str
        "improved" (the gain on held-out items is significant), "not_improved", "no_claim" (``best``
        is not ``judge``, but no items are left to test it on, for the reason in ``no_claim``), or
        "stopped".
    no_claim : str
        "seen" (judges were tried on all items before the search) or "spent" (the held-out items
        were already used); "" if a claim is possible.
    spent_by : str
        Earlier use of the held-out items.
    path : str
        Folder of the search.
    candidates : tuple of Candidate
        Candidates in the order of the rounds.
    n_development, n_held_out : int
        Development and held-out items.
    n_calls, n_calls_full : int
        Replies that the rounds requested, and those needed to run every candidate on every
        development item.
    gain : PairedGain or None
        Gain on held-out items. If no claim is possible, gain without an interval on the development
        items that both were run on. None if ``best`` is ``judge`` or the search stopped.
    validation : Validation or None
        Validation of only ``best`` on the held-out items.
    n_needed : int or None
        Newly rated items that show a gain of ``worth`` in 80 % of searches; None with a claim.
    worth : float
        The gain that ``n_needed`` refers to.
    cost_ratio : float or None
        Cost per reply of ``best`` divided by that of ``judge``; None if either has no price.
    cost_usd, assumed_usd : float
        Costs of the whole search, as in `RunResult`.
    exit_code : int
        See `harness.errors.ExitCode`.
    resume : str
        The command that continues the search; "" if nothing is left.
    stopped_by : tuple of str
        Why it stopped, for each judge without all replies; empty if the search ended.
    changes : tuple of str
        Lines in which the prompt of ``best`` differs from that of ``judge``, as in a diff.
    run : str
        The command that runs ``best`` with the templates in the folder ``prompts`` of the search;
        "" if ``best`` is ``judge``.
    report : str
        The page that lists the candidates; "" before the search ends.
    """

    task: str
    judge: str
    best: str
    ending: SearchEnding
    no_claim: NoClaim = ""
    spent_by: str = ""
    path: str
    candidates: tuple[Candidate, ...]
    n_development: int
    n_held_out: int
    n_calls: int
    n_calls_full: int
    gain: PairedGain | None = None
    validation: Validation | None = None
    n_needed: int | None = None
    worth: float
    cost_ratio: float | None = None
    cost_usd: float
    assumed_usd: float = 0.0
    exit_code: int = 0
    resume: str = ""
    stopped_by: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    run: str = ""
    report: str = ""

    @property
    def is_improvement(self) -> bool:
        """Whether the gain on held-out items is significant."""
        return self.ending == "improved"

    def to_json(self) -> str:
        """Return the result as JSON. ``validation`` has the format of ``metrics.json``."""
        plain = json.loads(to_json(replace(self, validation=None)))
        if self.validation is not None:
            plain["validation"] = json.loads(self.validation.to_json())
        return json.dumps(plain, indent=1)

    def __repr__(self) -> str:
        return f"Improvement({self.judge!r} -> {self.best!r}, {self.ending})"
