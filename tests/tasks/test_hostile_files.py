"""Whatever a file holds, it is read or refused soon, within memory, in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import TaskError
from harness.files.strict_yaml import MAX_YAML_BYTES
from harness.files.tables import read_rows
from harness.tasks.schema import MAX_RESPONSE_SETS, read_task_file

MAX_BYTES = 1 << 30
MAX_CPU_S = 10
MEASURE = """
import re, resource, sys, time
from pathlib import Path
from harness.errors import HarnessError
from harness.tasks.schema import read_task_file
from harness.files.tables import read_rows

start = time.process_time()
for name in sys.argv[1:]:
    path = Path(name)
    try:
        read_task_file(path) if path.suffix == ".yaml" else sum(1 for _ in read_rows(path))
        message = ""
    except HarnessError as error:
        message = str(error)
    assert "\\n" not in message
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    peak_kib = int(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1])
    print(seconds - start, max(peak_kib, usages[1].ru_maxrss))
    start = seconds
"""
PIECES = ("[", "{", "]", "}", "a", ":", ",", '"', "'", "\n", " ", "- ", "? ", "|", "\\", "&a ", "1")


def parquet_that_unpacks(path, *, columns):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(
        pa.table(columns), path, compression="zstd", dictionary_pagesize_limit=1 << 28
    )
    return path


def measured(paths):
    """Return CPU seconds and the peak of memory in bytes of a process that reads the files."""
    command = [sys.executable, "-c", MEASURE, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == len(paths)
    return [float(seconds) for seconds, _ in rows], 1024 * int(rows[-1][1])


@pytest.mark.slow
def test_small_files_take_neither_gigabytes_nor_minutes(tmp_path):
    """Nesting of YAML took 32 s, and 204 kB of parquet 2.3 GB."""
    import pyarrow as pa

    texts = {
        "deep.yaml": "a: " + "[" * 100_000,
        "keys.yaml": "a:\n " * 8_000,
        "sets.yaml": "response_sets: " + json.dumps([["A"]] * 8_000),
        "deep.jsonl": '{"item": ' + "[" * 1_000_000,
        "strings.jsonl": json.dumps({"item": "[" * 1_000_000}),
        "quote.csv": 'item,value\na,"' + "\n" * 1_000_000,
        "columns.csv": "," * 1_000_000,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 2300, pa.int32()), ["x" * 1_000_000])
    places = pa.array([i % 7 for i in range(200_000)], pa.int32())
    many = pa.DictionaryArray.from_arrays(places, [str(i) * 1000 for i in range(1000, 11_000)])
    wide = {f"c{i}": pa.nulls(1_000_000, pa.int8()) for i in range(50)}
    paths = [tmp_path / name for name in texts] + [
        parquet_that_unpacks(tmp_path / "long.parquet", columns={"item": long}),
        parquet_that_unpacks(tmp_path / "many.parquet", columns={"item": many}),
        parquet_that_unpacks(tmp_path / "wide.parquet", columns=wide),
    ]
    seconds, n_bytes = measured(paths)
    assert max(seconds) < MAX_CPU_S, dict(zip(paths, seconds, strict=True))
    assert n_bytes < MAX_BYTES


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.lists(st.sampled_from(PIECES), max_size=4))
@settings(deadline=timedelta(seconds=5))
def test_repeated_marks_of_any_format_end_soon(tmp_path_factory, start, repeated):
    """Any few marks, repeated over thousands of bytes, are read or refused."""
    text = "".join(start) + "".join(repeated) * 500
    folder = tmp_path_factory.mktemp("marks")
    for name, read in (
        ("task.yaml", read_task_file),
        ("t.jsonl", lambda path: list(read_rows(path))),
        ("t.csv", lambda path: list(read_rows(path))),
    ):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        with suppress(TaskError):
            read(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"options": [f"o{k}" for k in range(101)]}, "options: "),
        ({"response_sets": [["A"]] * (MAX_RESPONSE_SETS + 1)}, "response_sets: "),
        ({"property": "x" * 2001}, "property: "),
        ({"notice": "x" * 2001}, "notice: "),
    ],
)
def test_tasks_beyond_the_bounds_are_refused(tmp_path, fields, message):
    """Too many options or sets, or a text too long for a judge card, are refused."""
    task = {"name": "t", "property": "p", "scale": "nominal", "options": ["A", "B"]}
    path = tmp_path / "task.yaml"
    path.write_text(json.dumps(task | fields), encoding="utf-8")
    with pytest.raises(TaskError, match=message) as caught:
        read_task_file(path)
    assert "at most" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_large_yaml_is_refused_unread(tmp_path):
    """A file above the bound is refused by its size."""
    path = tmp_path / "task.yaml"
    path.write_text("#" * (MAX_YAML_BYTES + 1), encoding="utf-8")
    with pytest.raises(TaskError, match="larger than"):
        read_task_file(path)
