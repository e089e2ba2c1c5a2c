"""What the page shows first: the decision, the figures behind it, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.judge_charts import GOAL_WORDS, in_order, may_be_best, n_used
from harness.report.summary import counted, in_unit, number, percent, resting, span

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
    found += _close(v, best.name)
    told = f"of {best.n_planned}; {counted([one.n_used])} used"
    found.append(Fact("Answered", percent(best.answered_fraction), told))
    return [*found, *_replacing(v, best.name), *_usual(v)]


def _beside(one: Estimate) -> str:
    """Interval and items of a figure, below it."""
    return f"{span(one.interval)}, {counted([one.n_used])}".removeprefix(", ")


def _close(v: Validation, best: str) -> list[Fact]:
    """Say which other ranked judges cannot be told apart from the best, if there are others."""
    inside = may_be_best(v) - {best}
    close = [judge.name for judge in in_order(v) if judge.name in inside]
    n_others = sum(row.rank is not None for row in v.ranking.rows) - 1 if v.ranking else 0
    if not n_others:
        return []
    name, others = "Cannot be told apart", f"of {counted([n_others], 'other')}"
    if len(close) > FEW:
        return [Fact(name, f"{len(close)} {others}", ", ".join(close))]
    return [Fact(name, ", ".join(close) or "none", others)]


def _replacing(v: Validation, judge: str) -> list[Fact]:
    """Say whether the first judge may replace a rater."""
    tested = {one.judge: one for one in v.replacement.judges} if v.replacement else {}
    if judge not in tested or tested[judge].passes is None:
        return []
    one = tested[judge]
    told = f"beats {one.wins} of {one.n_tested} raters; advantage {number(one.advantage.value)}"
    return [Fact("May replace a rater", "yes" if one.passes else "no", told)]


def _usual(v: Validation) -> list[Fact]:
    """Say what the first of the usual metrics would have picked, and what that costs."""
    if v.choosing is None or not v.choosing.usual:
        return []
    regret = v.choosing.regret.get(v.choosing.usual[0], {})
    one = regret.get(v.choosing.goals[0]) if v.choosing.goals else None
    if one is None or one.value is None:
        return []
    items = counted(n_used(v, one.goal, (*one.selected, *one.best)))
    told = f"costs {number(one.value)} {span(one.interval)} in {GOAL_WORDS.get(one.goal, one.goal)}"
    told += f" on {items}"
    return [Fact(f"Picked by {one.metric}", " or ".join(one.selected), told)]


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
    if v.choosing is None or v.ranking is None:
        return []
    best = next((row.judge for row in v.ranking.rows if row.rank == 1), None)
    told = []
    for metric in v.choosing.goals:
        order = v.choosing.orders.get(metric)
        first = [p.judge for p in order.places if p.rank == 1] if order else []
        if first and best not in first:
            names = " and ".join(first)
            told.append(f"Choosing by {GOAL_WORDS.get(metric, metric)} instead: {names}.")
    return told


def _data(v: Validation) -> list[str]:
    if v.humans.beta.value is None:
        return []
    return [f"Beta of the raters, from pairs, is {resting(v.humans.beta)}."]
