"""Goldens of two-by-two tables, of correlations and of their variances."""

from __future__ import annotations

import numpy as np
from support.known_answers import Result, reproduce

from harness.stats.inference.estimate import point_estimates
from harness.stats.metrics.association import correlations
from harness.stats.metrics.confusion import BINARY, CELLS, DIAGNOSTICS, n_var_kappa, n_var_phi


def test_binary_agreement(golden):
    """Every coefficient of four cells; undefined ones are NA with the reason and the counts."""

    def adapter(inputs):
        cells = {name: inputs[name] for name in CELLS}
        estimates = point_estimates(np.array(list(cells.values())), (*BINARY, *DIAGNOSTICS))
        n = sum(cells.values())
        values = {name: estimate.value for name, estimate in estimates.items()}
        reasons = {name: estimate.reason for name, estimate in estimates.items() if estimate.reason}
        return Result(values | ({"n": n} if n else {}), reasons, cells | {"n": n})

    reproduce(golden, adapter)


def test_vector_correlations(golden):
    """Pearson, Spearman with midranks and Kendall's tau-b; NA on constant vectors."""

    def adapter(inputs):
        estimates = correlations(inputs["x"], inputs["y"])
        reasons = {estimate.reason for estimate in estimates.values() if estimate.reason}
        values = {name: estimate.value for name, estimate in estimates.items()}
        return Result(values | {"reason": reasons.pop() if reasons else None})

    reproduce(golden, adapter)


def test_kappa_phi_variance(golden):
    """N times the large-sample variance, by the multinomial delta method."""

    def adapter(inputs):
        p = np.array([[inputs["p11"], inputs["p10"]], [inputs["p01"], inputs["p00"]]])
        estimates = point_estimates(p.ravel(), BINARY)
        return Result(
            {
                "kappa": estimates["kappa"].value,
                "phi": estimates["phi"].value,
                "n_var_kappa": float(n_var_kappa(p)),
                "n_var_phi": float(n_var_phi(p)),
            }
        )

    reproduce(golden, adapter)
