"""The next ratings: which are worth most, and what they do for consistency at tau."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from support.known_answers import load_dataset, truth_folders
from support.pair_sources import pair_source
from support.processes import invoke
from support.sliced_judges import planted_task
from support.task_folders import make_task_folder, write_jsonl

from benchmarks.next_ratings import errors, standard_errors
from harness.curation.collecting.rating_queue import next_ratings
from harness.errors import TaskError
from harness.stats.planning.next_rating import (
    BETAS,
    Decisions,
    allocate,
    beta_posterior,
    cutoff_of_choices,
    fitted_prior,
    value_of_comparison,
    value_of_rating,
)
from harness.tasks import load_task


def test_undecided_items_are_worth_most():
    """2 of 4 positive at a cut-off of one half before 3 of 4, before 20 of 20."""
    positive, n_ratings = np.array([20, 3, 2]), np.array([20, 4, 4])
    values = value_of_rating(positive, n_ratings, 0.5, (1.0, 1.0))
    assert values[2] > values[1] > values[0] >= 0


def test_value_is_the_fall_of_the_risk():
    """By hand, uniform prior, no rating, tau 1/2: risk 1/2, and 1/4 after one rating."""
    (value,) = value_of_rating(np.array([0]), np.array([0]), 0.5, (1.0, 1.0))
    assert value == pytest.approx(0.25)


def test_an_item_that_five_ratings_cannot_turn_is_worth_nothing():
    """Uniform prior, tau 1/2: five against turn 4 of 4, and lead to a draw with 5 of 5."""
    positive = np.array([4, 5])
    turned, unturned = value_of_rating(positive, positive, 0.5, (1.0, 1.0))
    assert turned > 1e-4
    assert unturned == pytest.approx(0.0, abs=1e-12)


def test_the_prior_comes_from_the_items():
    """Shares drawn from Beta(1, 3) give back its mean and about its precision."""
    rng = np.random.default_rng(0)
    n_ratings = np.full(4000, 5)
    a, b = fitted_prior(rng.binomial(5, rng.beta(1, 3, 4000)), n_ratings)
    assert a / (a + b) == pytest.approx(0.25, abs=0.01)
    assert a + b == pytest.approx(4.0, rel=0.2)


def decisions_of(positive, n_ratings, beta):
    return Decisions.of(np.array(positive), np.array(n_ratings), tau=0.5, beta=beta)


def test_posterior_of_beta_is_that_of_a_uniform_prior():
    """Mean (k + 1) / (n + 2) after k of n pairs."""
    for k, n in ((0, 0), (0, 3), (2, 3), (3, 3), (10, 40)):
        assert beta_posterior(k, n) @ BETAS == pytest.approx((k + 1) / (n + 2), abs=0.01)


def test_cutoff_of_choices_allows_for_hidden_options():
    """p + beta (1 - p) >= tau: with beta 0.2 and tau 0.6, p >= 0.5."""
    assert cutoff_of_choices(0.6, np.array([0.0, 0.2, 0.6, 1.0])) == pytest.approx([0.6, 0.5, 0, 0])


def test_ratings_where_nothing_is_hidden_are_worth_what_they_were():
    """With beta 0 the value is that of the cut-off itself, and pairs are worth nothing."""
    positive, n_ratings = [3, 2, 0, 9], [4, 4, 3, 9]
    decisions = decisions_of(positive, n_ratings, beta_posterior(0, 10**6))
    expected = value_of_rating(np.array(positive), np.array(n_ratings), 0.5, decisions.prior)
    assert decisions.values_of_ratings() == pytest.approx(expected)
    assert decisions.values_of_pairs([0, 5, 50]) == pytest.approx(0.0, abs=1e-6)
    assert allocate(decisions, expected, 100, 100).n_pairs == 0


def test_pairs_are_worth_more_the_less_is_known_of_beta():
    """More pairs lower the cost further; 100 known ones leave little to learn."""
    items = ([1, 2, 0, 1] * 30, [3, 4, 3, 5] * 30)
    no_pairs, many_pairs = (decisions_of(*items, beta_posterior(*n)) for n in ((0, 0), (30, 100)))
    falls = no_pairs.values_of_pairs([0, 5, 20, 100])
    assert falls[0] == pytest.approx(0.0, abs=1e-9)
    assert (np.diff(falls) > 0).all()
    assert many_pairs.values_of_pairs([20])[0] < falls[2] / 3
    allocation = allocate(no_pairs, no_pairs.values_of_ratings(), 60, 120)
    assert 0 < allocation.n_pairs <= 30
    assert allocation.value > 0
    assert allocate(no_pairs, no_pairs.values_of_ratings(), 60, 7).n_pairs == 5


def test_comparisons_begin_with_the_second_rating_of_an_item():
    """By hand: 0 to 2 ratings over two, 1 to 2, 2 to 3, of 4/3 and 3/2 independent comparisons."""
    n_ratings = np.array([0, 1, 2, 3])
    now = 4 / 3 + 3 / 2
    assert value_of_comparison(n_ratings) * now == pytest.approx(
        [2 / 3, 4 / 3, 3 / 2 - 4 / 3, 8 / 5 - 3 / 2]
    )


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(make_task_folder(tmp_path_factory.mktemp("queue") / "small", 24))


def test_a_third_rater_is_wanted_where_two_have_rated(task, tmp_path):
    """For the annotator test an item of one rater is worth more than one of two or three."""
    ratings = [r for r in task.ratings if r.elicitation == "forced_choice"]
    kept = [r for r in ratings if int(r.item.removeprefix("i")) % 3 >= "abc".find(r.rater[-1])]
    fewer = task.model_copy(update={"ratings": tuple(kept)})
    queue = next_ratings(fewer, 24, quantity="annotator-test")
    values = [row.value for row in queue]
    assert values == sorted(values, reverse=True)
    unnamed = task.model_copy(update={"rater_ids": "positional"})
    with pytest.raises(TaskError, match="the annotator test needs ratings"):
        next_ratings(unnamed, 24, quantity="annotator-test")


def test_items_that_differ_no_more_than_chance_allows_are_not_queued(task):
    """Where all items seem alike, as beside a rater who says the opposite, nothing is queued."""
    ratings = [r for r in task.ratings if r.elicitation == "forced_choice"]
    keys = [option.key for option in task.options]
    majority = {item.id: keys[i % 2] for i, item in enumerate(task.items)}
    opposite = {item.id: keys[1 - i % 2] for i, item in enumerate(task.items)}
    last = max(r.rater for r in ratings)
    values = [
        replace(r, value=(opposite if r.rater == last else majority)[r.item]) for r in ratings
    ]
    alike = task.model_copy(update={"ratings": tuple(values), "sensitivity": {}})
    assert next_ratings(alike, 20, quantity="consistency", tau=0.2) == ()


def test_the_queue_is_read_by_annotate(tmp_path):
    """Who has not rated the item stands beside it; undecided items first where nothing hides."""
    task, queue = make_task_folder(tmp_path / "small", 12), tmp_path / "queue.csv"
    yaml = (task / "task.yaml").read_text(encoding="utf-8")
    yaml = yaml.replace("sensitivity: {B: [A]}", "sensitivity: {}")
    (task / "task.yaml").write_text(yaml, encoding="utf-8")
    assert invoke("curate", "next", task, "--budget", 6, "--queue", queue).exit_code == 0
    rows = list(csv.DictReader(queue.read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == ["item", "elicitation", "reason", "value", "raters"]
    assert {row["reason"].split(", ")[1] for row in rows} == {
        "1 of 3 positive",
        "2 of 3 positive",
    }
    values = [float(row["value"]) for row in rows]
    assert values == sorted(values, reverse=True)
    assert {row["raters"] for row in rows} == {""}  # all three have rated all items
    first, *others = (task / "ratings.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (task / "ratings.jsonl").write_text("".join(others), encoding="utf-8")
    result = invoke("curate", "next", task, "--budget", 12, "--for", "annotator-test", "--json")
    waiting = {row["item"]: row["raters"] for row in json.loads(result.stdout) if row["raters"]}
    assert waiting == {json.loads(first)["item"]: [json.loads(first)["rater"]]}
    options = ("--for", "annotator-test", "--queue", queue)
    assert invoke("curate", "next", task, "--budget", 12, *options).exit_code == 0
    rows = csv.DictReader(queue.read_text(encoding="utf-8").splitlines())
    named = [json.loads(row["raters"]) for row in rows if row["raters"]]
    assert named == [[json.loads(first)["rater"]]]


def test_a_suspected_rater_is_not_offered(tmp_path):
    """Who always gave the same answer has not rated the last items, and is not asked to."""
    task = make_task_folder(tmp_path / "small", 60, response_sets=False)
    rows = [json.loads(line) for line in (task / "ratings.jsonl").read_text().splitlines()]
    lazy = [{"item": f"i{i}", "rater": "lazy", "value": "A"} for i in range(50)]
    rows = [row for row in rows if (row["item"], row["rater"]) != ("i59", "r0")]
    write_jsonl(task / "ratings.jsonl", rows + lazy)
    result = invoke("curate", "next", task, "--budget", 60, "--for", "annotator-test", "--json")
    waiting = {row["item"]: row["raters"] for row in json.loads(result.stdout)}
    assert waiting["i59"] == ["r0"]
    assert not any("lazy" in raters for raters in waiting.values())
    shown = invoke("curate", "next", task, "--budget", 3, "--for", "annotator-test").output
    assert "audit flags these raters: lazy (raters with only one answer)" in " ".join(shown.split())


def test_items_of_a_finding_are_queued(tmp_path):
    """In the order of the finding; a finding that is not there is named with those that are."""
    task = make_task_folder(tmp_path / "small", 12, response_sets=False)
    rows = [json.loads(line) for line in (task / "ratings.jsonl").read_text().splitlines()]
    write_jsonl(
        task / "ratings.jsonl", [r for r in rows if r["item"] != "i3" or r["rater"] == "r0"]
    )
    command = ("curate", "next", task, "--budget", 4, "--json", "--finding")
    [row] = json.loads(invoke(*command, "single_rater_items").stdout)
    assert (row["item"], row["reason"]) == ("i3", "1 rater so far")
    assert set(row["raters"]) == {"r1", "r2"}
    error = invoke(*command, "duplicate").exception
    assert isinstance(error, TaskError)
    assert "single_rater_items" in str(error)


def consistency_error(ratings, *, by_value, seed, tau=0.5, rounds=4):
    """Return the error of a judge's consistency after 2 more ratings per item on average."""
    rng = np.random.default_rng(seed)
    ratings = [rng.permutation(values) for values in ratings]
    n, most = len(ratings), np.array([len(values) for values in ratings])
    truth = np.array([values.mean() >= tau for values in ratings])
    judge = truth ^ (rng.random(n) < 0.15)
    n_ratings = np.full(n, 3)
    for _ in range(rounds):
        positive = np.array([v[:m].sum() for v, m in zip(ratings, n_ratings, strict=True)])
        value = rng.random(n)
        if by_value:
            prior = fitted_prior(positive, n_ratings)
            value = value_of_rating(positive, n_ratings, tau, prior) + 1e-12 * value
        value[n_ratings >= most] = -1.0
        n_ratings[np.argsort(-value)[: n // 2]] += 1
    positive = np.array([v[:m].sum() for v, m in zip(ratings, n_ratings, strict=True)])
    decided = positive / n_ratings >= tau
    return abs((decided == judge).mean() - (truth == judge).mean())


@pytest.mark.slow
@pytest.mark.skipif(not truth_folders(), reason="no truth folder")
def test_queues_do_what_the_command_says():
    """At equal budget, against random items: what consistency and the annotator test gain."""
    drawn = [errors("recipes", 0.3, 2, seed) for seed in range(15)]
    valued, random = np.mean(drawn, axis=0)
    assert valued < 0.95 * random
    drawn = [standard_errors("wax", seed) for seed in range(3)]
    valued, random = np.mean(drawn, axis=0)
    assert valued < 0.95 * random


@pytest.mark.slow
@pytest.mark.skipif(not truth_folders(), reason="no truth folder")
@pytest.mark.parametrize(
    ("name", "positive"), [("dices_990", {"Yes"}), ("recipes", {"4", "5", "6"})]
)
def test_valued_ratings_beat_random_ones_at_equal_budget(name, positive):
    """Of 8 ratings or more per item, 3 are known at first: less error of consistency at 1/2."""
    by_item: dict[str, list[int]] = {}
    for row in load_dataset(name).ratings:
        by_item.setdefault(row["item"], []).append(int(row["value"] in positive))
    ratings = [np.array(values) for values in by_item.values() if len(values) >= 8]
    valued, random = (
        np.mean([consistency_error(ratings, by_value=chosen, seed=s) for s in range(10)])
        for chosen in (True, False)
    )
    assert valued < 0.9 * random


def test_a_queue_for_a_slice_contains_only_its_items():
    """Choices and pairs are of German items, for each quantity; the others are as without."""
    task = planted_task()
    german = {item.id for item in task.items if item.fields["language"] == "de"}
    for quantity in ("consistency", "annotator-test"):
        queue = next_ratings(task, 40, quantity=quantity, slice_of="language=de")
        assert queue
        assert {row.item for row in queue} <= german
        assert not {row.item for row in next_ratings(task, 40, quantity=quantity)} <= german


def test_an_unknown_slice_of_a_queue_gives_a_hint():
    """The message has the nearest slice."""
    with pytest.raises(TaskError, match="Did you mean language=de"):
        next_ratings(planted_task(), 40, slice_of="language=dee")


def test_second_pairs_are_queued_before_first_ones():
    """Items with one pair get another rater's; then others, until 100 items have any."""
    task = pair_source(120, n_paired=40).task
    queue = next_ratings(task, 240, quantity="pairs")
    assert [row.reason.split(",")[0] for row in queue] == [
        *["second pair"] * 40,
        *["first of two pairs"] * 60,
    ]
    assert {row.item for row in queue[:40]} == {f"i{i}" for i in range(40)}
    assert {row.elicitation for row in queue} == {"paired"}
    assert "r0" not in queue[0].raters
    assert "r1" in queue[0].raters
    assert [row.item for row in next_ratings(task, 20, quantity="pairs")] == [
        row.item for row in queue[:10]
    ]
    twice = pair_source(120, n_paired=100, n_pairs=2).task
    assert next_ratings(twice, 20, quantity="pairs") == ()


def test_pairs_of_sets_of_one_option_are_refused():
    """Nothing is learnt from them; the message says why."""
    task = pair_source(40, n_paired=0).task.model_copy(update={"response_sets": (("T",), ("N",))})
    with pytest.raises(TaskError, match="no response set has two options"):
        next_ratings(task, 20, quantity="pairs")
