"""Describe which of a judge's verdicts can be accepted without a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.report.formatting import level_text, listed, number, percent
from harness.report.text_table import paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.verdict_trust import VerdictTrust

SIGNALS = {
    "sample_agreement": "share of the judge's replies with the answer",
    "order_stability": "share of replies with the judge's answer if the options are reordered",
    "logprob": "probability of the answer",
    "verbal_confidence": "confidence that the judge states",
    "combined": "a combination",
}
NAMES = {
    "sample_agreement": "agreement of replies",
    "order_stability": "stability across option orders",
    "logprob": "probability",
    "verbal_confidence": "stated confidence",
}
ERRORS = {
    "majority": "differ from the raters' majority",
    "rater": "differ from a random rater's answer",
    "set": "lie outside a random rater's response set",
}
RATERS = {
    "majority": "a rater differs from the majority of the others",
    "rater": "two raters differ",
    "set": "a rater's answer lies outside another rater's response set",
}
TESTS = {
    "binomial": "exact binomial test",
    "betting": "test by betting",
}


def trust_text(result: VerdictTrust) -> str:
    """Describe the accepted verdicts, the evidence and the remaining items as text."""
    return "\n".join(map(paragraph, trust_lines(result)))


def trust_lines(result: VerdictTrust) -> Iterator[str]:
    """Yield a sentence or two on each: accepted verdicts, the evidence, and the raters' error."""
    bound = f"{result.max_error:.3g}"
    claim = f"at most {100 * result.max_error:.3g}% of them {ERRORS[result.error_kind]}"
    if result.n_accepted:
        share = percent(result.n_accepted / result.n_items)
        left = result.n_items - result.n_accepted
        rest = f" A person must rate the other {left}." if left else ""
        yield (
            f"{result.n_accepted} of {counted([result.n_items], 'verdict')} of {result.judge} can "
            f"be accepted without a person ({share}).{rest}"
        )
        yield f"With {level_text(result.level)} confidence, {claim}, on items like the rated ones."
    else:
        yield (
            f"No verdict of {result.judge} can be accepted without a person. {_why(result, bound)}"
        )
    yield from _evidence(result)
    yield from _raters(result)


def _why(result: VerdictTrust, bound: str) -> str:
    """Explain why no verdict is accepted."""
    if result.reason == "too_few_items":
        return (
            f"Even if all answers were correct, {counted([result.n_tested], 'tested item')} "
            f"couldn't show an error of at most {bound}. Rate more items."
        )
    if result.signal == "all_alike":
        return f"The ratings don't show an error of at most {bound}."
    return (
        f"The ratings don't show an error of at most {bound} for any threshold on the judge's "
        "confidence."
    )


def _evidence(result: VerdictTrust) -> Iterator[str]:
    """Describe the test, the items in it, and the confidence that it uses."""
    if result.error is not None:
        n_errors = percent(result.error)
        yield (
            f"Tested on {counted([result.n_tested], 'rated item')}: {result.n_tested_accepted} are "
            f"accepted, with an error of {n_errors} ({TESTS[result.method]})."
        )
    if result.signal == "all_alike":
        yield (
            "The replies have no confidence, so you can accept all of them or none. Collect "
            "several replies per item (--samples 5), or use a strategy that returns probabilities."
        )
    else:
        yield _confidence(result)
    if result.n_judges > 1:
        yield f"This accounts for selecting the judge from {result.n_judges}."
    if result.n_items > result.n_answered:
        n = result.n_items - result.n_answered
        yield f"{counted([n])} without a single answer from the judge can't be accepted."


def _confidence(result: VerdictTrust) -> str:
    """Describe the confidence that decides, its threshold, and how both were selected."""
    text = f"Confidence: {SIGNALS[result.signal]}"
    if result.signal == "combined":
        weights = [f"{NAMES[name]} {number(weight, 2)}" for name, weight in result.weights.items()]
        text += f" of ranks ({listed(weights)})"
    if result.threshold is not None:
        text += f", at least {result.threshold:.3g}"
    if result.n_chosen_on:
        candidates = [*(NAMES[name] for name in result.signals), "their combination"]
        text += f". It was chosen among {listed(candidates)} on {result.n_chosen_on} other items"
    return f"{text}."


def _raters(result: VerdictTrust) -> Iterator[str]:
    """Report how often raters err by the same definition, and what this means for the bound."""
    if result.raters_error is None:
        yield "With one rater per item, the ratings can't show how often raters themselves differ."
        return
    yield (
        f"For comparison, {RATERS[result.error_kind]} in {percent(result.raters_error)} of cases "
        f"({counted([result.n_raters_items])})."
    )
    if result.raters_error > result.max_error and result.error_kind != "majority":
        yield (
            "Raters themselves exceed your bound, so a judge can meet it only on items where "
            "raters agree more than usual."
        )
