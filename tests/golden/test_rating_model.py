"""Goldens of the rating model: decomposition, sensitivity sweep, metrics between distributions."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from support.known_answers import Result, reproduce

from harness import stats
from harness.stats.data.forms import reaches
from harness.stats.data.rating_table import multilabel
from harness.stats.indeterminacy.rater_error import rank_under_rater_error
from harness.stats.indeterminacy.translation import reconstruct_theta

# Kinds without an adapter so far: abstention_modes, alt_test and its variants, benjamini_yekutieli,
# binary_agreement, binned_jsd, cluster_bootstrap_se, dataset_facts, ensemble_agreement,
# human_agreement_stratum, kappa_phi_variance, krippendorff, krippendorff_dataset, micro_macro,
# one_sided_t, random_rater, rating_ingest, rating_ingest_dataset, vector_correlations,
# verdict_ingest. Their cases are not run, here or anywhere in this folder.


def test_rating_model(golden):
    """O = F E theta* and its reverse come out as in theorem 3.3; bad models are refused."""

    def adapter(inputs):
        error = inputs.get("E")
        error = None if error is None else np.array(error)
        model = stats.decompose(
            np.array(inputs["theta"]), np.array(inputs["F"]), np.array(inputs["Lambda"]), E=error
        )
        return Result(
            {
                "theta_observed": model.theta.tolist(),
                "O": model.O.tolist(),
                "Omega": model.omega.tolist(),
                "Omega_star": model.omega_star.tolist(),
                "F_reverse": model.F_reverse.tolist(),
                "E_reverse": model.E_reverse.tolist(),
                "theta_recovered": model.recovered().tolist(),
            }
        )

    reproduce(golden, adapter)


def test_rank_under_rater_error(golden):
    """Error moves the difference of two judges by -2 shift; the printed condition is no test."""

    def adapter(inputs):
        shift = rank_under_rater_error(
            np.array(inputs["theta_star"]),
            np.array(inputs["E"]),
            (np.array(inputs["theta_judge_z"]), np.array(inputs["theta_judge_w"])),
            np.array(inputs["Lambda"]),
        )
        return Result(dataclasses.asdict(shift))

    reproduce(golden, adapter)


def test_beta_sweep(golden):
    """The default family keeps the chosen option in the set; the printed table's is by name."""

    def adapter(inputs):
        options, positive, negative = inputs["options"], inputs["positive"], inputs["negative"]
        space = stats.OptionSpace(
            options, [*((option,) for option in options), (positive, negative)]
        )

        def omega(variant):
            family = stats.sensitivity_family(
                space, inputs["beta"], {negative: (positive,)}, variant=variant
            )
            return multilabel(reconstruct_theta([inputs["O"]], family), space)[0]

        return Result(
            {
                "Omega": omega("keeps_choice").tolist(),
                "Omega_negative_singleton_variant": omega("table_2")[space.option_index(negative)],
            }
        )

    reproduce(golden, adapter)


METRIC_OF_KEY = {
    "hit_rate": "hit_rate(h/h)",
    "kl_human_judge": "kl(s/s, human->judge)",
    "kl_judge_human": "kl(s/s, judge->human)",
    "js_divergence_bits": "js_divergence(s/s)",
    "js_distance_nat": "js_distance(s/s)",
    "mse_s_s": "mse(s/s)",
    "mse_srs_srs": "mse(srs/srs)",
    "coverage_h_hrs": "coverage(h/hrs)",
    "consistency": "decision_consistency",
    "bias": "prevalence_bias",
}


def test_distribution_metrics(golden):
    """Each row of the metric table gives the known value between known distributions."""

    def adapter(inputs):
        human, judge = (rating_vectors(inputs, side) for side in ("human", "judge"))
        values = {}
        for key, name in METRIC_OF_KEY.items():
            row = stats.find_metric(name, stats.METRICS)
            if row.human_form in human:
                sums = row.contributions(human[row.human_form], judge[row.judge_form]).sum(axis=0)
                value = float(row.value(sums))
                values[key] = None if math.isnan(value) else value
        return Result(values)

    reproduce(golden, adapter)


def rating_vectors(inputs, side):
    """Aggregate one side's distributions into the forms that metrics ask for."""
    forced = np.array(inputs[f"O_{side}"])
    vectors = {"h": stats.hard(forced), "s": forced}
    if f"Omega_{side}" in inputs:
        omega = np.array(inputs[f"Omega_{side}"])
        vectors |= {"srs": omega, "hrs": reaches(omega, inputs["tau"])}
        vectors["decision"] = vectors["hrs"][:, [inputs["k"]]]
    return vectors
