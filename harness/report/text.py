"""A validation as text for a terminal, 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import counted, estimate, headline, number, percent, reason, span
from harness.report.recommendation import sentences
from harness.report.text_table import draw_table, paragraph
from harness.stats.inference.metric import DESIGN_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis import JudgeResult, Ranking, Validation
    from harness.analysis.result import RankedJudge, Settings

SECONDARY = ("decision_consistency", "prevalence_bias")  # the first that does not rank is shown
HEADS = {"decision_consistency": "consistency tau={tau:g}", "prevalence_bias": "bias tau={tau:g}"}
UNITS = {"item": "items", "group": "groups", "criterion": "criteria"}


def render(validation: Validation, *, brief: bool = False) -> str:
    """Return the ranking and the decision as text.

    Parameters
    ----------
    validation : Validation
        Every number shown.
    brief : bool, optional
        Leave out the counts and costs of the replies.
    """
    parts = [headline(validation)]
    if validation.task.notice:
        parts.append(f"({validation.task.notice})")
    if validation.ranking is None:
        parts += ["", _human_agreement(validation)]
    else:
        parts += ["", *_ranking(validation, validation.ranking)]
        if not brief:
            parts += ["", _outcomes(validation), *map(paragraph, cost_lines(validation))]
    parts += [paragraph(f"note: {note}") for note in validation.notes]
    parts += ["", *map(paragraph, sentences(validation))]
    return "\n".join(parts)


def cost_lines(validation: Validation) -> Iterator[str]:
    """Yield what each judge cost in this run, and the cost of one answered verdict."""
    for judge in validation.judges:
        cost = judge.cost
        if not (cost.n_paid + cost.n_cached) or (cost.usd == 0 and not cost.usd_per_answered):
            continue
        paid = "unknown price" if cost.usd is None else f"${cost.usd:.4f}"
        line = f"cost: {judge.name} {paid} for {cost.n_paid} replies"
        if cost.n_cached:
            line += f", {cost.n_cached} more from the cache"
        if cost.usd_per_answered is not None:
            line += f"; ${cost.usd_per_answered:.3g} per answered verdict"
        if cost.prompt_tokens and cost.cached_tokens:
            share = cost.cached_tokens / cost.prompt_tokens
            line += f"; {share:.0%} of its prompt tokens were in the provider's cache"
        yield line


def _ranking(validation: Validation, ranking: Ranking) -> list[str]:
    secondary = _secondary(validation, ranking)
    metrics = [ranking.metric, *secondary]
    heads = [HEADS[metric].format(tau=validation.settings.tau) for metric in secondary]
    rows = []
    for ranked in ranking.rows:
        judge = validation.judge(ranked.judge)
        rows.append(
            (
                _rank(validation, ranking, ranked),
                judge.name + (" *" if judge.baseline else ""),
                *(_cell(judge, metric) for metric in metrics),
                percent(judge.answered_fraction),
                str(judge.metrics[ranking.metric].n_used),
            )
        )
    lines = [draw_table(("rank", "judge", ranking.metric, *heads, "answered", "items"), rows)]
    if any(judge.baseline for judge in validation.judges):
        lines.append("* baseline")
    lines += [
        _items_of(validation, metric) for metric in secondary if _n_differ(validation, metric)
    ]
    lines += _undefined(validation, metrics)
    if not secondary:
        lines.append(_undefined_for_all(validation, SECONDARY[0]))
    return lines + [paragraph(line) for line in _legend(validation, ranking)]


def _secondary(validation: Validation, ranking: Ranking) -> list[str]:
    """Return the metric shown beside the ranking one, if it is defined for any judge."""
    metric = next(name for name in SECONDARY if name != ranking.metric)
    defined = any(judge.metrics[metric].value is not None for judge in validation.judges)
    return [metric] if defined else []


def _n_differ(validation: Validation, metric: str) -> bool:
    """Return whether a metric rests on other numbers of items than the one that ranks."""
    ranks = validation.settings.metric
    return any(
        judge.metrics[metric].value is not None
        and judge.metrics[metric].n_used != judge.metrics[ranks].n_used
        for judge in validation.judges
    )


def _items_of(validation: Validation, metric: str) -> str:
    estimates = [judge.metrics[metric] for judge in validation.judges]
    n_items = counted(result.n_used for result in estimates if result.value is not None)
    return f"{metric.replace('_', ' ')} is on {n_items}"


def _undefined(validation: Validation, metrics: Sequence[str]) -> list[str]:
    """Say why single values of the table are NA."""
    return [
        f"{judge.name}: {metric} is {estimate(judge.metrics[metric])}"
        for judge in validation.judges
        for metric in metrics
        if judge.metrics[metric].value is None
    ]


def _undefined_for_all(validation: Validation, metric: str) -> str:
    reasons = dict.fromkeys(reason(judge.metrics[metric]) for judge in validation.judges)
    return f"{metric.replace('_', ' ')} is NA for every judge ({', '.join(reasons)})"


def _legend(validation: Validation, ranking: Ranking) -> list[str]:
    """Say how the intervals are made, what they cover, and which metric has the other estimand."""
    settings = validation.settings
    facts = next(row for row in validation.metrics if row.name == ranking.metric)
    text = f"{settings.confidence:.0%} intervals: {_method(settings)}, {facts.estimand}."
    counts = [judge.metrics[ranking.metric].ratings_per_item for judge in validation.judges]
    n_ratings = next((count for count in counts if count is not None), None)
    if facts.estimand != DESIGN_VALUE or n_ratings is None:
        return [text]
    estimand = (
        f"for infinitely many see {facts.population}"
        if facts.population
        else "with more raters the values would differ"
    )
    plural = "" if n_ratings == 1 else "s"
    return [text, f"The design has {n_ratings:g} rating{plural} per item; {estimand}."]


def _method(settings: Settings) -> str:
    units = UNITS[settings.unit]
    if settings.interval == "jackknife":
        return f"jackknife of {units}"
    corrected = " (BCa)" if settings.interval == "bca" else ""
    return f"bootstrap of {units}{corrected}, {settings.n_resamples} resamples"


def _rank(validation: Validation, ranking: Ranking, ranked: RankedJudge) -> str:
    """Write a rank with its interval, as in 2 (1-3)."""
    if ranked.rank is None or validation.choosing is None:
        return "-"
    places = validation.choosing.orders[ranking.metric].places
    place = next(place for place in places if place.judge == ranked.judge)
    ranks = f" ({place.rank_low}-{place.rank_high})" if place.rank_low else ""
    return f"{ranked.rank}{ranks}"


def _cell(judge: JudgeResult, metric: str) -> str:
    result = judge.metrics[metric]
    return f"{number(result.value)} {span(result.interval)}".strip()


def _outcomes(validation: Validation) -> str:
    """Count the outcomes of the replies by elicitation, then judge."""
    names = ("planned", "answered", "abstained", "refused", "invalid", "failed", "not_asked")
    heads = ("judge", "planned", "answ.", "abst.", "refus.", "inval.", "fail.", "not asked")
    by_elicitation: dict[str, list[tuple[str, ...]]] = {}
    for judge in validation.judges:
        for counts in judge.outcomes:
            derived = " (derived)" if counts.elicitation in judge.derived else ""
            numbers = [str(getattr(counts, name)) for name in names]
            rows = by_elicitation.setdefault(counts.elicitation, [])
            rows.append((f"  {judge.name}{derived}", *numbers))
    blank = [""] * len(names)
    rows = [row for name, group in by_elicitation.items() for row in ((f"{name}:", *blank), *group)]
    return draw_table(heads, rows)


def _human_agreement(validation: Validation) -> str:
    agreement = validation.humans.agreement
    rows = [(name, estimate(value), str(value.n_used)) for name, value in agreement.items()]
    return draw_table(("inter-rater agreement", "value", "items"), rows)
