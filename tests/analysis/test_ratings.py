"""Counts of human ratings."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import fields
from functools import cache
from math import inf

import numpy as np
import pytest
from msgspec.structs import replace
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.analysis.annotator_panel import panel_of
from harness.analysis.ratings import count_outcomes, human_table, judge_table, without_rater
from harness.files.checksummed_log import encode
from harness.judging.parsing.verdict import PairValue, Verdict, decode
from harness.stats import Panel
from harness.stats.data.rating_table import Distributions
from harness.stats.data.resolved_tables import resolve_abstentions
from harness.tasks import CANNOT_ASSESS, load_task


@pytest.mark.parametrize("name", ["toxicity", "helpfulness"])
def test_counts_without_a_rater_are_those_of_the_other_ratings(name):
    """Choices, response sets, pairs and outcomes."""
    task = load_task(name)
    rater = task.ratings[0].rater
    others = tuple(rating for rating in task.ratings if rating.rater != rater)
    expected = human_table(task.model_copy(update={"ratings": others}), task.items)
    fewer = without_rater(human_table(task, task.items), task, task.items, rater)
    assert 0 < len(others) < len(task.ratings)
    for field in ("forced_choice", "response_set", "outcomes"):
        np.testing.assert_array_equal(getattr(fewer, field), getattr(expected, field))
    if fewer.joint is not None:
        joint = np.zeros_like(fewer.joint) if expected.joint is None else expected.joint
        np.testing.assert_array_equal(fewer.joint, joint)


def test_a_judge_without_verdicts_has_a_table_of_zeros():
    """A judge of a race, or one that was stopped, may have answered nothing yet."""
    task = load_task("toxicity")
    table = judge_table(task, task.items, "mute", [])
    assert not table.outcomes.any()
    assert not table.forced_choice.any()
    [row] = count_outcomes([], {"forced_choice": 3})
    assert (row.planned, row.not_asked) == (3, 3)


@cache
def first_item():
    """Return the identifier of the first item of toxicity."""
    return load_task("toxicity").items[0].id


def verdict(elicitation, value, sample=0, **fields):
    """Return a verdict on the first item of toxicity."""
    known = {"item": first_item(), "judge": "soft", "elicitation": elicitation, "sample": sample}
    outcome = "abstained" if value is None else "answered"
    return Verdict(**known, outcome=outcome, value=value, **fields)


SOFT_CHOICES = [
    verdict("forced_choice", "A", 0, probabilities={"A": 0.75, "B": 0.25}),
    verdict("forced_choice", "B", 1, probabilities={"A": 0.25, "B": 0.75}),
]
PLAIN_SETS = [verdict("response_set", value, i) for i, value in enumerate([("A",), ("A", "B")])]
PAIRS = [verdict("paired", PairValue(set=("A", "B"), choice="A"), i) for i in range(3)]


@pytest.mark.parametrize(
    ("others", "n_sets"), [(PLAIN_SETS, 2), (PAIRS, 3), (PLAIN_SETS + PAIRS, 2)]
)
def test_sets_beside_probabilities_of_choices_stay_counts(others, n_sets):
    """They were taken for distributions, whose rows sum to 1, and the run ended with 70."""
    task = load_task("toxicity")
    table = judge_table(task, task.items[:1], "soft", [*SOFT_CHOICES, *others])
    assert table.exact == {"forced_choice"}
    assert table.forced_choice[0] == pytest.approx([0.5, 0.5])
    dist = Distributions.of(table)
    assert (dist.n_forced[0], dist.n_sets[0]) == (inf, n_sets)
    assert table.response_set.dtype.kind == "i"


def test_a_reply_without_probabilities_is_certain_beside_those_that_have_them():
    """Both are samples of one elicitation: their mean counts."""
    task = load_task("toxicity")
    sure = verdict("forced_choice", "A", 2)
    table = judge_table(task, task.items[:1], "soft", [*SOFT_CHOICES, sure])
    assert table.forced_choice[0] == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize("mode", ["recode", "third_class"])
def test_an_abstention_among_probabilities_has_its_share(mode):
    """One of three replies abstained: a third, and the row still sums to 1."""
    task = load_task("toxicity")
    verdicts = [*SOFT_CHOICES, verdict("forced_choice", None, 2)]
    table = judge_table(task, task.items[:1], "soft", verdicts)
    option = "B" if mode == "recode" else "CANNOT_ASSESS"
    resolved = resolve_abstentions(table, mode, option=option)
    assert resolved.forced_choice[0].sum() == pytest.approx(1)
    added = resolved.forced_choice[0, resolved.space.option_index(option)]
    assert added == pytest.approx(1 / 3 + (1 / 3 if mode == "recode" else 0))


def test_validation_of_probabilities_with_plain_sets_and_pairs_ends_well(tmp_path):
    """`harness validate` of a run folder that holds such verdicts ended with 70."""
    folder = make_task_folder(tmp_path / "task", 8)
    result = invoke(
        "run", "--task", folder, "--judges", "random", "--out", tmp_path / "runs", "--samples", 3,
        "--elicitation", "forced_choice,response_set,paired", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    [log] = (tmp_path / "runs").glob("*/verdicts.jsonl")
    header, *lines = log.read_bytes().splitlines()
    verdicts = [decode(line) for line in lines]
    soft = [
        replace(v, probabilities={"A": 0.5, "B": 0.5}) if v.elicitation == "forced_choice" else v
        for v in verdicts
    ]
    log.write_bytes(b"\n".join([header, *map(encode, soft)]) + b"\n")
    result = invoke("validate", log.parent)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", ["toxicity", "helpfulness", "diagnoses"])
def test_counts_of_columns_are_those_of_ratings_taken_one_by_one(name):
    """Tables and panels of some items, in another order, count each rating where it belongs."""
    task = load_task(name)
    items = task.items[::-2]
    place = {item.id: i for i, item in enumerate(items)}
    table = human_table(task, items)
    expected = [np.zeros_like(counts) for counts in (table.forced_choice, table.response_set)]
    pairs, answers = Counter(), defaultdict(dict)
    for rating in task.ratings:
        if rating.item in place and rating.value != CANNOT_ASSESS:
            is_set = rating.elicitation == "response_set"
            index = task.space.set_index if is_set else task.space.option_index
            expected[is_set][place[rating.item], index(rating.value)] += 1
            answers[rating.item, rating.rater][is_set] = index(rating.value)
    for (item, _), given in answers.items():
        if len(given) == 2:
            pairs[place[item], given[False], given[True]] += 1
    np.testing.assert_array_equal(table.forced_choice, expected[False])
    np.testing.assert_array_equal(table.response_set, expected[True])
    joint = np.zeros((0,)) if table.joint is None else table.joint
    assert {at: joint[at] for at in zip(*map(np.ndarray.tolist, joint.nonzero()), strict=True)} == (
        dict(pairs)
    )

    ids = tuple(place)
    choices = [r for r in task.ratings if r.item in place and isinstance(r.value, str)]
    panel = panel_of(task, ids, str.lower)
    taken = Panel.of(
        [(r.item, r.rater, r.value.lower()) for r in choices if r.value != CANNOT_ASSESS],
        items=ids,
        rater_ids=task.rater_ids,
    )
    for field in fields(Panel):
        np.testing.assert_array_equal(getattr(panel, field.name), getattr(taken, field.name))


def test_a_task_without_ratings_was_not_counted():
    """`harness estimate` asks about such items: zip() argument 2 was longer than argument 1."""
    table = human_table(load_task("toxicity").model_copy(update={"ratings": ()}), ())
    assert table.forced_choice.sum() == 0
