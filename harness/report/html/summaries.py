"""Numbers for the first screen, and one-line summaries for the collapsed sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.recommendation_checks import ANNOTATOR_TEST, ONE_HUMAN
from harness.files.plain_text import counted
from harness.report.certainty_charts import stratum_words
from harness.report.confusion_charts import ranked_errors
from harness.report.formatting import (
    about,
    level_text,
    listed,
    number,
    p_value,
    percent,
    reason_words,
    with_bounds,
)
from harness.report.race_text import share_asked
from harness.report.ranking_rows import CONSISTENCY, alike_words, decided_alike
from harness.report.recommendation import differs_at_beta, not_answered, tested_raters
from harness.report.sensitivity_charts import swept_grid
from harness.report.verdict_words import (
    has_single_ratings,
    quoted_option,
    raters_say,
    reason_words_of,
    why_open,
)
from harness.report.words import GOAL_WORDS, METRIC_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.evidence_rows import JudgeEvidence
    from harness.report.charts import Band
    from harness.report.checklist import Practice
    from harness.report.html.details import Details
    from harness.stats import Estimate

MAX_NAMES = 3  # judges named for one rank; further ones are counted


@dataclass(frozen=True, slots=True)
class Headline:
    """Number on the first screen, with its meaning."""

    value: str
    meaning: str


def figures(v: Validation) -> list[Headline]:
    """Return numbers on the top judge: agreement with a rater, closeness to the raters, and cost.

    The result is empty if no judge is compared.
    """
    if v.evidence is None or v.decision.leader is None:
        return []
    row, judge = v.evidence.judges[0], v.judge(v.decision.leader)
    return [_agreement(v, row, judge), _closeness(v, row), _cost(v, row, judge)]


def _agreement(v: Validation, row: JudgeEvidence, judge: JudgeResult) -> Headline:
    """Return the top judge's agreement with a different rater, or its share of equal decisions."""
    assert v.evidence is not None
    agreeing = v.evidence.share_agreeing
    if agreeing is not None and agreeing.judge is not None and agreeing.human is not None:
        items = counted([agreeing.n_items])
        a_rater = f"a rater's: {100 * agreeing.human:.0f} of 100 ({items})"
        value = f"{100 * agreeing.judge:.0f} of 100"
        return Headline(value, f"answers agree with another rater's; {a_rater}")
    alike = decided_alike(v, judge)
    if alike.value is None:
        return Headline(number(row.value), v.evidence.display_name)
    return Headline(
        percent(alike.value), f"of items {alike_words(v)} {_percent_span(alike)}".strip()
    )


def _percent_span(estimate: Estimate) -> str:
    interval = estimate.interval
    if interval is None:
        return ""
    return f"[{percent(interval.low)}, {percent(interval.high)}]"


def _closeness(v: Validation, row: JudgeEvidence) -> Headline:
    """Return the top judge's distance from the raters compared with a rater's, or its interval."""
    assert v.evidence is not None
    human, check = row.human, v.decision.checks[ONE_HUMAN.kind]
    if human is not None and human.difference is not None:
        is_closer = human.difference < 0
        low, high = human.low, human.high
        if is_closer and low is not None and high is not None:
            low, high = -high, -low
        bounds = with_bounds(abs(human.difference), low, high).partition(" ")[2]
        limit = f"margin {number(check.threshold)}"
        items = "" if human.n_items == v.evidence.n_items else f" on {human.n_items} items"
        which = "closer to" if is_closer else "further from"
        meaning = f"{which} the raters than a human rater{items} {bounds}; {limit}"
        return Headline(number(abs(human.difference)), meaning)
    interval = row.estimate.interval
    if interval is None:
        return Headline("unsure", "too few items for an interval")
    level = level_text(v.settings.confidence)
    meaning = f"{v.evidence.display_name}, {level} interval; a human rater can't be compared"
    return Headline(f"{number(interval.low)} to {number(interval.high)}", meaning)


def _cost(v: Validation, row: JudgeEvidence, judge: JudgeResult) -> Headline:
    assert v.evidence is not None
    usd = judge.cost.usd_per_answered
    answered = f"{percent(row.answered_fraction)} of {counted([v.evidence.n_rated])} answered"
    answered += f", answer rate {percent(row.usable_replies)} of {row.n_planned} replies"
    unusable = not_answered(judge)
    note = f"{answered}; {unusable}" if unusable else answered
    if usd is None:
        answered = percent(row.answered_fraction)
        return Headline(answered, f"{note.removeprefix(answered).strip()}; cost unknown")
    others = [v.judge(name) for name in v.decision.not_distinguishable[:MAX_NAMES]]
    prices = [
        f"{other.name} {_per_thousand(other.cost.usd_per_answered)}"
        for other in others
        if other.cost.usd_per_answered is not None
    ]
    compared = f" ({', '.join(prices)})" if prices else ""
    return Headline(_per_thousand(usd), f"per 1,000 answers{compared}; {note}")


def _per_thousand(usd: float | None) -> str:
    return "unknown" if usd is None else f"${1000 * usd:.2f}"


def chart_note(v: Validation, band: Band | None) -> str:
    """Explain the bars, the band for a human rater, and the grey rows."""
    leader = v.decision.leader or ""
    judges = v.evidence.judges if v.evidence else ()
    is_chosen = len(judges) > 1 or v.race
    chosen = f", and the interval for {leader} corrected for its selection" if is_chosen else ""
    human = f"Band: a human rater on the same ratings as {leader}. " if band else ""
    close = "Hollow markers are judges that aren't significantly different from the first. "
    hollow = close if v.decision.not_distinguishable else ""
    level = level_text(v.settings.confidence)
    return f"Bars: {level} intervals{chosen}. {human}{hollow}Grey: baselines."


def section_results(
    v: Validation, practices: Sequence[Practice], details: Details | None
) -> dict[str, str]:
    """Return a one-line summary of each collapsed section."""
    complete = sum(practice.state != "missing" for practice in practices)
    return {
        "search": details.search.lead[-1] if details and details.search else "",
        "race": f"used {share_asked(v.race)} of all replies" if v.race else "",
        "ranking": _ranking(v),
        "sensitivity": _sensitivity(v),
        "certainty": _strata(v),
        "replacement": _annotator_test(v),
        "trust": _trusted(details) if details and details.trust else "",
        "checks": _checked(v) if v.checks else "",
        "errors": _errors(v),
        "selftest": details.selftest["lead"][2] if details and details.selftest else "",
        "provenance": f"{complete} of {len(practices)} checklist items complete",
    }


def _ranking(v: Validation) -> str:
    if v.evidence is None:
        return "judges raced: NA" if v.race else "no verdicts were given"
    by_ranks: dict[tuple[int, int], list[str]] = {}
    for row in v.evidence.judges:
        if row.ranks is not None and row.value is not None:
            by_ranks.setdefault(row.ranks, []).append(row.judge)
    parts = [
        f"{_named(names)} rank {low}" + ("" if low == high else f" to {high}")
        for (low, high), names in by_ranks.items()
    ]
    if v.decision.unranked:
        parts.append(f"{_named(v.decision.unranked)} not ranked")
    return "; ".join(parts) or f"{_named([row.judge for row in v.evidence.judges])} without ranks"


def _trusted(details: Details) -> str:
    return "; ".join(
        f"{percent(found.n_accepted / found.n_items)} of {found.judge}'s verdicts"
        for found in details.trust
    )


def _checked(v: Validation) -> str:
    return f"checked without labels: {_named(list(v.checks))}"


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= MAX_NAMES else f"{len(names)} judges"


def _sensitivity(v: Validation) -> str:
    parts = []
    even = v.decision.break_even
    if v.humans.beta.value is not None:
        parts.append(f"the raters' beta is {number(v.humans.beta.value, 2)}")
    if even is not None:
        n_changes = len(even.pieces) - 1
        times = counted([n_changes], "time")
        close = v.decision.not_distinguishable
        judges = "a judge that is" if len(close) == 1 else f"{len(close)} judges that are"
        without = f" (without {judges} not significantly different)" if close else ""
        best = f"the best judge changes {times} over beta"
        same = "the same judge is best at every beta"
        parts.append(f"{best if n_changes else same}{without}")
    picks: dict[str, list[str]] = {}
    for choice in v.decision.usual_choices:
        pick = listed(choice.regret.selected)
        name = METRIC_WORDS.get(choice.regret.metric, choice.regret.metric)
        picks.setdefault(pick, []).append(name)
    parts += [f"{listed(names)} would have picked {pick}" for pick, names in picks.items()]
    return "; ".join(parts) or "not computed"


def _strata(v: Validation) -> str:
    """Name the strata in which the top judge agrees best and worst with the raters."""
    certainty, leader = v.certainty, v.decision.leader
    if certainty is None:
        return "not computed"
    results = [r for r in certainty.judges if r.judge == leader]
    alphas = [
        (round(estimate.value, 2), stratum_words(row.stratum))
        for result in results
        for row in result.strata
        if row.n_items and row.stratum.by != "n_labels"
        for estimate in [row.hw_mw[certainty.alpha]]
        if estimate.value is not None
    ]
    if not alphas:
        return "no stratum has a defined agreement"
    (worst, where_worst), (best, where_best) = min(alphas), max(alphas)
    if worst == best:
        return f"{leader}: agreement {number(best, 2)} wherever it is defined"
    best_text, worst_text = f"{number(best, 2)} ({where_best})", f"{number(worst, 2)}"
    return f"{leader}: agreement {best_text}, {worst_text} ({where_worst})"


def _annotator_test(v: Validation) -> str:
    check = v.decision.checks.get(ANNOTATOR_TEST.kind)
    if check is None or check.passed is None:
        reason = v.replacement.reason if v.replacement else "no_judges"
        text = why_open(v, check) if check else reason_words_of(ANNOTATOR_TEST, reason)
        return f"not decided: {text}" if text else "not decided"
    assert v.decision.leader is not None
    test = v.evidence_of(v.decision.leader).annotator_test
    assert test is not None, "it decided"
    by_whom = f"p {p_value(test.panel.p)} over {tested_raters(test)}"
    return f"{'yes' if check.passed else 'no'}, {v.decision.leader}: {by_whom}"


def _errors(v: Validation) -> str:
    """Name the top judge's most frequent confusion. Without options, count items."""
    if not v.task.options:
        return counted([v.task.n_items])
    errors = next((e for e in ranked_errors(v) if e.judge == v.decision.leader), None)
    if errors is None or not errors.confusion.n_items:
        return "no items with answers from both raters and judge"
    table = errors.confusion
    wrong = [(n, human, judge) for human, judge, n in table.pairs() if human != judge]
    if not wrong or errors.commonest is None:
        raters = "the rater does" if has_single_ratings(v) else "most raters do"
        return f"{errors.judge} gives the same answer as {raters} on all {table.n_items} items"
    error = errors.commonest
    judge, human = quoted_option(v, error.judge), quoted_option(v, error.human)
    on_items = f"{about(error.n)} of {counted([table.n_items])}"
    return f"most often {judge} where {raters_say(v)} {human}: {on_items}"


def no_sweep_reason(v: Validation) -> str:
    """Return why the sensitivity to beta was not computed, or "" if it was."""
    if v.sensitivity is None:
        return "not computed for this validation"
    reason = v.sensitivity.reason
    if not reason and swept_grid(v) is None:
        return "decisions are based on response sets, but no judge gave any"
    return reason_words(reason)


def changes(v: Validation) -> list[str]:
    """Describe which values of beta or which goals would change the decision."""
    return [*_by_beta(v), *_by_goal(v)] if v.judges else []


def _by_beta(v: Validation) -> list[str]:
    if v.sensitivity is None:
        return []
    if v.sensitivity.grid is None:
        reason = no_sweep_reason(v)
        return [f"Sensitivity to beta isn't known: {reason}."] if reason else []
    if v.decision.not_distinguishable:
        return []
    lines = []
    for goal, even in v.sensitivity.break_evens.items():
        if goal == CONSISTENCY and v.decision.break_even is not None:
            continue  # the decision already states it
        name, differs = GOAL_WORDS.get(goal, goal), differs_at_beta(v, goal)
        share = f" (at the raters' beta {differs})" if differs else ""
        pieces = [
            (" and ".join(piece.winners) or "none", piece.low, piece.high) for piece in even.pieces
        ]
        if len(pieces) > 1:
            ranges = [f"{names} from {low:.2f} to {high:.2f}" for names, low, high in pieces]
            lines.append(f"The best judge by {name} depends on beta{share}: {'; '.join(ranges)}.")
        elif pieces:
            lines.append(f"The best judge by {name} is {pieces[0][0]} at every beta{share}.")
    return lines


def _by_goal(v: Validation) -> list[str]:
    return [
        f"Best by {GOAL_WORDS.get(goal, goal)}: {' and '.join(first)}."
        for goal, first in v.decision.first_by_goal.items()
        if first and v.decision.leader not in first
    ]
