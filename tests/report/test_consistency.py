"""Terminal, page, judge card and JSON state the same decision, word by word."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task
from support.each_case import fast_first

from harness.analysis import validate
from harness.report import decision, judge_card, page, render
from harness.report.formatting import number
from harness.report.html.details import details_of
from harness.report.html.page import actions
from harness.report.recommendation import further_evidence, listed, reasons, sentences


def close_judges():
    """Judges of equal quality on few items."""
    source = indeterminate_source(
        indeterminate_task(n=30, paired=30, seed=4), judges=("strict", "lenient")
    )
    return source.with_settings(tau=0.9, n_resamples=200, min_answered=0.8)


def best_judge():
    """A judge that may be used."""
    return indeterminate_source(indeterminate_task(n=120, paired=120))


def baseline_first():
    """A computed baseline before the judges."""
    return indeterminate_source(indeterminate_task(n=20), judges=("lenient",))


def no_replies():
    """A judge without a value."""
    source = indeterminate_source(indeterminate_task(n=20))
    return replace(source, verdicts={**source.verdicts, "random": []}).with_settings(
        n_resamples=100
    )


def undefined_metric():
    """A metric that is NA for every judge."""
    return indeterminate_source(indeterminate_task(n=20), metric="decision_consistency")


def assumed_beta():
    """An order that depends on beta, with regret."""
    source = indeterminate_source(indeterminate_task(), beta=0.5, metric="decision_consistency")
    return source.with_settings(min_answered=0.8)


def no_judges():
    """Human ratings alone."""
    return indeterminate_source(indeterminate_task(n=20), judges=())


CASES = (
    close_judges,
    best_judge,
    baseline_first,
    no_replies,
    undefined_metric,
    assumed_beta,
    no_judges,
)


@pytest.fixture(scope="module", params=fast_first(4, CASES), ids=lambda case: case.__name__)
def case(request):
    """A validation, and its source."""
    source = request.param()
    return validate(source), source


def words(text):
    """Return a text on one line."""
    return " ".join(text.split())


def steps_of(validation, source):
    """Return the next steps as the page shows them."""
    return actions(validation, details_of(source, certainty=validation.certainty))


def page_of(validation, source):
    """Return the page as HTML, and its text without markup."""
    html = page(validation, details_of(source, certainty=validation.certainty))
    unlinked = re.sub(r"</?(a|code)\b[^>]*>", "", html)  # within a sentence they add no space
    return html, words(unescape(re.sub(r"<[^>]+>", " ", unlinked)))


@pytest.mark.slow
def test_every_sentence_stands_in_terminal_page_and_card(case):
    """Nobody rephrases the decision; the page leaves out of its reasons what it draws."""
    validation, source = case
    terminal = words(render(validation, details=True))
    card = words(re.sub(r"\\(.)", r"\1", judge_card(validation)))
    _, text = page_of(validation, source)
    for sentence in sentences(validation):
        assert sentence in terminal
    for sentence in sentences(validation, texts=False):
        assert sentence in card
    steps = (step.link_text or "".join(dict(step.parts)) for step in steps_of(validation, source))
    of_page = (*reasons(validation), *further_evidence(validation), *steps)
    for sentence in (sentences(validation)[0], *of_page):
        assert sentence.replace("`", "") in text
    assert decision(validation) in card


def test_sentences_state_what_the_json_states(case):
    """The verdict, judges not significantly different, the items needed and the usual choices."""
    validation, _ = case
    stated = json.loads(validation.to_json())["decision"]
    text = " ".join(sentences(validation))
    assert bool(re.match(rf"Use {stated['judge']}( if|\.)", text)) == (stated["verdict"] == "use")
    if stated["verdict"] == "best_not_proven":
        assert text.startswith(f"Not yet: {stated['judge']} is ")
        assert "but not proven good enough. Missing: " in text
    if stated["reason"] == "not_better_than_baselines":
        assert text.startswith("Don't use ")
        assert stated["leader"] in text
    close = re.search(r"(?:^|\. )((?:(?!\. ).)*) (?:is|are) not significantly different", text)
    named = re.split(", | and ", close[1]) if close else []
    assert named == stated["not_distinguishable"]
    if not named and stated["significantly_worse"]:
        assert re.search(r"Every other (ranked )?judge is significantly worse \(95%\)\.", text)
    needed = stated["next_step"]["n_items_needed"]
    assert (f"With {needed} items (you have" in text) == (needed is not None)
    for choice in stated["usual_choices"]:
        assert f"would have picked {listed(choice['regret']['selected'])}" in text
        assert f"with a regret of {number(choice['regret']['value'])}" in text
    assert ("would have picked" in text) == bool(stated["usual_choices"])
    for piece in stated["break_even"]["pieces"][:2] if stated["break_even"] else ():
        assert listed(piece["winners"]) in text


def test_page_marks_the_judges_that_the_sentence_names(case):
    """The ranking tags as "not significantly different" those that the decision names, once."""
    validation, source = case
    html, _ = page_of(validation, source)
    marked = html.count('<span class="tag">not significantly different</span>')
    assert marked == len(validation.decision.not_distinguishable)
