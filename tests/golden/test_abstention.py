"""Goldens of abstention, of levels of aggregation and of ensembles."""

from __future__ import annotations

import numpy as np
from support.known_answers import Result, reproduce

from harness.stats import Resampling
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import ItemSums, point_estimates
from harness.stats.inference.estimate_sums import average_over_criteria, estimate_all, estimate_sums
from harness.stats.metrics.confusion import BINARY, CELLS
from harness.stats.metrics.judge_agreement import ensemble_agreement
from harness.stats.subsets.abstention import mode_sums


def test_abstention_modes(golden):
    """Exclude, recode and third class from one table, with the abstention rates beside them."""

    def adapter(inputs):
        table = np.array(inputs["table"])
        *options, none = inputs["labels"]
        between = {inputs["positive"]: 1.0, none: 0.5}
        place = np.array([between.get(label, 0.0) for label in inputs["labels"]])
        sums = mode_sums(
            np.repeat(np.eye(table.size), table.ravel(), axis=0),
            options,
            positive=(inputs["positive"],),
            recode_to=inputs["recode_to"],
            weights=np.subtract.outer(place, place) ** 2,
        )
        resampling = Resampling(n_resamples=0, rng=np.random.default_rng(0))
        estimates = estimate_sums(sums, resampling=resampling)
        modes = {mode: values(estimates[mode]) for mode in ("exclude", "recode")}
        classes = values(estimates["third_class"])
        named = {"CANNOT_ASSESS": none} | {option: option for option in options}
        classes["f1_one_vs_rest"] = {label: classes[f"f1[{name}]"] for name, label in named.items()}
        rates = values(estimates["rates"])
        return Result(
            {
                "n": int(table.sum()),
                "coverage_judge": rates["answered_fraction"],
                "coverage_both": rates["answered_by_both"],
                "selective_accuracy": modes["exclude"]["accuracy"],
                "weighted_kappa_ca_between": classes["weighted_kappa"],
                "third_class": classes,
                "three_class": classes,
            }
            | rates
            | modes,
            {mode: estimates[mode]["accuracy"].reason for mode in ("exclude", "recode")},
        )

    reproduce(golden, adapter)


def values(estimates):
    """Take the values of estimates, and the number of items that all of them used."""
    [n_used] = {estimate.n_used for estimate in estimates.values()}
    return {name: estimate.value for name, estimate in estimates.items()} | {"n": n_used}


def test_micro_macro(golden):
    """Kappa of the pooled table, and the mean of each criterion's kappa."""

    def adapter(inputs):
        [kappa] = [metric for metric in BINARY if metric.name == "kappa"]
        cells = np.array([[table[name] for name in CELLS] for table in inputs["tables"]], float)
        criteria = [f"criterion {c}" for c in range(len(cells))]
        sums = ItemSums(contributions=cells, metrics=(kappa,))
        averaged, units = average_over_criteria([[sums]], criteria)
        resampling = Resampling(n_resamples=0, rng=np.random.default_rng(0))
        [macro] = estimate_all(averaged, Engine.draw(units, resampling))
        return Result(
            {
                "per_criterion_kappa": [
                    point_estimates(of_criterion, [kappa])["kappa"].value for of_criterion in cells
                ],
                "macro_kappa": macro["kappa"].estimate.value,
                "micro_kappa": point_estimates(cells.sum(axis=0), [kappa])["kappa"].value,
            }
        )

    reproduce(golden, adapter)


def test_ensemble_agreement(golden):
    """Fleiss, alpha, Eq. 16, Randolph and the mean pairwise phi of binary votes."""

    def adapter(inputs):
        votes = np.array(inputs["votes"], float)
        ensemble = ensemble_agreement(
            votes,
            ("0", "1"),
            judges=[f"judge {r}" for r in range(votes.shape[1])],
            positive="1",
            resampling=Resampling(n_resamples=0, rng=np.random.default_rng(0)),
        )
        names = {
            "fleiss_kappa": "fleiss_kappa",
            "alpha": "krippendorff_alpha_nominal",
            "alpha_from_fleiss": "alpha_from_fleiss",
            "mean_pairwise_phi": "mean_pairwise_phi",
            "randolph": "randolph_kappa",
        }
        return Result(
            {key: ensemble.agreement[name].value for key, name in names.items()}
            | {"n_pairs": ensemble.n_pairs, "n_pairs_undefined": ensemble.n_pairs_undefined}
        )

    reproduce(golden, adapter)
