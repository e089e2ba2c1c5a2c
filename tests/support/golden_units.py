"""Labels of golden cases and data sets, as units and as counts."""

from __future__ import annotations

import numpy as np


def units_of(data):
    """Collect the ratings of each item, as numbers where the data set says so."""
    read = reader(data)
    units = {item["id"]: [] for item in data.items}
    for row in data.ratings:
        units[row["item"]].append(read(row["value"]))
    return list(units.values())


def judge_labels(data, judge):
    """Collect the verdicts of one judge on each item."""
    read = reader(data)
    units = {item["id"]: [] for item in data.items}
    for row in data.verdicts:
        if row["judge"] == judge:
            units[row["item"]].append(read(row["value"]))
    return list(units.values())


def reader(data):
    """Read a value as the data set says."""
    return int if data.meta["value_type"] == "int" else str


def counts_of(units, options):
    """Count labels per unit; a label that is no option is an error."""
    index = {option: k for k, option in enumerate(options)}
    counts = np.zeros((len(units), len(options)), np.int64)
    for row, labels in zip(counts, units, strict=True):
        for label in labels:
            row[index[label]] += 1
    return counts


def padded(units):
    """Make one row per unit, None where a rating is missing."""
    width = max(map(len, units), default=0)
    rows = [list(unit) + [None] * (width - len(unit)) for unit in units]
    return np.array(rows, dtype=object).reshape(len(units), width)
