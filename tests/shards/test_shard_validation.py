"""Validation of shards: counts that merge, whatever the shards."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from support.processes import invoke

import harness
from harness.errors import VerdictError
from harness.shards.shard_counts import Comparison, ShardCounts, count_shard
from harness.shards.shard_validation import validate_counts
from harness.stats.selection.block_sums import BlockCounts
from harness.tasks import load_task

N = 250
OPTIONS, GRADES = ("A", "B"), ("A", "B", "C", "D")
SCALES = {OPTIONS: "binary", GRADES: "ordinal"}
TASK = """\
name: sharded
property: toxic
scale: {scale}
options: [{options}]
positive: [A]
raters: skilled
"""

# What rests on resamples, and so differs between items and blocks of items,
RESAMPLED = re.compile(
    r"\.(interval|low|high|winner_\w+|human_\w+|p_value|p_holm|rank_low|rank_high|p_best|"
    r"in_best_set|undefined_share|separated|n_items_for_margin|n_items_needed)\b"
)
# what is NA over shards,
NOT_COMPUTED = re.compile(
    r"\.(sensitivity|certainty|errors|disputed|break_even|controls|variants|"
    r"pearson_mean_over_raters|beta|cross_call_beta)\b"
)
# also with several samples,
WITH_SEVERAL = r"\.(choosing|usual_choices|first_by_goal)\b"
# and facts about how it was computed.
PROVENANCE = re.compile(r"\.(content_hash|settings\.unit|notes)\b")


def group_of(item):
    return f"g{int(item[1:]) // 3}"


def simulated(n, n_raters, judges, options, *, seed=0, n_samples=1, rated=1.0):
    """Ratings, and verdicts of judges of falling quality, who abstain on some items."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(options), 0.7), n)
    ratings, verdicts = [], []
    for k in range(n_raters):
        chosen = draw(rng, shares, options)
        kept = (rng.random(n) < rated) | (k == 0)
        ratings += [(f"i{i}", f"r{k}", chosen[i]) for i in np.flatnonzero(kept)]
    for j, judge in enumerate(judges):
        noisy = (1 - j / 4) * shares + j / 4 / len(options)
        for sample in range(n_samples):
            chosen = draw(rng, noisy, options)
            chosen[rng.random(n) < 0.03] = "CANNOT_ASSESS"
            verdicts += [(f"i{i}", judge, value, sample) for i, value in enumerate(chosen)]
    return ratings, verdicts


def draw(rng, shares, options):
    places = (rng.random((len(shares), 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return np.array(options, dtype=object)[np.minimum(places, len(options) - 1)]


def write_task(folder, ratings, options, *, grouped=False):
    folder.mkdir()
    described = ", ".join(f"{{key: {key}, label: Option {key}}}" for key in options)
    (folder / "task.yaml").write_text(TASK.format(scale=SCALES[options], options=described))
    if grouped:
        items = [f"{item},{group_of(item)},text {item}" for item in {row[0]: 0 for row in ratings}]
        (folder / "items.csv").write_text("\n".join(["id,group,text", *items]))
    lines = [",".join(row) for row in (("item", "rater", "value"), *ratings)]
    (folder / "ratings.csv").write_text("\n".join(lines))
    return load_task(folder)


def write_verdicts(path, verdicts):
    rows = (("item", "judge", "value", "sample"), *verdicts)
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return path


def write_shard(folder, ratings, verdicts, *, arrow=False, grouped=False):
    folder.mkdir(parents=True)
    tables = {
        "ratings": dict(zip(("item", "rater", "value"), zip(*ratings, strict=True), strict=True)),
        "verdicts": dict(
            zip(("item", "judge", "value", "sample"), zip(*verdicts, strict=True), strict=True)
        ),
    }
    if grouped:
        tables["ratings"]["group"] = [group_of(item) for item in tables["ratings"]["item"]]
    for name, columns in tables.items():
        table = pa.table({column: list(values) for column, values in columns.items()})
        if arrow:
            with ipc.new_file(folder / f"{name}.arrow", table.schema) as file:
                file.write_table(table)
        else:
            parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def shards(folder, rows, n_shards, *, grouped=False):
    """Write shards, an item's rows in one of them."""
    place = {item: i for i, item in enumerate(dict.fromkeys(row[0] for row in rows[0]))}
    return [
        write_shard(
            folder / str(k),
            *([row for row in part if place[row[0]] % n_shards == k] for part in rows),
            arrow=k % 2 == 1,
            grouped=grouped,
        )
        for k in range(n_shards)
    ]


def validated(task, paths, seed=0):
    counts = ShardCounts.merged([count_shard(path, task, seed) for path in paths])
    if counts.wanted != counts.comparison:
        parts = [count_shard(path, task, seed, counts.wanted) for path in paths]
        counts = ShardCounts.merged(parts)
    return validate_counts(task, counts, seed=seed, level=0.95)


def leaves(value, path=""):
    """Yield every number and text of plain data with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


def check_same(sharded, whole, *more_resampled):
    """Compare field by field; return how many are equal to the last bit."""
    ours, theirs = (dict(leaves(json.loads(v.to_json()))) for v in (sharded, whole))
    resampled = re.compile("|".join([RESAMPLED.pattern, *more_resampled]))
    fields = {
        path
        for path in ours.keys() | theirs.keys()
        if not (resampled.search(path) or NOT_COMPUTED.search(path) or PROVENANCE.search(path))
    }
    different = [path for path in fields if ours.get(path, "-") != theirs.get(path, "-")]
    assert not different, [(p, ours.get(p), theirs.get(p)) for p in different][:9]
    return len(fields)


def check_intervals(sharded, whole):
    """Ends of intervals differ by no more than a seventh of the width."""
    ours, theirs = (dict(leaves(json.loads(v.to_json()))) for v in (sharded, whole))
    lows = [path for path in ours if path.endswith("evidence.winner_low") or ".low" in path]
    lows = [path for path in lows if ours[path] is not None and theirs.get(path) is not None]
    lows = [path for path in lows if ".evidence.judges" in path or ".winner_" in path]
    assert lows
    for low in lows:
        high = low.replace("low", "high")
        width = theirs[high] - theirs[low]
        for end in (low, high):
            assert math.isclose(ours[end], theirs[end], abs_tol=width / 7), end


@pytest.fixture(scope="module")
def rows():
    return simulated(N, 5, "xy", OPTIONS)


@pytest.fixture
def task(tmp_path, rows):
    return write_task(tmp_path / "task", rows[0], OPTIONS)


def test_results_do_not_depend_on_the_shards(task, tmp_path, rows):
    """One shard, five, and five in another order: the same to the last bit, intervals included."""
    five = shards(tmp_path / "five", rows, 5)
    results = [shards(tmp_path / "one", rows, 1), five[::-1]]
    texts = [validated(task, paths).to_json() for paths in results]
    assert texts[0] == texts[1]


def test_fields_are_those_of_validation_in_memory(task, tmp_path, rows):
    """Metrics, annotator tests, decision, regret and ranking equal `harness.validate`, to the bit.

    Five raters rated all items, so intervals are over raters, too; they are nearly the same.
    """
    whole = harness.validate(
        task.folder, verdicts=write_verdicts(tmp_path / "verdicts.csv", rows[1])
    )
    sharded = validated(task, shards(tmp_path / "seven", rows, 7))
    assert check_same(sharded, whole) > 3000
    check_intervals(sharded, whole)
    assert sharded.decision.verdict == whole.decision.verdict != "none"
    assert sharded.settings.raters == "sample"
    assert any("blocks of items" in note for note in sharded.notes)
    assert any("error analysis" in note for note in sharded.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_raters", "options", "n_samples", "rated"),
    [(2000, 20, OPTIONS, 1, 1.0), (900, 4, GRADES, 2, 0.8), (600, 2, GRADES, 1, 1.0)],
)
def test_fields_are_those_of_validation_in_memory_at_large(  # noqa: PLR0917 -- parameters
    tmp_path, n, n_raters, options, n_samples, rated
):
    """Also with twenty raters, ratings that are missing, several samples, and too few raters."""
    rows = simulated(n, n_raters, "xyz", options, n_samples=n_samples, rated=rated)
    task = write_task(tmp_path / "task", rows[0], options)
    whole = harness.validate(
        task.folder, verdicts=write_verdicts(tmp_path / "verdicts.csv", rows[1])
    )
    sharded = validated(task, shards(tmp_path / "seven", rows, 7))
    assert check_same(sharded, whole, *([WITH_SEVERAL] if n_samples > 1 else [])) > 3000
    check_intervals(sharded, whole)


@pytest.mark.slow
def test_groups_may_stand_in_several_shards(tmp_path):
    """Of grouped items, p-values and intervals alone differ: they are by blocks of groups."""
    rows = simulated(900, 5, "xy", GRADES, seed=3)
    task = write_task(tmp_path / "task", rows[0], GRADES, grouped=True)
    whole = harness.validate(
        task.folder, verdicts=write_verdicts(tmp_path / "verdicts.csv", rows[1])
    )
    sharded = validated(task, shards(tmp_path / "three", rows, 3, grouped=True))
    assert check_same(sharded, whole, r"annotator_test\.raters\.\w+\.p$") > 3000
    check_intervals(sharded, whole)


@pytest.mark.slow
def test_toxicity_is_decided_alike(tmp_path):
    """Forced choices of the bundled task: fields and decision are those of validation in memory."""
    bundled = load_task("toxicity")
    choices = [r for r in bundled.ratings if r.elicitation == "forced_choice"]
    ratings = [(r.item, r.rater, r.value) for r in choices]
    rng = np.random.default_rng(0)
    first = {item: value for item, _, value in ratings if value != "CANNOT_ASSESS"}
    verdicts = [
        (item, judge, value if rng.random() < hits else "B", 0)
        for judge, hits in (("good", 0.9), ("poor", 0.4))
        for item, value in first.items()
    ]
    folder = tmp_path / "task"
    task = write_task(folder, ratings, OPTIONS)
    text = (folder / "task.yaml").read_text()
    (folder / "task.yaml").write_text(text.replace("raters: skilled", "raters: crowd"))
    task = load_task(folder)
    whole = harness.validate(folder, verdicts=write_verdicts(tmp_path / "v.csv", verdicts))
    sharded = validated(task, shards(tmp_path / "shards", (ratings, verdicts), 4))
    assert check_same(sharded, whole) > 2000
    check_intervals(sharded, whole)


def test_judge_that_answered_little_is_not_ranked(task, tmp_path, rows):
    """It takes no items away from the others, and its own metrics are on what it answered."""
    ratings, verdicts = rows
    few = [(item, "w", *rest) for item, judge, *rest in verdicts[:100] if judge == "x"]
    paths = shards(tmp_path / "shards", (ratings, verdicts + few), 2)
    counts = ShardCounts.merged([count_shard(path, task) for path in paths])
    assert counts.wanted == Comparison(frozenset("xy"))
    sharded = validated(task, paths)
    without = validated(task, shards(tmp_path / "without", rows, 2))
    ranked = {row.judge: row.value for row in sharded.evidence.judges if row.ranked}
    assert ranked == {row.judge: row.value for row in without.evidence.judges}
    assert sharded.judge("w").metrics["hit_rate(h/h)"].n_used <= 100
    assert sharded.decision.unranked == ("w",)


def test_nothing_is_recommended_where_no_judge_answered(task, tmp_path, rows):
    """Without a ranked judge the verdict is none, with its reason."""
    ratings, verdicts = rows
    silent = [(item, judge, "CANNOT_ASSESS", sample) for item, judge, _, sample in verdicts]
    sharded = validated(task, shards(tmp_path / "shards", (ratings, silent), 2))
    assert (sharded.decision.verdict, sharded.decision.reason) == ("none", "too_few_answered")


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
def test_wrong_rows_are_refused(task, tmp_path, rows, change, message):
    """A row that stands twice, or a rating that is no option, is named and nothing is counted."""
    folder = write_shard(tmp_path / "shard", *change(*rows))
    with pytest.raises(VerdictError, match=message):
        count_shard(folder, task)


def test_missing_tables_and_judges_are_refused(task, tmp_path, rows):
    """A shard has both tables, and all shards have all judges."""
    ratings, verdicts = rows
    one = write_shard(tmp_path / "one", ratings, verdicts)
    other = write_shard(tmp_path / "other", ratings, [row for row in verdicts if row[1] == "x"])
    with pytest.raises(VerdictError, match="every judge"):
        ShardCounts.merged([count_shard(path, task) for path in (one, other)])
    (one / "ratings.parquet").unlink()
    with pytest.raises(VerdictError, match=r"no ratings\.parquet"):
        count_shard(one, task)


@pytest.mark.slow
def test_command_counts_shards_in_processes_of_their_own(task, tmp_path, rows):
    """`harness validate --shards` prints the decision; a damaged shard is one line and code 2."""
    shards(tmp_path / "shards", rows, 2)
    command = ("validate", "--task", task.folder, "--shards", tmp_path / "shards")
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert "sharded  250 items  5 raters" in result.output
    assert "is not proven good enough" in result.output or "Use " in result.output
    (tmp_path / "shards/0/ratings.parquet").write_bytes(b"PAR1")
    assert "ArrowInvalid" in str(invoke(*command).exception)
