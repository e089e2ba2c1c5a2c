"""The next ratings: which are worth most, and what they do for consistency at tau."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from support.known_answers import load_dataset, truth_folders
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.stats.planning.next_rating import fitted_prior, value_of_rating


def test_undecided_items_are_worth_most():
    """2 of 4 positive at a cut-off of one half before 3 of 4, before 20 of 20."""
    positive, n_ratings = np.array([20, 3, 2]), np.array([20, 4, 4])
    values = value_of_rating(positive, n_ratings, 0.5, (1.0, 1.0))
    assert values[2] > values[1] > values[0] >= 0


def test_value_is_the_fall_of_the_risk():
    """By hand, uniform prior, no rating, tau 1/2: risk 1/2, and 1/4 after one rating."""
    (value,) = value_of_rating(np.array([0]), np.array([0]), 0.5, (1.0, 1.0))
    assert value == pytest.approx(0.25)


def test_prior_is_that_of_the_items():
    """Shares drawn from Beta(1, 3) give back its mean and about its precision."""
    rng = np.random.default_rng(0)
    n_ratings = np.full(4000, 5)
    a, b = fitted_prior(rng.binomial(5, rng.beta(1, 3, 4000)), n_ratings)
    assert a / (a + b) == pytest.approx(0.25, abs=0.01)
    assert a + b == pytest.approx(4.0, rel=0.2)


def test_the_queue_is_read_by_annotate(tmp_path):
    """Item, elicitation, reason and value; undecided items first."""
    task, queue = make_task_folder(tmp_path / "small", 12), tmp_path / "queue.csv"
    assert invoke("curate", "next", task, "--budget", 6, "--queue", queue).exit_code == 0
    rows = list(csv.DictReader(queue.read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == ["item", "elicitation", "reason", "value"]
    assert {row["reason"].split(", ")[1] for row in rows} == {
        "1 of 3 positive",
        "2 of 3 positive",
    }
    values = [float(row["value"]) for row in rows]
    assert values == sorted(values, reverse=True)


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
