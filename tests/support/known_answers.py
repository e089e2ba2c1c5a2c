"""Known answers of the truth folder: golden cases, data sets and the comparison with both.

The folders are named by HARNESS_TRUTH, separated by colons; by default ``../shared/truth`` beside
the checkout. Golden cases come from the first folder, data sets from any. Cases that need no data
set are in ``tests/golden/answers`` as well, written by ``golden/write_answers.py``.
"""

from __future__ import annotations

import csv
import json
import math
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ANSWERS = Path(__file__).resolve().parents[1] / "golden" / "answers"
DEFAULT_FOLDER = Path(__file__).resolve().parents[3] / "shared" / "truth"


def truth_folders() -> list[Path]:
    """Return the truth folders that exist."""
    listed = os.environ.get("HARNESS_TRUTH")
    paths = [Path(path) for path in listed.split(os.pathsep)] if listed else [DEFAULT_FOLDER]
    return [path for path in paths if path.is_dir()]


@cache
def truth_cases() -> list[dict]:
    """Return the golden cases of the first truth folder; none without one."""
    return [
        case
        for folder in truth_folders()[:1]
        for file in sorted((folder / "golden").glob("*.json"))
        for case in json.loads(file.read_text(encoding="utf-8"))
    ]


def golden_cases(kind: str) -> list[dict]:
    """Return all golden cases of one kind: those of the truth folder, and those kept here."""
    cases = {case["id"]: case for case in truth_cases() if case["kind"] == kind}
    kept = ANSWERS / f"{kind}.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return list(({case["id"]: case for case in map(json.loads, lines)} | cases).values())


@dataclass(frozen=True)
class DataSet:
    """A data set: its description, items, and long-form ratings and verdicts as text."""

    meta: dict
    items: list[dict]
    ratings: list[dict]
    verdicts: list[dict]


@cache
def load_dataset(name: str, criterion: str | None = None) -> DataSet:
    """Read a data set from the first truth folder that holds it, filtered to one criterion."""
    folder = next(
        path / "data" / name for path in truth_folders() if (path / "data" / name).is_dir()
    )
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    items = [item for item in items if criterion is None or item.get("criterion") == criterion]
    item_ids = {item["id"] for item in items}

    def rows(file):
        if not (folder / file).exists():
            return []
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            return [row for row in csv.DictReader(lines) if row["item"] in item_ids]

    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return DataSet(meta, items, rows("ratings.csv"), rows("verdicts.csv"))


@dataclass(frozen=True)
class Result:
    """Result of an adapter: values (None is NA), a reason per NA value, and counts."""

    values: dict
    reason: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)


def reproduce(case: dict, adapter) -> None:
    """Run an adapter on the inputs of a case and compare the result with what is expected."""
    expect = case["expect"]
    if expect.get("status") == "error":
        with pytest.raises(ValueError, match=expect["reason"]) as raised:
            adapter(case["inputs"])
        for mention in expect.get("mentions", ()):
            assert mention in str(raised.value)
        return
    result = adapter(case["inputs"])
    if expect.get("status") == "na":
        assert not any(value is not None for value in result.values.values()), result.values
        assert set(result.reason.values()) == {expect["reason"]}
    values = expect.get("values", {}) if "status" in expect else expect
    for key, expected in values.items():
        assert_close(result.values[key], expected, case, key)
    for key, reason in expect.get("reason", {}).items() if expect.get("status") == "ok" else ():
        assert result.reason[key] == reason, key
    for key, count in expect.get("counts", {}).items() if "status" in expect else ():
        assert result.counts[key] == count, key


def tolerance(case: dict, key: str, expected: float) -> float:
    """Return the absolute tolerance of one expected value."""
    bound = case["tolerance"]
    if not isinstance(bound, int | float):
        bound = bound[key] if key in bound else bound["default"]
    return bound["relative"] * abs(expected) if isinstance(bound, dict) else bound


def assert_close(actual, expected, case: dict, key: str) -> None:
    """Compare numbers, texts, or what nests them; None is NA, for which nan stands in arrays."""
    if isinstance(expected, list):
        assert len(actual) == len(expected), f"{key}: {len(actual)} values, not {len(expected)}"
        for actual_value, expected_value in zip(actual, expected, strict=True):
            assert_close(actual_value, expected_value, case, key)
    elif isinstance(expected, dict):
        for inner_key, expected_value in expected.items():
            assert_close(actual[inner_key], expected_value, case, inner_key)
    elif isinstance(expected, str):
        assert actual == expected, f"{key} is {actual!r}, not {expected!r}"
    elif expected is None:
        assert actual is None or math.isnan(actual), f"{key} is {actual}, not NA"
    else:
        assert actual is not None, f"{key} is NA, not {expected}"
        within = tolerance(case, key, expected)
        assert abs(actual - expected) <= within, f"{key} is {actual}, not {expected}"


def units_of(data):
    """Collect the ratings of each item, as numbers where the data set declares integers."""
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
    """Return the type of the data set's values: int or str."""
    return int if data.meta["value_type"] == "int" else str


def counts_of(units, options):
    """Count labels per unit; a label that is not an option is an error."""
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
