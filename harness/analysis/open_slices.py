"""Compare judges with numeric or text answers between slices of items."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.item_slices import ItemValues, Sides, Slicing
from harness.analysis.sliced_fields import sliced_fields
from harness.stats.inference.metric import SHARE
from harness.stats.open_scales.numeric_answers import NumericRatings
from harness.stats.open_scales.open_metrics import PLACE_OF_DISTANCE, PLACE_OF_SQUARE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.item_slices import ComparedMeasure, SlicedMeasure, Slices
    from harness.analysis.open_scale import OpenScaleSetup
    from harness.stats.data.arrays import FloatArray
    from harness.stats.selection.footing import Footing

PLACE = 1  # of an answer in `moments`; the raters' mean comes next
PLACES = {"mse": PLACE_OF_SQUARE, "mean_absolute_error": PLACE_OF_DISTANCE}  # means over items


def section(scale: OpenScaleSetup, footing: Footing) -> Slices | None:
    """Compare ranked judges between slices. Return None if no field divides the items."""
    source = scale.source
    fields = sliced_fields(source.task, source.items)
    if not fields or not footing.judges:
        return None
    is_text = source.task.scale == "text"
    compared: ComparedMeasure = "similarity" if is_text else "distance"
    slicing = Slicing.of(fields, source, scale.resampling(), compared)
    return slicing.slices(
        (name, _sides(scale, name), dict(_others(scale, name, footing.metric.name)))
        for name in footing.judges
    )


def _sides(scale: OpenScaleSetup, name: str) -> Sides | None:
    judge, human = scale.sides(name)
    if np.isnan(judge).all():
        return None
    low, high = SHARE if scale.source.task.scale == "text" else (0.0, _width(scale))
    sides = (judge, (low, high)), (human, (low, high)), (judge - human, (low - high, high - low))
    return Sides(*(ItemValues(values, bounds, scale.weights) for values, bounds in sides))


def _others(
    scale: OpenScaleSetup, name: str, metric: str
) -> Iterator[tuple[SlicedMeasure, ItemValues]]:
    """Yield the other defined measures with their values per item."""
    answered = np.zeros(len(scale.rated))
    answered[scale.answers[name][0]] = 1.0
    of_rated = np.where(scale.rated, answered, np.nan)
    yield "answered_fraction", ItemValues(of_rated, SHARE, scale.weights)
    if scale.source.task.scale == "text":
        return
    sums, width = _moments(scale, name), _width(scale)
    error = np.where(answered * scale.rated > 0, sums[:, PLACE] - sums[:, PLACE + 1], np.nan)
    yield "signed_error", ItemValues(error, (-width, width), scale.weights)
    if metric in PLACES:
        most = width**2 if metric == "mse" else width
        loss = np.where(np.isnan(error), np.nan, sums[:, PLACES[metric]])
        yield "disagreement", ItemValues(loss, (0.0, most), scale.weights)


def _moments(scale: OpenScaleSetup, name: str) -> FloatArray:
    """Return an (n, 8) array with the `moments` of a judge's answers and the raters' means."""
    panel, (item, answers) = scale.panel, scale.answers[name]
    values = np.array(panel.labels, dtype=np.float64)[panel.code]
    ratings = NumericRatings.of(panel.of_item, values, len(panel.items))
    return ratings.rows_of(item, np.array(answers, dtype=np.float64)).sums()


def _width(scale: OpenScaleSetup) -> float:
    """Return the largest possible difference between two answers, or infinity without bounds."""
    bounds = scale.source.task.bounds
    return inf if bounds is None else float(bounds[1] - bounds[0])
