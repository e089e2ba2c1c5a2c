"""Votes over several replies of one judge (self-consistency) or over several judges.

They are computed from other verdicts, without additional calls. A unit has a verdict once all its
votes are complete:

- If a vote failed, so did the verdict.
- If at least half of the votes are answers, the verdict is the option that most of them name, or
  the set of options that more than half of them accept. On a continuous scale, it is their median.
- Otherwise, it has the most common outcome of the other votes, or the first in `OUTCOMES` if tied.

Ties between options, and options that exactly half accept, are drawn using a hash of judge, unit
and option. The draw is therefore reproducible and does not favour any option. If the set is empty
or not admissible, the most common set is used. In a pair, the votes on set and choice are separate.
In a weighted ensemble, answers count by the weights of their members (`Weighted`), and "more than
half" means more than half of the total weight of the members that answered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from math import fsum
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from harness.judging.parsing.grammar import OUTCOMES
from harness.judging.parsing.verdict import PairValue, Verdict
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.grammar import Outcome
    from harness.judging.parsing.verdict import Value
    from harness.judging.strategies.strategy import Combining
    from harness.stats import OptionSpace
    from harness.tasks import Task
    from harness.tasks.item import Elicitation, OpenScale

NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})
Named = TypeVar("Named", str, tuple[str, ...])  # an option, or the options of a set
Choosable: TypeAlias = "OptionSpace | OpenScale"  # the scale, if there are no options


class Ballot(NamedTuple):
    """Subject of a vote. ``look`` is the number of a later round, which breaks ties anew."""

    judge: str
    item: str
    elicitation: Elicitation
    sample: int
    look: int = 0


def votes_by_unit(
    verdicts: Iterable[Verdict], of: Combining, n_votes: int, *, n_replies: int = 1
) -> list[tuple[Ballot, list[Verdict]]]:
    """Collect the votes on each unit, and drop units that lack some votes."""
    votes: defaultdict[Ballot, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        sample = verdict.sample // n_replies
        ballot = Ballot(of.judge, verdict.item, verdict.elicitation, sample, of.look)
        votes[ballot].append(verdict)
    return [(ballot, of_unit) for ballot, of_unit in votes.items() if len(of_unit) == n_votes]


def choosable(task: Task) -> Choosable:
    """Return the answers that are possible on a task, for `majority`."""
    return cast("OpenScale", task.scale) if task.is_open else task.space


def majority(
    ballot: Ballot,
    votes: Sequence[Verdict],
    space: Choosable,
    weights: Mapping[str, float] = NO_WEIGHTS,
) -> Verdict:
    """Return the majority verdict, by the rule in the module's docstring.

    There must be at least one vote. ``space`` is the task's scale if it has no options. ``weights``
    are the voting judges' weights, by default 1 each.
    """
    outcome = _outcome(votes)
    answers = [vote for vote in votes if vote.outcome == "answered"]
    values = [vote.value for vote in answers]
    shares = [weights.get(vote.judge, 1.0) for vote in answers]
    if not any(shares):
        shares = [1.0] * len(answers)
    return Verdict(
        judge=ballot.judge,
        item=ballot.item,
        elicitation=ballot.elicitation,
        sample=ballot.sample,
        outcome=outcome,
        value=_value(ballot, values, shares, space) if outcome == "answered" else None,
        reason="a_vote_failed" if outcome == "failed" else "",
    )


def drawn_verdict(ballot: Ballot, votes: Sequence[Verdict]) -> Verdict:
    """Return a random member's verdict. Its expectation is the members' mean."""
    names = [vote.judge for vote in votes]
    drawn = votes[names.index(_draw(ballot, names))]
    return replace(drawn, judge=ballot.judge)


def _outcome(votes: Sequence[Verdict]) -> Outcome:
    counts = Counter(vote.outcome for vote in votes)
    if counts["failed"]:
        return "failed"
    if 2 * counts["answered"] >= len(votes):
        return "answered"
    return max(OUTCOMES[1:], key=counts.__getitem__)


def _value(
    ballot: Ballot, values: Sequence[Value], weights: Sequence[float], space: Choosable
) -> Value:
    options = [value for value in values if isinstance(value, str)]
    sets = [value for value in values if isinstance(value, tuple)]
    pairs = [value for value in values if isinstance(value, PairValue)]
    if space == "continuous":
        return number_text(median(map(float, options)))
    if options:
        return _most_frequent(ballot, options, weights)
    assert not isinstance(space, str)
    if sets:
        return _voted_set(ballot, sets, weights, space)
    return PairValue(
        set=_voted_set(ballot, [pair.set for pair in pairs], weights, space),
        choice=_most_frequent(ballot, [pair.choice for pair in pairs], weights),
    )


def _voted_set(
    ballot: Ballot,
    sets: Sequence[tuple[str, ...]],
    weights: Sequence[float],
    space: OptionSpace,
) -> tuple[str, ...]:
    """Return the options in more than half of the sets, by the rule in the module's docstring."""
    votes = list(zip(sets, weights, strict=True))
    voted = tuple(option for option in space.options if _is_in(ballot, option, votes))
    if voted in space.sets:
        return voted
    return _most_frequent(ballot, [tuple(sorted(members)) for members in sets], weights)


def _is_in(ballot: Ballot, option: str, votes: Sequence[tuple[tuple[str, ...], float]]) -> bool:
    endorsed = fsum(weight for members, weight in votes if option in members)
    others = fsum(weight for members, weight in votes if option not in members)
    return bool(_digest(ballot, option)[0] & 1) if endorsed == others else endorsed > others


def _most_frequent(ballot: Ballot, answers: Sequence[Named], weights: Sequence[float]) -> Named:
    votes: defaultdict[Named, list[float]] = defaultdict(list)
    for answer, weight in zip(answers, weights, strict=True):
        votes[answer].append(weight)
    totals = {answer: fsum(of_answer) for answer, of_answer in votes.items()}
    most = max(totals.values())
    return _draw(ballot, [answer for answer, total in totals.items() if total == most])


def _draw(ballot: Ballot, answers: Sequence[Named]) -> Named:
    """Return the answer with the smallest hash, which gives every answer the same chance."""
    return min(answers, key=lambda answer: _digest(ballot, *_words(answer)))


def _words(answer: str | tuple[str, ...]) -> tuple[str, ...]:
    return (answer,) if isinstance(answer, str) else answer


def _digest(ballot: Ballot, *words: str) -> bytes:
    unit = ballot if ballot.look else ballot[:-1]
    return sha256("\0".join([*map(str, unit), *words]).encode()).digest()
