"""Format numbers with intervals as text. An undefined number is NA with its reason."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.analysis.serialize import rows_of
from harness.files.plain_text import counted, picture
from harness.report.words import FIXED_RATERS, ONE_RATING, RATINGS, REASONS
from harness.stats import Estimate
from harness.stats.indeterminacy.likelihood import CommonF
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.judge_result import HumanResult, JudgeResult
    from harness.stats import Interval
    from harness.stats.inference.metric import MetricUnit
    from harness.stats.reasons import Reason

BoundedNumber: TypeAlias = (
    "tuple[float | None, float | None, float | None]"  # value, ends of the interval
)
TranslationCells: TypeAlias = "list[list[BoundedNumber]]"


SEE_BELOW = "see below"  # if judges are compared on several replies, a human rater on one
COMPLETENESS = ("usable_replies", "answered_fraction")
COMPLETENESS_HEADS = ("answer rate", "items answered")  # characters at which lines can wrap
LEAST_P = 0.001
TWO_MINUTES_S = 120
HOUR_MIN = 60
TWO_DAYS_H = 48
CONTROL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")


def number(value: float | None, digits: int = 3) -> str:
    """Format a number, or return NA. A number that rounds to 0 has no sign."""
    return "NA" if value is None else f"{value:z.{digits}f}"


def span(interval: Interval | None, digits: int = 3) -> str:
    """Format an interval in brackets, or return "" for None."""
    return "" if interval is None else bounds(interval.low, interval.high, digits)


def with_bounds(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Format a number with the ends of its interval, or with `[NA]` if they are undefined."""
    if value is not None and (low is None or high is None):
        return f"{number(value, digits)} [NA]"
    return f"{number(value, digits)} {bounds(low, high, digits)}".rstrip()


def bounds(low: float | None, high: float | None, digits: int = 3) -> str:
    """Format the ends of an interval in brackets, or return "" if they are undefined."""
    return "" if low is None or high is None else f"[{low:z.{digits}f}, {high:z.{digits}f}]"


def estimate(result: Estimate, digits: int = 3) -> str:
    """Format a number with its interval (or `[NA]`). Without a value, return NA with the reason."""
    if result.value is None:
        return f"NA ({reason(result)})"
    if result.interval is None and result.interval_reason not in {"", "no_resamples"}:
        return f"{number(result.value, digits)} [NA]"
    return f"{number(result.value, digits)} {span(result.interval, digits)}".strip()


def p_value(p: float | None) -> str:
    """Format a p-value. Return "<0.001" instead of 0, and NA if it is undefined."""
    return "<0.001" if p is not None and p < LEAST_P else number(p)


def error_level(alpha: float) -> str:
    """Format a test's error rate, with enough digits that it is never 0."""
    return f"{alpha:.2g}"


def p_beside(p: float | None, alpha: float) -> str:
    """Format a p-value with enough digits for comparison with a level below 0.001."""
    if p is None or alpha >= LEAST_P or p >= LEAST_P:
        return p_value(p)
    return f"<{error_level(alpha)}" if p < alpha else f"{p:.2g}"


def in_unit(text: str, unit: MetricUnit) -> str:
    """Format a number with its unit, if the metric has one."""
    return f"{text} {unit}".strip()


def resting(result: Estimate, digits: int = 3) -> str:
    """Format a number with its interval and number of items, or return NA with the reason."""
    text = estimate(result, digits)
    return text if result.value is None else f"{text} on {basis(result)}"


def basis(result: Estimate) -> str:
    """Return the number of items behind a value and, if known, the replies per item."""
    items = counted([result.n_used])
    return items if result.n_replies is None else f"{items}, {replies_each(result.n_replies)}"


def reason(result: Estimate) -> str:
    """Return in words why a number is NA."""
    return reason_words(result.reason)


def reason_words(code: Reason) -> str:
    """Return in words why a number is NA, or "" if it has a value."""
    return REASONS[code] if code else ""


def duration(seconds: float) -> str:
    """Format a duration in seconds, in minutes, in hours and minutes, or in days and hours."""
    if seconds < TWO_MINUTES_S:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < HOUR_MIN:
        return f"{minutes} min"
    hours = round(minutes / 60)
    if hours < TWO_DAYS_H:
        return f"{minutes // 60} h {minutes % 60} min"
    days, rest = divmod(hours, 24)
    return f"{days} days {rest} h" if rest else f"{days} days"


def replies_each(n_replies: float | None) -> str:
    """Describe the number of replies per item. None means that reply noise was removed."""
    if n_replies is None:
        return "without reply noise"
    return "one reply each" if n_replies == 1 else f"{n_replies:g} replies each"


def about(count: float) -> str:
    """Format a number of items as a whole number. Ties can make the number fractional."""
    return f"{count:.0f}" if float(count).is_integer() else f"about {max(round(count), 1)}"


def completeness(validation: Validation, judge: str, name: str) -> Estimate:
    """Return a judge's share of usable replies or of answered items."""
    assert validation.evidence is not None, "a validation with judges has evidence"
    row = validation.evidence_of(judge)
    value, n = {
        "usable_replies": (row.usable_replies, row.n_planned),
        "answered_fraction": (row.answered_fraction, validation.evidence.n_rated),
    }[name]
    return Estimate(
        value=value,
        reason="" if value is not None else "nothing_planned",
        interval_reason="not_sampled",
        n_used=n,
    )


def percent(fraction: float | None) -> str:
    """Format a share in percent, or return NA."""
    return "NA" if fraction is None else f"{fraction:.1%}"


def share(fraction: float | None, n: int) -> str:
    """Format a share in percent with its total, or return NA."""
    return "NA" if fraction is None else f"{percent(fraction)} of {n}"


def rank_set(ranks: tuple[int, int] | None) -> str:
    """Format a range of ranks, such as "1" or "1-3". Return "-" for None."""
    if ranks is None:
        return "-"
    low, high = ranks
    return str(low) if low == high else f"{low}-{high}"


def cut(text: str, n: int) -> str:
    """Cut a text to at most ``n`` characters. A cut text ends with an ellipsis."""
    return text if len(text) <= n else text[: n - 1] + "…"


def short_name(display_name: str) -> str:
    """Return a metric's display name without the literature's name in brackets."""
    return display_name.partition(" (")[0]


def unique_names(display_names: Mapping[str, str]) -> dict[str, str]:
    """Return each metric's short name, or its full name if the short name is not unique."""
    short = {metric: short_name(name) for metric, name in display_names.items()}
    counts = Counter(short.values())
    return {
        metric: short[metric] if counts[short[metric]] == 1 else name
        for metric, name in display_names.items()
    }


def level_text(confidence: float) -> str:
    """Format a confidence level, as in "97.5%"."""
    return f"{100 * confidence:g}%"


def raters_covered(validation: Validation) -> str:
    """Describe whether intervals account for rater sampling. If they do not, add the reason."""
    reason, n_raters = validation.sampling.fixed_raters_reason, validation.humans.n_raters
    if not reason:
        raters = counted([n_raters], "rater")
        return f"Intervals account for the sampling of items and raters ({raters})."
    return f"Intervals apply only to these raters: {FIXED_RATERS[reason]}."


def control_pictures(text: str) -> str:
    """Replace control characters, which pages cannot contain, with visible symbols."""
    return CONTROL.sub(picture, text)


def headline(validation: Validation) -> str:
    """Return one line with the task and its numbers of items, raters, ratings and judges."""
    task, humans = validation.task, validation.humans
    items = counted([task.n_items])
    if task.n_items < task.n_items_in_task:
        items += f" of {task.n_items_in_task}"
    parts = [
        task.name,
        items,
        counted([humans.n_raters], "rater"),
        counted([humans.n_forced_choice], "forced choice" if task.options else "rating"),
    ]
    if humans.n_response_sets:
        parts.append(counted([humans.n_response_sets], "response set"))
    if n_judges := len(validation.judges):
        parts.append(counted([n_judges], "judge"))
    return "  ".join(parts)


def brief_headline(validation: Validation) -> str:
    """Return one line with the task and its numbers of items, raters and judges."""
    task = validation.task
    parts = [task.name, counted([task.n_items]), counted([validation.humans.n_raters], "rater")]
    if n_judges := len(validation.judges):
        parts.append(counted([n_judges], "judge"))
    return " · ".join(parts)


def compared_on(validation: Validation, *, reasons: bool = True, explained: bool = False) -> str:
    """Describe how judges are compared: the items, the replies and the cut-off.

    ``reasons`` replaces the default words for items that are left out. ``explained`` adds what
    response sets and the cut-off are.
    """
    evidence = validation.evidence
    n_ranked = sum(row.ranked for row in evidence.judges) if evidence else 0
    if evidence is None or not n_ranked:
        return ""
    ratings = f"by {RATINGS[evidence.ranks_by]} " if evidence.ranks_by else ""
    if explained and evidence.ranks_by == "response_set":
        ratings += "(all options that a rater accepts) "
    items = f"all {counted([evidence.n_items], 'rated item')}"
    if evidence.left_out:
        n_rated = evidence.n_items + sum(part.n_items for part in evidence.left_out)
        items = f"{evidence.n_items} of {counted([n_rated], 'rated item')}"
        items += f" ({_left_out(evidence)})" if reasons else ""
    cutoff = f", cut-off {validation.tau:g}" if validation.task.positive else ""
    if explained and cutoff:
        cutoff += " (share of raters)"
    return f"compared {ratings}on {items}, {replies_each(evidence.n_replies)}{cutoff}"


def _left_out(evidence: Evidence) -> str:
    """Describe how many rated items are not compared, and why."""
    n_ranked = sum(row.ranked for row in evidence.judges)
    one_rating = ONE_RATING[evidence.ranks_by] if evidence.ranks_by else "a rating"
    reasons = {
        "human_not_asked": f"without {one_rating}",
        "human_abstained": f"rated {CANNOT_ASSESS} by all",
        "human_single_rating": "with a single rating",
        "no_positive_option": "without a positive option",
        "judge_unanswered": "not answered by "
        + ("the judge" if n_ranked == 1 else "all ranked judges"),
    }
    return ", ".join(
        f"{part.n_items} {reasons.get(part.reason, 'without usable ratings')}"
        for part in evidence.left_out
    )


def percent_with_interval(rate: Estimate, n_digits: int = 0) -> str:
    """Format a share in percent with its interval, or return NA."""
    if rate.value is None:
        return "NA"
    ends, form = rate.interval, f".{n_digits}%"
    return f"{rate.value:{form}}" + (f" [{ends.low:{form}}, {ends.high:{form}}]" if ends else "")


def listed(names: Sequence[str], conjunction: Literal["and", "or"] = "and") -> str:
    """Join names, as in "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def choice_labels(validation: Validation) -> dict[str, str]:
    """Return the label for each row of F: the options, plus CANNOT_ASSESS if F has a row for it."""
    labels = validation.task.options
    is_class = validation.settings.mode == "third_class"
    return {**labels, CANNOT_ASSESS: CANNOT_ASSESS} if is_class else labels


def translation_cells(side: HumanResult | JudgeResult | CommonF) -> TranslationCells:
    """Return F with a row per option and a column per response set.

    Each entry has the ends of its interval.
    """
    if isinstance(side, CommonF):
        matrices = [rows_of(matrix) for matrix in (side.F, side.low, side.high)]
    else:
        matrices = [side.F or (), side.F_low or (), side.F_high or ()]
    return [list(zip(*rows, strict=True)) for rows in zip(*matrices, strict=True)]


def options(validation: Validation) -> str:
    """Return the task's options as keys, each with its label if the label differs."""
    labels = validation.task.options.items()
    return ", ".join(key if key == label else f"{key} ({label})" for key, label in labels)


def ordinal(n: int) -> str:
    """Format an ordinal number, as in "14th"."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    is_teen = n % 100 // 10 == 1
    return f"{n}{'th' if is_teen else endings.get(n % 10, 'th')}"


def capitalized(text: str) -> str:
    """Return a text with its first letter capitalised."""
    return text[:1].upper() + text[1:]
