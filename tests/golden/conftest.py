"""Cases with known answers, found through HARNESS_TRUTH; one adapter per kind.

A test named ``test_<kind>`` that asks for ``golden`` runs once per case of that kind, from every
file of the first truth folder. Where no truth folder is found, the test is skipped and says so.
"""

from __future__ import annotations

import csv
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "truth"


def truth_folders():
    """Folders with goldens and data sets: goldens come from the first, data sets from any."""
    listed = os.environ.get("HARNESS_TRUTH", "")
    folders = [Path(one) for one in listed.split(os.pathsep) if one] or [DEFAULT]
    return [folder for folder in folders if folder.is_dir()]


def cases(kind):
    """Return all golden cases of one kind."""
    return [
        case
        for file in sorted((truth_folders()[0] / "golden").glob("*.json"))
        for case in json.loads(file.read_text(encoding="utf-8"))
        if case["kind"] == kind
    ]


def pytest_generate_tests(metafunc):
    if "golden" not in metafunc.fixturenames:
        return
    if truth_folders():
        kind = metafunc.function.__name__.removeprefix("test_")
        found = [pytest.param(case, id=case["id"]) for case in cases(kind)]
        assert found, f"no golden case is of kind {kind}"
    else:
        absent = pytest.mark.skip(reason="no truth folder: set HARNESS_TRUTH to run the goldens")
        found = [pytest.param(None, id="no-truth", marks=absent)]
    metafunc.parametrize("golden", found)


@dataclass(frozen=True)
class DataSet:
    """One data set: its description, items, and long-form ratings and verdicts as text."""

    meta: dict
    items: list[dict]
    ratings: list[dict]
    verdicts: list[dict]


def load_dataset(name, criterion=None):
    """Read a data set from the first truth folder that holds it, filtered to one criterion."""
    folder = next(f / "data" / name for f in truth_folders() if (f / "data" / name).is_dir())
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    items = [one for one in items if criterion is None or one.get("criterion") == criterion]
    kept = {one["id"] for one in items}

    def rows(file):
        if not (folder / file).exists():
            return []
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            return [row for row in csv.DictReader(lines) if row["item"] in kept]

    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return DataSet(meta, items, rows("ratings.csv"), rows("verdicts.csv"))


@pytest.fixture(scope="session")
def dataset():
    """Read data sets once per session."""
    read = {}

    def get(name, criterion=None):
        if (name, criterion) not in read:
            read[name, criterion] = load_dataset(name, criterion)
        return read[name, criterion]

    return get


@dataclass(frozen=True)
class Result:
    """What an adapter found: values (None is NA), a reason per NA value, and counts."""

    values: dict
    reason: dict
    counts: dict


@pytest.fixture
def reproduce():
    """Run an adapter on a case and compare the result with what the case expects."""

    def run(case, adapter):
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
        for key, wanted in values.items():
            assert_close(result.values[key], wanted, case, key)
        for key, reason in expect.get("reason", {}).items() if expect.get("status") == "ok" else ():
            assert result.reason[key] == reason, key
        for key, count in expect.get("counts", {}).items() if "status" in expect else ():
            assert result.counts[key] == count, key

    return run


def tolerance(case, key, wanted):
    """Absolute tolerance of one expected value."""
    given = case["tolerance"]
    if not isinstance(given, int | float):
        given = given[key] if key in given else given["default"]
    return given["relative"] * abs(wanted) if isinstance(given, dict) else given


def assert_close(found, wanted, case, key):
    """Compare numbers, texts, or what nests them; None is NA, for which nan stands in arrays."""
    if isinstance(wanted, list):
        assert len(found) == len(wanted), f"{key}: {len(found)} values, wanted {len(wanted)}"
        for f, w in zip(found, wanted, strict=True):
            assert_close(f, w, case, key)
    elif isinstance(wanted, dict):
        for inner, w in wanted.items():
            assert_close(found[inner], w, case, inner)
    elif isinstance(wanted, str):
        assert found == wanted, f"{key} is {found!r}, wanted {wanted!r}"
    elif wanted is None:
        assert found is None or math.isnan(found), f"{key} is {found}, wanted NA"
    else:
        assert found is not None, f"{key} is NA, wanted {wanted}"
        within = tolerance(case, key, wanted)
        assert abs(found - wanted) <= within, f"{key} is {found}, wanted {wanted}"


@pytest.fixture
def result():
    """Make a `Result` from values, with reasons and counts if there are any."""
    return lambda values, reason=None, counts=None: Result(values, reason or {}, counts or {})
