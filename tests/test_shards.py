"""Validation of shards: counts that merge, whatever the shards."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.processes import invoke

from harness import stats
from harness.errors import VerdictError
from harness.shards import ShardCounts, count_shard, validate_counts
from harness.stats.selection.block_sums import BlockCounts
from harness.tasks import load_task

N, OPTIONS = 400, ("A", "B")
TASK = """\
name: sharded
property: toxic
scale: binary
options: [{key: A, label: Toxic}, {key: B, label: Fine}]
positive: [A]
"""


@pytest.fixture
def rows():
    """Ratings by three raters and verdicts of two judges, who abstain on some items."""
    rng = np.random.default_rng(0)
    ratings, verdicts = [], []
    for i in range(N):
        share = rng.random()
        ratings += [(f"i{i}", f"r{k}", "AB"[rng.random() < share]) for k in range(3)]
        for judge in ("x", "y"):
            value = "AB"[rng.random() < share] if rng.random() < 0.95 else "CANNOT_ASSESS"
            verdicts.append((f"i{i}", judge, value))
    return ratings, verdicts


def write_shard(folder, ratings, verdicts, *, arrow=False):
    folder.mkdir(parents=True)
    for name, second, content in (("ratings", "rater", ratings), ("verdicts", "judge", verdicts)):
        columns = zip(*content, strict=True)
        table = pa.table(dict(zip(("item", second, "value"), map(list, columns), strict=True)))
        if arrow:
            with ipc.new_file(folder / f"{name}.arrow", table.schema) as file:
                file.write_table(table)
        else:
            parquet.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.fixture
def task(tmp_path, rows):
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "task.yaml").write_text(TASK)
    lines = [",".join(row) for row in (("item", "rater", "value"), *rows[0])]
    (folder / "ratings.csv").write_text("\n".join(lines))
    return load_task(folder)


def shards(folder, rows, n_shards):
    """Write shards, an item's rows in one of them."""
    return [
        write_shard(
            folder / str(k),
            *([row for row in part if int(row[0][1:]) * 7 % n_shards == k] for part in rows),
            arrow=k % 2 == 1,
        )
        for k in range(n_shards)
    ]


def validated(task, paths):
    counts = ShardCounts.merged([count_shard(path, OPTIONS) for path in paths])
    return validate_counts(task, counts, seed=1, level=0.95)


def test_results_do_not_depend_on_the_shards(task, tmp_path, rows):
    """One shard, five, and five in another order: the same to the last bit, intervals included."""
    five = shards(tmp_path / "five", rows, 5)
    results = [shards(tmp_path / "one", rows, 1), five, five[::-1]]
    texts = [json.dumps(validated(task, paths).to_json()) for paths in results]
    assert texts[0] == texts[1] == texts[2]


def test_values_are_those_of_validation_in_memory(task, tmp_path, rows):
    """Point estimates equal `stats.evaluate` on the items that both judges answered."""
    sharded = validated(task, shards(tmp_path / "three", rows, 3))
    answered = {
        j: {i for i, name, value in rows[1] if name == j and value in OPTIONS} for j in "xy"
    }
    items = tuple(sorted(answered["x"] & answered["y"]))
    assert sharded.n_items == N
    assert sharded.n_compared == len(items) < N

    def table(name, given):
        choices = [(item, value) for item, value in given if item in items and value in OPTIONS]
        return stats.RatingTable.count(task.space, name, items, forced_choice=choices)

    human = table("humans", [(item, value) for item, _, value in rows[0]])
    judges = [table(j, [(i, v) for i, name, v in rows[1] if name == j]) for j in "xy"]
    whole = stats.evaluate(
        human,
        judges,
        tau=0.5,
        positive=("A",),
        resampling=stats.Resampling(rng=np.random.default_rng(0), n_resamples=200),
    )
    for judge in "xy":
        for name, estimate in sharded.estimates[judge].items():
            if name in whole.estimates[judge]:
                expected = whole.estimates[judge][name]
                assert (estimate.n_used, estimate.reason) == (expected.n_used, expected.reason)
                if expected.value is not None:
                    assert estimate.value == pytest.approx(expected.value, rel=1e-12)


def test_intervals_over_blocks_are_as_wide_as_over_items():
    """A mean of 20,000 independent items: its standard error by blocks is that by items."""
    rng = np.random.default_rng(3)
    human = rng.integers(0, 2, 20_000)
    judge = np.where(rng.random(20_000) < 0.8, human, 1 - human)
    answers = [np.eye(2, 7, dtype=np.int64)[side] for side in (human, judge)]
    blocks = rng.integers(0, 1024, 20_000)
    counts = BlockCounts.of(*answers, blocks)
    hits = counts.counts[[0, 3]].sum(axis=0)
    n = counts.counts.sum(axis=0)
    error = np.sqrt(((hits - n * hits.sum() / n.sum()) ** 2).sum()) / n.sum()
    assert error == pytest.approx(np.sqrt(0.8 * 0.2 / 20_000), rel=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, v: (r, [*v, v[0]]), "two rows have the same item, judge"),
        (lambda r, v: ([*r, r[0]], v), "two rows have the same item, rater"),
        (lambda r, v: ([*r, ("i0", "r9", "C")], v), "no option of the task"),
    ],
)
def test_wrong_rows_are_refused(tmp_path, rows, change, message):
    """A row that stands twice, or a rating that is no option, is named and nothing is counted."""
    folder = write_shard(tmp_path / "shard", *change(*rows))
    with pytest.raises(VerdictError, match=message):
        count_shard(folder, OPTIONS)


def test_missing_tables_and_judges_are_refused(tmp_path, rows):
    """A shard has both tables, and all shards have all judges."""
    ratings, verdicts = rows
    one = write_shard(tmp_path / "one", ratings, verdicts)
    other = write_shard(tmp_path / "other", ratings, [row for row in verdicts if row[1] == "x"])
    with pytest.raises(VerdictError, match="every judge"):
        ShardCounts.merged([count_shard(path, OPTIONS) for path in (one, other)])
    (one / "ratings.parquet").unlink()
    with pytest.raises(VerdictError, match=r"no ratings\.parquet"):
        count_shard(one, OPTIONS)


@pytest.mark.slow
def test_command_counts_shards_in_processes_of_their_own(task, tmp_path, rows):
    """`harness validate --shards` prints a table; a damaged shard is one line and code 2."""
    shards(tmp_path / "shards", rows, 2)
    command = ("validate", "--task", task.folder, "--shards", tmp_path / "shards")
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert "400 rated items" in result.output
    (tmp_path / "shards/0/ratings.parquet").write_bytes(b"PAR1")
    assert "ArrowInvalid" in str(invoke(*command).exception)
