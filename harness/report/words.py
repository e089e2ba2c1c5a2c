"""A validation in words: numbers with their intervals, and the sentence that ends a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.stats.intervals import Estimate, Interval
    from harness.validate import JudgeResult, Ranking, Validation

REASONS = {
    "no_items": "no item has both sides",
    "constant_labels": "all labels are the same",
    "infinite": "infinite: an option was never chosen by one side",
    "unequal_raters": "items have unequal numbers of raters",
    "too_few_raters": "too few raters per item",
}


def number(value: float | None, digits: int = 3) -> str:
    """A number, or NA."""
    return "NA" if value is None else f"{value:.{digits}f}"


def span(interval: Interval | None, digits: int = 3) -> str:
    """An interval in brackets, or nothing."""
    return "" if interval is None else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def estimate(one: Estimate, digits: int = 3) -> str:
    """A number with its interval, or NA with the reason."""
    if one.value is None:
        return f"NA ({reason(one)})"
    return f"{number(one.value, digits)} {span(one.interval, digits)}".strip()


def reason(one: Estimate) -> str:
    """Why a number is NA, in words."""
    return REASONS.get(one.reason, one.reason.replace("_", " "))


def percent(share: float | None) -> str:
    """A share in percent, or NA."""
    return "NA" if share is None else f"{share:.1%}"


def headline(validation: Validation) -> str:
    """What was validated, on one line."""
    task, humans = validation.task, validation.humans
    items = f"{task.n_items} items"
    if task.n_items < task.n_items_in_task:
        items += f" of {task.n_items_in_task}"
    parts = [
        task.name,
        items,
        f"{humans.n_raters} raters",
        f"{humans.n_forced_choice} forced choices",
    ]
    if humans.n_response_sets:
        parts.append(f"{humans.n_response_sets} response sets")
    if validation.judges:
        parts.append(f"{len(validation.judges)} judges")
    return "  ".join(parts)


def decision(validation: Validation) -> str:
    """Say which judge to use, which others cannot be told apart from it, and how sure that is."""
    ranking = validation.ranking
    if ranking is None:
        return "No verdicts were given, so only the human ratings are described."
    best = next((row.judge for row in ranking.rows if row.rank is not None), None)
    if best is None:
        first = validation.judge(ranking.rows[0].judge)
        why = reason(first.metrics[ranking.metric])
        return f"No judge can be recommended: {ranking.metric} is NA for all of them ({why})."
    winner = validation.judge(best)
    return " ".join(
        [_choice(winner), _evidence(winner, ranking), *_others(ranking), *_warnings(validation)]
    )


def _choice(winner: JudgeResult) -> str:
    if winner.baseline:
        return f"Use none of these judges: none does better than the baseline {winner.name}."
    return f"Use {winner.name}."


def _evidence(winner: JudgeResult, ranking: Ranking) -> str:
    metric = winner.metrics[ranking.metric]
    return (
        f"Its {ranking.metric} is {estimate(metric)} on {metric.n_used} items "
        f"({ranking.better} is better); it answered {percent(winner.answered_fraction)}."
    )


def _others(ranking: Ranking) -> list[str]:
    close = [row for row in ranking.rows if row.difference and not row.difference.separated]
    if not close:
        return (
            ["Every other judge is worse beyond what chance explains."]
            if len(ranking.rows) > 1
            else []
        )
    told = [
        f"{row.judge} (worse by {number(row.difference.value)} {span(row.difference.interval)})"
        for row in close
        if row.difference
    ]
    verb = "cannot be told apart from it"
    return [f"{_listed(told)} {verb}."]


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def _warnings(validation: Validation) -> list[str]:
    """What a reader must know before acting on the sentence."""
    warnings = []
    if validation.task.notice:
        warnings.append(f"Note: {validation.task.notice}.")
    return warnings
