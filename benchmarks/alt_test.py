"""The alternative annotator test against dictionaries and loops, on real ratings.

    python benchmarks/alt_test.py

Reads the data sets framing and summeval from the folders in HARNESS_TRUTH; every judge of the data
set is tested. The bound is for ratings that are collected already, as they are for any further
design; collecting them and the verdicts from dictionaries is timed too, without a bound.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path

from ratios import Bounds, on_one_thread, times_faster
from scipy.stats import ttest_1samp

from harness import stats

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "truth"
CASES = (("framing", "accuracy", 0.15), ("summeval", "neg_rmse", 0.2))


def read(name):
    """Return ratings {rater: {item: value}} and verdicts {judge: {item: value}}."""
    folders = [Path(f) for f in os.environ.get("HARNESS_TRUTH", "").split(os.pathsep) if f]
    folder = next(f / "data" / name for f in folders or [DEFAULT] if (f / "data" / name).is_dir())

    def table(file, by, kind):
        result = defaultdict(dict)
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                result[row[by]][row["item"]] = kind(row["value"])
        return dict(result)

    kind = int if name == "summeval" else str
    return table("ratings.csv", "rater", kind), table("verdicts.csv", "judge", kind)


def accuracy(value, others):
    return sum(value == other for other in others) / len(others)


def neg_rmse(value, others):
    return -((sum((value - other) ** 2 for other in others) / len(others)) ** 0.5)


def loops(ratings, verdicts, score, eps):
    """Do the published procedure item by item; return winning rate and advantage."""
    score = {"accuracy": accuracy, "neg_rmse": neg_rmse}[score]
    raters_of = defaultdict(list)
    for rater, rated in ratings.items():
        for item in rated:
            raters_of[item].append(rater)
    p, advantages = [], []
    for rater, rated in ratings.items():
        judge_wins, rater_wins = [], []
        for item, value in rated.items():
            others = [ratings[other][item] for other in raters_of[item] if other != rater]
            if not others or item not in verdicts:
                continue
            judge, human = score(verdicts[item], others), score(value, others)
            judge_wins.append(int(judge >= human - 1e-9))
            rater_wins.append(int(human >= judge - 1e-9))
        differences = [h - f for h, f in zip(rater_wins, judge_wins, strict=True)]
        p.append(float(ttest_1samp(differences, eps, alternative="less").pvalue))
        advantages.append(sum(judge_wins) / len(judge_wins))
    harmonic = sum(1 / k for k in range(1, len(p) + 1))
    wins = 0
    for i, value in enumerate(sorted(p), start=1):
        if value <= i / len(p) * 0.05 / harmonic:
            wins = i
    return wins / len(p), sum(advantages) / len(advantages)


def arrays(panel, judges, score, eps):
    """Do the same with this package."""
    design = stats.AltTestDesign(score=score, eps=eps, unanswered="exclude")
    tests = stats.annotator_tests(panel, judges, design)
    return [(test.winning_rate.value, test.advantage.value) for test in tests.values()]


def collected(ratings):
    return stats.Panel.of(
        (item, rater, value) for rater, rated in ratings.items() for item, value in rated.items()
    )


def compare(bounds, name, score, eps):
    """Print the ratio for all judges of a data set."""
    ratings, judges = read(name)
    panel = collected(ratings)
    coded = {name: panel.coded(verdicts) for name, verdicts in judges.items()}

    def slow():
        return [loops(ratings, verdicts, score, eps) for verdicts in judges.values()]

    result = times_faster(slow, lambda: arrays(panel, coded, score, eps), calls=20, rounds=5)
    bounds.at_least(f"alternative annotator test, {name}, {len(judges)} judges: loops", result, 40)
    result = times_faster(slow, lambda: arrays(collected(ratings), judges, score, eps), calls=5)
    print(f"from dictionaries {result:.0f} times")


def main():
    """Print the bounds and leave."""
    bounds = Bounds()
    for case in CASES:
        compare(bounds, *case)
    bounds.leave()


if __name__ == "__main__":
    on_one_thread()
    main()
