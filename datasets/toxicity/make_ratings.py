"""Simulate the ratings of the toxicity probe; running it again gives the same file.

The model is O = F theta (Guerdan et al. 2025, rating model without rater error). A simulated person
first draws the response set that is reasonable to them, then one option from it:

    sets     {A}, {B}, {A, B}                      A = Toxic, B = Not toxic
    theta_i  P({A, B}) = 0.50 exp(-((g_i - 0.50) / 0.30)^2)
             P({A})    = (1 - P({A, B})) / (1 + exp(-(g_i - 0.50) / 0.12))
             P({B})    = the rest                  g_i = authored grade of item i, in grades.csv
    F        P(A | {A}) = 1, P(A | {B}) = 0, P(A | {A, B}) = 0.30
    beta     P(A in the set | B was chosen), pooled over the paired ratings: 0.2310

Run it from anywhere: ``python make_ratings.py`` writes ``ratings.csv`` beside this file.
"""  # noqa: INP001 -- a folder of data is no package

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
SEED = 20251
SETS = ("A",), ("B",), ("A", "B")
F = np.array([[1.0, 0.0, 0.30], [0.0, 1.0, 0.70]])  # (K, V): rows A and B, columns as SETS
N_RATERS = 9
MOST_MISSING = 3  # an item lacks 0 to 3 of the raters
N_PAIRED = 100


def grades() -> tuple[list[str], np.ndarray]:
    """Item ids and their authored grades in [0, 1], shape (n,)."""
    with (FOLDER / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["item"] for row in rows], np.array([float(row["grade"]) for row in rows])


def theta(grade: np.ndarray) -> np.ndarray:
    """Response-set distribution of each item, shape (n, V), rows sum to 1."""
    both = 0.50 * np.exp(-(((grade - 0.50) / 0.30) ** 2))
    toxic = (1 - both) / (1 + np.exp(-(grade - 0.50) / 0.12))
    return np.column_stack([toxic, 1 - both - toxic, both])


def beta(theta_: np.ndarray, n_ratings: np.ndarray) -> float:
    """P(A in the set | B was chosen), items weighted by their number of ratings, shape (n,)."""
    chose_b = theta_ * F[1]  # (n, V): P(set and then B)
    return float(n_ratings @ chose_b[:, 2] / (n_ratings @ chose_b.sum(axis=1)))


def plan(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Who rates what, (n, raters) bool, and which items are rated in both ways, (n,) bool."""
    rank = rng.random((n, N_RATERS)).argsort(axis=1).argsort(axis=1)
    n_missing = (rng.random(n) * (MOST_MISSING + 1)).astype(int)
    paired = rng.random(n).argsort().argsort() < N_PAIRED
    return rank >= n_missing[:, None], paired


def rows() -> list[tuple[str, str, str, str]]:
    """Every rating: item, rater, elicitation, value; the set is drawn first, then the choice."""
    rng = np.random.Generator(np.random.PCG64(SEED))  # only .random(): its stream is stable
    items, grade = grades()
    rates, paired = plan(len(items), rng)
    by_set = theta(grade).cumsum(axis=1)
    out = []
    for i, item in enumerate(items):
        for h in range(N_RATERS):
            set_draw, choice_draw = rng.random(2)
            if not rates[i, h]:
                continue
            v = min(int(np.searchsorted(by_set[i], set_draw, side="right")), len(SETS) - 1)
            choice = "A" if choice_draw < F[0, v] else "B"
            rater = f"r{h + 1:02d}"
            out.append((item, rater, "forced_choice", choice))
            if paired[i]:
                endorsed = '["' + '","'.join(SETS[v]) + '"]'
                out.append((item, rater, "response_set", endorsed))
    return out


def write(path: Path) -> None:
    """Write the ratings as CSV with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("item", "rater", "elicitation", "value"))
        table.writerows(rows())


if __name__ == "__main__":
    write(FOLDER / "ratings.csv")
