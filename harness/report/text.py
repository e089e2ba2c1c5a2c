"""A validation as text for a terminal, 80 columns wide."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from harness.report.columns import WIDTH, columns
from harness.report.cost_lines import costs
from harness.report.summary import (
    counted,
    estimate,
    headline,
    number,
    percent,
    reason,
    sentences,
    span,
)
from harness.stats.inference.metric import DESIGN_VALUE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import JudgeResult, Ranking, Validation
    from harness.analysis.result import RankedJudge, Settings

BESIDE = ("decision_consistency", "prevalence_bias")  # the first that does not rank
HEADS = {"decision_consistency": "consistency tau={tau:g}", "prevalence_bias": "bias tau={tau:g}"}


def render(validation: Validation, *, brief: bool = False) -> str:
    """Write the ranking and the decision; ``brief`` leaves out how the replies came in."""
    parts = [headline(validation)]
    if validation.task.notice:
        parts.append(f"({validation.task.notice})")
    if validation.ranking is None:
        parts += ["", _humans(validation)]
    else:
        parts += ["", _ranking(validation)]
        if not brief:
            parts += ["", _outcomes(validation)]
            parts += [fill(line, WIDTH) for line in costs(validation)]
    parts += [fill(f"note: {note}", WIDTH) for note in validation.notes]
    parts += ["", *(fill(told, WIDTH) for told in sentences(validation))]
    return "\n".join(parts)


def _ranking(validation: Validation) -> str:
    ranking = validation.ranking
    assert ranking is not None
    beside = [name for name in BESIDE if name != ranking.metric][:1]
    beside = [name for name in beside if _somewhere(validation, name)]
    heads = [HEADS[name].format(tau=validation.settings.tau) for name in beside]
    rows = []
    for ranked in ranking.rows:
        judge = validation.judge(ranked.judge)
        rows.append(
            (
                _rank(validation, ranking, ranked),
                judge.name + (" *" if judge.baseline else ""),
                *(_cell(judge, metric) for metric in (ranking.metric, *beside)),
                percent(judge.answered_fraction),
                str(judge.metrics[ranking.metric].n_used),
            )
        )
    table = columns(("rank", "judge", ranking.metric, *heads, "answered", "items"), rows)
    starred = any(judge.baseline for judge in validation.judges)
    reasons = _reasons(validation, (ranking.metric, *beside))
    if not beside:
        reasons += _absent(validation, BESIDE[0])
    legend = (fill(one, WIDTH) for one in _legend(validation, ranking))
    other = [line for name in beside for line in _other_items(validation, ranking.metric, name)]
    return "\n".join([*table, *(["* baseline"] if starred else []), *other, *reasons, *legend])


def _other_items(validation: Validation, ranks: str, beside: str) -> list[str]:
    """Say on how many items a metric rests, where they are not those of the metric that ranks."""
    both = [(judge.metrics[ranks], judge.metrics[beside]) for judge in validation.judges]
    if all(first.n_used == other.n_used for first, other in both if other.value is not None):
        return []
    n_items = counted(other.n_used for _, other in both if other.value is not None)
    return [f"{beside.replace('_', ' ')} is on {n_items}"]


def _somewhere(validation: Validation, metric: str) -> bool:
    return any(judge.metrics[metric].value is not None for judge in validation.judges)


def _absent(validation: Validation, metric: str) -> list[str]:
    """Say in one line why a metric is NA for every judge."""
    reasons = dict.fromkeys(reason(judge.metrics[metric]) for judge in validation.judges)
    return [f"{metric.replace('_', ' ')} is NA for every judge ({', '.join(reasons)})"]


def _legend(validation: Validation, ranking: Ranking) -> list[str]:
    """Say how the intervals are made, what they cover, and where the other estimand stands."""
    settings = validation.settings
    facts = next(one for one in validation.metrics if one.name == ranking.metric)
    how = f"{settings.confidence:.0%} intervals: {_method(settings)}, {facts.estimand}."
    counts = [judge.metrics[ranking.metric].ratings_per_item for judge in validation.judges]
    m = next((one for one in counts if one is not None), None)
    if facts.estimand != DESIGN_VALUE or m is None:
        return [how]
    many = (
        f"for infinitely many see {facts.population}"
        if facts.population
        else "others would give other values"
    )
    return [how, f"The design has {m:g} rating{'' if m == 1 else 's'} per item; {many}."]


def _method(settings: Settings) -> str:
    many = {"item": "items", "group": "groups", "criterion": "criteria"}[settings.unit]
    if settings.interval == "jackknife":
        return f"jackknife of {many}"
    corrected = " (BCa)" if settings.interval == "bca" else ""
    return f"bootstrap of {many}{corrected}, {settings.n_resamples} resamples"


def _rank(validation: Validation, ranking: Ranking, ranked: RankedJudge) -> str:
    """Write a rank with its interval, as in 2 (1-3)."""
    if ranked.rank is None or validation.choosing is None:
        return "-"
    places = validation.choosing.orders[ranking.metric].places
    mine = next(place for place in places if place.judge == ranked.judge)
    return (
        f"{ranked.rank} ({mine.rank_low}-{mine.rank_high})" if mine.rank_low else f"{ranked.rank}"
    )


def _cell(judge: JudgeResult, metric: str) -> str:
    one = judge.metrics[metric]
    return f"{number(one.value)} {span(one.interval)}".strip()


def _reasons(validation: Validation, metrics: Sequence[str]) -> list[str]:
    return [
        f"{judge.name}: {metric} is {estimate(judge.metrics[metric])}"
        for judge in validation.judges
        for metric in metrics
        if judge.metrics[metric].value is None
    ]


def _outcomes(validation: Validation) -> str:
    """Count what became of the replies; a judge's line stands under its way of asking."""
    counts = ("planned", "answered", "abstained", "refused", "invalid", "failed", "not_asked")
    heads = ("judge", "planned", "answ.", "abst.", "refus.", "inval.", "fail.", "not asked")
    by_elicitation: dict[str, list[tuple[str, ...]]] = {}
    for judge in validation.judges:
        for found in judge.outcomes:
            derived = " (derived)" if found.elicitation in judge.derived else ""
            numbers = [str(getattr(found, name)) for name in counts]
            rows = by_elicitation.setdefault(found.elicitation, [])
            rows.append((f"  {judge.name}{derived}", *numbers))
    blank = [""] * len(counts)
    rows = [row for name, some in by_elicitation.items() for row in ((f"{name}:", *blank), *some)]
    return "\n".join(columns(heads, rows))


def _humans(validation: Validation) -> str:
    agreement = validation.humans.agreement
    rows = [(name, estimate(one), str(one.n_used)) for name, one in agreement.items()]
    return "\n".join(columns(("human agreement", "value", "items"), rows))
