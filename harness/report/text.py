"""A validation as text for a terminal, 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import (
    compared_on,
    estimate,
    headline,
    number,
    percent,
    raters_covered,
    with_bounds,
)
from harness.report.recommendation import capitalized, decided_alike, sentences, summary
from harness.report.rubric_table import rubric_heads, rubric_rows, rubric_title
from harness.report.text_table import draw_table, paragraph
from harness.report.translation_text import READING, translation_text
from harness.stats.inference.metric import DESIGN_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.evidence import Evidence
    from harness.analysis.result import Settings
    from harness.stats import Ranking

BASELINE_NAMES = {
    "uniform": "guessing",
    "prior": "marginal",
    "most_frequent": "most frequent",
    "mean": "mean rating",
    "median": "median rating",
}
UNITS = {"item": "items", "group": "groups", "criterion": "criteria"}


def render(validation: Validation, *, details: bool = False) -> str:
    """Return the ranking and the decision as text.

    Parameters
    ----------
    validation : Validation
        Every number shown.
    details : bool, optional
        Add how intervals are made, the outcomes and costs of replies, and the rest of what bears
        on the decision.
    """
    parts = [headline(validation)]
    if validation.task.notice and validation.evidence is None:
        parts.append(f"({validation.task.notice})")
    if validation.evidence is None:
        parts += ["", _human_agreement(validation)]
    else:
        compared = compared_on(validation)
        parts += [*([paragraph(f"{capitalized(compared)}.")] if compared else []), ""]
        parts += [_ranking(validation, validation.evidence)]
        if validation.rubric is not None:
            table = draw_table(rubric_heads(validation), rubric_rows(validation, intervals=details))
            parts += ["", paragraph(rubric_title(validation.rubric)), "", table]
            parts += [""] if details or validation.notes else []
        if details and validation.ranking is not None:
            parts += [paragraph(line) for line in _legend(validation, validation.ranking)]
            parts += [paragraph(line) for line in _translations(validation)]
            parts += ["", _outcomes(validation), *map(paragraph, cost_lines(validation))]
    parts += [paragraph(f"note: {note}") for note in validation.notes]
    lines = sentences(validation) if details else summary(validation)
    parts += ["", *map(paragraph, lines)]
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


def _ranking(validation: Validation, evidence: Evidence) -> str:
    """Draw judges, one human and the computed baselines on one scale; no columns without values."""
    rows: list[tuple[str, ...]] = []
    name = evidence.display_name.partition(" (")[0]
    heads = ("rank", "judge", name, "alike", "beta-hat", "answered", "$/1,000")
    for place, row in enumerate(evidence.judges):
        judge = validation.judge(row.judge)
        if place == 0 and row.value is not None:
            value = with_bounds(row.value, evidence.winner_low, evidence.winner_high)
        elif row.ranked:
            value = with_bounds(row.value, row.low, row.high)
        else:
            value = estimate(judge.metrics[evidence.metric])
        alike = decided_alike(validation, judge).value
        usd = judge.cost.usd_per_answered
        rows.append(
            (
                rank_set(row.ranks),
                row.judge,
                value,
                "NA" if alike is None else f"{alike:.0%}",
                beta_hat(validation, judge),
                percent(row.answered_fraction),
                "" if usd is None else f"{1000 * usd:.2f}",
            )
        )
    if evidence.human_value is not None:
        human = with_bounds(evidence.human_value, evidence.human_low, evidence.human_high)
        rows.append(("", "one human", human, *[""] * 4))
    rows += [
        (
            "",
            BASELINE_NAMES[row.name],
            with_bounds(row.value, row.low, row.high),
            *[""] * 4,
        )
        for row in evidence.baselines
        if row.value is not None
    ]
    columns = [[row[i] for row in rows] for i in range(len(heads))]
    kept = [i for i, column in enumerate(columns) if not {*column} <= {"", "NA"}]
    return draw_table([heads[i] for i in kept], [[row[i] for i in kept] for row in rows])


def rank_set(ranks: tuple[int, int] | None) -> str:
    """Return a rank, or the first and last of several; a hyphen where there is none."""
    if ranks is None:
        return "-"
    low, high = ranks
    return str(low) if low == high else f"{low}-{high}"


def beta_hat(validation: Validation, judge: JudgeResult) -> str:
    """Return beta-hat by pairs, or by likelihood from independent calls, marked with a tilde."""
    if judge.beta.value is not None:
        return number(judge.beta.value, 2)
    sensitivity = validation.sensitivity
    fitted = sensitivity.judge_betas.get(judge.name) if sensitivity else None
    if fitted is None or fitted.value is None:
        return "NA"
    return f"~{number(fitted.value, 2)}"


def _legend(validation: Validation, ranking: Ranking) -> list[str]:
    """Say how the intervals are made, what they cover, and which metric has the other estimand."""
    settings = validation.settings
    facts = next(row for row in validation.metrics if row.name == ranking.metric)
    names = {row.name: row.display_name for row in validation.metrics}
    text = f"{settings.confidence:.0%} intervals: {_method(settings)}, {facts.estimand}. "
    text += raters_covered(validation)
    counts = [judge.metrics[ranking.metric].ratings_per_item for judge in validation.judges]
    n_ratings = next((count for count in counts if count is not None), None)
    if facts.estimand != DESIGN_VALUE or n_ratings is None:
        return [text]
    estimand = (
        f"for infinitely many see {names[facts.population]}"
        if facts.population
        else "with more raters the values would differ"
    )
    plural = "" if n_ratings == 1 else "s"
    return [text, f"The design has {n_ratings:g} rating{plural} per item; {estimand}."]


def _translations(validation: Validation) -> list[str]:
    """Return F-hat of each judge, with how to read it; nothing without options."""
    if not validation.task.options:
        return []
    lines = [f"F-hat: {j.name} {translation_text(validation, j)}." for j in validation.judges]
    return [READING, *lines]


def _method(settings: Settings) -> str:
    units = UNITS[settings.unit]
    if settings.interval == "jackknife":
        return f"jackknife of {units}"
    corrected = " (BCa)" if settings.interval == "bca" else ""
    return f"bootstrap of {units}{corrected}, {settings.n_resamples} resamples"


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
