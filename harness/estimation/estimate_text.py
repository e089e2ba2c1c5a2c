"""Text output of `harness estimate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import ExitCode
from harness.files.plain_text import counted, visible
from harness.judging.judges.response_errors import UNREADABLE, explain, is_lasting
from harness.report.formatting import level_text, listed
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.estimation.accepted_items import AcceptedShare
    from harness.estimation.anytime import AnytimeLook
    from harness.estimation.by_slice import EstimateBySlice
    from harness.estimation.item_strata import Strata
    from harness.estimation.unrated_items import Estimation
    from harness.stats.estimation.label_plan import LabelPlan
    from harness.stats.estimation.population import Bounded, PopulationMean

COLUMNS = "  "  # separates the columns of a table
MOST_DIFFERENCES = 10  # differences that are printed even if not significant
LEAST_WORTH = 1.05  # a judge with a lower gain than this factor adds nothing
UNANSWERED = {  # value for an item without a usable answer
    "share": "not positive",
    "score": "its mean score",
    "preference": "its mean preference",
}
DIFFERENCES = {
    "verdicts": "{judge} answers them differently",
    "lengths": "their texts differ in length",
}


def described(result: Estimation) -> str:
    """Format an estimate as text, with sentences 80 columns wide."""
    return "\n".join(line if COLUMNS in line else paragraph(line) for line in _lines(result))


def _lines(result: Estimation) -> Iterator[str]:
    mean = result.mean
    n = f"{result.n_unlabelled:,}"
    if mean is None:
        yield from _without_mean(result)
        return
    if mean.estimate is None:
        yield f"No estimate: fewer than ten items were rated independently ({mean.reason})."
        return
    if result.look is not None:
        yield from _look(result.look, result)
        yield from filter(None, [result.reply_dates.sentence])
        return
    yield f"{_subject(result)}: {_estimate(mean.estimate, result)}"
    weighted = f", weighted by {result.strata.field}," if result.strata else ""
    yield (
        f"from {mean.n_labelled} rated items{weighted} and {result.judge}'s answers for {n} "
        f"unlabelled ones.{_allowance(mean)}"
    )
    yield _population(result)
    if result.paired_beta is not None:
        beta, n_pairs = result.paired_beta.value, result.paired_beta.n_pairs
        yield (
            f"beta is {beta:.2f}, from {n_pairs} pairs in which a rater gave a negative choice "
            "and a set."
        )
    elif result.beta_range is None:
        yield ""
        yield from _table(result, mean)
    if mean.worth is not None:
        yield ""
        yield _worth(result.judge, mean)
    if result.strata is not None:
        yield _strata(result.strata)
    if result.by_slice is not None:
        yield ""
        yield from _by_slice(result.by_slice, result)
    if result.needed is not None:
        yield _labels(result.needed, result)
    yield from _accepted(result.accepted, result.judge)
    yield from _left_out(result)
    yield from _warning(result)


def _without_mean(result: Estimation) -> Iterator[str]:
    """Explain why there is no estimate yet."""
    judge, replies = result.judge, result.replies
    if result.exit_code != ExitCode.INCOMPLETE:
        is_over_budget = result.exit_code == ExitCode.COST_LIMIT
        higher = " with a higher --max-cost" if is_over_budget else ""
        yield f"{judge} has answered {result.n_unlabelled:,} items."
        yield f"To continue, run the same command{higher}."
        return
    yield f"No estimate: {judge} is {replies.standing}. {replies}."
    if result.stopped == UNREADABLE:
        yield "To request the missing replies anyway, run the same command with --keep-going."
    elif is_lasting(result.stopped):
        yield f"{explain(result.stopped)}. Then run the same command."
    elif replies.n_missing:
        yield "Run the same command to request the missing replies."
    else:
        yield (
            "Refused and unreadable replies are kept. To request them again, run the same command "
            "with --refresh. Otherwise, use a judge that answers these items."
        )


def _left_out(result: Estimation) -> Iterator[str]:
    yield from filter(None, [result.reply_dates.sentence])
    if n_failed := result.replies.total("failed"):
        yield f"{counted([n_failed])} left out because calls failed. Run the same command to retry."
    if result.n_unanswered:
        as_what = UNANSWERED[result.quantity.kind]
        yield (
            f"{result.n_unanswered} of {result.n_unlabelled:,} answers aren't usable. They count "
            f"as {as_what}."
        )
    if result.n_blank:
        verb = "is" if result.n_blank == 1 else "are"
        yield f"{counted([result.n_blank], 'blank item')} {verb} left out."
    if result.n_rated_too:
        verb = "is" if result.n_rated_too == 1 else "are"
        rated = counted([result.n_rated_too], "output")
        yield f"{rated} {verb} already rated and therefore left out."
    if result.n_left_out:
        why = "no rating or no answer from this judge"
        if result.strata is not None:
            why += f", or a {result.strata.field} that no unlabelled item has"
        yield f"{result.n_left_out} of the task's items have {why}."


def _look(look: AnytimeLook, result: Estimation) -> Iterator[str]:
    ends = f"[{_number(look.low, result)}, {_number(look.high, result)}]"
    width, wanted = (
        _number(number, result) for number in (look.high - look.low, look.wanted_width)
    )
    yield f"{_subject(result)}: {ends}, {width} wide"
    yield (
        f"from {look.n_labelled} items in the order of their ratings and {result.judge}'s answers "
        f"for {result.n_unlabelled:,} unlabelled ones. The interval is valid however often you "
        "look."
    )
    yield _population(result)
    yield ""
    if look.is_narrow_enough:
        yield f"The interval isn't wider than {wanted}, so you can stop."
    else:
        yield (
            f"The interval is still wider than {wanted}. Rate more items in random order, then "
            "rerun this."
        )
    yield from _warning(result)


def _population(result: Estimation) -> str:
    """Describe the population that the interval applies to."""
    grouped = f" in {result.n_groups:,} groups" if result.n_groups else ""
    rated = " and the rated ones" if not result.is_drawn else ""
    if result.strata is not None:
        rated = f", and the rated ones of each {result.strata.field},"
    samples = (
        "must be random samples of that population"
        if rated
        else "must be a random sample of that population"
    )
    return (
        "The interval is for a population, not only these items: the "
        f"{result.n_unlabelled:,} unlabelled items{grouped}{rated} {samples}."
    )


def _subject(result: Estimation) -> str:
    quantity = result.quantity
    if quantity.kind == "score":
        return "Mean score"
    named = " or ".join(f'"{name}"' for name in quantity.names)
    if quantity.kind == "preference":
        return f"Share of raters who would choose {named}, with a tie as half"
    if quantity.answers == "response_set" or result.beta_range or result.paired_beta:
        return f"Share of raters who would find {named} reasonable"
    return f"Share of raters who would choose {named}"


def _estimate(estimate: Bounded, result: Estimation) -> str:
    if result.beta_range is None or estimate.value is not None:
        return _value(estimate, result)
    low, high = result.beta_range
    ends = f"{_number(estimate.low, result)} to {_number(estimate.high, result)}"
    return f"{ends}, whatever beta is between {low:g} and {high:g},"


def _allowance(mean: PopulationMean) -> str:
    if mean.n_judges == 1:
        return ""
    return f" The interval accounts for selecting this judge from {mean.n_judges} judges."


def _number(value: float | None, result: Estimation) -> str:
    if value is None:
        return "NA"
    return f"{value:.2f}" if result.quantity.kind == "score" else f"{value:.1%}"


def _value(estimate: Bounded, result: Estimation) -> str:
    ends = f"[{_number(estimate.low, result)}, {_number(estimate.high, result)}]"
    return f"{_number(estimate.value, result)} {ends}"


def _table(result: Estimation, mean: PopulationMean) -> Iterator[str]:
    rows = []
    if mean.labels_alone is not None:
        rows.append(("ratings alone", _value(mean.labels_alone, result)))
    rows.append((f"{result.judge} alone", f"{_number(mean.judge_alone, result)} (uncorrected)"))
    if mean.powered is not None:
        low, high = mean.powered.interval(mean.level, mean.n_judges)
        ends = f"[{_number(low, result)}, {_number(high, result)}]"
        rows.append(("PPI++", f"{_number(mean.powered.value, result)} {ends}"))
    if mean.corrected is not None:
        if mean.corrected.value is None:
            rows.append(("Rogan-Gladen", f"NA ({mean.corrected.reason})"))
        else:
            value = f"{_number(mean.corrected.value, result)} {_profile(mean, result)}"
            rows.append(("Rogan-Gladen", value))
    if result.above_tau is not None:
        low, high = result.above_tau
        bounds = f"{_number(low, result)} to {_number(high, result)} of the items"
        rows.append(("above tau", f"{bounds} (bounds; too few raters per item to narrow this)"))
    width = max(len(name) for name, _ in rows)
    yield from (f"{name:<{width}}  {value}" for name, value in rows)


def _strata(strata: Strata) -> str:
    n = sum(strata.n_unlabelled.values())
    parts = [
        f"{name} {strata.n_labelled[name]:,}, {n_items / n:.1%}"
        for name, n_items in strata.n_unlabelled.items()
    ]
    what = f"Rated items and share of the unlabelled items by {strata.field}"
    return f"{what}: {'; '.join(parts)}."


def _by_slice(by_slice: EstimateBySlice, result: Estimation) -> Iterator[str]:
    """Yield the lines of a table with each slice's estimate."""
    n = counted([len(by_slice.slices)], "system" if by_slice.compares else "value")
    what = "How often systems are preferred" if by_slice.compares else f"By {by_slice.field}"
    yield f"{what}, with simultaneous {level_text(by_slice.level)} intervals for {n}:"
    rows = []
    for row in by_slice.slices:
        estimate = row.mean.estimate if row.mean else None
        value = "NA (too few)" if estimate is None else _estimate(estimate, result).rstrip(",")
        rows.append((visible(row.value), f"{row.n_rated:,}", f"{row.n_unlabelled:,}", value))
    head = "system" if by_slice.compares else visible(by_slice.field)
    yield draw_table((head, "rated", "unlabelled", "estimate"), rows)
    if by_slice.compares:
        yield from _compared(by_slice, result)
        return
    n_others = result.n_unlabelled - sum(row.n_unlabelled for row in by_slice.slices)
    if n_others:
        yield (
            f"{n_others:,} unlabelled items have a rare value, a value without rated items, or no "
            f"value."
        )
    if by_slice.differences:
        yield ""
        yield from _differences(by_slice, result)


def _compared(by_slice: EstimateBySlice, result: Estimation) -> Iterator[str]:
    """Yield lines on which of two systems is preferred and on pairs without an estimate."""
    if by_slice.differences:
        yield ""
        yield from _differences(by_slice, result)
    if by_slice.n_too_few:
        pairs = counted([by_slice.n_too_few], "pair")
        yield (
            f"{pairs} of systems without an estimate: fewer than ten rated or no unlabelled "
            f"comparisons."
        )


def _differences(by_slice: EstimateBySlice, result: Estimation) -> Iterator[str]:
    """Yield a table of the differences. If there are many, it lists only the significant ones."""
    rows = by_slice.differences
    n = counted([len(rows)], "difference")
    text = f"With {level_text(by_slice.level)} confidence"
    text += f" for all {n} simultaneously" if rows[1:] else ""
    significant = [row for row in rows if not row.estimate.low <= 0.0 <= row.estimate.high]
    if len(rows) > MOST_DIFFERENCES:
        yield f"{text}, {len(significant)} are significant{':' if significant else '.'}"
        rows = tuple(significant)
    else:
        yield f"{text}:"
    cells = [
        (
            f"{visible(row.second)} - {visible(row.first)}",
            _estimate(row.estimate, result).rstrip(","),
            f"{row.n_shared:,}",
        )
        for row in rows
    ]
    if cells:
        shared = "rated comparisons" if by_slice.compares else "rated prompts of both"
        yield draw_table(("difference", "estimate", shared), cells)
    if by_slice.compares:
        yield "A difference is the share that prefers the first-named system minus the other share."
    unit = "pair" if by_slice.compares else "value"
    yield f"{result.judge} is corrected separately for each {unit}, using that {unit}'s ratings."
    if by_slice.same_family:
        names = listed([visible(name) for name in by_slice.same_family])
        yield (
            f"{result.judge} is from the same model family as {names}. Judges can prefer such "
            "answers, so get ratings for more of these comparisons if you doubt the correction."
        )


def _accepted(accepted: AcceptedShare | None, judge: str) -> Iterator[str]:
    """Yield the number of verdicts that can be accepted without human review, if a bound is set."""
    if accepted is None:
        return
    claim = f"an error of at most {100 * accepted.max_error:.3g}%"
    if not accepted.n_accepted:
        yield (
            f"No verdict of {judge} can be accepted without a person, because the ratings don't "
            f"show {claim}."
        )
        return
    yield (
        f"{accepted.n_accepted:,} of {accepted.n_items:,} verdicts of {judge} can be accepted "
        f"without a person, with {claim} ({level_text(accepted.level)} confidence). They are "
        f"marked in {visible(str(accepted.path))}."
    )


def _profile(mean: PopulationMean, result: Estimation) -> str:
    assert mean.corrected_profile is not None, "there is one where the share has an interval"
    low, high = mean.corrected_profile
    return f"[{_number(low, result)}, {_number(high, result)}]"


def _worth(judge: str, mean: PopulationMean) -> str:
    assert mean.worth is not None, "checked by the caller"
    if mean.method == "labels_alone":
        return f"{judge} doesn't narrow the interval, so this interval is from the ratings only."
    n = round(mean.n_labelled * mean.worth)
    if mean.worth < LEAST_WORTH:
        return f"{judge}'s answers add no information to the ratings."
    return (
        f"With {judge}'s answers, {mean.n_labelled} rated items are as informative as {n:,} would "
        f"be without them."
    )


def _labels(needed: LabelPlan, result: Estimation) -> str:
    assert result.wanted_width is not None, "there is a plan only if a width is wanted"
    width = _number(result.wanted_width, result)
    of_mean = ("The interval", "an interval")
    what, some = of_mean if result.by_slice is None else ("Each difference's interval", "intervals")
    if needed.n is None:
        least = _number(needed.least_width, result)
        return (
            f"Even with all {needed.n_items:,} items rated, the chance of {some} no wider than "
            f"{width} is only {needed.chance:.0%}. It's 80% for a width of {least}. For a "
            "narrower interval, add items."
        )
    if needed.n == needed.n_now:
        return f"{what} isn't wider than {width}, so you don't need more ratings."
    return (
        f"Rate {needed.n - needed.n_now:,} more items like these, {needed.n:,} in all. {what} is "
        f"then no wider than {width} with a chance of {needed.chance:.0%} (simulated)."
    )


def _warning(result: Estimation) -> Iterator[str]:
    if result.likeness is None or not result.likeness.differs:
        return
    how = " and ".join(DIFFERENCES[name] for name in result.likeness.differs)
    yield (
        f"The unlabelled items don't look like the rated ones: {how.format(judge=result.judge)}. "
        "The interval might not apply to the unlabelled items. Rate a random sample of them."
    )
