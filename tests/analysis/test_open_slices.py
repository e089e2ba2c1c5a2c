"""Slices of judges that answer with numbers or texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import source_of, task_of

from harness.analysis import Validation, validate
from harness.analysis.inputs import Settings
from harness.analysis.item_answers import answered_items
from harness.report import page
from harness.report.html.item_table import item_table
from harness.report.recommendation import summary
from harness.report.text import render
from harness.stats.open_scales.numeric_answers import NumericRatings
from harness.tasks.schema import number_text

N = 150


def with_languages(task):
    """Give a task's items a language in turn."""
    items = tuple(
        replace(item, fields={**item.fields, "language": ("en", "de", "fr")[i % 3]})
        for i, item in enumerate(task.items)
    )
    return task.model_copy(update={"items": items})


def numbers(*, judge_slips=True, raters_slip=False, bounds=(0, 100), **choices):
    """A judge, or the raters too, that is far off on German items."""
    rng = np.random.default_rng(7)
    quality = rng.uniform(30, 70, N)
    is_german = np.arange(N) % 3 == 1

    def answers(error):
        return {
            f"i{i}": number_text(round(float(quality[i] + rng.normal(0, error[i])), 1))
            for i in range(N)
        }

    careful, slipping = np.full(N, 4.0), np.where(is_german, 15.0, 4.0)
    ratings = {f"r{j}": answers(slipping if raters_slip else careful) for j in range(4)}
    judge = answers(slipping if judge_slips else careful)
    task = task_of(
        ratings, options=(), positive=(), scale="continuous", bounds=bounds, abstain=False
    )
    return validate(source_of(with_languages(task), {"judge": judge}, **choices))


@pytest.fixture(scope="module")
def sliced():
    return numbers()


def test_a_judge_was_blind_on_german_items_and_numbers_said_nothing(sliced):
    """The first lines name the slice, with the judge and a rater there and elsewhere."""
    [line] = [line for line in summary(sliced) if "weakest" in line]
    assert 'items with language "de". There, it is 1' in line
    assert "from the mean of the other raters" in line
    [judge] = sliced.slices.judges
    row = judge.worst_row
    assert (sliced.slices.compared, row.value, row.n_items) == ("distance", "de", N // 3)
    assert row.human.value.value < 6 < row.measures["distance"].value.value


def test_a_slice_where_raters_are_far_apart_too_is_not_named():
    """It isn't the judge that is weak there."""
    both = numbers(raters_slip=True)
    row = next(row for row in both.slices.judges[0].rows if row.value == "de")
    assert row.measures["distance"].difference.interval.low > 0
    assert both.slices.judges[0].worst is None


def test_slices_have_every_measure(sliced):
    """The metric that ranks is among them if it's a mean over items; a file keeps all."""
    rows = [row for row in sliced.slices.judges[0].rows if row.field == "language"]
    assert sum(row.measures["distance"].value.n_used for row in rows) == N
    assert set(rows[0].measures) == {"distance", "answered_fraction", "signed_error"}
    by_mse = numbers(metric="mse")
    [judge] = by_mse.slices.judges
    of_language = [row for row in judge.rows if row.field == "language"]
    losses = [row.measures["disagreement"].value.value for row in of_language]
    assert np.mean(losses) == pytest.approx(by_mse.judge("judge").metrics["mse"].value)
    assert Validation.from_json(sliced.to_json()) == sliced


def test_distances_are_those_from_the_raters_but_one():
    """By hand: without each of 1, 2 and 6 in turn, the others' means are 4, 3.5 and 1.5."""
    ratings = NumericRatings.of(np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 6.0, 5.0]), 2)
    judge, human = ratings.distances(np.array([0, 0, 1]), np.array([2.0, 4.0, 5.0]))
    assert judge[0] == pytest.approx(np.mean([2.0, 1.5, 0.5, 0.0, 0.5, 2.5]))
    assert human[0] == pytest.approx(np.mean([3.0, 1.5, 4.5]))
    assert np.isnan([judge[1], human[1]]).all()


@pytest.mark.parametrize("bounds", [(0, 100), None])
def test_slices_of_numbers_are_on_terminal_and_page(bounds):
    """With and without bounds of the scale, by numbers, not percent."""
    validation = numbers(bounds=bounds)
    text = render(validation, details=True)
    assert "how far the judge is from the mean of the other raters" in " ".join(text.split())
    assert "language: de" in text
    html = page(validation)
    assert "Distance from the other raters, by slice: judge" in html


def test_a_slice_of_numbers_leads_to_its_items():
    """The chart links to the table of items, which had no such filter."""
    rng = np.random.default_rng(0)
    ratings = {f"r{j}": {f"i{i}": str(rng.integers(9)) for i in range(36)} for j in range(3)}
    task = task_of(
        ratings, options=(), positive=(), scale="continuous", bounds=(0, 9), abstain=False
    )
    table = item_table(answered_items(source_of(with_languages(task), {"judge": ratings["r0"]})))
    assert table.slices[:3] == ("language: en", "language: de", "language: fr")
    assert [row.slices[0] for row in table.rows[:4]] == [0, 1, 2, 0]


def test_texts_are_sliced_by_similarity():
    """A judge whose German texts have nothing in common with the raters' is weak there."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{k}" for k in range(12)])

    def text(i, rate):
        kept = rng.random(6) < rate
        own = words[[(i + k) % 12 for k in range(6)]]
        return " ".join([*own[kept], "x"])

    ratings = {f"r{j}": {f"i{i}": text(i, 0.9) for i in range(N)} for j in range(3)}
    judge = {f"i{i}": text(i, 0.1 if i % 3 == 1 else 0.9) for i in range(N)}
    task = task_of(ratings, options=(), positive=(), scale="text", abstain=False)
    validation = validate(source_of(with_languages(task), {"judge": judge}))
    assert validation.slices.compared == "similarity"
    assert validation.slices.judges[0].worst_row.value == "de"
    assert any("its similarity to the raters' texts is" in line for line in summary(validation))


def test_level_item_says_that_slices_are_left_out():
    """It was silent: a field by which a judge fails was not looked at, and nothing said so."""
    criteria = {f"g{i}-{c}": {"group": f"g{i}", "criterion": c} for i in range(18) for c in "xy"}
    ratings = {f"r{j}": dict.fromkeys(criteria, "A") for j in range(3)}
    rubric = {"threshold": 1.0, "criteria": {"x": None, "y": None}}
    task = with_languages(task_of(ratings, items=criteria, rubric=rubric))
    source = source_of(task, {"judge": dict.fromkeys(criteria, "A")}, level="item")
    note = "slices by item field aren't computed with --level item"
    validation = validate(source)
    assert validation.slices is None
    assert note in validation.notes
    assert note not in validate(replace(source, settings=Settings(n_resamples=200))).notes
