"""Tasks whose judges give numbers: a metric and a reward model, an option judge next to them."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

SCALES = {
    "binary": ("scale: binary\noptions: [bad, good]\npositive: [good]\n", ("bad", "good")),
    "ordinal": ("scale: ordinal\noptions: ['1', '2', '3', '4', '5']\n", tuple("12345")),
    "pairwise": (
        (
            "scale: pairwise\noptions: [A, tie, B]\ntext: [first, second]\n"
            "pairwise: {answers: [first, second], first: A, second: B}\n"
        ),
        ("B", "tie", "A"),
    ),
    "continuous": ("scale: continuous\nbounds: [0, 10]\n", ()),
}


def scored_task(
    folder: Path, scale: str = "binary", *, n: int = 120, raters: int = 3, seed: int = 0
) -> np.ndarray:
    """Write a task; return (n,) qualities that its raters share, in standard deviations."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    kind, options = SCALES[scale]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(
        f"name: {folder.name}\nproperty: quality of the text\n{kind}"
        "raters: skilled\nsource: made up\nlicence: CC0-1.0\n"
    )
    fields = ["first", "second"] if scale == "pairwise" else ["text"]
    rows = [{"id": f"i{i}"} | {name: f"{name} {i}" for name in fields} for i in range(n)]
    write_csv(folder / "items.csv", rows)
    ratings = []
    for i in range(n):
        for rater in range(raters):
            seen = quality[i] + rng.normal() * 0.7
            ratings.append({"item": f"i{i}", "rater": f"r{rater}", "value": label(seen, options)})
    write_csv(folder / "ratings.csv", ratings)
    return quality


def label(seen: float, options: tuple[str, ...]) -> str:
    """Return the option of what a rater sees, or a number from 0 to 10."""
    if not options:
        return f"{min(max(5 + 2 * seen, 0), 10):.1f}"
    cuts = np.linspace(-1.2, 1.2, len(options) + 1)[1:-1]
    return options[int(np.searchsorted(cuts, seen))]


def write_csv(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows as a table."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def scores(quality: np.ndarray, *, sign: float = 1.0, noise: float = 0.5, seed: int = 1):
    """Return (n,) scores: quality with noise, through a curve that no rater knows."""
    rng = np.random.default_rng(seed)
    return np.exp(sign * (quality + noise * rng.normal(size=len(quality))))


def score_rows(judge: str, values: np.ndarray, **more: str) -> list[dict[str, object]]:
    """Return rows of a table of scores."""
    return [
        {"item": f"i{i}", "judge": judge, "score": repr(float(value))} | more
        for i, value in enumerate(values)
    ]
