"""How often a judge that gives numbers is recommended, or called better than every baseline.

    python benchmarks/score_use.py [--quick] [--write]

Whole validations of 150 items with five raters who are right in 85 %. The numbers are noise, or
follow an answer that is right as often as the row says; its direction and its map are found in the
same data, out of fold. *At the margin* is the judge of benchmarks/power.py whose losses to raters
are just those that aren't allowed. ``--write`` puts the rows into score_use.csv.
"""

from __future__ import annotations

import csv
import sys
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
    from benchmarks.power import RATER, accuracy_at_margin
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside
    from power import RATER, accuracy_at_margin

from harness.analysis import validate
from harness.runs.sources import source_of_verdicts

N, M, MOST = 150, 5, 0.05
NOISE = 0.5  # of an item with a number that is as good as a coin
TASK = """\
name: numbers
property: is right
scale: binary
options:
- {key: "no", description: "no"}
- {key: "yes", description: "yes"}
positive: ["yes"]
ranks_by: forced_choice
"""
DESIGNS = {
    "noise": NOISE,
    "at the margin": accuracy_at_margin(M, 0.0),
    "as good as a rater": RATER,
    "right in 90 %": 0.9,
}


def verdict_of(folder: Path, right: float, rng: np.random.Generator) -> str:
    """Validate one data set; return the verdict."""
    truth = rng.integers(2, size=N)
    seen = np.where(rng.random((N, M)) < RATER, truth[:, None], 1 - truth[:, None])
    answer = np.where(rng.random(N) < right, truth, 1 - truth)
    score = rng.choice([-1, 1]) * (2 * answer - 1 + rng.uniform(-0.9, 0.9, N))
    if right == NOISE:
        score = rng.normal(size=N)
    keys = ("no", "yes")
    table(folder / "items.csv", "id,text", ((f"i{i}", f"text {i}") for i in range(N)))
    ratings = ((f"i{i}", f"r{j}", keys[seen[i, j]]) for i in range(N) for j in range(M))
    table(folder / "ratings.csv", "item,rater,value", ratings)
    verdicts = folder.parent / "scores.csv"
    table(verdicts, "item,judge,score", ((f"i{i}", "judge", x) for i, x in enumerate(score)))
    source = source_of_verdicts(str(folder), verdicts)
    result = validate(source.with_settings(n_resamples=400))
    return result.decision.verdict


def table(path: Path, heads: str, rows: object) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(heads.split(","))
        writer.writerows(rows)


def main() -> int:
    """Print all rows; return 1 if a wrong verdict is too frequent."""
    n_sets, rows, is_wrong = (40 if "--quick" in sys.argv else 200), [], False
    for name, right in DESIGNS.items():
        with TemporaryDirectory() as place:
            folder = Path(place) / "numbers"
            folder.mkdir()
            (folder / "task.yaml").write_text(TASK, encoding="utf-8")
            rng = np.random.default_rng(list(DESIGNS).index(name))
            found = [verdict_of(folder, right, rng) for _ in range(n_sets)]
        use = found.count("use") / n_sets
        better = 1 - found.count("none") / n_sets
        row = {"judge": name, "right": f"{right:.3f}", "use": f"{use:.3f}"}
        rows.append(row | {"better_than_baselines": f"{better:.3f}", "data_sets": n_sets})
        print(*rows[-1].values(), sep=",", flush=True)
        most = MOST + 2 * sqrt(MOST * (1 - MOST) / n_sets)
        is_wrong |= {"noise": better, "at the margin": use}.get(name, 0.0) > most
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
