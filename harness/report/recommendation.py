"""State the recommendation in sentences, with its evidence and the data to collect next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from harness.analysis.recommendation_checks import ANNOTATOR_TEST, COPIES_A_RATER, INDEPENDENT
from harness.files.plain_text import counted
from harness.report.formatting import (
    capitalized,
    error_level,
    estimate,
    in_unit,
    level_text,
    listed,
    number,
    ordinal,
    p_beside,
    percent,
    reason,
    replies_each,
    resting,
    share,
    span,
    with_bounds,
)
from harness.report.next_steps import next_lines, nothing_answered
from harness.report.race_text import optional_lines, race_lines
from harness.report.ranking_rows import CONSISTENCY, HIT_RATE, alike_words, decided_alike
from harness.report.verdict_words import (
    agreement,
    because,
    closeness,
    commonest_error,
    passed_sentences,
    quality,
    verdict,
    why_open,
    worst_slice,
)
from harness.report.words import (
    BASELINE_NAMES,
    GOAL_WORDS,
    METRIC_WORDS,
    READING,
)
from harness.stats.inference.alpha_spending import share_of_validation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.decision import UsualChoice
    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.ratings import CountedOutcome
    from harness.stats import Difference
    from harness.stats.alt_test.deciding_test import DecidingAnnotatorTest

FIRST = (verdict, because, quality, commonest_error, worst_slice)  # lines that every result has
OUTCOMES: tuple[CountedOutcome, ...] = ("abstained", "refused", "invalid", "failed", "not_asked")
NO_TEST = {"positional_raters", "too_few_raters", "too_few_choices", "no_forced_choices"}
MAX_CHANGES = 3
HALF = 0.5
QUESTIONS = ("whether", "if", "how", "what", "which", "who", "why", "the", "a", "an")
MAX_UNTESTED = 5  # maximum number of named raters


def sentences(v: Validation, *, texts: bool = True) -> list[str]:
    """Return the decision and its evidence as sentences. The recommendation comes first.

    ``texts`` adds a quoted item, if the run keeps texts.
    """
    if v.decision.reason == "raced" and v.race:
        return [*race_lines(v.race), *next_lines(v), *_texts(v, _notice)]
    if v.decision.reason == "no_verdicts":
        return ["There are no verdicts from judges, so this describes only the human ratings."]
    if v.decision.leader is None:
        return [_undefined(v), *next_lines(v), *_texts(v, _notice)]
    tests = (_annotator_test, _without_raters)
    evidence = (_closeness, _evidence, *tests, _others, _differences, _beta, _usual)
    error = partial(commonest_error, texts=texts)
    first = [error if part is commonest_error else part for part in FIRST]
    return [*_texts(v, *first, _tried, *evidence), *next_lines(v), *_texts(v, _notice)]


def summary(v: Validation) -> list[str]:
    """Return the verdict, its reason, the judge's agreement, alternatives and the next step."""
    if v.decision.leader is None:
        return sentences(v)
    before = _texts(v, *FIRST, _tried, _not_left_out, _others)
    return [*before, *next_lines(v, with_alternatives=False), *_texts(v, _notice)]


def optional_sentences(v: Validation) -> list[str]:
    """Return sentences of the summary that can be omitted to save space.

    The judge's agreement is among them if tables other than the ranking show how good it is.
    """
    if v.decision.reason == "raced" and v.race:
        return optional_lines(v.race)
    if v.decision.leader is None:
        return []
    of_tables = (quality,) if v.rubric or v.scores or v.race else ()
    return _texts(v, *of_tables, commonest_error, worst_slice, _others)


def verdict_and_step(v: Validation) -> list[str]:
    """Return the verdict, its reason and the next step."""
    if v.decision.leader is None:
        return sentences(v)
    before = _texts(v, verdict, because)
    return [*before, *next_lines(v, with_alternatives=False), *_texts(v, _notice)]


def reasons(v: Validation) -> list[str]:
    """Return the lines of the summary between the verdict and the next step."""
    if v.decision.reason == "raced" and v.race:
        return race_lines(v.race)[1:]
    if v.decision.leader is None:
        return []
    why = partial(because, missing=False)  # the checklist already shows this
    return _texts(v, why, *FIRST[2:], _tried, _others)


def further_evidence(v: Validation) -> list[str]:
    """Return the sentences that the page does not show on its first screen."""
    if v.decision.leader is None:
        return []
    tests = (_annotator_test, passed_sentences)
    return _texts(v, _closeness, _evidence, *tests, _differences, _beta, _usual)


def _texts(v: Validation, *parts: Callable[[Validation], str]) -> list[str]:
    return [text for part in parts if (text := part(v))]


def decision(v: Validation) -> str:
    """Return the decision and its evidence as a paragraph to publish, without item texts."""
    return " ".join(sentences(v, texts=False))


def _undefined(v: Validation) -> str:
    evidence = v.evidence
    assert evidence is not None
    if nothing_answered(v):
        names = [f"{judge.name} ({_not_answered(judge)})" for judge in v.judges]
        return f"No judge can be recommended, because none answered: {', '.join(names)}."
    if v.decision.reason == "too_few_answered":
        names = [_answered_part(v, row.judge, row.answered_fraction) for row in evidence.judges]
        needed = f"{evidence.min_answered:.0%} of {evidence.n_rated} items{_times(evidence)}"
        return f"No judge can be recommended: none answered {needed}: {', '.join(names)}."
    first = v.judge(v.decision.unranked[0])
    return (
        f"No judge can be recommended: the {evidence.display_name} is NA for all of them "
        f"({why_na(first)})."
    )


def _closeness(v: Validation) -> str:
    """Describe how close the judge is to the raters, if the first lines report agreement."""
    return closeness(v) if agreement(v) else ""


def _tried(v: Validation) -> str:
    """Describe judges tried on these items before, and judges that a new ledger leaves out."""
    evidence, leader = v.evidence, v.decision.leader
    assert evidence is not None
    parts = []
    if evidence.held_out:
        n_items = counted([evidence.n_items], "held-out item")
        parts.append(f"Only {leader} is tested, on {n_items} that no judge was tried on before.")
    if evidence.number > 1 and not evidence.limited:
        of_first = (1.0 - v.settings.confidence) * share_of_validation(1)
        level, first = error_level(evidence.alpha), error_level(of_first)
        parts.append(
            f"{_series(evidence, leader or '')}, so each test uses an error rate of {level} "
            f"instead of up to {first}."
        )
    if evidence.n_forgotten:
        verb = "isn't" if evidence.n_forgotten == 1 else "aren't"
        n_forgotten = counted([evidence.n_forgotten], "judge")
        parts.append(
            f"Because you started a new ledger, {n_forgotten} tried earlier {verb} counted."
        )
    elif evidence.forgets:
        parts.append("Because you started a new ledger, earlier validations aren't counted.")
    return " ".join(parts)


def _series(evidence: Evidence, leader: str) -> str:
    """Describe how these items were used before, and how many judges were tried on them."""
    n, n_before = evidence.n_tried, evidence.n_tried_before
    on = "tried on these items (in all tasks that have them)"
    if n_before and (n - n_before > 1 or evidence.n_contending):
        return f"{n} judges were {on}, {n_before} of them before this run"
    if n_before:
        return f"{leader} is the {ordinal(n)} judge {on}"
    return f"{leader} is validated on some of these items for the {ordinal(evidence.number)} time"


def property_words(text: str) -> str:
    """Return a task's property so that it can follow "tell". Quote it unless it is a question."""
    return text if text.split(" ", 1)[0].lower() in QUESTIONS else f"\u201c{text}\u201d"


def _evidence(v: Validation) -> str:
    """Describe the top judge's value on the shared items, and the baselines' values."""
    evidence, ranking = v.evidence, v.ranking
    assert evidence is not None
    assert ranking is not None
    row = evidence.judges[0]
    value = in_unit(estimate(row.estimate), ranking.unit)
    text = f"Its {evidence.display_name} is {value} on {counted([evidence.n_items])}"
    if evidence.n_items < evidence.n_rated:
        text += f" that all ranked judges answered, of {evidence.n_rated}"
    text += f" ({READING[evidence.better]}; {replies_each(evidence.n_replies)})"
    baselines = ", ".join(
        f"{BASELINE_NAMES[baseline.name]} {number(baseline.value)}"
        for baseline in evidence.baselines
        if baseline.value is not None
    )
    consistency = decided_alike(v, v.judge(row.judge))
    if ranking.metric not in {CONSISTENCY, HIT_RATE} and consistency.value is not None:
        decided = f"{percent(consistency.value)} of {counted([consistency.n_used])}"
        text += f"; {decided} are {alike_words(v)}"
    answered = share(row.answered_fraction, evidence.n_rated)
    usable = share(row.usable_replies, row.n_planned)
    return (
        f"{text}. It answered {answered} items, and {usable} replies are answers. "
        f"Baselines: {baselines or 'NA'}."
    )


def _others(v: Validation) -> str:
    """Name the judges that do not differ significantly from the best, and judges without a rank."""
    decision, parts = v.decision, []
    close, equivalent = decision.not_distinguishable, decision.next_step.equivalent
    within = f"equivalent within {number(decision.next_step.worth)}"
    if close:
        also = f" ({within})" if set(close) == set(equivalent) else ""
        verb = "is" if len(close) == 1 else "are"
        parts.append(f"{listed(close)} {verb} not significantly different{also}{_cheaper(v)}.")
    elif decision.significantly_worse:
        noun = "ranked judge" if decision.unranked else "judge"
        level = level_text(v.settings.confidence)
        parts.append(f"Every other {noun} is significantly worse ({level}).")
    if equivalent and set(close) != set(equivalent):
        verb = "is" if len(equivalent) == 1 else "are"
        parts.append(f"{listed(equivalent)} {verb} {within}.")
    if decision.unranked:
        parts.append(_unranked(v, decision.unranked))
    return " ".join(parts)


def _cheaper(v: Validation) -> str:
    """Name the cheapest judge without a significant difference, if it costs less than the best."""
    assert v.decision.leader is not None
    own = v.judge(v.decision.leader).cost.usd_per_answered
    costs = {name: v.judge(name).cost.usd_per_answered for name in v.decision.not_distinguishable}
    priced = {name: usd for name, usd in costs.items() if usd is not None}
    if not own or not priced:
        return ""
    name = min(priced, key=priced.__getitem__)
    if priced[name] >= own:
        return ""
    subject = "" if len(costs) == 1 else f" {name}"
    share = f"{priced[name] / own:.0%} as much" if priced[name] else "nothing"
    return f" and{subject} costs {share}"


def _differences(v: Validation) -> str:
    """Describe by how much each judge without a significant difference is worse than the best."""
    rows = v.evidence.judges if v.evidence else ()
    differences = {row.judge: row.difference for row in rows if row.difference}
    close = [name for name in v.decision.not_distinguishable if name in differences]
    same = [name for name in close if _is_same(differences[name])]
    named = [
        f"{name} is worse by {number(differences[name].value)} {span(differences[name].interval)}"
        for name in close
        if name not in same
    ]
    if same:
        named.append(f"{listed(same)} {'scores' if len(same) == 1 else 'score'} the same")
    return f"{listed([text.rstrip() for text in named])}." if named else ""


def _is_same(difference: Difference) -> bool:
    """Return whether two judges have equal scores, also in every resample."""
    interval = difference.interval
    return difference.value == 0 and (interval is None or interval.low == interval.high == 0)


def _unranked(v: Validation, names: Sequence[str]) -> str:
    """Name the judges without a rank. They answered too little, or their metric is undefined."""
    assert v.evidence is not None
    parts, needed = [], f"{v.evidence.min_answered:.0%}"
    silent = [
        row for row in v.evidence.judges if not row.ranked and row.answered_fraction is not None
    ]
    if silent:
        few = [_answered_part(v, row.judge, row.answered_fraction) for row in silent]
        often = _times(v.evidence)
        parts.append(
            f"Not ranked, because less than {needed} was answered{often}: {', '.join(few)}."
        )
    undefined = [name for name in names if name not in {row.judge for row in silent}]
    if undefined:
        verb, its = ("has", "its") if len(undefined) == 1 else ("have", "their")
        reasons = ", ".join(dict.fromkeys(why_na(v.judge(name)) for name in undefined))
        metric = v.evidence.display_name
        parts.append(f"{listed(undefined)} {verb} no rank: {its} {metric} is NA ({reasons}).")
    return " ".join(parts)


def _times(evidence: Evidence) -> str:
    """Describe how many usable replies make an item answered. Return "" for one reply."""
    if evidence.n_replies is None:
        return " at least twice"
    return "" if evidence.n_replies == 1 else f" {evidence.n_replies:g} times"


def _answered_part(v: Validation, name: str, fraction: float | None) -> str:
    """Return a judge's name, the share of items it answered, and the outcomes of other replies."""
    outcomes = why_na(v.judge(name)) if fraction is None else _not_answered(v.judge(name))
    return f"{name} {percent(fraction)} ({outcomes})" if outcomes else f"{name} {percent(fraction)}"


def why_na(judge: JudgeResult) -> str:
    """Explain why a judge has no rank. If it gave no answer, add the outcomes of its replies."""
    text = reason(judge.own)
    if judge.n_replies("answered"):
        return text
    outcomes = _not_answered(judge)
    return f"{text}: {outcomes}" if outcomes else text


def _not_answered(judge: JudgeResult) -> str:
    """Count replies that are not answers by outcome, and add the number of planned replies."""
    outcomes = not_answered(judge)
    return f"{outcomes} of {judge.n_replies('planned')} replies" if outcomes else ""


def not_answered(judge: JudgeResult) -> str:
    """Count replies that are not answers by outcome. Return "" if all are answers."""
    totals = {outcome: judge.n_replies(outcome) for outcome in OUTCOMES}
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in totals.items() if n)


def _beta(v: Validation) -> str:
    """Report the raters' beta from which a different judge is best, among judges that differ."""
    even, close = v.decision.break_even, v.decision.not_distinguishable
    if even is None:
        return ""
    goal = GOAL_WORDS[CONSISTENCY] + (f" and without {listed(close)}" if close else "")
    beta, differs = v.humans.beta, "" if close else differs_at_beta(v, CONSISTENCY)
    there = f"; there {differs}" if differs else ""
    measured = f" (the raters' beta: {resting(beta, 2)}{there})" if beta.value is not None else ""
    first, *changes = even.pieces
    if not changes:
        verb = "is" if len(first.winners) == 1 else "are"
        return f"By {goal}, {listed(first.winners)} {verb} best at every beta{measured}."
    parts = [f"{listed(first.winners)} below {changes[0].low:.2f}"]
    parts += [f"{listed(piece.winners)} from {piece.low:.2f}" for piece in changes[:MAX_CHANGES]]
    n_more = len(changes) - MAX_CHANGES
    suffix = f", and {n_more} more change{'s' if n_more > 1 else ''}" if n_more > 0 else ""
    return f"By {goal}, the best judge depends on beta{measured}: {', '.join(parts)}{suffix}."


def differs_at_beta(v: Validation, goal: str) -> str:
    """Describe how often resamples have a different best judge at the raters' beta, or ""."""
    best = v.sensitivity.best_at_beta.get(goal) if v.sensitivity else None
    if best is None or best.differs_share is None:
        return ""
    verb = "is" if len(best.judges) == 1 else "are"
    others = f"another judge in {percent(best.differs_share)} of the resamples"
    return f"{listed(best.judges)} {verb} best, {others}"


def _usual(v: Validation) -> str:
    """Report the cost of selecting by hit rate or kappa, if there is evidence of a cost."""
    metrics: dict[str, list[str]] = {}
    for choice in v.decision.usual_choices:
        metric = choice.regret.metric
        metrics.setdefault(_picked(choice), []).append(METRIC_WORDS.get(metric, metric))
    return " ".join(
        f"{capitalized(listed(names))} would have picked {pick}." for pick, names in metrics.items()
    )


def _picked(choice: UsualChoice) -> str:
    cost = f"{number(choice.regret.value)} {span(choice.regret.interval)}"
    return (
        f"{listed(choice.regret.selected)}, with a regret of {cost} in consistency on "
        f"{counted(choice.n_items)}"
    )


def _annotator_test(v: Validation) -> str:
    """Report whether the top judge can replace a rater according to the annotator test."""
    section, check = v.replacement, v.decision.checks[ANNOTATOR_TEST.kind]
    if check.reason in NO_TEST:
        return f"No annotator test: {why_open(v, check)}."
    assert v.evidence is not None
    test = v.evidence.judges[0].annotator_test
    random = section.controls.random.passes_share if section and section.controls else None
    warning = f"; but {percent(random)} of random judges pass too" if (random or 0) > HALF else ""
    name, leader = "The alternative annotator test", v.decision.leader
    if test is None or check.passed is None:
        why = why_open(v, check)
        return f"{name} of {leader} is undefined{f' ({why})' if why else ''}."
    panel, net_wins = test.panel, with_bounds(test.net_wins, test.low, test.high, 2)
    p, least = p_beside(panel.p, test.alpha), error_level(test.alpha)
    among = "of" if panel.n_tested == panel.n_raters else "among"
    detail = f"p {p} for beating at least {panel.n_needed} {among} {tested_raters(test)}"
    detail += f", {least} needed; wins minus losses {net_wins}"
    detail += f", eps {section.eps:g}" if section else ""
    detail += _published(v)
    verb = "allows" if check.passed else "does not allow"
    detail += warning if check.passed else ""
    return f"{name} {verb} {leader} to replace a rater ({detail})."


def _without_raters(v: Validation) -> str:
    """Report that the judge does not copy a rater, or why this was not checked."""
    return " ".join(filter(None, (passed_sentences(v), _not_left_out(v))))


def _not_left_out(v: Validation) -> str:
    """Explain why it was not checked whether the evidence depends on one rater, or return ""."""
    check = v.decision.checks[COPIES_A_RATER.kind]
    if v.decision.verdict == "none" or check.reason not in COPIES_A_RATER.why_open:
        return ""
    if v.evidence and v.evidence.untested_copies:
        if v.evidence.states_independence:
            return f"Your task.yaml states that {INDEPENDENT.open}."
        return f"There was no test for copies of a rater: {why_open(v, check)}."
    return f"It wasn't checked whether this depends on a single rater: {why_open(v, check)}."


def tested_raters(test: DecidingAnnotatorTest) -> str:
    """Count the raters that the judge was tested against, and name the raters left out."""
    panel, unbeaten = test.panel, test.counted_as_unbeaten
    left_out = tuple(rater for rater in test.untested if rater not in unbeaten)
    notes = (("not tested", left_out), ("without a test, so counted as not beaten", unbeaten))
    note = "; ".join(f"{what}: {_some(raters)}" for what, raters in notes if raters)
    if panel.n_tested == panel.n_raters:
        raters = counted([panel.n_tested], "rater")
    else:
        raters = f"{panel.n_tested} of {panel.n_raters} raters"
    return f"{raters} ({note})" if note else raters


def _some(raters: Sequence[str]) -> str:
    """Name the first raters, and count the others."""
    n_more = len(raters) - MAX_UNTESTED
    return listed([*raters[:MAX_UNTESTED], *([f"{n_more} more"] if n_more > 0 else ())])


def _published(v: Validation) -> str:
    """Report the top judge's results of the published test, with the paper's names."""
    tests = v.replacement.judges if v.replacement else ()
    for result in tests:
        if result.judge == v.decision.leader:
            winning_rate = number(result.test.winning_rate.value, 2)
            advantage = number(result.test.advantage.value, 2)
            return f"; as published: winning rate {winning_rate}, advantage probability {advantage}"
    return ""


def _notice(v: Validation) -> str:
    return f"Note: {v.task.notice}." if v.task.notice else ""
