"""F-hat in the terminal and on the judge card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task
from support.rating_tables import seeded

from harness.analysis import validate
from harness.report import judge_card, page, render
from harness.report.confusion_charts import translation_charts
from harness.report.text import READING, translation_text
from harness.stats import OptionSpace, RatingTable
from harness.stats.indeterminacy.likelihood import F_by_likelihood


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
    names = ("F", "F_low", "F_high", "n_endorsed")
    own = {name: getattr(raters, name) for name in names}
    judge = replace(validation.judge("lenient"), **own)
    text = translation_text(validation, judge)
    (set_of_both,) = (i for i, keys in enumerate(validation.task.response_sets) if len(keys) > 1)
    n_pairs, n = sum(raters.n_endorsed), raters.n_endorsed[set_of_both]
    labels = list(validation.task.options.values())
    first, second = (row[set_of_both] for row in raters.F)
    low, high = ([row[set_of_both] for row in matrix] for matrix in (raters.F_low, raters.F_high))
    assert all(a <= x <= b and a < b for a, x, b in zip(low, (first, second), high, strict=True))
    assert text == (
        f"from pairs ({n_pairs} pairs): {{{', '.join(labels)}}} ({n} pairs) "
        f"{labels[0]} {first:.2f} [{low[0]:.2f}, {high[0]:.2f}], "
        f"{labels[1]} {second:.2f} [{low[1]:.2f}, {high[1]:.2f}]"
    )


def test_f_hat_was_shown_without_an_interval():
    """In the terminal, on the card and in the chart, from pairs and by likelihood alike."""
    v = validate(indeterminate_source(indeterminate_task(n=60, paired=60), judges=("lenient",)))
    space = OptionSpace.powerset(("A", "B"))
    shares = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])
    rng = np.random.default_rng(0)
    theta = rng.dirichlet((1, 1, 1), 60)
    table = RatingTable(
        space=space, name="z", items=tuple(map(str, range(60))), joint=None,
        forced_choice=rng.multinomial(10, theta @ shares.T),
        response_set=rng.multinomial(10, theta),
        outcomes=np.zeros((60, 3, 5), int),
    )  # fmt: skip
    fit = F_by_likelihood(table, resampling=seeded())
    v = replace(v, sensitivity=replace(v.sensitivity, judge_translations={"lenient": fit}))
    charts = {chart.name: chart for chart in translation_charts(v)}
    for name, low in (("raters", np.array(v.humans.F_low, float)), ("lenient", fit.low)):
        chart = charts[f"translation-{name}"]
        spans = [row[-1] for row in chart.rows if row[-1]]
        assert chart.columns[-1] == "interval"
        assert len(spans) == (~np.isnan(low)).sum() == 2
        assert all(any(mark.text == span for mark in chart.marks) for span in spans)
    text = translation_text(v, v.judge("lenient"))
    assert all(span in text for span in spans)
    assert text in judge_card(v).replace("\\", "")


def test_f_hat_by_likelihood_is_marked(validation):
    """Judges without pairs have it from their independent calls; NA columns have their reason."""
    texts = [translation_text(validation, judge) for judge in validation.judges]
    for text, judge in zip(texts, validation.judges, strict=True):
        n_items = validation.sensitivity.judge_translations[judge.name].n_items
        assert text.startswith(f"by maximum likelihood ({n_items} items, ")
    reasons = {text.partition("): ")[2] for text in texts}
    assert reasons == {"1 set NA (never accepted)", "1 set NA (not identified)"}


def test_f_hat_without_calls_of_both_kinds_is_na_with_its_reason(validation):
    """Neither pairs nor independent calls of both kinds."""
    neither = replace(validation, sensitivity=None)
    text = translation_text(neither, neither.judge("strict"))
    assert text == "NA (no pairs, and no item has independent calls of both kinds)"


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
