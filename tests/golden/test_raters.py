"""Goldens of the raters among themselves, and of a judge against them."""

from __future__ import annotations

import numpy as np
import pytest
from support.known_answers import Result, load_dataset, reproduce

from harness import stats
from harness.stats.metrics.human_agreement import (
    pearson_by_rater,
    pearson_mean_over_raters,
    pearsons,
)

MAJORITY = {
    "accuracy_majority_expected": "hit_rate(h/h)",
    "accuracy_majority_lower": "hit_rate_ties_lost(h/h)",
    "accuracy_majority_upper": "hit_rate_ties_won(h/h)",
}


def test_judge_vs_raters(golden):
    """Accuracy against a majority comes with its tie bounds; Pearson is a mean over raters."""

    def adapter(inputs):
        ratings, verdicts = long_form(inputs, load_dataset)
        if inputs["score"] == "accuracy":
            return Result(accuracy(ratings, verdicts))
        if inputs["score"] == "neg_rmse":
            return Result(pearson(ratings, verdicts))
        return pytest.fail(f"score {inputs['score']!r} has no adapter")

    reproduce(golden, adapter)


def test_human_agreement(golden):
    """Strict Fleiss is NA where items have unequal numbers of ratings; alpha is not."""

    def adapter(inputs):
        items = [f"unit {i}" for i in range(len(inputs["units"]))]
        ratings = [
            (item, label)
            for item, labels in zip(items, inputs["units"], strict=True)
            for label in labels
        ]
        space = stats.OptionSpace.singletons(inputs["options"])
        human = stats.RatingTable.count(space, "human", items, forced_choice=ratings)
        estimates = stats.evaluate(
            human,
            [],
            tau=0.5,
            positive=inputs["options"][:1],
            resampling=stats.Resampling(n_resamples=0, rng=np.random.default_rng(0)),
        ).human_agreement
        names = {
            "fleiss": "fleiss_kappa",
            "alpha": "krippendorff_alpha_nominal",
            "pairwise_agreement": "pairwise_agreement",
        }
        per_item, n_items = np.unique(human.forced_choice.sum(axis=1), return_counts=True)
        return Result(
            {key: estimates[name].value for key, name in names.items()},
            {key: estimates[name].reason for key, name in names.items()},
            {"ratings_per_item": {str(m): int(n) for m, n in zip(per_item, n_items, strict=True)}},
        )

    reproduce(golden, adapter)


def long_form(inputs, dataset):
    """Return ratings as (item, rater, value) and verdicts as {item: value}."""
    if "dataset" in inputs:
        data = dataset(inputs["dataset"], inputs.get("criterion"))
        rows = [r for r in data.verdicts if r["judge"] == inputs["judge"]]
        return (
            [(r["item"], r["rater"], r["value"]) for r in data.ratings],
            {r["item"]: r["value"] for r in rows},
        )
    return (
        [(i, rater, v) for rater, rated in inputs["ratings"].items() for i, v in rated.items()],
        inputs["verdicts"],
    )


def accuracy(ratings, verdicts):
    """Compare the verdicts with the majority label, any label in the data being an option."""
    items = sorted({item for item, _, _ in ratings} | verdicts.keys())
    labels = sorted({str(v) for _, _, v in ratings} | {str(v) for v in verdicts.values()})
    space = stats.OptionSpace.singletons(labels)
    human = stats.RatingTable.count(
        space, "human", items, forced_choice=[(i, str(v)) for i, _, v in ratings]
    )
    judge = stats.RatingTable.count(
        space, "judge", items, forced_choice=[(i, str(v)) for i, v in verdicts.items()]
    )
    estimates = stats.evaluate(
        human,
        [judge],
        tau=0.5,
        positive=labels[:1],
        metrics=list(MAJORITY.values()),
        resampling=stats.Resampling(n_resamples=0, rng=np.random.default_rng(0)),
    ).estimates["judge"]
    expected = estimates["hit_rate(h/h)"]
    values = {key: estimates[name].value for key, name in MAJORITY.items()}
    return values | {"n_items": expected.n_used, "n_tied": expected.n_tied}


def pearson(ratings, verdicts):
    """Correlate the verdicts with each rater, and average over raters."""
    items = {item: i for i, item in enumerate(sorted({item for item, _, _ in ratings}))}
    raters = {rater: j for j, rater in enumerate(sorted({rater for _, rater, _ in ratings}))}
    values = np.full((len(items), len(raters)), np.nan)
    for item, rater, value in ratings:
        values[items[item], raters[rater]] = float(value)
    judge = np.array([float(verdicts.get(item, "nan")) for item in items])
    sums = pearson_by_rater(values, judge).sum(axis=0)
    return {
        "pearson_mean_over_raters": float(pearson_mean_over_raters(sums)),
        "n_raters": int((~np.isnan(pearsons(sums))).sum()),
    }
