"""The first screen of the page: figures behind the decision, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.formatting import (
    bounds,
    counted,
    in_unit,
    number,
    percent,
    resting,
    span,
    with_bounds,
)
from harness.report.recommendation import GOAL_WORDS

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.stats import Estimate


NO_SWEEP = {
    "no_sensitivity": "the task does not say which options may be endorsed along with a negative "
    "one (`sensitivity` in task.yaml)",
    "no_positive_option": "the task names no positive option (`positive` in task.yaml)",
}
MAX_NAMES = 3  # listed in place of their number


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure that the decision uses, with a note below it."""

    name: str
    value: str
    note: str = ""


def no_sweep_reason(v: Validation) -> str:
    """Return why there is no sweep over beta; "" if there is one."""
    if v.sensitivity is None:
        return "not computed for this validation"
    reason = v.sensitivity.reason
    return NO_SWEEP.get(reason, reason.replace("_", " "))


def facts(v: Validation) -> list[Fact]:
    """Return the figures behind the decision; none where no judge is ranked."""
    if v.evidence is None or v.ranking is None or v.decision.leader is None:
        return []
    leader, row = v.judge(v.decision.leader), v.evidence.judges[0]
    value = in_unit(number(row.value), v.ranking.unit)
    ends = bounds(v.evidence.winner_low, v.evidence.winner_high)
    note = f"{ends}, {counted([v.evidence.n_items])}".removeprefix(", ")
    rows = [Fact(f"{leader.name}: {v.evidence.display_name}", value, note)]
    consistency = leader.metrics["decision_consistency"]
    if consistency.value is not None:
        note = _interval_note(consistency)
        rows.append(Fact("Decides as the raters do", number(consistency.value), note))
    note = f"of {counted([v.evidence.n_rated])}"
    answered = Fact("Answered", percent(row.answered_fraction), note)
    return [*rows, *_close_judges(v), answered, *_annotator_test(v), *_usual_choice(v)]


def _interval_note(estimate: Estimate) -> str:
    return f"{span(estimate.interval)}, {counted([estimate.n_used])}".removeprefix(", ")


def _close_judges(v: Validation) -> list[Fact]:
    """Name the judges that are not significantly different from the best, if there are others."""
    close = v.decision.not_distinguishable
    n_others = len(close) + len(v.decision.significantly_worse)
    if not n_others:
        return []
    name, total = "Not significantly different", f"of {counted([n_others], 'other')}"
    if len(close) > MAX_NAMES:
        return [Fact(name, f"{len(close)} {total}", ", ".join(close))]
    return [Fact(name, ", ".join(close) or "none", total)]


def _annotator_test(v: Validation) -> list[Fact]:
    check = v.decision.checks["annotator_test"]
    test = v.evidence.judges[0].annotator_test if v.evidence else None
    if test is None or check.passed is None:
        return []
    rate = f"winning rate {number(check.value, 2)} over {counted([check.n], 'rater')}"
    note = f"{rate}; advantage {with_bounds(test.advantage, test.low, test.high, 2)}"
    return [Fact("May replace a rater", "yes" if check.passed else "no", note)]


def _usual_choice(v: Validation) -> list[Fact]:
    """State what the first of the usual metrics would have picked, at what regret."""
    choice = next(iter(v.decision.usual_choices), None)
    if choice is None or choice.regret.value is None:
        return []
    regret, goal = choice.regret, GOAL_WORDS.get(choice.regret.goal, choice.regret.goal)
    note = f"regret {number(regret.value)} {span(regret.interval)} in {goal}"
    note += f" on {counted(choice.n_items)}"
    return [Fact(f"Picked by {regret.metric}", " or ".join(regret.selected), note)]


def changes(v: Validation) -> list[str]:
    """State what would change the decision, or why that is not known."""
    return [*_by_beta(v), *_by_goal(v), *_rater_beta(v)] if v.judges else []


def _by_beta(v: Validation) -> list[str]:
    if v.sensitivity is None:
        return []
    if v.sensitivity.grid is None:
        reason = no_sweep_reason(v)
        return [f"Sensitivity to beta is not known: {reason}."] if reason else []
    lines = []
    for goal, even in v.sensitivity.break_evens.items():
        name = GOAL_WORDS.get(goal, goal)
        pieces = [
            (" and ".join(piece.winners) or "none", piece.low, piece.high) for piece in even.pieces
        ]
        if len(pieces) > 1:
            ranges = [f"{names} from {low:.2f} to {high:.2f}" for names, low, high in pieces]
            lines.append(f"The best judge by {name} depends on beta: {'; '.join(ranges)}.")
        elif pieces:
            lines.append(f"The best judge by {name} is {pieces[0][0]} at every beta.")
    return lines


def _by_goal(v: Validation) -> list[str]:
    return [
        f"Best by {GOAL_WORDS.get(goal, goal)}: {' and '.join(first)}."
        for goal, first in v.decision.first_by_goal.items()
        if first and v.decision.leader not in first
    ]


def _rater_beta(v: Validation) -> list[str]:
    if v.humans.beta.value is None:
        return []
    return [f"Beta of the raters, estimated from pairs, is {resting(v.humans.beta)}."]
