"""Goldens of the alternative annotator test, its variants and the tests it is made of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from support.known_answers import Result, load_dataset, reproduce

from harness import stats
from harness.stats.alt_test import margin_tests
from harness.stats.alt_test.controls import optimal_verdicts
from harness.stats.alt_test.margin_tests import one_sided_t
from harness.stats.alt_test.procedure import eps_sweep
from harness.stats.metrics.human_agreement import (
    pearson_by_rater,
    pearson_mean_over_raters,
    pearsons,
)

DESIGN = (
    *("eps", "q", "small_n", "unanswered", "min_raters_per_item", "min_items_per_rater"),
    *("expert", "quality"),
)


def test_alt_test(golden):
    """Winning rate, advantage and the table of raters come out as defined, NA with its reason."""

    def adapter(inputs):
        outcome = run(inputs, load_dataset)
        values = described(outcome) | {"traditional": traditional(inputs, load_dataset)}
        reason = dict.fromkeys(("omega", "rho"), outcome.winning_rate.reason)
        if outcome.passes is None and "small_n" not in inputs:
            values = {"omega": outcome.winning_rate.value, "rho": outcome.advantage.value}
        return Result(values, reason, outcome.counts)

    reproduce(golden, adapter)


def test_alt_test_eps_sweep(golden):
    """The winning rate at any margin follows from one test; the advantage does not move."""

    def adapter(inputs):
        margins = [point["eps"] for point in golden["expect"]["sweep"]]  # named nowhere else
        points = eps_sweep(run(inputs | {"eps": 0.1}, load_dataset), margins)
        sweep = [
            {"eps": point.eps, "omega": point.winning_rate, "rho": point.advantage}
            for point in points
        ]
        return Result({"sweep": sweep})

    reproduce(golden, adapter)


def test_alt_test_optimal_judge(golden):
    """The majority, or the mean for numbers, has an advantage of exactly 1."""

    def adapter(inputs):
        ratings, _ = long_form(inputs, load_dataset)
        panel, chosen = stats.Panel.of(ratings), design(inputs)
        return Result(described(judged(panel, optimal_verdicts(panel, chosen), chosen)))

    reproduce(golden, adapter)


def test_alt_test_single_expert(golden):
    """Judge and raters are compared with the expert, who is not tested."""
    reproduce(golden, lambda inputs: Result(described(run(inputs, load_dataset))))


def test_alt_test_quality_weights(golden):
    """Quality weighs the other raters in the score and the raters beaten, nothing else."""
    reproduce(golden, lambda inputs: Result(described(run(inputs, load_dataset))))


def test_alt_test_ipw(golden):
    """Items weigh by the inverse share of their label; n - 1 with the effective n."""

    def adapter(inputs):
        return Result(described(run(inputs | {"weighting": "ipw"}, load_dataset)))

    reproduce(golden, adapter)


def test_alt_test_gold(golden):
    """The gold labels stand in the expert's place."""

    def adapter(inputs):
        marks = inputs["correct"]
        questions = [f"question {i}" for i in range(len(marks["gold"]))]
        ratings = [
            (question, human, mark)
            for human, row in marks["humans"].items()
            for question, mark in zip(questions, row, strict=True)
        ]
        gold, judge = (dict(zip(questions, marks[who], strict=True)) for who in ("gold", "judge"))
        chosen = design(inputs | {"score": "accuracy"}, gold=gold)
        return Result(described(judged(stats.Panel.of(ratings), judge, chosen)))

    reproduce(golden, adapter)


def test_benjamini_yekutieli(golden):
    """Step-up with the harmonic factor; equality rejects."""

    def adapter(inputs):
        decisions = stats.benjamini_yekutieli(inputs["p"], inputs["q"])
        return Result(
            {"rejected": decisions.rejected.tolist(), "thresholds": decisions.thresholds.tolist()}
        )

    reproduce(golden, adapter)


def test_one_sided_t(golden):
    """Without variation, p is 0 or 1 by the mean, and t is NA."""

    def adapter(inputs):
        t_test = one_sided_t(**inputs["counts"], eps=inputs["eps"])
        return Result(
            {"n": t_test.n, "mean": t_test.mean, "sd": t_test.sd, "t": t_test.t, "p": t_test.p}
        )

    reproduce(golden, adapter)


def design(inputs, **others):
    """Read the design of a case."""
    score = jaccard if inputs["score"] == "similarity" else inputs["score"]
    options = {key: inputs[key] for key in DESIGN if key in inputs}
    weighting = inputs.get("weighting", "none")
    return stats.AltTestDesign(score=score, weighting=weighting, **options, **others)


def run(inputs, dataset):
    """Test the judge of a case, without resamples."""
    ratings, verdicts = long_form(inputs, dataset)
    return judged(stats.Panel.of(ratings), verdicts, design(inputs))


def judged(panel, verdicts, chosen):
    return stats.annotator_test(panel, verdicts, chosen)


def long_form(inputs, dataset):
    """Return ratings as (item, rater, value) and verdicts as {item: value}."""
    if "dataset" in inputs:
        data = dataset(inputs["dataset"], inputs.get("criterion"))
        rows = [row for row in data.verdicts if row["judge"] == inputs.get("judge")]
        return (
            [(row["item"], row["rater"], row["value"]) for row in data.ratings],
            {row["item"]: row["value"] for row in rows},
        )
    return (
        [(i, rater, v) for rater, rated in inputs["ratings"].items() for i, v in rated.items()],
        inputs["verdicts"],
    )


def described(outcome):
    """Name the results as the cases do."""
    rows = [
        {
            "rater": row.rater,
            "n": row.n,
            "n_effective": row.n_effective,
            "rho_f": row.rho_f,
            "rho_h": row.rho_h,
            "s": row.sd,
            "t": row.statistic,
            "p": row.p,
            "test": row.test,
            "rejected": row.rejected,
        }
        for row in outcome.per_rater
    ]
    return {
        "omega": outcome.winning_rate.value,
        "rho": outcome.advantage.value,
        "wins": outcome.wins,
        "m_tested": outcome.n_tested,
        "passes": outcome.passes,
        "skipped": [row.rater for row in outcome.skipped],
        "per_rater": rows,
        "wilcoxon": {
            row.rater: signed_rank(row, outcome.eps)
            for row in (*outcome.per_rater, *outcome.skipped)
            if row.n
        },
    }


def signed_rank(row, eps):
    rank_test = margin_tests.signed_rank(row.n_judge_closer, row.n_tied, row.n_rater_closer, eps)
    return {
        "w_plus": rank_test.w_plus,
        "p_exact": rank_test.p_exact,
        "p_normal": rank_test.p_normal,
        "n": rank_test.n,
    }


def traditional(inputs, dataset):
    """Correlate the verdicts with each rater where both are numbers, and average over raters."""
    if inputs["score"] != "neg_rmse":
        return None
    ratings, verdicts = long_form(inputs, dataset)
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


def jaccard(left, right):
    """Compare two texts by the sets of their lower-cased words."""
    a, b = set(left.lower().split()), set(right.lower().split())
    return float(Fraction(len(a & b), len(a | b))) if a | b else 1.0
