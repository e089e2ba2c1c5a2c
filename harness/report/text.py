"""Format a validation as text for a terminal, 80 columns wide."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from harness.files.plain_text import SCREEN_WIDTH, counted
from harness.report.fitted_text import ShortTable, TextPart, fitted, joined
from harness.report.formatting import (
    capitalized,
    choice_labels,
    compared_on,
    estimate,
    headline,
    level_text,
    number,
    percent,
    raters_covered,
    reason,
    reason_words,
    replies_each,
    translation_cells,
    with_bounds,
)
from harness.report.next_steps import LATER_STEP
from harness.report.race_text import optional_lines, race_lines, race_table
from harness.report.ranking_columns import ranking_table
from harness.report.ranking_rows import agreement_table, missing_intervals
from harness.report.recommendation import optional_sentences, sentences, summary
from harness.report.score_table import score_table, score_terms, strata_table
from harness.report.slice_rows import terminal_slice_table
from harness.report.text_table import draw_table, paragraph
from harness.report.unreadable_text import example_lines, sentence, worth_reading
from harness.report.words import RUBRIC_LEVELS, UNITS
from harness.stats.inference.metric import DESIGN_VALUE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.rubric import RubricResult
    from harness.analysis.second_questions import SecondQuestions
    from harness.report.fitted_text import PartKind
    from harness.report.formatting import TranslationCells
    from harness.report.score_table import TitledRows
    from harness.stats import Ranking
    from harness.stats.reasons import Reason


READING = (
    "F-hat is the chance of each choice, given the response set. Sets of one option leave no "
    "choice, so they aren't listed."
)
LEAST_ROWS = 3  # judges of a ranking that is cut
POPULATION_METRICS = {  # estimates for infinitely many raters
    "mse(s/s)": "mse_without_rater_noise(s/s)",
    "mse(srs/srs)": "mse_without_rater_noise(srs/srs)",
}


def translation_text(v: Validation, judge: JudgeResult) -> str:
    """Format F-hat from pairs, or else from independent calls by maximum likelihood, or NA."""
    if judge.F is not None:
        n_endorsed = judge.n_endorsed
        reasons: list[Reason] = ["never_endorsed"] * len(v.task.response_sets)
        columns = _columns(v, translation_cells(judge), reasons, n_endorsed)
        return f"from pairs ({counted([sum(n_endorsed)], 'pair')}): {'; '.join(columns)}"
    fit = v.sensitivity.judge_translations.get(judge.name) if v.sensitivity else None
    if fit is None:
        return f"NA ({reason(judge.beta)}, and no item has independent calls of both kinds)"
    calls = f"{counted([fit.n_items])}, {fit.n_forced} choices and {fit.n_sets} sets"
    columns = _columns(v, translation_cells(fit), fit.reasons)
    return f"by maximum likelihood ({calls}): {'; '.join(columns)}"


def _columns(
    v: Validation,
    cells: TranslationCells,
    reasons: Sequence[Reason],
    n_endorsed: tuple[int, ...] = (),
) -> Iterator[str]:
    """Describe the choices for each set with several options, then count the undefined columns."""
    undefined: Counter[str] = Counter()
    labels = choice_labels(v)
    for i, (keys, shares) in enumerate(
        zip(v.task.response_sets, zip(*cells, strict=True), strict=True)
    ):
        if len(keys) == 1:
            continue
        if any(share is None for share, _, _ in shares):
            undefined[reason_words(reasons[i])] += 1
            continue
        chances = dict(zip(labels, shares, strict=True))
        n = f" ({counted([n_endorsed[i]], 'pair')})" if n_endorsed else ""
        choices = ", ".join(
            f"{labels[key]} {with_bounds(value, low, high, 2)}"
            for key in keys
            for value, low, high in [chances[key]]
        )
        yield f"{{{', '.join(labels[key] for key in keys)}}}{n} {choices}"
    if undefined:
        yield ", ".join(f"{counted([n], 'set')} NA ({why})" for why, n in undefined.items())


def rubric_table(v: Validation, rubric: RubricResult, *, intervals: bool = True) -> TitledRows:
    """Return a table of each judge's kappa by criterion and level, best judge first."""
    met_at = "if all criteria are met"
    if rubric.threshold < 1.0:
        met_at = f"at {rubric.threshold:.0%} of the weight of its criteria"
    judges = [judge.name for judge in v.ranked_judges]
    rows = []
    for row in rubric.rows:
        if row.level == "two_stage" and not intervals:
            continue  # the values are for level micro
        weight = "" if row.weight is None else f"{row.weight:g}"
        met = "" if row.met is None else percent(row.met)
        kappas = [row.kappa[judge] for judge in judges]
        cells = [estimate(k, 2) if intervals else number(k.value, 2) for k in kappas]
        name = row.name if row.level == "criterion" else RUBRIC_LEVELS[row.level]
        rows.append([name, weight, str(row.n), met, *cells])
    title = f"Kappa with most raters. An item is met {met_at}."
    return title, ["criterion", "weight", "rated", "met", *judges], rows


def second_questions_table(asked: SecondQuestions) -> TitledRows:
    """Return a table of each judge's share of second questions, and its ranks with and without."""
    rows = [
        [
            judge.judge,
            f"{percent(judge.share)} of {judge.n_replies}",
            str(judge.n_read),
            _rank(judge.rank, judge.value),
            _rank(judge.rank_without, judge.value_without),
        ]
        for judge in asked.judges
    ]
    title = (
        "The harness asked judges once more if it couldn't read a reply. Without these second "
        f"replies, judges are compared on {counted([asked.n_items])}, with "
        f"{replies_each(asked.n_replies)}."
    )
    return title, ["judge", "asked again", "then read", "rank", "rank without"], rows


def _rank(rank: int | None, value: float | None) -> str:
    return "-" if rank is None else f"{rank} ({number(value)})"


def render(
    validation: Validation,
    *,
    details: bool = False,
    width: int = SCREEN_WIDTH,
    most_lines: int | None = None,
) -> str:
    """Return the ranking and the decision as text.

    Parameters
    ----------
    validation : Validation
        Every number to show.
    details : bool, optional
        Add the interval method, the outcomes and costs of replies, and the remaining evidence.
    width : int, optional
        Columns of the screen, which tables use.
    most_lines : int, optional
        Lines to print. The rest is left out, and a line counts it. Ignored with ``details``.
    """
    parts = _parts(validation, details=details, width=width)
    return joined(parts) if most_lines is None or details else fitted(parts, most_lines)


def _parts(validation: Validation, *, details: bool, width: int) -> list[TextPart]:
    """Return all lines in order, as parts that can be left out or must stay."""
    parts = [TextPart(headline(validation))]
    if validation.task.notice and validation.evidence is None:
        parts.append(TextPart(f"({validation.task.notice})"))
    if (race := validation.race) is not None:
        heads, raced = race_table(race)
        parts.append(ShortTable(heads, raced, width, "race row", range(1, len(raced))).part())
        if validation.judges:
            parts += [
                TextPart(""),
                *_sentences(race_lines(race), optional_lines(race)),
                TextPart(""),
            ]
    if validation.evidence is not None:
        parts += _ranked(validation, details=details, width=width)
    elif race is None:
        parts.append(TextPart("\n" + draw_table(*agreement_table(validation), width=width)))
    parts += [TextPart(paragraph(f"note: {note}"), "note") for note in validation.notes]
    for i, replies in enumerate(validation.unreadable if details else worth_reading(validation)):
        parts.append(TextPart("\n" + paragraph(sentence(replies)), "sentence" if i else ""))
        parts += [TextPart(line, "example") for line in example_lines(replies)]
    lines = sentences(validation) if details else summary(validation)
    first, *others = _sentences(lines, optional_sentences(validation))
    return [*parts, TextPart(f"\n{first.text}", "summary"), *others]


def _sentences(lines: Sequence[str], optional: Collection[str]) -> list[TextPart]:
    """Return lines as paragraphs. Optional lines and later next steps can be left out."""
    kinds: list[PartKind] = [
        "sentence" if line in optional else "step" if line.startswith(LATER_STEP) else ""
        for line in lines
    ]
    return [TextPart(paragraph(line), kind) for line, kind in zip(lines, kinds, strict=True)]


def _ranked(validation: Validation, *, details: bool, width: int) -> list[TextPart]:
    """Return the ranking, preceded by how judges are compared and followed by other tables."""
    parts = []
    if compared := compared_on(validation, reasons=details, explained=True):
        parts.append(TextPart(paragraph(f"{capitalized(compared)}.")))
    parts.append(_ranking(validation, details=details, width=width))
    if missing := missing_intervals(validation):
        parts.append(TextPart(paragraph(missing), "sentence"))
    if validation.rubric:
        title, heads, rows = rubric_table(validation, validation.rubric, intervals=details)
        optional = range(len(rows) - 1)  # all except one verdict per item
        table = ShortTable(heads, rows, width, "rubric row", optional, paragraph(title))
        end = [TextPart("")] if details or validation.notes else []
        parts += [table.part(), *end]
    if validation.scores:
        title, heads, rows = score_table(validation.scores)
        of_others = range(1, len(rows))
        table = ShortTable(heads, rows, width, "score row", of_others, paragraph(title))
        terms = score_terms(validation.scores)
        parts += [table.part(), *_sentences(terms, terms), TextPart("")]
    if details and validation.ranking is not None:
        lines = [*_legend(validation, validation.ranking), *_translations(validation)]
        lines = [*map(paragraph, (*lines, *prevalence_lines(validation)))]
        lines += ["", _outcomes(validation), *map(paragraph, cost_lines(validation))]
        for title, heads, rows in _further_tables(validation):
            lines += ["", paragraph(title), "", draw_table(heads, rows, width=width), ""]
        parts += map(TextPart, lines)
    return parts


def _ranking(validation: Validation, *, details: bool, width: int) -> TextPart:
    """Return the ranking table. Judges after the first `LEAST_ROWS` can be left out."""
    ranking = ranking_table(validation, "terminal", with_all_baselines=details)
    of_judges = [i for i, row in enumerate(ranking.rows) if row.judge is not None]
    table = ShortTable(ranking.heads, ranking.cells, width, "judge", of_judges[LEAST_ROWS:])
    return table.part()


def _further_tables(validation: Validation) -> Iterator[TitledRows]:
    """Yield the tables of a validation other than the ranking."""
    if validation.scores:
        yield strata_table(validation.scores, intervals=False)
    if validation.second_questions:
        yield second_questions_table(validation.second_questions)
    if validation.slices and (table := terminal_slice_table(validation)):
        yield table


def cost_lines(validation: Validation) -> Iterator[str]:
    """Yield a line with each judge's cost in this run and its cost per answered verdict."""
    for judge in validation.judges:
        cost = judge.cost
        if not (cost.n_paid + cost.n_from_store) or (cost.usd == 0 and not cost.usd_per_answered):
            continue
        paid = "unknown price" if cost.usd is None else f"${cost.usd:.4f}"
        line = f"cost: {judge.name} {paid} for {cost.n_paid} replies"
        if cost.n_from_store:
            line += f", {cost.n_from_store} more from the store"
        if cost.usd_per_answered is not None:
            line += f"; ${cost.usd_per_answered:.3g} per answered verdict"
        if cost.prompt_tokens and cost.cached_tokens:
            share = cost.cached_tokens / cost.prompt_tokens
            line += f"; {share:.0%} of its prompt tokens were in the provider's cache"
        yield line


def _legend(validation: Validation, ranking: Ranking) -> list[str]:
    """Explain the intervals, and give the metric for the other estimand."""
    metric = validation.metric(ranking.metric)
    estimand = metric.estimand if metric else DESIGN_VALUE
    level = level_text(validation.settings.confidence)
    text = f"{level} intervals: {_method(validation)}, {estimand}. "
    text += raters_covered(validation)
    counts = [judge.metrics[ranking.metric].ratings_per_item for judge in validation.judges]
    n_ratings = next((count for count in counts if count is not None), None)
    if estimand != DESIGN_VALUE or n_ratings is None:
        return [text]
    name = POPULATION_METRICS.get(ranking.metric)
    population = validation.metric(name) if name else None
    more = (
        f"For infinitely many, see {population.display_name}"
        if population
        else "Values depend on this number"
    )
    plural = "" if n_ratings == 1 else "s"
    return [text, f"The design has {n_ratings:g} rating{plural} per item. {more}."]


def _translations(validation: Validation) -> list[str]:
    """Return each judge's F-hat with an explanation, or nothing for tasks without options."""
    if not validation.task.options:
        return []
    lines = [f"F-hat: {j.name} {translation_text(validation, j)}." for j in validation.judges]
    betas = [f"{j.name} {_beta_text(validation, j)}" for j in validation.judges]
    return [f"beta-hat: {'; '.join(betas)}.", READING, *lines]


def _beta_text(validation: Validation, judge: JudgeResult) -> str:
    beta, by_likelihood = validation.beta_hat(judge.name)
    return f"{'~' if by_likelihood else ''}{estimate(beta, 2)}"


def _method(validation: Validation) -> str:
    unit, n_resamples = validation.sampling.unit, validation.settings.n_resamples
    return f"bootstrap of {UNITS[unit]}, {n_resamples} resamples"


def _outcomes(validation: Validation) -> str:
    """Count reply outcomes by elicitation, then by judge."""
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


def verdict_paragraph(validation: Validation) -> str:
    """Return the sentence with the verdict, as in `render`."""
    return paragraph(summary(validation)[0])


def prevalence_lines(v: Validation) -> Iterator[str]:
    """Yield the raters' share of positive items, each judge's bias, and a warning about beta."""
    prevalence = v.humans.prevalence
    if prevalence is None:
        return
    kinds = [("choices", prevalence.forced_choice), ("response sets", prevalence.response_set)]
    shares = [
        f"{estimate(share)} by {kind} ({counted([share.n_used])})"
        for kind, share in kinds
        if share.value is not None
    ]
    if shares:
        yield f"Prevalence (share of positive items) for the raters: {', '.join(shares)}."
    for judge in v.ranked_judges:
        bias = judge.metrics.get("prevalence_bias")
        if bias is not None and bias.value is not None:
            sign = "+" if bias.value > 0 else ""
            yield (
                f"Prevalence bias of {judge.name}: {sign}{estimate(bias)} on "
                f"{counted([bias.n_used])}."
            )
    if line := missed_line(v):
        yield line


def missed_line(v: Validation) -> str:
    """Warn if one beta for all items does not describe the raters' sets, else return ""."""
    prevalence = v.humans.prevalence
    if prevalence is None or not prevalence.is_missed:
        return ""
    implied, difference = prevalence.reconstructed, prevalence.difference
    if implied is None or difference is None or prevalence.beta is None:
        return ""
    return (
        f"At the raters' beta ({number(prevalence.beta, 2)}), the sweep results in a prevalence "
        f"of {number(implied.value)}. The prevalence from their response sets on the same "
        f"{counted([difference.n_used])} differs by {estimate(difference)} from what you'd "
        "expect for as many raters. Beta varies between items, so the real uncertainty is "
        "larger than the sweep shows."
    )
