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
apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from harness.judging.calibration import calibrated
from harness.judging.endorsement import endorsed
from harness.judging.parsing.verdict import OUTCOMES, PairValue, Verdict
from harness.judging.prompts.strategies import CALIBRATED
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Outcome, Value
    from harness.judging.prompts.requests import Elicitation
    from harness.stats import OptionSpace
    from harness.tasks import Task

Answer = TypeVar("Answer", str, tuple[str, ...])


class Question(NamedTuple):
    """What a vote is about; ``look`` is the number of a later look, whose ties are drawn anew."""

    judge: str
    item: str
    elicitation: Elicitation
    sample: int
    look: int = 0


def with_votes(
    specs: Iterable[JudgeSpec],
    verdicts: Mapping[str, Sequence[Verdict]],
    task: Task,
    *,
    look: int = 0,
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

    Returns
    -------
    dict
        Verdicts by judge. Sample s of a judge with k votes is made of its replies ks to ks + k - 1;
        sample s of an ensemble, of its members' samples s. Those of calibrated judges are
        calibrated, and those of judges that endorse options are put together.
    """
    space = None if task.is_open else task.space
    by_judge: dict[str, Sequence[Verdict]] = {}
    for spec in specs:
        if spec.members:
            by_judge[spec.name] = _of_members(spec, by_judge, space, look)
        elif spec.endorses:
            by_judge[spec.name] = endorsed(verdicts[spec.name], task.space)
        elif spec.votes > 1:
            by_judge[spec.name] = _of_replies(spec, verdicts[spec.name], space, look)
        elif spec.strategy == CALIBRATED:
            criteria = {item.id: item.criterion for item in task.items}
            by_judge[spec.name] = calibrated(verdicts[spec.name], criteria)
        else:
            by_judge[spec.name] = verdicts[spec.name]
    return by_judge


def _of_replies(
    spec: JudgeSpec, replies: Sequence[Verdict], space: OptionSpace | None, look: int
) -> Sequence[Verdict]:
    votes: defaultdict[Question, list[Verdict]] = defaultdict(list)
    for reply in sorted(replies, key=lambda verdict: verdict.sample):
        sample = reply.sample // spec.votes
        votes[Question(spec.name, reply.item, reply.elicitation, sample, look)].append(reply)
    return [
        majority(question, of_unit, space)
        for question, of_unit in votes.items()
        if len(of_unit) == spec.votes
    ]


def _of_members(
    spec: JudgeSpec, by_judge: Mapping[str, Sequence[Verdict]], space: OptionSpace | None, look: int
) -> Sequence[Verdict]:
    votes: defaultdict[Question, list[Verdict]] = defaultdict(list)
    for verdict in chain.from_iterable(by_judge[member] for member in spec.members):
        question = Question(spec.name, verdict.item, verdict.elicitation, verdict.sample, look)
        votes[question].append(verdict)
    return [
        _drawn_vote(question, of_unit)
        if spec.rule == "mean"
        else majority(question, of_unit, space)
        for question, of_unit in votes.items()
        if len(of_unit) == len(spec.members)
    ]


def majority(question: Question, votes: Sequence[Verdict], space: OptionSpace | None) -> Verdict:
    """Return the verdict of the majority; the module's docstring states the rule.

    Parameters
    ----------
    question : Question
        Judge and unit of the verdict.
    votes : sequence of Verdict
        At least one.
    space : OptionSpace or None
        Options and admissible sets of the task; None on a continuous scale.
    """
    outcome = _outcome(votes)
    values = [vote.value for vote in votes if vote.outcome == "answered"]
    return Verdict(
        judge=question.judge,
        item=question.item,
        elicitation=question.elicitation,
        sample=question.sample,
        outcome=outcome,
        value=_value_of(question, values, space) if outcome == "answered" else None,
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


def _value_of(question: Question, values: Sequence[Value], space: OptionSpace | None) -> Value:
    if space is None:
        return number_text(median(float(value) for value in values if isinstance(value, str)))
    return _value(question, values, space)


def _value(question: Question, values: Sequence[Value], space: OptionSpace) -> Value:
    options = [value for value in values if isinstance(value, str)]
    sets = [value for value in values if isinstance(value, tuple)]
    pairs = [value for value in values if isinstance(value, PairValue)]
    if options:
        return _most_frequent(question, options)
    if sets:
        return _voted_set(question, sets, space)
    return PairValue(
        set=_voted_set(question, [pair.set for pair in pairs], space),
        choice=_most_frequent(question, [pair.choice for pair in pairs]),
    )


def _voted_set(
    question: Question, sets: Sequence[tuple[str, ...]], space: OptionSpace
) -> tuple[str, ...]:
    """Return the options that more than half of the sets hold; see the module's docstring."""
    counts = Counter(chain.from_iterable(sets))
    voted = tuple(
        option for option in space.options if _is_in(question, option, counts[option], len(sets))
    )
    if voted in space.sets:
        return voted
    return _most_frequent(question, [tuple(sorted(members)) for members in sets])


def _is_in(question: Question, option: str, n_endorsed: int, n_sets: int) -> bool:
    if 2 * n_endorsed == n_sets:
        return bool(_digest(question, option)[0] & 1)
    return 2 * n_endorsed > n_sets


def _most_frequent(question: Question, answers: Sequence[Answer]) -> Answer:
    counts = Counter(answers)
    most = max(counts.values())
    return _draw(question, [answer for answer, n in counts.items() if n == most])


def _draw(question: Question, answers: Sequence[Answer]) -> Answer:
    """Return the answer with the smallest hash, so that each is as likely as another."""
    return min(answers, key=lambda answer: _digest(question, *_words(answer)))


def _words(answer: str | tuple[str, ...]) -> tuple[str, ...]:
    return (answer,) if isinstance(answer, str) else answer


def _digest(question: Question, *words: str) -> bytes:
    unit = question if question.look else question[:-1]
    return sha256("\0".join([*map(str, unit), *words]).encode()).digest()
