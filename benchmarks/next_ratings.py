"""What ratings chosen by value do, at equal budget, against ratings of random items.

    python benchmarks/next_ratings.py [REPETITIONS]

Ratings of data sets with known answers are held out; sets are simulated: who chose a negative
option hides a positive one with chance beta. Judges decide by the true share plus noise of their
own. A policy starts at 3 ratings an item (1 for the annotator test) and collects a budget in four
rounds; at random, half of the questions are pairs. Prints the mean of what is left, and of the
difference, with its standard error:

- consistency: error of the judges' consistency at the cut-off;
- annotator-test: standard error of judge less rater.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.known_answers import load_dataset

from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.planning.next_rating import (
    Decisions,
    allocate,
    beta_posterior,
    value_of_comparison,
)

TAU, ROUNDS, START, N_ITEMS = 0.5, 4, 3, 400
BETAS = (0.0, 0.3)
NOISE = (0.16, 0.18, 0.20, 0.22, 0.24)  # of the judges, in shares of raters
DATA = {"dices_990": {"Yes"}, "recipes": {"4", "5", "6"}}
EPS = 1e-9


@cache
def held_out(name: str) -> tuple[np.ndarray, ...]:
    """Return the binary ratings of items with eight or more."""
    by_item: dict[str, list[int]] = {}
    for row in load_dataset(name).ratings:
        by_item.setdefault(row["item"], []).append(int(row["value"] in DATA[name]))
    items = [np.array(values) for values in by_item.values() if len(values) >= 8]
    kept = np.random.default_rng(0).permutation(len(items))[:N_ITEMS]
    return tuple(items[i] for i in kept)


@dataclass
class Collection:
    """Ratings that are known so far, and those that can be asked for."""

    choices: list[np.ndarray]
    hidden: list[np.ndarray]
    judges: np.ndarray
    n: np.ndarray
    n_hidden: int = 0
    n_eligible: int = 0
    left: int = field(default=0)

    @classmethod
    def start(cls, name, beta, rng):
        choices = [rng.permutation(values) for values in held_out(name)]
        hidden = [(rng.random(len(v)) < beta) & (v == 0) for v in choices]
        omega = np.array([(v | h).mean() for v, h in zip(choices, hidden, strict=True)])
        judges = omega + np.array(NOISE)[:, None] * rng.normal(size=(len(NOISE), len(omega)))
        return cls(choices, hidden, judges >= TAU, np.full(len(choices), START)), omega >= TAU

    def open(self):
        return self.n < np.array([len(values) for values in self.choices])

    def ask(self, i, *, paired):
        k = self.n[i]
        if paired and self.choices[i][k] == 0:
            self.n_eligible += 1
            self.n_hidden += int(self.hidden[i][k])
        self.n[i] += 1
        self.left -= 1 + paired

    @property
    def positive(self):
        return np.array([v[:k].sum() for v, k in zip(self.choices, self.n, strict=True)])

    @property
    def beta(self):
        return self.n_hidden / self.n_eligible if self.n_eligible else 0.0

    def decide(self, beta=None):
        share = self.positive / self.n
        beta = self.beta if beta is None else beta
        return share + beta * (1 - share) >= TAU - EPS

    def decisions(self):
        return Decisions.of(
            self.positive,
            self.n,
            tau=TAU,
            beta=beta_posterior(self.n_hidden, self.n_eligible),
        )


def collect_at_random(data, size, rng):
    """Ask about random items, half of the times in pairs."""
    stop = data.left - size
    while data.left > stop and data.open().any():
        i = rng.choice(np.flatnonzero(data.open()))
        data.ask(i, paired=bool(rng.random() < 0.5) and data.left - stop >= 2)


def collect_by_value(data, size, rng):
    """Ask as `harness curate next` says."""
    free = np.flatnonzero(data.open())
    decisions = data.decisions()
    values = np.where(data.open(), decisions.values_of_ratings(), -1.0)
    n_pairs = allocate(decisions, np.maximum(values, 0.0), size, len(free)).n_pairs
    for i in rng.permutation(free)[:n_pairs]:
        data.ask(i, paired=True)
    values = np.where(data.open(), values + 1e-12 * rng.random(len(values)), -1.0)
    for i in np.argsort(-values)[: size - 2 * n_pairs]:
        if data.open()[i]:
            data.ask(i, paired=False)


def errors(name, beta, per_item, seed):
    """Return the errors of the judges' consistency that value and random collection leave."""
    result = []
    for by_value in (True, False):
        rng = np.random.default_rng(seed)
        data, truth = Collection.start(name, beta, rng)
        data.left = int(per_item * len(truth))
        for r in range(ROUNDS, 0, -1):
            size = data.left // r
            if by_value:
                collect_by_value(data, size, rng)
            else:
                collect_at_random(data, size, rng)
        right = (data.judges == truth).mean(axis=1)
        seen = (data.judges == data.decide()).mean(axis=1)
        result.append(np.abs(seen - right).mean())
    return result


def comparisons(choices, verdicts):
    """Return judge less rater, and the item, of each comparison of the annotator test."""
    gains, items = [], []
    for i, (ratings, verdict) in enumerate(zip(choices, verdicts, strict=True)):
        for k in range(len(ratings) if len(ratings) >= 2 else 0):
            others = np.delete(ratings, k)
            judge, rater = (others == verdict).mean(), (others == ratings[k]).mean()
            gains.append(float(judge >= rater) - float(rater >= judge))
            items.append(i)
    return np.array(gains), np.array(items)


def standard_errors(name, seed):
    """Return the standard errors of judge less rater: one rating an item, then as many again."""
    dataset = load_dataset(name)
    by_item: dict[str, list[str]] = {}
    for row in dataset.ratings:
        by_item.setdefault(row["item"], []).append(row["value"])
    by_judge: dict[str, dict[str, str]] = {}
    for row in dataset.verdicts:
        by_judge.setdefault(row["judge"], {})[row["item"]] = row["value"]
    verdicts = next(iter(by_judge.values()))
    items = [item for item, values in by_item.items() if len(values) >= 3 and item in verdicts]
    result = []
    for by_value in (True, False):
        rng = np.random.default_rng(seed)
        ratings = [rng.permutation(by_item[item]) for item in items]
        n, most = np.ones(len(items), int), np.array([len(values) for values in ratings])
        for _ in range(ROUNDS):
            for _ in range(len(items) // (2 * ROUNDS)):
                value = rng.random(len(items))
                if by_value:
                    value = value_of_comparison(n) + 1e-12 * value
                n[np.where(n < most, value, -1.0).argmax()] += 1
        gains, of = comparisons(
            [values[:k] for values, k in zip(ratings, n, strict=True)],
            [verdicts[item] for item in items],
        )
        result.append(cluster_mean(gains, of).standard_error)
    return result


def row(label, pairs):
    """Return a line of the table: both means, and the difference with its standard error."""
    value, chance = np.array(pairs).T
    off = (value - chance).std(ddof=1) / len(pairs) ** 0.5
    means = " | ".join(f"{part.mean():.4f}" for part in (value, chance))
    return f"| {label} | {means} | {(value - chance).mean():+.4f} ({off:.4f}) |"


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| quantity, data, beta, answers per item | by value | at random | difference |")
    print("| --- | --: | --: | --: |")
    for name in DATA:
        for beta in BETAS:
            for per_item in (0.5, 1, 2):
                drawn = [errors(name, beta, per_item, s) for s in range(n)]
                print(row(f"consistency, {name}, {beta:g}, {per_item:g}", drawn), flush=True)
    for name in ("wax", "cebab_aspects", "10k_prompts"):
        drawn = [standard_errors(name, s) for s in range(n)]
        print(row(f"annotator-test, {name}, -, 0.5", drawn), flush=True)


if __name__ == "__main__":
    main()
