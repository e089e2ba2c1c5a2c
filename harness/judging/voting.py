"""Verdicts by vote: of several replies of a judge (self-consistency), or of several judges.

They are computed from verdicts that were asked for, and cost no call. A unit has a verdict once all
its votes are there:

- where a vote failed, it failed;
- where at least half of the votes are answers, these decide: the option that most of them name, or
  the set of the options that more than half of them endorse; on a continuous scale, their median;
- elsewhere its outcome is that of most other votes, of equally many in the order of `OUTCOMES`.

Ties between options, and options that exactly half endorse, are drawn: by a hash of judge, unit and
option, so that a draw is the same in every computation and favours no option. Where the set is
empty or not admissible, the most frequent set is taken. In a pair, set and choice are voted on
apart. In a weighted ensemble, answers count by the weights of their members (`vote_weights`), and
"more than half" is more than half of the weight of those who answered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from itertools import chain
from math import fsum, log
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from harness.judging.calibration import calibrated
from harness.judging.endorsement import endorsed
from harness.judging.parsing.grammar import OUTCOMES, AnswerKind
from harness.judging.parsing.verdict import PairValue, Verdict
from harness.judging.prompts.demonstrations import group_of
from harness.judging.prompts.requests import answer_kind
from harness.judging.prompts.strategies import CALIBRATED
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.grammar import Outcome
    from harness.judging.parsing.verdict import Value
    from harness.judging.prompts.requests import Elicitation
    from harness.stats import OptionSpace
    from harness.tasks import Item, Task
    from harness.tasks.schema import OpenScale


WEIGHTED = "weighted"
MIN_ITEMS = 10  # in a half; with fewer, all members weigh the same
Weights: TypeAlias = dict[str, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]]
NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


def half_of(item: Item) -> int:
    """Return 0 or 1: the half of the items that an item is in, with all of its group."""
    return sha256(group_of(item).encode()).digest()[0] & 1


def vote_weights(
    specs: Iterable[JudgeSpec], verdicts: Mapping[str, Sequence[Verdict]], task: Task
) -> Weights:
    """Return the weights of the members of each weighted ensemble.

    Parameters
    ----------
    specs : iterable of JudgeSpec
        The judges of a run.
    verdicts : mapping of str to sequence of Verdict
        Those of the members.
    task : Task
        Its ratings, and the halves of its items.

    Returns
    -------
    dict
        By ensemble and kind of answer, the members' weights for the items of each half: never
        negative, and 1 for all where a half has fewer than `MIN_ITEMS` rated items or all are 0.
    """
    ensembles = [spec for spec in specs if spec.rule == WEIGHTED]
    if not ensembles:
        return {}
    shares = _answer_shares(task)
    sizes: dict[AnswerKind, int] = {
        "forced_choice": len(task.options),
        "response_set": len(task.space.sets),
    }
    return {
        spec.name: {
            kind: _both_halves([verdicts[name] for name in spec.members], task, kind, n, shares)
            for kind, n in sizes.items()
        }
        for spec in ensembles
    }


def _answer_shares(task: Task) -> dict[tuple[str, AnswerKind], dict[Value, float]]:
    """Return the share of each answer among the ratings of an item, by item and kind."""
    counts: defaultdict[tuple[str, AnswerKind], Counter[Value]] = defaultdict(Counter)
    for rating in task.ratings:
        counts[rating.item, rating.elicitation][rating.value] += 1
    return {
        place: {value: n / of_item.total() for value, n in of_item.items()}
        for place, of_item in counts.items()
    }


def _both_halves(
    members: Sequence[Sequence[Verdict]],
    task: Task,
    kind: AnswerKind,
    n_answers: int,
    shares: Mapping[tuple[str, AnswerKind], Mapping[Value, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the weights for half 0, from the items of half 1, and the other way round."""
    half = {item.id: half_of(item) for item in task.items}
    of_other_half = (
        [_agreement(own, kind, other, half, shares) for own in members] for other in (1, 0)
    )
    first, second = (_weights(agreements, n_answers) for agreements in of_other_half)
    return first, second


def _agreement(
    verdicts: Iterable[Verdict],
    kind: AnswerKind,
    half: int,
    halves: Mapping[str, int],
    shares: Mapping[tuple[str, AnswerKind], Mapping[Value, float]],
) -> tuple[float, int]:
    """Return the sum of the shares of raters who agree, over items of a half, and their number."""
    by_item: defaultdict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        of_item = shares.get((verdict.item, kind))
        answer = _answer(verdict, kind)
        if of_item is not None and answer is not None and halves.get(verdict.item) == half:
            by_item[verdict.item].append(of_item.get(answer, 0.0))
    return sum(sum(own) / len(own) for own in by_item.values()), len(by_item)


def _answer(verdict: Verdict, kind: AnswerKind) -> Value:
    """Return the answer of a kind in a verdict; None without one."""
    value = verdict.value
    if isinstance(value, PairValue):
        return value.choice if kind == "forced_choice" else value.set
    return value if isinstance(value, str) == (kind == "forced_choice") else None


def _weights(agreements: Sequence[tuple[float, int]], n_answers: int) -> tuple[float, ...]:
    """Return log-odds of agreeing, half an agreement added to either side."""
    if min(n for _, n in agreements) < MIN_ITEMS:
        return (1.0,) * len(agreements)
    odds = [(n_answers - 1) * (s + 0.5) / (n - s + 0.5) for s, n in agreements]
    weights = tuple(max(0.0, log(ratio)) for ratio in odds)
    return weights if any(weights) else (1.0,) * len(agreements)


Answer = TypeVar("Answer", str, tuple[str, ...])
Answers: TypeAlias = "OptionSpace | OpenScale"  # the scale, where there are no options


class Question(NamedTuple):
    """What a vote is about; ``look`` is the number of a later look, whose ties are drawn anew."""

    judge: str
    item: str
    elicitation: Elicitation
    sample: int
    look: int = 0


def with_votes(
    specs: Sequence[JudgeSpec],
    verdicts: Mapping[str, Sequence[Verdict]],
    task: Task,
    *,
    look: int = 0,
    weights: Weights | None = None,
) -> dict[str, Sequence[Verdict]]:
    """Return the verdicts of all judges of a run, or of a later look at it.

    Parameters
    ----------
    specs : iterable of JudgeSpec
        The judges, ensembles after their members.
    verdicts : mapping of str to sequence of Verdict
        Verdicts on the replies of each judge that is asked.
    task : Task
        Its options, admissible sets and criteria.
    look : int
        Number of the look; 0 for the run itself.
    weights : dict, optional
        Of weighted ensembles; by default from these verdicts.

    Returns
    -------
    dict
        Verdicts by judge. Sample s of a judge with k votes is made of its replies ks to ks + k - 1;
        sample s of an ensemble, of its members' samples s. Those of calibrated judges are
        calibrated, and those of judges that endorse options are put together.
    """
    by_judge: dict[str, Sequence[Verdict]] = {}
    for spec in specs:
        if spec.members:
            if spec.rule == WEIGHTED and weights is None:
                weights = vote_weights(specs, by_judge, task)
            by_judge[spec.name] = _of_members(spec, by_judge, task, look, weights or {})
        elif spec.endorses:
            by_judge[spec.name] = endorsed(verdicts[spec.name], task.space)
        elif spec.votes > 1:
            replies = sorted(verdicts[spec.name], key=lambda verdict: verdict.sample)
            units = _units(spec, replies, spec.votes, look)
            by_judge[spec.name] = [majority(unit, votes, _answers(task)) for unit, votes in units]
        elif spec.strategy == CALIBRATED:
            criteria = {item.id: item.criterion for item in task.items}
            by_judge[spec.name] = calibrated(verdicts[spec.name], criteria)
        else:
            by_judge[spec.name] = verdicts[spec.name]
    return by_judge


def _of_members(
    spec: JudgeSpec,
    by_judge: Mapping[str, Sequence[Verdict]],
    task: Task,
    look: int,
    weights: Weights,
) -> Sequence[Verdict]:
    """Return the verdicts of an ensemble."""
    verdicts = chain.from_iterable(by_judge[member] for member in spec.members)
    units = _units(spec, verdicts, len(spec.members), look)
    if spec.rule == "mean":
        return [_drawn_vote(question, votes) for question, votes in units]
    answers = _answers(task)
    if spec.name not in weights:
        return [majority(question, votes, answers) for question, votes in units]
    half = {item.id: half_of(item) for item in task.items}
    by_half = {
        (kind, h): dict(zip(spec.members, of_half, strict=True))
        for kind, halves in weights[spec.name].items()
        for h, of_half in enumerate(halves)
    }
    return [
        majority(
            question,
            votes,
            answers,
            by_half[answer_kind(question.elicitation), half[question.item]],
        )
        for question, votes in units
    ]


def _units(
    spec: JudgeSpec, verdicts: Iterable[Verdict], n_votes: int, look: int
) -> list[tuple[Question, list[Verdict]]]:
    """Return the votes on each unit that has all of them."""
    votes: defaultdict[Question, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        sample = verdict.sample // spec.votes
        question = Question(spec.name, verdict.item, verdict.elicitation, sample, look)
        votes[question].append(verdict)
    return [(question, of_unit) for question, of_unit in votes.items() if len(of_unit) == n_votes]


def _answers(task: Task) -> Answers:
    """Return what the answers to a task are, as `majority` takes it."""
    return cast("OpenScale", task.scale) if task.is_open else task.space


def majority(
    question: Question,
    votes: Sequence[Verdict],
    space: Answers,
    weights: Mapping[str, float] = NO_WEIGHTS,
) -> Verdict:
    """Return the verdict of the majority; the module's docstring states the rule.

    There is at least one vote. ``space`` is the task's scale where it has no options; weights are
    those of the judges who vote, 1 each by default.
    """
    outcome = _outcome(votes)
    answers = [vote for vote in votes if vote.outcome == "answered"]
    values = [vote.value for vote in answers]
    shares = [weights.get(vote.judge, 1.0) for vote in answers]
    if not any(shares):
        shares = [1.0] * len(answers)
    return Verdict(
        judge=question.judge,
        item=question.item,
        elicitation=question.elicitation,
        sample=question.sample,
        outcome=outcome,
        value=_value(question, values, shares, space) if outcome == "answered" else None,
        reason="a_vote_failed" if outcome == "failed" else "",
    )


def _drawn_vote(question: Question, votes: Sequence[Verdict]) -> Verdict:
    """Return the verdict of a member drawn at random: on average, the mean of the members."""
    names = [vote.judge for vote in votes]
    drawn = votes[names.index(_draw(question, names))]
    return replace(drawn, judge=question.judge)


def _outcome(votes: Sequence[Verdict]) -> Outcome:
    counts = Counter(vote.outcome for vote in votes)
    if counts["failed"]:
        return "failed"
    if 2 * counts["answered"] >= len(votes):
        return "answered"
    return max(OUTCOMES[1:], key=counts.__getitem__)


def _value(
    question: Question, values: Sequence[Value], weights: Sequence[float], space: Answers
) -> Value:
    options = [value for value in values if isinstance(value, str)]
    sets = [value for value in values if isinstance(value, tuple)]
    pairs = [value for value in values if isinstance(value, PairValue)]
    if space == "continuous":
        return number_text(median(map(float, options)))
    if options:
        return _most_frequent(question, options, weights)
    assert not isinstance(space, str)
    if sets:
        return _voted_set(question, sets, weights, space)
    return PairValue(
        set=_voted_set(question, [pair.set for pair in pairs], weights, space),
        choice=_most_frequent(question, [pair.choice for pair in pairs], weights),
    )


def _voted_set(
    question: Question,
    sets: Sequence[tuple[str, ...]],
    weights: Sequence[float],
    space: OptionSpace,
) -> tuple[str, ...]:
    """Return the options that more than half of the sets hold; see the module's docstring."""
    votes = list(zip(sets, weights, strict=True))
    voted = tuple(option for option in space.options if _is_in(question, option, votes))
    if voted in space.sets:
        return voted
    return _most_frequent(question, [tuple(sorted(members)) for members in sets], weights)


def _is_in(question: Question, option: str, votes: Sequence[tuple[tuple[str, ...], float]]) -> bool:
    endorsed = fsum(weight for members, weight in votes if option in members)
    others = fsum(weight for members, weight in votes if option not in members)
    return bool(_digest(question, option)[0] & 1) if endorsed == others else endorsed > others


def _most_frequent(
    question: Question, answers: Sequence[Answer], weights: Sequence[float]
) -> Answer:
    votes: defaultdict[Answer, list[float]] = defaultdict(list)
    for answer, weight in zip(answers, weights, strict=True):
        votes[answer].append(weight)
    totals = {answer: fsum(of_answer) for answer, of_answer in votes.items()}
    most = max(totals.values())
    return _draw(question, [answer for answer, total in totals.items() if total == most])


def _draw(question: Question, answers: Sequence[Answer]) -> Answer:
    """Return the answer with the smallest hash, so that each is as likely as another."""
    return min(answers, key=lambda answer: _digest(question, *_words(answer)))


def _words(answer: str | tuple[str, ...]) -> tuple[str, ...]:
    return (answer,) if isinstance(answer, str) else answer


def _digest(question: Question, *words: str) -> bytes:
    unit = question if question.look else question[:-1]
    return sha256("\0".join([*map(str, unit), *words]).encode()).digest()
