"""Validation of shards: counts that merge, whatever the shards."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.processes import invoke

import harness
from harness.errors import VerdictError
from harness.shards import Comparison, ShardCounts, count_shard, validate_counts
from harness.stats.selection.block_sums import BlockCounts
from harness.tasks import load_task

N = 400
OPTIONS, GRADES = ("A", "B"), ("A", "B", "C", "D")
SCALES = {OPTIONS: "binary", GRADES: "ordinal"}
TASK = """\
name: sharded
property: toxic
scale: {scale}
options: [{options}]
positive: [A]
"""


@pytest.fixture
def options(request):
    """Two options, unless a test wants others."""
    return getattr(request, "param", OPTIONS)


def group_of(item):
    return f"g{int(item[1:]) // 3}"


@pytest.fixture
def rows(options):
    """Ratings by three raters and verdicts of two judges, who abstain on some items."""
    rng = np.random.default_rng(0)
    ratings, verdicts = [], []
    for i in range(N):
        shares = rng.dirichlet(np.ones(len(options)))
        ratings += [(f"i{i}", f"r{k}", rng.choice(options, p=shares)) for k in range(3)]
        for judge in ("x", "y"):
            value = rng.choice(options, p=shares) if rng.random() < 0.95 else "CANNOT_ASSESS"
            verdicts.append((f"i{i}", judge, value))
    return ratings, verdicts


def write_shard(folder, ratings, verdicts, *, arrow=False, grouped=False):
    folder.mkdir(parents=True)
    for name, second, content in (("ratings", "rater", ratings), ("verdicts", "judge", verdicts)):
        values = zip(*content, strict=True)
        columns = dict(zip(("item", second, "value"), map(list, values), strict=True))
        if grouped and name == "ratings":
            columns["group"] = [group_of(item) for item in columns["item"]]
        table = pa.table(columns)
        if arrow:
            with ipc.new_file(folder / f"{name}.arrow", table.schema) as file:
                file.write_table(table)
        else:
            parquet.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.fixture
def task(tmp_path, rows, options):
    folder = tmp_path / "task"
    folder.mkdir()
    described = ", ".join(f"{{key: {key}, label: Option {key}}}" for key in options)
    (folder / "task.yaml").write_text(TASK.format(scale=SCALES[options], options=described))
    if options == GRADES:
        items = [f"i{i},{group_of(f'i{i}')},text {i}" for i in range(N)]
        (folder / "items.csv").write_text("\n".join(["id,group,text", *items]))
    lines = [",".join(row) for row in (("item", "rater", "value"), *rows[0])]
    (folder / "ratings.csv").write_text("\n".join(lines))
    return load_task(folder)


def shards(folder, rows, n_shards, *, grouped=False):
    """Write shards, an item's rows in one of them."""
    return [
        write_shard(
            folder / str(k),
            *([row for row in part if int(row[0][1:]) * 7 % n_shards == k] for part in rows),
            arrow=k % 2 == 1,
            grouped=grouped,
        )
        for k in range(n_shards)
    ]


def validated(task, paths):
    options = tuple(option.key for option in task.options)
    counts = ShardCounts.merged([count_shard(path, options) for path in paths])
    return validate_counts(task, counts, seed=1, level=0.95)


def test_results_do_not_depend_on_the_shards(task, tmp_path, rows):
    """One shard, five, and five in another order: the same to the last bit, intervals included."""
    five = shards(tmp_path / "five", rows, 5)
    results = [shards(tmp_path / "one", rows, 1), five, five[::-1]]
    texts = [json.dumps(validated(task, paths).to_json()) for paths in results]
    assert texts[0] == texts[1] == texts[2]


def write_verdicts(path, verdicts):
    lines = [",".join(row) for row in (("item", "judge", "value"), *verdicts)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    "options", [OPTIONS, pytest.param(GRADES, marks=pytest.mark.slow)], indirect=True
)
def test_values_are_those_of_validation_in_memory(task, tmp_path, rows, options):
    """Metrics, human agreement and the ranking equal `harness.validate` to the last bit.

    Also where items are in groups; a group may stand in several shards.
    """
    verdicts = write_verdicts(tmp_path / "verdicts.csv", rows[1])
    whole = harness.validate(task.folder, verdicts=verdicts)
    sharded = validated(task, shards(tmp_path / "three", rows, 3, grouped=options == GRADES))
    assert sharded.n_items == N > sharded.n_compared
    fields = ("value", "reason", "n_used", "n_excluded", "excluded", "n_tied", "counts")
    for judge in whole.judges:
        estimates = sharded.estimates[judge.name]
        assert estimates.keys() == judge.metrics.keys()
        for name, expected in judge.metrics.items():
            for field in fields:
                assert getattr(estimates[name], field) == getattr(expected, field), (name, field)
    for name, estimate in sharded.human_agreement.items():
        assert estimate.value == whole.humans.agreement[name].value, name
    assert [row.judge for row in sharded.ranking.rows] == [r.judge for r in whole.ranking.rows]
    footing = {row.judge: row.value for row in whole.evidence.judges}
    for name, estimate in sharded.compared.items():
        assert estimate.value == footing[name]
        assert estimate.n_used == whole.evidence.n_items
    for baseline in whole.evidence.baselines:
        assert sharded.baselines[baseline.name] == pytest.approx(baseline.value, rel=1e-12)
    for row in whole.evidence.judges:
        assert sharded.better_than[row.judge] == row.better_than
    assert (sharded.verdict == "none") == (whole.decision.verdict == "none")


def test_judge_that_answered_little_is_not_ranked(task, tmp_path, rows):
    """It takes no items away from the others, and its own metrics are on what it answered."""
    ratings, verdicts = rows
    few = [(item, "z", value) for item, judge, value in verdicts[:100] if judge == "x"]
    paths = shards(tmp_path / "shards", (ratings, verdicts + few), 2)
    counts = ShardCounts.merged([count_shard(path, OPTIONS) for path in paths])
    assert counts.wanted == Comparison(frozenset("xy"))
    anew = ShardCounts.merged([count_shard(path, OPTIONS, counts.wanted) for path in paths])
    sharded = validate_counts(task, anew, seed=1, level=0.95)
    without = validated(task, shards(tmp_path / "without", rows, 2))
    assert sharded.ranking == without.ranking
    assert sharded.answered_fraction["z"] < 0.2
    assert sharded.estimates["z"]["hit_rate(h/h)"].n_used < 0.2 * N


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
    verdict = write_shard(tmp_path / "one", ratings, verdicts)
    other = write_shard(tmp_path / "other", ratings, [row for row in verdicts if row[1] == "x"])
    with pytest.raises(VerdictError, match="every judge"):
        ShardCounts.merged([count_shard(path, OPTIONS) for path in (verdict, other)])
    (verdict / "ratings.parquet").unlink()
    with pytest.raises(VerdictError, match=r"no ratings\.parquet"):
        count_shard(verdict, OPTIONS)


@pytest.mark.slow
def test_command_counts_shards_in_processes_of_their_own(task, tmp_path, rows):
    """`harness validate --shards` prints a table; a damaged shard is one line and code 2."""
    shards(tmp_path / "shards", rows, 2)
    command = ("validate", "--task", task.folder, "--shards", tmp_path / "shards")
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert "400 items with ratings" in result.output
    (tmp_path / "shards/0/ratings.parquet").write_bytes(b"PAR1")
    assert "ArrowInvalid" in str(invoke(*command).exception)
