"""F-hat in the terminal and on the judge card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import validate
from harness.report import judge_card, page, render
from harness.report.confusion_charts import translation_charts
from harness.report.text import READING, translation_text


@pytest.fixture(scope="module")
def validation():
    """Judges with pairs."""
    task = indeterminate_task(n=40, paired=40)
    return validate(indeterminate_source(task, judges=("strict", "lenient")))


def test_f_hat_stands_behind_details_and_on_the_card(validation):
    """Every judge has its F-hat with how it was estimated, not in the short output."""
    card = judge_card(validation).replace("\\", "")
    long = " ".join(render(validation, details=True).split())
    assert READING in card
    assert READING in long
    assert "F-hat" not in render(validation)
    for judge in validation.judges:
        text = translation_text(validation, judge)
        assert f"F-hat: {judge.name} {text}." in long
        assert f"- {judge.name}, {text}" in card


def test_f_hat_of_pairs_is_preferred_and_has_its_pairs(validation):
    """The set of both options, its pairs, and the chance of each choice."""
    raters = validation.humans
    judge = replace(validation.judge("lenient"), F=raters.F, n_endorsed=raters.n_endorsed)
    text = translation_text(validation, judge)
    (set_of_both,) = (i for i, keys in enumerate(validation.task.response_sets) if len(keys) > 1)
    n_pairs, n = sum(raters.n_endorsed), raters.n_endorsed[set_of_both]
    labels = list(validation.task.options.values())
    first, second = (row[set_of_both] for row in raters.F)
    assert text == (
        f"from pairs ({n_pairs} pairs): {{{', '.join(labels)}}} ({n} pairs) "
        f"{labels[0]} {first:.2f}, {labels[1]} {second:.2f}"
    )


def test_f_hat_by_likelihood_is_marked(validation):
    """Judges without pairs have it from their independent calls; NA columns have their reason."""
    texts = [translation_text(validation, judge) for judge in validation.judges]
    for text, judge in zip(texts, validation.judges, strict=True):
        n_items = validation.sensitivity.judge_translations[judge.name].n_items
        assert text.startswith(f"by maximum likelihood ({n_items} items, ")
    reasons = {text.partition("): ")[2] for text in texts}
    assert reasons == {"1 set NA (never endorsed)", "1 set NA (not identified)"}


def test_f_hat_without_calls_of_both_kinds_is_na_with_its_reason(validation):
    """Neither pairs nor independent calls of both kinds."""
    neither = replace(validation, sensitivity=None)
    text = translation_text(neither, neither.judge("strict"))
    assert text == "NA (no pairs, and no item with independent calls of both kinds)"


def test_f_hat_by_likelihood_is_drawn(validation):
    """The page has a matrix of each judge that has no pairs, with the calls behind it."""
    charts = {chart.name: chart for chart in translation_charts(validation)}
    for judge in validation.judges:
        assert judge.F is None
        fit = validation.sensitivity.judge_translations[judge.name]
        chart = charts[f"translation-{judge.name}"]
        assert chart.title == f"{judge.name} · by likelihood, {fit.n_items} items"
        defined = fit.F.T[~np.isnan(fit.F).all(axis=0)]
        assert [row[2] for row in chart.rows] == defined.ravel().tolist()


def test_f_hat_is_shown_where_abstaining_is_an_option():
    """Its rows and columns have CANNOT_ASSESS, too, in the terminal, on the card and the page."""
    task = indeterminate_task(n=40, paired=40)
    third = validate(indeterminate_source(task, judges=("lenient",), mode="third_class"))
    assert len(third.humans.F) == len(task.options) + 1
    assert len(third.task.response_sets) == len(third.humans.F[0])
    assert "F-hat: lenient" in render(third, details=True)
    assert "lenient" in judge_card(third)
    [raters, *_] = translation_charts(third)
    assert "CANNOT_ASSESS" in {cell for row in raters.rows for cell in row}
    assert raters.title in page(third)
