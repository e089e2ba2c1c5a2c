"""Describe unreadable replies: how many there are, their causes, fixes and examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.files.plain_text import visible
from harness.report.formatting import listed, percent
from harness.report.words import RATINGS

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.completeness import UnreadableReplies

PARSER = "the server's reasoning parser, which separates the answer from the reasoning"
REWORD = "a different wording (`prompts:` in judges.yaml)"
LOOSER = "a less strict content filter, if the provider lets you set one"


def sentence(replies: UnreadableReplies) -> str:
    """Report how many of a judge's replies are unreadable, and why."""
    causes = ", ".join(f"{cause} ({n})" for cause, n in replies.causes.items())
    parts = [
        f"{n} of {n_asked} {RATINGS[elicitation]}"
        for elicitation, (n, n_asked) in replies.by_elicitation.items()
    ]
    of_which = listed(parts) if len(parts) > 1 else percent(replies.share)
    return (
        f"{replies.judge}: {replies.n} of {replies.n_replies} replies are {_outcomes(replies)} "
        f"({of_which}). Causes: {causes}."
    )


def _outcomes(replies: UnreadableReplies) -> str:
    """Name the outcomes among these replies: unreadable, refusals or both."""
    if not replies.n_refused:
        return "unreadable"
    return "refusals" if replies.n_refused == replies.n else "refusals or unreadable"


def attempts(replies: UnreadableReplies) -> str:
    """Suggest fixes. Return "" if none is known."""
    commands = [*replies.options, *(f"{replies.judge}@{name}" for name in replies.strategies)]
    tries = [f"`{command}`" for command in commands]
    tries += [PARSER] if replies.reasoning_only else []
    tries += [LOOSER] if replies.filtered else []
    tries += [REWORD] if replies.reword else []
    if not tries:
        return ""
    *first, last = tries
    return f"try {', '.join(first)} or {last}" if first else f"try {last}"


def example_lines(replies: UnreadableReplies) -> list[str]:
    """Return examples as indented lines. Control characters become visible symbols."""
    return [f"    - {visible(text)}" for text in replies.examples]


def worth_reading(v: Validation) -> list[UnreadableReplies]:
    """Return the top judge's unreadable replies, or every judge's if no judge is compared."""
    leader = v.decision.leader
    return [replies for replies in v.unreadable if leader in {None, replies.judge}]


def first_step(v: Validation) -> str:
    """Suggest how to get readable replies, if unreadable replies affect the recommendation.

    At least half of the missing answers, or most of the replies so far, must be unreadable.
    """
    return " ".join(_step(replies) for replies in worth_reading(v) if _is_cause(v, replies))


def _is_cause(v: Validation, replies: UnreadableReplies) -> bool:
    if 2 * replies.n > replies.n_replies:  # of a run that stopped early, too
        return True
    judge = v.judge(replies.judge)
    n_unreadable = judge.n_replies("refused") + judge.n_replies("invalid")
    return 2 * n_unreadable >= judge.n_replies("planned") - judge.n_replies("answered")


def _step(replies: UnreadableReplies) -> str:
    share, tries = percent(replies.share), attempts(replies)
    if not tries:
        return f"Find out why {share} of the replies of {replies.judge} are {_outcomes(replies)}."
    if 2 * replies.n_refused > replies.n:
        return f"Get answers in place of {replies.judge}'s refusals: {tries}."
    return f"Make the replies of {replies.judge} readable ({share} are not): {tries}."
