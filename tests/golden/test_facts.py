"""Goldens of data sets: their sizes, the agreement of their raters, and clustered intervals."""

from __future__ import annotations

import numpy as np
import pytest
from support.dataset_facts import dataset_facts
from support.known_answers import Result, load_dataset, reproduce, units_of
from support.rating_tables import seeded

from harness import stats
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.engine import Engine
from harness.stats.inference.metric import mean
from harness.stats.metrics.alpha import krippendorff_alpha


@pytest.mark.slow
def test_dataset_facts(golden):
    """Counts, pairwise agreement, kappas, MAE, Pearson and alpha of real ratings."""

    def adapter(inputs):
        data = load_dataset(inputs["dataset"], inputs.get("criterion"))
        if data.meta["value_type"] == "int":
            return Result(numeric(data))
        table, options = rater_table(data, str)
        facts = dataset_facts(table, len(options))
        agreement, by_pairs = facts.agreement, facts.by_pairs
        return Result(
            sizes(facts)
            | {
                "pairwise_agreement_pooled": agreement["pairwise_agreement"].value,
                "pairwise_agreement_mean_over_items": agreement[
                    "pairwise_agreement_mean_over_items"
                ].value,
                "fleiss_pooled_pairs": agreement["fleiss_kappa_pooled_pairs"].value,
                "fleiss_mean_over_items": agreement["fleiss_kappa_item_agreements"].value,
                "fleiss_defined": agreement["fleiss_kappa"].value is not None,
                "cohen_mean_over_pairs": by_pairs["cohen_kappa"].value,
                "cohen_overlap_weighted": by_pairs["cohen_kappa_overlap_weighted"].value,
                "alpha_nominal": agreement["krippendorff_alpha_nominal"].value,
            }
        )

    reproduce(golden, adapter)


def numeric(data):
    """Describe ratings that are numbers."""
    table, options = rater_table(data, int)
    facts = dataset_facts(table, len(options), scale=options)
    scores = np.append(options, np.nan)[np.where(np.isnan(table), -1, table).astype(int)]
    return sizes(facts) | {
        "mae_mean_over_pairs": facts.by_pairs["mae"].value,
        "pearson_mean_over_pairs": facts.by_pairs["pearson"].value,
        "n_pairs": facts.n_pairs,
        "n_pairs_with_pearson": facts.by_pairs["pearson"].n_used,
        "alpha_ordinal": krippendorff_alpha(scores, "ordinal").value,
        "alpha_interval": krippendorff_alpha(scores, "interval").value,
    }


def sizes(facts):
    """Take the counts."""
    names = ("n_raters", "n_items", "items_per_rater", "raters_per_item")
    return {name: getattr(facts, name) for name in names}


def rater_table(data, read):
    """Return option indices, items by raters, nan where missing, and the labels in the ratings."""
    options = sorted({read(row["value"]) for row in data.ratings})
    index = {option: k for k, option in enumerate(options)}
    items = {item["id"]: i for i, item in enumerate(data.items)}
    raters = {rater: r for r, rater in enumerate(sorted({row["rater"] for row in data.ratings}))}
    table = np.full((len(items), len(raters)), np.nan)
    for row in data.ratings:
        table[items[row["item"]], raters[row["rater"]]] = index[read(row["value"])]
    assert len(units_of(data)) == len(items)
    return table, options


def test_cluster_bootstrap_se(golden):
    """Resampled clusters give the exact limit of the standard error; items alone one too small."""

    def adapter(inputs):
        data = load_dataset(inputs["dataset"], inputs.get("criterion"))
        if inputs["statistic"] != "share of items where verdict equals the rating":
            pytest.fail(f"statistic {inputs['statistic']!r} has no adapter")
        rated = {r["item"]: r["value"] for r in data.ratings if r["rater"] == inputs["rater"]}
        verdicts = {v["item"]: v["value"] for v in data.verdicts if v["judge"] == inputs["judge"]}
        items = [item for item in data.items if item["id"] in rated and item["id"] in verdicts]
        alike = np.array([float(rated[item["id"]] == verdicts[item["id"]]) for item in items])
        share = stats.Metric(name="share", value=mean, reason=str)
        contributions = np.column_stack([alike, np.ones(len(items))])
        sums = stats.ItemSums(contributions=contributions, metrics=(share,))
        groups = [item[inputs["cluster"]] for item in items]
        errors = []
        for of_item in (groups, None):
            units = Units.of(len(items), of_item)
            [[estimate]] = Engine.draw(units, seeded(n_resamples=4000)).of_sums([sums])
            errors.append(float(estimate.replicates.std()))
        estimate = stats.bootstrap(
            contributions,
            mean,
            resampling=seeded(n_resamples=0),
        )
        return Result(
            {
                "estimate": estimate.value,
                "n_clusters": len(set(groups)),
                "se_cluster": errors[0],
                "se_flat": errors[1],
            }
        )

    reproduce(golden, adapter)
