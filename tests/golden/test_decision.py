"""Goldens of the decision: common footing, baselines, a human rater, tests and intervals."""

from __future__ import annotations

import math

import numpy as np
from support.known_answers import Result, reproduce
from support.rating_tables import count_table, seeded
from support.wilson import wilson_interval

from harness.stats.alt_test.margin_tests import exact_margin_test
from harness.stats.data.arrays import ratio
from harness.stats.data.forms import hard
from harness.stats.data.option_space import OptionSpace
from harness.stats.inference.metric import SquaredDistance, average_metric, find_metric, mean
from harness.stats.metrics import registry
from harness.stats.metrics.confusion import hit_rate
from harness.stats.metrics.distributional import js_divergence
from harness.stats.metrics.multi_label import mse
from harness.stats.metrics.ordinal import cumulative, ranked_probability_score
from harness.stats.planning.sample_size import sample_size_for_difference
from harness.stats.selection.paired_runs import paired_runs
from harness.stats.selection.rank_sets import rank_sets, winner_interval
from harness.stats.selection.references import (
    baseline_values,
    most_frequent_answers,
    one_human,
)
from harness.stats.selection.replies import Replies, contributions_at_replies, shared_items


def shares(counts):
    return counts


METRICS = {
    "mse(s/s)": (mse, shares, {"squared": SquaredDistance(shares)}),
    "js_divergence(s/s)": (js_divergence, shares, {}),
    "hit_rate(h/h)": (hit_rate, hard, {}),
}


def metrics_of(inputs):
    """Contributions, rating vectors and closed form of each metric that a case asks for."""
    if "sets" in inputs:
        space = OptionSpace(tuple(inputs["options"]), tuple(map(tuple, inputs["sets"])))
        order = [space.set_index(options) for options in inputs["sets"]]
        membership = space.membership.T.astype(float)[order]
        return {
            "mse(srs/srs)": (
                mse,
                lambda theta: theta @ membership,
                {"squared": SquaredDistance(shares)},
            )
        }
    metrics = dict(METRICS)
    if inputs.get("ordinal"):
        closed_form = {"squared": SquaredDistance(cumulative, averaged=True)}
        metrics["ranked_probability_score(s/s)"] = (ranked_probability_score, shares, closed_form)
    return metrics


def replies_asked(inputs):
    return math.inf if inputs["replies"] == "inf" else inputs["replies"]


def rating_shares(counts):
    counts = np.asarray(counts, dtype=float)
    return ratio(counts, counts.sum(axis=1, keepdims=True))


def test_metric_at_replies(golden):
    """Expectations over the subsets of r replies, by enumeration and in closed form."""

    def adapter(inputs):
        human = rating_shares(inputs["human_counts"])
        n_replies = replies_asked(inputs)
        if "judge_counts" in inputs:
            replies = Replies.of_counts(np.array(inputs["judge_counts"]))
        else:
            unanswered = [math.nan] * len(inputs["options"])
            rows = [row or unanswered for row in inputs["judge_distribution"]]
            replies = Replies.of_distribution(np.array(rows))
        rated = ~np.isnan(human).any(axis=1)
        used = rated & replies.answered(n_replies)
        values = {}
        for name, (contributions, vectors, closed_form) in metrics_of(inputs).items():
            if math.isinf(n_replies) and not closed_form and "judge_counts" in inputs:
                continue
            forms = [closed_form, {}] if not math.isinf(n_replies) else [closed_form]
            for form in forms:
                sums = contributions_at_replies(
                    contributions, vectors(human), replies, n_replies, vectors=vectors, **form
                )
                value = mean(sums[used].sum(axis=0)) if used.any() else math.nan
                assert name not in values or np.isclose(value, values[name], equal_nan=True)
                values[name] = float(value)
        counts = {"n_items": int(used.sum()), "n_unanswered": int((rated & ~used).sum())}
        return Result(values, counts=counts)

    reproduce(golden, adapter)


def test_computed_baselines(golden):
    """Uniform, prior and most common answer, fitted on all items."""

    def adapter(inputs):
        counts = np.array(inputs["human_counts"])
        human = rating_shares(counts)
        evaluated = np.zeros(len(counts), dtype=bool)
        evaluated[inputs["evaluated"]] = True
        values = {name: {} for name in ("uniform", "prior", "most_frequent")}
        for metric, (contributions, vectors, closed_form) in metrics_of(inputs).items():
            for form in (closed_form, {}):
                tested = average_metric(
                    metric, contributions, ("s", "s"), family="other", paper="", **form
                )
                by_baseline = baseline_values(
                    tested,
                    vectors(human),
                    counts,
                    replies_asked(inputs),
                    vectors=vectors,
                    evaluated=evaluated,
                )
                for baseline, of_metrics in values.items():
                    value = float(by_baseline[baseline][0])
                    assert np.isclose(of_metrics.get(metric, value), value)
                    of_metrics[metric] = value
        pooled = counts.sum(axis=0, keepdims=True).astype(float)
        modal = most_frequent_answers(pooled)[0]
        modes = [option for option, tops in zip(inputs["options"], modal, strict=True) if tops]
        prior = ratio(pooled, pooled.sum())[0].tolist()
        values |= {"prior_distribution": prior, "most_frequent_options": modes}
        n_items = int((evaluated & (counts.sum(axis=1) > 0)).sum())
        return Result(values, counts={"n_items": n_items})

    reproduce(golden, adapter)


def test_one_human(golden):
    """Judge and human scored on the same remaining ratings."""

    def adapter(inputs):
        column = {option: k for k, option in enumerate(inputs["options"])}
        items = list(dict.fromkeys(item for item, _, _ in inputs["ratings"]))
        counts = np.zeros((len(items), len(column)), dtype=int)
        for item, _, value in inputs["ratings"]:
            counts[items.index(item), column[value]] += 1
        judge = np.full(counts.shape, math.nan)
        for item, value in inputs["verdicts"].items():
            if item in items:
                judge[items.index(item)] = np.eye(len(column))[column[value]]
        metrics = metrics_of(inputs) | {"share_agreeing": (hit_rate, shares, {})}
        sides = {"human": {}, "judge": {}, "difference": {}}
        n_items, n_ratings = set(), set()
        for name, (contributions, vectors, _) in metrics.items():
            reference = one_human(
                contributions, counts, judge, human_vectors=vectors, judge_vectors=vectors
            )
            for side, means in sides.items():
                means[name] = float(mean(getattr(reference, side).sum(axis=0)))
            n_items.add(int(reference.used.sum()))
            n_ratings.add(reference.n_ratings)
        return Result(sides, counts={"n_items": max(n_items), "n_ratings": max(n_ratings)})

    reproduce(golden, adapter)


def test_annotator_exact(golden):
    """Tango's statistic and its exact unconditional p-value."""

    def adapter(inputs):
        assert inputs["wins"] + inputs["losses"] + inputs["ties"] == inputs["n"]
        test = exact_margin_test(inputs["n"], inputs["wins"], inputs["losses"], inputs["eps"])
        names = ("statistic", "p_win_restricted", "p_asymptotic", "p_exact")
        return Result({name: getattr(test, name) for name in names})

    reproduce(golden, adapter)


def test_sample_size_for_difference(golden):
    """Items needed for a difference that the user names."""

    def adapter(inputs):
        n = sample_size_for_difference(
            inputs["sd_d"], inputs["delta"], design_effect=inputs["deff"]
        )
        return Result({"n": n})

    reproduce(golden, adapter)


def test_share_interval(golden):
    """Wilson's interval at the effective number of units."""

    def adapter(inputs):
        if not inputs["n"]:
            return Result(dict.fromkeys(("share", "n_eff", "low", "high")))
        share, n_eff = inputs["k"] / inputs["n"], inputs["n"] / inputs["deff"]
        interval = wilson_interval(share, n_eff, level=inputs["level"])
        assert inputs["k"] > 0 or interval.low == 0.0
        assert inputs["k"] < inputs["n"] or interval.high == 1.0
        return Result({"share": share, "n_eff": n_eff, "low": interval.low, "high": interval.high})

    reproduce(golden, adapter)


def test_rank_sets(golden):
    """Rank sets and the winner's interval by a sup-t over resamples."""

    def adapter(inputs):
        sign = -1.0 if inputs["better"] == "higher" else 1.0
        losses = sign * np.array(inputs["estimates"])
        replicates = sign * np.array(inputs["replicates"]).T
        sets = rank_sets(losses, replicates, level=inputs["level"])
        winner = winner_interval(losses, replicates, level=inputs["level"])
        ends = sorted([sign * winner.low, sign * winner.high])
        values = {
            "critical_value": sets.critical_value,
            "rank_sets": dict(zip(inputs["judges"], map(list, sets.ranks), strict=True)),
            "winner": inputs["judges"][winner.winner],
            "winner_critical_value": winner.critical_value,
            "winner_interval": ends,
        }
        counts = {
            "pairs_left_out": sets.n_pairs_equal,
            "pairs_surely_better": int(sets.better.sum()),
        }
        return Result(values, counts=counts)

    reproduce(golden, adapter)


def test_paired_runs(golden):
    """Two runs on shared items, by McNemar's exact test."""

    def adapter(inputs):
        sides = [inputs[name] for name in ("target", "first", "second")]
        labels = sorted({value for side in sides for value in side} - {None})
        space = OptionSpace.singletons(labels)
        human, *runs = (
            count_table(str(i), [[value] if value else [] for value in side], space=space)
            for i, side in enumerate(sides)
        )
        test = paired_runs(
            human,
            tuple(runs),
            find_metric("hit_rate(h/h)", registry.METRICS),
            tau=0.5,
            positive=(),
            resampling=seeded(),
        )
        values = {
            "rate_first": test.first,
            "rate_second": test.second,
            "difference": test.difference,
            "p": test.p,
        }
        both = round((test.first or 0.0) * test.n_items) - test.n_worse
        counts = {
            "n_items": test.n_items,
            "both": both,
            "only_first": test.n_worse,
            "only_second": test.n_better,
            "neither": test.n_equal - both,
        }
        return Result(values, counts=counts)

    reproduce(golden, adapter)


def test_shared_items(golden):
    """Who is ranked, and on which items."""

    def adapter(inputs):
        items, judges = list(inputs["human_counts"]), list(inputs["verdicts"])
        column = {option: k for k, option in enumerate(inputs["options"])}
        human = hard(rating_shares(list(inputs["human_counts"].values())))
        answered = np.array([[item in inputs["verdicts"][z] for item in items] for z in judges])
        sharing = shared_items(answered, min_answered=inputs["min_answered"])
        rates = {}
        for judge in judges:
            vectors = np.full(human.shape, math.nan)
            for i, item in enumerate(items):
                if item in inputs["verdicts"][judge]:
                    vectors[i] = np.eye(len(column))[column[inputs["verdicts"][judge][item]]]
            rates[judge] = hit_rate(human, vectors)
        ranked = [
            judge for judge, is_ranked in zip(judges, sharing.ranked, strict=True) if is_ranked
        ]
        values = {
            "answered": dict(zip(judges, sharing.answered_fraction.tolist(), strict=True)),
            "ranked": ranked,
            "shared_items": [
                item for item, kept in zip(items, sharing.shared, strict=True) if kept
            ],
            "shared_fraction": sharing.shared.mean() if ranked else None,
            "hit_rate": {z: float(mean(rates[z][sharing.shared].sum(axis=0))) for z in ranked},
            "own_hit_rate": {z: float(mean(rates[z].sum(axis=0))) for z in judges},
        }
        counts = {"n_items": len(items), "n_shared": int(sharing.shared.sum())}
        return Result(values, counts=counts)

    reproduce(golden, adapter)
