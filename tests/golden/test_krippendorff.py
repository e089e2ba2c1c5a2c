"""Goldens of Krippendorff's alpha."""

from __future__ import annotations

from support.known_answers import Result, load_dataset, padded, reproduce, units_of

from harness.stats.metrics.alpha import krippendorff_alpha


def test_krippendorff(golden):
    """Alpha at every level with missing ratings; NA with reason and counts where undefined."""

    def adapter(inputs):
        estimate = krippendorff_alpha(padded(inputs["units"]), inputs["level"])
        values = {"alpha": estimate.value, "reason": estimate.reason or None}
        return Result(values | {f"n_{name}": n for name, n in estimate.counts.items()})

    reproduce(golden, adapter)


def test_krippendorff_dataset(golden):
    """Alpha of real ratings at the case's level, and at the others."""

    def adapter(inputs):
        data = load_dataset(inputs["dataset"], inputs.get("criterion"))
        units = units_of(data)
        alphas = {
            level: krippendorff_alpha(padded(units), level)
            for level in ("nominal", "ordinal", "interval")
            if level == "nominal" or data.meta["value_type"] == "int"
        }
        labels = {label for unit in units for label in unit}
        return Result(
            {"alpha": alphas[inputs["level"]].value}
            | {f"alpha_{level}": alpha.value for level, alpha in alphas.items()}
            | {
                "n_items": len(units),
                "n_ratings": sum(map(len, units)),
                "n_labels_seen": len(labels),
            }
        )

    reproduce(golden, adapter)
