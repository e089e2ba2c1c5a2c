"""What the page shows first: the decision, the figures behind it, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.formatting import counted, in_unit, number, percent, resting, span
from harness.report.judge_charts import GOAL_WORDS, in_order

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.stats.inference.estimate import Estimate


NO_SWEEP = {
    "no_sensitivity": "the task does not say what may be endorsed along with a negative option "
    "(`sensitivity` in task.yaml)",
    "no_positive_option": "the task names no positive option (`positive` in task.yaml)",
}
FEW = 3  # names that are still read at a glance


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure that the decision rests on."""

    name: str
    value: str
    more: str = ""


def no_sweep(v: Validation) -> str:
    """Say why there is no sweep over beta; "" where there is one."""
    if v.sensitivity is None:
        return "not computed for this validation"
    reason = v.sensitivity.reason
    return NO_SWEEP.get(reason, reason.replace("_", " "))


def facts(v: Validation) -> list[Fact]:
    """Return the figures behind the decision; nothing for a task without judges."""
    if v.ranking is None or not v.ranking.rows or v.ranking.rows[0].rank is None:
        return []
    best = in_order(v)[0]
    one = best.metrics[v.ranking.metric]
    value = in_unit(number(one.value), v.ranking.unit)
    found = [Fact(f"{best.name}: {v.ranking.metric}", value, _beside(one))]
    consistency = best.metrics["decision_consistency"]
    if consistency.value is not None:
        value = number(consistency.value)
        found.append(Fact("Decides as the raters do", value, _beside(consistency)))
    found += _close(v)
    told = f"of {best.n_planned}; {counted([one.n_used])} used"
    found.append(Fact("Answered", percent(best.answered_fraction), told))
    return [*found, *_replacing(v, best.name), *_usual(v)]


def _beside(one: Estimate) -> str:
    """Interval and items of a figure, below it."""
    return f"{span(one.interval)}, {counted([one.n_used])}".removeprefix(", ")


def _close(v: Validation) -> list[Fact]:
    """Say which other ranked judges are not significantly different from the best, if any."""
    close = v.decision.not_distinguishable
    n_others = len(close) + len(v.decision.significantly_worse)
    if not n_others:
        return []
    name, others = "Not significantly different", f"of {counted([n_others], 'other')}"
    if len(close) > FEW:
        return [Fact(name, f"{len(close)} {others}", ", ".join(close))]
    return [Fact(name, ", ".join(close) or "none", others)]


def _replacing(v: Validation, judge: str) -> list[Fact]:
    """Say whether the first judge may replace a rater."""
    check = v.decision.checks["annotator_test"]
    if v.replacement is None or check.passed is None:
        return []
    test = next(row for row in v.replacement.judges if row.judge == judge)
    text = f"beats {test.wins} of {test.n_tested} raters; advantage {number(test.advantage.value)}"
    return [Fact("May replace a rater", "yes" if check.passed else "no", text)]


def _usual(v: Validation) -> list[Fact]:
    """Say what the first of the usual metrics would have picked, and what that costs."""
    choice = next(iter(v.decision.usual_choices), None)
    if choice is None or choice.regret.value is None:
        return []
    cost, goal = choice.regret, GOAL_WORDS.get(choice.regret.goal, choice.regret.goal)
    text = f"costs {number(cost.value)} {span(cost.interval)} in {goal}"
    text += f" on {counted(choice.n_items)}"
    return [Fact(f"Picked by {cost.metric}", " or ".join(cost.selected), text)]


def changes(v: Validation) -> list[str]:
    """Say what would change the decision, or what is not known about that."""
    return [*_betas(v), *_goals(v), *_data(v)] if v.judges else []


def _betas(v: Validation) -> list[str]:
    if v.sensitivity is None:
        return []
    if v.sensitivity.grid is None:
        why = no_sweep(v)
        return [f"How it depends on beta is not known: {why}."] if why else []
    told = []
    for goal, even in v.sensitivity.break_evens.items():
        name = GOAL_WORDS.get(goal, goal)
        if len(even.pieces) > 1:
            parts = [
                f"{' and '.join(p.winners) or 'nobody'} from {p.low:.2f} to {p.high:.2f}"
                for p in even.pieces
            ]
            told.append(f"Beta of the raters. Best by {name}: {'; '.join(parts)}.")
        elif even.pieces:
            winners = " and ".join(even.pieces[0].winners)
            told.append(f"Not beta of the raters: {winners} is best by {name} whatever it is.")
    return told


def _goals(v: Validation) -> list[str]:
    """Say where another goal picks another judge."""
    return [
        f"Choosing by {GOAL_WORDS.get(goal, goal)} instead: {' and '.join(first)}."
        for goal, first in v.decision.first_by_goal.items()
        if first and v.decision.leader not in first
    ]


def _data(v: Validation) -> list[str]:
    if v.humans.beta.value is None:
        return []
    return [f"Beta of the raters, from pairs, is {resting(v.humans.beta)}."]
