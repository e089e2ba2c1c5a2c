"""Goldens of agreement stratified by human certainty, and of the random rater."""

from __future__ import annotations

import numpy as np
from support.known_answers import Result, counts_of, load_dataset, reproduce, units_of

from harness.stats import Resampling
from harness.stats.subsets.strata import Stratum, stratify


def test_human_agreement_stratum(golden):
    """Coefficients among the humans within one stratum; an empty one keeps its row."""

    def adapter(inputs):
        units = inputs.get("units")
        if units is None:
            units = units_of(load_dataset(inputs["dataset"], inputs.get("criterion")))
        edges = inputs["stratum"]
        stratum = Stratum("case", edges["by"], edges["at_least"], edges["below"])
        numeric = inputs["level"] != "nominal"
        counts = counts_of(units, inputs["options"])
        [[outcome]] = stratify(
            counts,
            {"": np.zeros_like(counts)},
            strata=[stratum],
            level=inputs["level"],
            scale=inputs["options"] if numeric else None,
            resampling=Resampling(n_resamples=0, rng=np.random.default_rng(0)),
        ).values()
        names = {
            "alpha": f"krippendorff_alpha_{inputs['level']}",
            "majority_share": "majority_share",
            "pairwise_agreement": "pairwise_agreement",
            "fleiss": "fleiss_kappa",
            "randolph": "randolph_kappa",
        }
        values = {key: outcome.hh[name].value for key, name in names.items()}
        reasons = {key: outcome.hh[name].reason for key, name in names.items()}
        counts = {"n_items": outcome.n_items}
        if outcome.n_items:
            values |= {
                name: getattr(outcome, name)
                for name in ("n_items", "share_of_items", "n_labels_seen")
            }
        return Result(values, {key: why for key, why in reasons.items() if why}, counts)

    reproduce(golden, adapter)


def test_random_rater(golden):
    """Humans among themselves and a random rater against one of them, in every stratum."""

    def adapter(inputs):
        units = [kind["labels"] for kind in inputs["human"] for _ in range(kind["count"])]
        numeric = inputs["level"] != "nominal"
        strata = (
            Stratum("all", "n_labels"),
            Stratum("agree", "n_labels", 1, 2),
            Stratum("disagree", "n_labels", 2),
        )
        counts = counts_of(units, inputs["options"])
        [outcome] = stratify(
            counts,
            {"": np.zeros_like(counts)},
            strata=strata,
            level=inputs["level"],
            scale=inputs["options"] if numeric else None,
            resampling=Resampling(n_resamples=0, rng=np.random.default_rng(0)),
        ).values()
        return Result(
            {
                stratum_result.stratum.name: {
                    "hh_alpha": stratum_result.hh[f"krippendorff_alpha_{inputs['level']}"].value,
                    "hh_pairwise": stratum_result.hh["pairwise_agreement"].value,
                    "random_vs_a_human": stratum_result.random_h["agreement"].value,
                }
                for stratum_result in outcome
            }
        )

    reproduce(golden, adapter)
