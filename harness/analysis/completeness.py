"""Completeness of a judge's replies: planned replies compared with received ones.

planned = answered + abstained + refused + invalid + failed + not asked. Whether a judge can be
assessed follows from these counts in `Completeness`, for runs, rounds, races and estimates, and not
from the kind of error. A failed call isn't a reply, whatever made it fail. For replies without a
verdict, this module says why and what to try.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from harness.analysis.ratings import CountedOutcome, count_outcomes
from harness.errors import ExitCode
from harness.judging.parsing.envelope import thinks_first
from harness.judging.parsing.grammar import REASONS
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.judging.strategies.strategy_registry import named
from harness.stats.selection.replies import MIN_ANSWERED
from harness.tasks.item import ELICITATIONS, Elicitation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from harness.analysis.inputs import JudgeFacts, Source
    from harness.analysis.ratings import OutcomeCounts
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.storage.verdict_columns import VerdictColumns
    from harness.stats.data.arrays import BoolArray
    from harness.tasks.item import Elicitation


JudgeStanding: TypeAlias = Literal["complete", "incomplete", "not assessed"]
Shortfall: TypeAlias = Literal["", "incomplete", "not assessed"]
UNUSABLE: tuple[CountedOutcome, ...] = ("abstained", "refused", "invalid", "failed", "not_asked")


@dataclass(frozen=True, slots=True)
class Completeness:
    """Counts of a judge's replies, which show whether it can be assessed.

    Attributes
    ----------
    counts : tuple of OutcomeCounts
        Counts of its replies, by elicitation.
    min_answered : float
        Share of the planned replies that must be answers.
    is_planned : bool
        Whether the plan is known, and not inferred from verdicts from another tool, which can't be
        incomplete.
    """

    counts: tuple[OutcomeCounts, ...]
    min_answered: float = MIN_ANSWERED
    is_planned: bool = True

    @property
    def standing(self) -> JudgeStanding:
        """State of a judge: not assessed (no answers), incomplete (too few answers) or complete."""
        if not self.total("answered"):
            return "not assessed"
        is_short = any(c.answered < self.min_answered * c.planned for c in self.counts)
        is_incomplete = self.is_planned and (is_short or self.total("not_asked") > 0)
        return "incomplete" if is_incomplete else "complete"

    @property
    def is_complete(self) -> bool:
        """Whether the judge can be assessed on its replies."""
        return not self.shortfall

    @property
    def shortfall(self) -> Shortfall:
        """The reason why the judge cannot be assessed, or "" if there is none."""
        standing = self.standing
        return "" if standing == "complete" or not self.total("planned") else standing

    @property
    def n_missing(self) -> int:
        """Number of planned replies that are missing and can still be requested."""
        return self.total("failed") + self.total("not_asked")

    def plus(self, other: Self) -> Self:
        """Add the counts from other items in the same elicitations."""
        pairs = zip(self.counts, other.counts, strict=True)
        return replace(self, counts=tuple(one.plus(two) for one, two in pairs))

    def total(self, outcome: CountedOutcome) -> int:
        """Return a count summed over all elicitations."""
        return sum(getattr(counts, outcome) for counts in self.counts)

    def __str__(self) -> str:
        """Describe the shortfall in words."""
        n_answered, n_planned = self.total("answered"), self.total("planned")
        why = [f"{n} {name.replace('_', ' ')}" for name in UNUSABLE if (n := self.total(name))]
        verb = "is" if n_answered == 1 else "are"
        return f"{n_answered} of {n_planned} replies {verb} usable ({', '.join(why)})"


def completeness_of(
    verdicts: Sequence[Verdict],
    planned: Mapping[Elicitation, int],
    items: Collection[str],
    min_answered: float | None = None,
) -> Completeness:
    """Return the completeness of a judge from its final verdicts on some items.

    Parameters
    ----------
    verdicts : sequence of Verdict
        This judge's verdicts only.
    planned : mapping of str to int
        Replies planned, by elicitation.
    items : collection of str
        Ids of the items planned for the judge. Verdicts on other items are left out.
    min_answered : float, optional
        Share of the planned replies that must be answers.
    """
    counts = count_outcomes(verdicts, planned, items)
    return Completeness(counts, MIN_ANSWERED if min_answered is None else min_answered)


def fails_too_often(n_failed: int, n_planned: int, min_answered: float | None = None) -> bool:
    """Return whether failed calls reduce the share of answers below the minimum."""
    least = MIN_ANSWERED if min_answered is None else min_answered
    return n_failed > (1.0 - least) * n_planned


def failure_reason(verdicts: Sequence[Verdict]) -> str:
    """Return the reason for most of a judge's failed calls, or "" if no call failed."""
    reasons: Counter[str] = Counter()
    for kind, n in columns_of(verdicts).n_by_kind():
        if kind.outcome == "failed":
            reasons[kind.reason] += n
    return max(reasons, key=reasons.__getitem__, default="")


def exit_code_of(judges: Iterable[Completeness]) -> ExitCode:
    """Return `INCOMPLETE` if a judge cannot be assessed, else `DONE`."""
    complete = all(judge.is_complete for judge in judges)
    return ExitCode.DONE if complete else ExitCode.INCOMPLETE


MAX_SHARE = 0.05  # share of the replies; larger shares are reported
N_EXAMPLES = 3
EXAMPLE_CHARS = 80
MORE_TOKENS = 512  # smallest limit that is advised
CAME = frozenset({"answered", "abstained", "refused", "invalid"})
UNREADABLE = frozenset({"refused", "invalid"})
NO_NUMBER = "no number named"
CUT_OFF, REFUSED = REASONS["cut_off"], REASONS["refusal"]
OF_TOKENS = {  # a reply of one token is always cut off
    "no_logprobs": "no log-probabilities",
    "not_aligned": "log-probabilities that don't belong to the answer",
    "outside_options": "all probability outside the options",
}
CAUSES = REASONS | {"not_an_option": REASONS["no_option"]} | OF_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableReplies:
    """Unreadable replies of a judge, if their share exceeds `MAX_SHARE`.

    Attributes
    ----------
    n, n_replies : int
        Refused and invalid replies, and all replies received.
    n_refused : int
        Number of refused replies among ``n``.
    by_elicitation : dict of Elicitation to (int, int)
        The same two numbers for each elicitation that the judge was asked for.
    causes : dict of str to int
        Number of replies by cause, the most frequent first.
    options, strategies : tuple of str
        Options of ``harness run`` and strategies to try.
    reword : bool
        Whether the question should be reworded.
    filtered : bool
        Whether the provider's content filter stopped replies.
    reasoning_only : bool
        Whether replies contain reasoning and no answer.
    examples : tuple of str
        The beginnings of some of these replies, if the run keeps texts. Not in ``metrics.json``.
    """

    judge: str
    n: int
    n_replies: int
    causes: dict[str, int]
    n_refused: int = 0
    by_elicitation: dict[Elicitation, tuple[int, int]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    reword: bool = False
    filtered: bool = False
    reasoning_only: bool = False
    examples: tuple[str, ...] = field(default=(), compare=False)

    @property
    def share(self) -> float:
        """Share of replies that are unreadable."""
        return self.n / self.n_replies


def unreadable_replies(source: Source) -> tuple[UnreadableReplies, ...]:
    """Return the unreadable replies of each judge whose unreadable share exceeds `MAX_SHARE`."""
    by_judge = (_of_judge(source, facts) for facts in source.judges)
    return tuple(replies for replies in by_judge if replies is not None)


def _of_judge(source: Source, facts: JudgeFacts) -> UnreadableReplies | None:
    replies = source.own_replies(facts.name)
    columns = columns_of(replies)
    came = columns.of_kinds(lambda kind: kind.outcome in CAME)
    n_replies = int(came.sum())
    is_unreadable = columns.of_kinds(lambda kind: kind.outcome in UNREADABLE)
    if is_unreadable.sum() <= MAX_SHARE * n_replies:
        return None
    unreadable = verdicts_at(replies, is_unreadable)
    refused = [verdict for verdict in unreadable if verdict.outcome == "refused"]
    causes = Counter(_cause(verdict, facts, source) for verdict in unreadable)
    is_cut_off = any(_is_cut_off(verdict) for verdict in unreadable)
    is_other = any(not _is_cut_off(v) and v.outcome == "invalid" for v in unreadable)
    is_reasoning = any("reasoning_only" in verdict.reason for verdict in unreadable)
    is_asked = facts.kind != "external"
    return UnreadableReplies(
        judge=facts.name,
        n=len(unreadable),
        n_replies=n_replies,
        n_refused=len(refused),
        by_elicitation={
            elicitation: (int(is_unreadable[asked].sum()), int(came[asked].sum()))
            for elicitation in ELICITATIONS
            for asked in [_of(columns, elicitation)]
            if came[asked].any()
        },
        causes=dict(sorted(causes.items(), key=lambda cause: (-cause[1], cause[0]))),
        options=_more_tokens(facts) if (is_cut_off or is_reasoning) and is_asked else (),
        strategies=_strategies(facts, unreadable) if is_cut_off or is_other else (),
        reasoning_only=is_reasoning,
        reword=is_asked and bool(refused),
        filtered=is_asked and any("content_filter" in verdict.reason for verdict in refused),
        examples=tuple(_examples(source, facts, unreadable)),
    )


def _strategies(facts: JudgeFacts, unreadable: Sequence[Verdict]) -> tuple[str, ...]:
    """Return other strategies to try. For reasoning judges, omit strategies that need logprobs."""
    replies = [reply for verdict in unreadable for reply in verdict.replies]
    if not any(reply.reasoning or thinks_first(reply.text) for reply in replies):
        return facts.other_strategies
    return tuple(name for name in facts.other_strategies if not named(name).needs_logprobs)


def _of(columns: VerdictColumns, elicitation: Elicitation) -> BoolArray:
    return columns.of_kinds(lambda kind: kind.elicitation == elicitation)


def _more_tokens(facts: JudgeFacts) -> tuple[str, ...]:
    return (f"--max-tokens {max(MORE_TOKENS, 4 * (facts.max_tokens or 0))}",)


def _is_cut_off(verdict: Verdict) -> bool:
    if verdict.outcome != "invalid" or verdict.reason in OF_TOKENS:
        return False
    is_stopped = any(reply.ending == "cut_off" for reply in verdict.replies)
    return is_stopped or "cut_off" in verdict.reason


def _cause(verdict: Verdict, facts: JudgeFacts, source: Source) -> str:
    """Return in words why a reply has no verdict."""
    if _is_cut_off(verdict):
        return f"{CUT_OFF} at {facts.max_tokens} tokens" if facts.max_tokens else CUT_OFF
    slug = verdict.reason.split(",")[0].rpartition(":")[2] or verdict.outcome
    if slug == "no_option" and source.task.scale == "continuous":
        return NO_NUMBER
    return CAUSES.get(slug, slug.replace("_", " "))


def _text_of(verdict: Verdict) -> str:
    """Return the text of a reply, or its reasoning if the text is empty."""
    return verdict.text or (verdict.reply.reasoning if verdict.reply else "")


def _examples(source: Source, facts: JudgeFacts, unreadable: Sequence[Verdict]) -> Iterator[str]:
    """Yield excerpts of unreadable replies, with different causes first. Skip empty replies."""
    if not any(source.task.has_text(item) for item in source.items):
        return
    place = {item.id: i for i, item in enumerate(source.items)}
    ordered = sorted(
        unreadable, key=lambda v: (place.get(v.item, len(place)), v.elicitation, v.sample)
    )
    of_cause: Counter[str] = Counter()
    turns: dict[str, int] = {}
    for verdict in ordered:
        text = _text_of(verdict).strip()[:EXAMPLE_CHARS]
        if text and text not in turns:
            cause = _cause(verdict, facts, source)
            turns[text] = of_cause[cause]
            of_cause[cause] += 1
    yield from sorted(turns, key=turns.__getitem__)[:N_EXAMPLES]
