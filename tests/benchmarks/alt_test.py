"""CPU time of the alternative annotator test against dictionaries and loops, on real ratings.

    python tests/benchmarks/alt_test.py [repeats]

Reads the data sets framing and summeval from the folders in HARNESS_TRUTH. Both sides run back to
back in one process, for every judge of the data set, and must give the same numbers.
"""

from __future__ import annotations

import csv
import os
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import ttest_1samp

from harness import stats

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "truth"
CASES = (("framing", "accuracy", 0.15), ("summeval", "neg_rmse", 0.2))


def read(name):
    """Return ratings {rater: {item: value}} and verdicts {judge: {item: value}}."""
    folders = [Path(f) for f in os.environ.get("HARNESS_TRUTH", "").split(os.pathsep) if f]
    folder = next(f / "data" / name for f in folders or [DEFAULT] if (f / "data" / name).is_dir())

    def table(file, by, kind):
        found = defaultdict(dict)
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                found[row[by]][row["item"]] = kind(row["value"])
        return dict(found)

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
    rng = np.random.default_rng(0)
    found = stats.annotator_tests(panel, judges, design, rng=rng, n_resamples=0)
    return [(one.winning_rate.value, one.advantage.value) for one in found.values()]


def collected(ratings):
    return stats.Panel.by_rater(ratings)


def timed(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(name, score, eps, repeats):
    """Print the median CPU times of all judges, and their ratios."""
    ratings, judges = read(name)
    panel = collected(ratings)
    coded = {name: panel.coded(one) for name, one in judges.items()}
    slow, fast, whole = [], [], []
    for _ in range(repeats + 1):
        a, wanted = timed(lambda: [loops(ratings, one, score, eps) for one in judges.values()])
        b, found = timed(lambda: arrays(panel, coded, score, eps))
        c, again = timed(lambda: arrays(collected(ratings), judges, score, eps))
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        np.testing.assert_allclose(again, wanted, atol=1e-12)
        slow, fast, whole = [*slow, a], [*fast, b], [*whole, c]
    slow, fast, whole = (
        statistics.median(one[1:]) for one in (slow, fast, whole)
    )  # first: warm-up
    print(
        f"{name:9} {len(judges)} judges: loops {slow * 1e3:8.1f} ms, arrays {fast * 1e3:6.1f} ms "
        f"({slow / fast:5.1f} times), from dictionaries {whole * 1e3:6.1f} ms "
        f"({slow / whole:5.1f} times)"
    )


if __name__ == "__main__":
    for one in CASES:
        compare(*one, repeats=int(sys.argv[1]) if len(sys.argv) > 1 else 5)
