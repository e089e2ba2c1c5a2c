from __future__ import annotations

import numpy as np
import pytest
from support.analysis_inputs import source_of, task_of

from harness.analysis import validate
from harness.report.text import render
from harness.tasks.model import Rating

RATERS = [f"r{k}" for k in range(40)]


def ratings_of(numbers):
    """Let so many raters rate each item, in turn with the first and the second option."""
    ratings = {rater: {} for rater in RATERS}
    for i, n in enumerate(numbers):
        for k, rater in enumerate(RATERS[:n]):
            ratings[rater][f"i{i}"] = "AB"[(i + k) % 2]
    return {rater: rated for rater, rated in ratings.items() if rated}


def shown(numbers):
    return validate(source_of(task_of(ratings_of(numbers)), {}))


def test_items_that_have_most_pairs_are_noted():
    """40 ratings of one item are 780 of 900 pairs: what counts pairs describes that item."""
    [note] = [note for note in shown([40] + [3] * 40).notes if "pairs" in note]
    assert note.startswith("1 of 41 rated items has 86.7% of all pairs of ratings")
    assert not [note for note in shown([3] * 41).notes if "pairs" in note]


def test_each_number_of_equally_many_raters_is_shown_once():
    """Coefficients for unequal numbers of ratings repeat the strict ones and stay in the JSON."""
    humans = shown([3] * 12).humans
    repeated = {"fleiss_kappa_unequal_raters", "fleiss_kappa_pooled_pairs"}
    assert repeated <= humans.agreement.keys()
    assert {"fleiss_kappa", "gwet_ac1"} <= humans.defined_agreement.keys()
    assert not repeated & humans.defined_agreement.keys()
    assert repeated <= shown([3] * 12 + [2]).humans.defined_agreement.keys()


def test_response_sets_alone_have_their_agreement_instead_of_na():
    """Raters who gave only sets are compared by their sets."""
    rng = np.random.default_rng(0)
    values = [("A",), ("B",), ("A", "B")]
    sets = tuple(
        Rating(f"i{i}", rater, "response_set", values[rng.integers(3)])
        for i in range(12)
        for rater in RATERS[:3]
    )
    task = task_of(ratings_of([3] * 12)).model_copy(update={"ratings": sets})
    outcome = validate(source_of(task, {}))
    assert outcome.humans.agreement.keys() == {"jaccard_agreement", "krippendorff_alpha_masi"}
    assert all(estimate.interval for estimate in outcome.humans.agreement.values())
    assert "NA (" not in render(outcome)


def test_ordered_options_have_ac2_too():
    """A near miss counts in part; with three options it isn't AC1."""
    ratings = {"r": {f"i{i}": "123"[i % 3] for i in range(9)}}
    ratings["s"] = dict.fromkeys(ratings["r"], "2")
    task = task_of(ratings, options=("1", "2", "3"), scale="ordinal", positive=())
    agreement = validate(source_of(task, {})).humans.agreement
    assert agreement["gwet_ac2"].value > agreement["gwet_ac1"].value


def test_named_raters_of_ordered_options_have_intraclass_correlations():
    """Raters who rated all items; the others are left out, and raters without names have none."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 30)
    ratings = {
        rater: {f"i{i}": str(np.clip(t + rng.integers(-1, 2), 1, 5)) for i, t in enumerate(truth)}
        for rater in "rst"
    }
    ratings["u"] = {"i0": "5"}
    scale = {"options": tuple("12345"), "scale": "ordinal", "positive": ()}
    agreement = validate(source_of(task_of(ratings, **scale), {})).humans.agreement
    single, of_mean = agreement["icc_single"].value, agreement["icc_mean"].value
    assert 0.4 < single < of_mean < 1.0
    assert of_mean == pytest.approx(3 * single / (1 + 2 * single))
    assert agreement["icc_mean"].interval is not None
    assert agreement["icc_single"].interval_reason == "too_few_items"  # from 50 items on
    positional = task_of(ratings, rater_ids="positional", **scale)
    assert "icc_single" not in validate(source_of(positional, {})).humans.agreement
