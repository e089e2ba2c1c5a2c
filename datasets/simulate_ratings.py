"""Simulate the ratings of four bundled tasks; running it again gives the same files.

A simulated rater sees the planted value of an item plus an error of their own and answers by cut
points, as each task's README.md says. Run it from anywhere: ``python simulate_ratings.py`` writes
``ratings.csv`` into the folders of the tasks beside this file.
"""  # noqa: INP001 -- a folder of data is no package

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
N_RATERS = 6
SEEDS = {"relevance": 301, "helpfulness": 302, "coherence": 303, "consistency": 304}
ERROR = 0.12  # standard deviation of a rater's error, on the scale of the planted values
RELEVANCE_CUTS = (1 / 3, 2 / 3)  # between no, maybe and yes
TIE = 0.08  # advantages up to this size are ties
COHERENCE_CUTS = (0.2, 0.4, 0.6, 0.8)  # between the points 1 to 5
MISREAD = 0.1  # chance that a rater misjudges a criterion
LAST = f"r{N_RATERS}"


def planted(task: str) -> list[tuple[str, float]]:
    """Items and their planted values, as in ``grades.csv``."""
    with (FOLDER / task / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [(item, float(value)) for item, value in rows]


def normal(rng: np.random.Generator) -> float:
    """A draw that is nearly standard normal, from .random() alone, whose stream is stable."""
    return float(rng.random(12).sum() - 6)


def relevance(value: float, rater: str, rng: np.random.Generator) -> str:
    """The last rater never says maybe."""
    seen = value + ERROR * normal(rng)
    cuts = (0.5, 0.5) if rater == LAST else RELEVANCE_CUTS
    return ("no", "maybe", "yes")[sum(seen >= cut for cut in cuts)]


def helpfulness(value: float, rater: str, rng: np.random.Generator) -> str:
    """All raters are alike, and none prefers a place."""
    del rater
    seen = value + ERROR * normal(rng)
    return "tie" if abs(seen) <= TIE else "first" if seen > 0 else "second"


def coherence(value: float, rater: str, rng: np.random.Generator) -> str:
    """The last rater does not read, and gives each point alike often."""
    draw, seen = rng.random(), value + ERROR * normal(rng)
    points = int(5 * draw) if rater == LAST else sum(seen >= cut for cut in COHERENCE_CUTS)
    return str(1 + points)


def consistency(value: float, rater: str, rng: np.random.Generator) -> str:
    """Raters misread alike often, whatever the criterion."""
    del rater
    is_met = bool(value) != (rng.random() < MISREAD)
    return "met" if is_met else "unmet"


ANSWERS = {
    "relevance": relevance,
    "helpfulness": helpfulness,
    "coherence": coherence,
    "consistency": consistency,
}


def rows(task: str) -> list[tuple[str, str, str]]:
    """Every rating: item, rater, value."""
    rng = np.random.Generator(np.random.PCG64(SEEDS[task]))
    raters = [f"r{number + 1}" for number in range(N_RATERS)]
    return [
        (item, rater, ANSWERS[task](value, rater, rng))
        for item, value in planted(task)
        for rater in raters
    ]


def write(task: str, path: Path) -> None:
    """Write the ratings of a task as CSV with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("item", "rater", "value"))
        table.writerows(rows(task))


if __name__ == "__main__":
    for name in ANSWERS:
        write(name, FOLDER / name / "ratings.csv")
