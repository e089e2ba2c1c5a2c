"""The decision in sentences: which judge to use, on what evidence, and what to collect next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import (
    READING,
    counted,
    estimate,
    in_unit,
    number,
    percent,
    reason,
    resting,
    share,
    span,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.decision import UsualChoice

CONSISTENCY = "decision_consistency"
GOAL_WORDS = {CONSISTENCY: "decision consistency", "prevalence_bias": "prevalence bias"}
METRIC_WORDS = {"hit_rate(h/h)": "hit rate", "cohen_kappa(h/h)": "kappa"}
OUTCOMES = ("abstained", "refused", "invalid", "failed", "not_asked")
MAX_CHANGES = 3
HALF = 0.5


def sentences(v: Validation) -> list[str]:
    """Return the decision and its evidence, one thought each; the first says what to do."""
    decision = v.decision
    if decision.reason == "no_verdicts":
        return ["There are no verdicts of judges: only the human ratings are described."]
    if decision.leader is None:
        return [_undefined(v), *_notice(v)]
    leader = v.judge(decision.leader)
    parts = [
        _choice(v, leader),
        _evidence(v, leader),
        _others(v),
        _beta(v),
        _usual(v),
        _annotator_test(v, leader),
        *_next(v),
        *_notice(v),
    ]
    return [sentence for sentence in parts if sentence]


def decision(v: Validation) -> str:
    """Return the decision and its evidence as one paragraph."""
    return " ".join(sentences(v))


def _undefined(v: Validation) -> str:
    metric, first = v.settings.metric, v.judge(v.decision.unranked[0])
    return f"No judge can be recommended: {metric} is NA for all of them ({why_na(v, first)})."


def _choice(v: Validation, leader: JudgeResult) -> str:
    cutoff = f" at tau {v.settings.tau:g}" if v.task.positive else ""
    assumed = "" if v.settings.beta is None else f" if beta is {v.settings.beta:g}"
    job = f"to judge {v.task.property}{cutoff}{assumed}"
    if v.decision.verdict == "none":
        return f"Use none {job}: none of these judges is better than the baseline {leader.name}."
    return f"Use {leader.name} {job}."


def _evidence(v: Validation, leader: JudgeResult) -> str:
    assert v.ranking is not None
    metric = leader.metrics[v.ranking.metric]
    text = f"Its {v.ranking.metric} is {in_unit(estimate(metric), v.ranking.unit)} on "
    text += f"{counted([metric.n_used])} ({READING[v.ranking.better]})"
    consistency = leader.metrics[CONSISTENCY]
    if v.ranking.metric != CONSISTENCY and consistency.value is not None:
        decided = f"{percent(consistency.value)} of {consistency.n_used}"
        text += f"; it decides as the raters do on {decided}"
    return f"{text}; it answered {share(leader.answered_fraction, leader.n_planned)} planned."


def _others(v: Validation) -> str:
    """Name the judges that are not significantly different, and those without a rank."""
    decision, parts = v.decision, []
    if decision.not_distinguishable:
        names = [_with_difference(v, name) for name in decision.not_distinguishable]
        verb = "is" if len(names) == 1 else "are"
        parts.append(f"{listed(names)} {verb} not significantly different.")
    elif decision.significantly_worse:
        noun = "ranked judge" if decision.unranked else "judge"
        level = f"{v.settings.confidence:.0%}".replace("%", " %")
        parts.append(f"Every other {noun} is significantly worse ({level}).")
    if decision.first_share is not None:
        times = f"{percent(decision.first_share)} of {v.settings.n_resamples}"
        parts.append(f"{decision.leader} comes first in {times} resamples.")
    if decision.unranked:
        parts.append(_unranked(v, decision.unranked))
    return " ".join(parts)


def _with_difference(v: Validation, name: str) -> str:
    difference = v.decision.differences.get(name)
    if difference is None:
        return name
    return f"{name} (worse by {number(difference.value)} {span(difference.interval)}".rstrip() + ")"


def _unranked(v: Validation, names: Sequence[str]) -> str:
    verb, its = ("has", "its") if len(names) == 1 else ("have", "their")
    reasons = ", ".join(dict.fromkeys(why_na(v, v.judge(name)) for name in names))
    return f"{listed(names)} {verb} no rank: {its} {v.settings.metric} is NA ({reasons})."


def why_na(v: Validation, judge: JudgeResult) -> str:
    """Say why a judge has no rank, and the outcomes of its replies where it answered nothing."""
    text = reason(judge.metrics[v.settings.metric])
    if any(counts.answered for counts in judge.outcomes):
        return text
    totals = {name: sum(getattr(counts, name) for counts in judge.outcomes) for name in OUTCOMES}
    outcomes = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in totals.items() if n)
    n_planned = sum(counts.planned for counts in judge.outcomes)
    return f"{text}: {outcomes} of {n_planned}" if outcomes else text


def _beta(v: Validation) -> str:
    """Say at which beta of the raters another judge is best."""
    even, goal = v.decision.break_even, GOAL_WORDS[CONSISTENCY]
    if even is None:
        return ""
    beta = v.humans.beta
    measured = f" (the raters' beta: {resting(beta, 2)})" if beta.value is not None else ""
    first, *changes = even.pieces
    if not changes:
        verb = "is" if len(first.winners) == 1 else "are"
        return f"By {goal}, {listed(first.winners)} {verb} best at every beta{measured}."
    parts = [f"{listed(first.winners)} below {changes[0].low:.2f}"]
    parts += [f"{listed(piece.winners)} from {piece.low:.2f}" for piece in changes[:MAX_CHANGES]]
    n_more = len(changes) - MAX_CHANGES
    suffix = f", and {n_more} more change{'s' if n_more > 1 else ''}" if n_more > 0 else ""
    return f"By {goal}, the best judge depends on beta{measured}: {', '.join(parts)}{suffix}."


def _usual(v: Validation) -> str:
    """Say what selecting by hit rate or kappa would have cost."""
    metrics: dict[str, list[str]] = {}
    for choice in v.decision.usual_choices:
        metric = choice.regret.metric
        metrics.setdefault(_picked(choice), []).append(METRIC_WORDS.get(metric, metric))
    return " ".join(
        f"{capitalized(listed(names))} would have picked {pick}." for pick, names in metrics.items()
    )


def _picked(choice: UsualChoice) -> str:
    if choice.same:
        names = "the same judge" if len(choice.regret.selected) == 1 else "the same judges"
    else:
        names = "any of them" if choice.arbitrary else listed(choice.regret.selected)
    if choice.regret.value is None:
        return names
    cost = f"{number(choice.regret.value)} {span(choice.regret.interval)}".rstrip()
    return f"{names}, with regret {cost} in consistency on {counted(choice.n_items)}"


def _annotator_test(v: Validation, leader: JudgeResult) -> str:
    """Say whether the alternative annotator test allows a judge to replace a rater."""
    section = v.replacement
    if section is None or section.reason:
        positional = section is not None and section.reason == "positional_raters"
        return "No annotator test: the ratings do not name their raters." if positional else ""
    name, eps = "The alternative annotator test", f"eps {section.eps:g}"
    random = section.controls.random.passes_share if section.controls else None
    warning = f"; but {percent(random)} of random judges pass too" if (random or 0) > HALF else ""
    if v.decision.verdict == "none":
        passing = [row.judge for row in section.judges if row.passes and not row.baseline]
        judges = listed(passing) if passing else "none of these judges"
        return f"{name} allows {judges} to replace a rater ({eps}{warning if passing else ''})."
    check = v.decision.checks["annotator_test"]
    test = next((row for row in section.judges if row.judge == leader.name), None)
    if test is None or check.passed is None:
        why = f" ({reason(test.winning_rate)})" if test else ""
        return f"{name} cannot say whether it may replace a rater{why}."
    raters = counted([check.n], "rater")
    rate = f"winning rate {estimate(test.winning_rate, 2)} over {raters}, {eps}"
    verb = "allows" if check.passed else "does not allow"
    return f"{name} {verb} it to replace a rater ({rate}{warning if check.passed else ''})."


def _next(v: Validation) -> list[str]:
    """Say what to collect where the answer is not firm."""
    step, parts = v.decision.next_step, []
    if step.inseparable is not None:
        parts.append(f"More items are unlikely to separate {step.inseparable} from it.")
    elif step.n_items_needed is not None:
        parts.append(
            f"About {step.n_items_needed} items, in place of {step.n_items}, would separate them "
            "if the differences stay the same."
        )
    parts.append(step.advice)
    if step.n_missing:
        parts.append(
            f"{step.n_missing} of its {step.n_planned} planned replies are missing; collect them "
            "before relying on it."
        )
    if step.unusable:
        parts.append("Find out why so many replies could not be used before relying on it.")
    return parts


def _notice(v: Validation) -> list[str]:
    return [f"Note: {v.task.notice}."] if v.task.notice else []


def listed(names: Sequence[str]) -> str:
    """Join names as in "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def capitalized(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
