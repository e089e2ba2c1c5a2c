"""Goldens of the binned divergence and of what stands beside it in the papers' tables."""

from __future__ import annotations

import numpy as np
from support.known_answers import Result, counts_of, judge_labels, load_dataset, reproduce, units_of

from harness.stats import Resampling
from harness.stats.data.labels import medians
from harness.stats.metrics.alpha import krippendorff_alpha
from harness.stats.metrics.association import correlations
from harness.stats.metrics.binned_divergence import binned_divergence


def test_binned_jsd(golden):
    """Bits as Eq. 2 is written, the root in nats as the tables print, and each bin."""

    def adapter(inputs):
        options = inputs["options"]
        human, machine = inputs.get("human"), inputs.get("machine")
        if "dataset" in inputs:
            data = load_dataset(inputs["dataset"], inputs.get("criterion"))
            human, machine = units_of(data), judge_labels(data, inputs["judge"])
            kept = [i for i, labels in enumerate(machine) if labels and human[i]]
            human, machine = [human[i] for i in kept], [machine[i] for i in kept]
        h, j = counts_of(human, options), counts_of(machine, options)
        scale = options if inputs["bin"] == "median" else None
        divergence = binned_divergence(
            h,
            j,
            by=inputs["bin"],
            options=options,
            scale=scale,
            resampling=Resampling(n_resamples=0, rng=np.random.default_rng(0)),
        )
        whole = [cell for cell in divergence.bins if cell.label in options]
        values = {
            "js_divergence_bits": divergence.js_divergence_bits.value,
            "js_distance_nat": divergence.js_distance_nat.value,
            "js_distance_nat_dropping_half_points": sum(
                cell.weight * cell.distance_nat for cell in whole
            ),
            "bins": [
                {name: getattr(cell, name) for name in (*cell.__slots__, "label")}
                | {"bin": cell.label}
                for cell in divergence.bins
            ],
        }
        return Result(values | (beside(h, j, scale) if scale else {}))

    reproduce(golden, adapter)


def beside(human, judge, scale):
    """Correlate the judge with the human median and mean; alpha of median against judge."""
    middle, verdict = medians(human, scale), medians(judge, scale)
    means = human @ np.array(scale) / human.sum(axis=1)
    median, mean = correlations(middle, verdict), correlations(means, verdict)
    alphas = {
        level: krippendorff_alpha(np.stack([middle, verdict], axis=1), level).value
        for level in ("nominal", "ordinal", "interval")
    }
    return (
        {name: estimate.value for name, estimate in median.items()}
        | {f"{name}_median": estimate.value for name, estimate in median.items()}
        | {f"{name}_mean": estimate.value for name, estimate in mean.items()}
        | {f"alpha_{level}": value for level, value in alphas.items()}
        | {f"alpha_{level}_median": value for level, value in alphas.items()}
    )
