"""Samples: equal strata, probabilities that recover the task, whole groups, ids from content."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.curation.collecting.sampling import content_ids, draw_sample, split_by_group
from harness.errors import TaskError
from harness.tasks import load_task
from harness.tasks.item import Item

ALL_LEVELS = tuple(range(0, 101, 10))


@pytest.fixture
def task(tmp_path):
    """120 items, of which a quarter each has 0, 33, 67 and 100 % positive choices."""
    return load_task(str(make_task_folder(tmp_path / "small", 120)))


def grouped(task, n_groups):
    """Give the items of a task groups in turn, and criteria by halves."""
    items = tuple(
        Item(item.id, item.fields, f"g{i % n_groups}", "tone" if i % 3 else "facts")
        for i, item in enumerate(task.items)
    )
    return task.model_copy(update={"items": items})


def test_strata_get_equal_numbers(task):
    """Guerdan et al. 2025, appendix E: an even sample over the shares of positive choices."""
    sample = draw_sample(task, "disagreement", 40, rng=np.random.default_rng(0), levels=ALL_LEVELS)
    assert [(s.name, s.n_sampled) for s in sample.strata] == [
        ("0 % positive", 10),
        ("30 % positive", 10),
        ("70 % positive", 10),
        ("100 % positive", 10),
    ]
    assert set(sample.probabilities.values()) == {10 / 30}
    assert sample.n_outside == 0


def test_published_levels_leave_clear_items_out(task):
    """Items without disagreement are counted as outside; too large a sample is refused."""
    sample = draw_sample(task, "disagreement", 20, rng=np.random.default_rng(0))
    assert [s.name for s in sample.strata] == ["30 % positive"]
    assert sample.n_outside == 90
    with pytest.raises(TaskError, match="30 of 120 items can be sampled"):
        draw_sample(task, "disagreement", 31, rng=np.random.default_rng(0))


def test_a_small_stratum_is_taken_whole_and_the_others_share_the_rest(task):
    """40 items of one criterion and 80 of another: 100 are 40 and 60."""
    sample = draw_sample(grouped(task, 12), "criterion", 100, rng=np.random.default_rng(0))
    assert [(s.name, s.n_sampled) for s in sample.strata] == [("facts", 40), ("tone", 60)]
    assert sorted(set(sample.probabilities.values())) == [60 / 80, 1.0]


def test_weights_recover_the_task_and_the_plain_mean_does_not(task):
    """Over 300 samples by criterion, weighted sums average to those of all items."""
    unequal, rng = grouped(task, 12), np.random.default_rng(1)
    value = {item.id: 1.0 + 4.0 * (item.criterion == "facts") for item in unequal.items}
    rest = dict(zip(value, rng.normal(0, 1, 120), strict=True))
    total = sum(value[i] + rest[i] for i in value)
    weighted, plain = [], []
    for _ in range(300):
        sample = draw_sample(unequal, "criterion", 30, rng=rng).probabilities
        weighted.append(sum((value[i] + rest[i]) / p for i, p in sample.items()))
        plain.append(sum(value[i] + rest[i] for i in sample) * 120 / 30)
    error = np.std(weighted) / 300**0.5
    assert abs(np.mean(weighted) - total) < 3 * error
    assert np.mean(plain) - total > 10 * error


def test_weights_of_a_part_recover_the_task(task):
    """A calibration part of whole groups, weighted, still counts the items of the task."""
    unequal, rng, totals = grouped(task, 12), np.random.default_rng(2), []
    for _ in range(300):
        sample = draw_sample(unequal, "criterion", 60, rng=rng)
        first, second = split_by_group(unequal, sample, 0.25, rng=rng)
        groups = [
            {unequal.by_id[item].group for item in part.probabilities} for part in (first, second)
        ]
        assert not groups[0] & groups[1]
        assert first.probabilities.keys() | second.probabilities.keys() == set(sample.probabilities)
        totals.append(sum(1.0 / p for p in first.probabilities.values()))
    assert abs(np.mean(totals) - 120) < 3 * np.std(totals) / 300**0.5


def test_ids_come_from_content_and_occurrence():
    """The same text has the same id wherever it stands; a second copy is number 2."""
    first = content_ids([Item("a", {"text": "x"}), Item("b", {"text": "x"}), Item("c", {})])
    other = content_ids([Item("z", {"text": "x"})])
    assert first["a"] == other["z"]
    assert first["a"].removesuffix("-1") == first["b"].removesuffix("-2")
    assert len(set(first.values())) == 3


def test_the_command_writes_tasks_that_say_what_they_describe(task, tmp_path, monkeypatch):
    """Two parts, with ratings, probabilities and a notice that validate shows; seeded."""
    monkeypatch.chdir(tmp_path)
    levels = ("--by", "disagreement", "--levels", "0,30,70,100")
    options = ("--items", 40, *levels, "--split", "0.5", "--json")
    for name in ("once", "again"):
        result = invoke("curate", "sample", "./small", "--as", name, *options)
        assert result.exit_code == 0, result.output
    assert list(json.loads(result.output)["folders"].values()) == [20, 20]
    part, again = (load_task(f"./{name}-calibration") for name in ("once", "again"))
    assert part.items == again.items
    assert {item.fields["inclusion_probability"] for item in part.items} == {repr(10 / 30 / 2)}
    sources = {item.id: item.fields["source_item"] for item in part.items}
    copied = {(sources[r.item], r.rater, r.elicitation, r.value) for r in part.ratings}
    kept = set(sources.values())
    assert copied == {
        (r.item, r.rater, r.elicitation, r.value) for r in task.ratings if r.item in kept
    }
    shown = invoke("validate", "--task", "./once-calibration").output
    said = " ".join(shown.split())
    assert "not weighted by 1/inclusion_probability describe the sample" in said
    assert "note: metrics" not in said  # all are equally likely
    refused = invoke("curate", "sample", "./small", "--as", "once", *options)
    assert refused.exit_code != 0


def test_a_sample_is_random_by_default(task, tmp_path, monkeypatch):
    """Every item is as likely as any other, and the notice says what the sample is."""
    rng, times = np.random.default_rng(3), dict.fromkeys(task.by_id, 0)
    for _ in range(300):
        sample = draw_sample(task, None, 30, rng=rng)
        assert set(sample.probabilities.values()) == {30 / 120}
        for item in sample.probabilities:
            times[item] += 1
    assert abs(np.mean(list(times.values())) - 75) < 1e-9
    assert np.std(list(times.values())) == pytest.approx((300 * 0.25 * 0.75) ** 0.5, rel=0.25)
    monkeypatch.chdir(tmp_path)
    result = invoke("curate", "sample", "./small", "--as", "drawn", "--items", 30)
    assert "all      120    30" in result.output
    assert load_task("./drawn").notice == "a random sample of 30 of 120 items of small"
    refused = invoke("curate", "sample", "./small", "--as", "x", "--items", 3, "--levels", "10")
    assert refused.exit_code == 2
