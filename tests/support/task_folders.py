"""Task folders: small ones with invented ratings, and data sets of the truth folder."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TASK = """\
name: small
property: whether the comment is toxic
scale: binary
options:
  - {key: A, label: Toxic}
  - {key: B, label: Not toxic}
positive: [A]
abstain: true
sensitivity: {B: [A]}
items: items.jsonl
ratings: ratings.jsonl
"""
TRUTH_TABLES = ("items.jsonl", "groups.jsonl", "ratings.csv")
TRUTH_PROPERTIES = {
    "qags": "whether the sentence is consistent with the article",
    "wax": "the relation between the cue and the association",
}
TRUTH_FIELDS = {
    "qags": {"positive": ["yes"], "text": ["article", "sentence"]},
    "wax": {"text": ["cue", "association", "explanation"]},
}


def make_task_folder(
    folder: Path, n: int = 6, *, raters: int = 3, response_sets: bool = True, in_turn: bool = False
) -> Path:
    """Write a task of ``n`` items; item i is called toxic by i % (raters + 1) of its raters.

    By the first of them, or by raters ``in_turn``: no rater then answers as the majority does.
    """
    folder.mkdir(parents=True)
    ranks_by = "response_set" if response_sets else "forced_choice"
    (folder / "task.yaml").write_text(f"{TASK}ranks_by: {ranks_by}\n", encoding="utf-8")
    items = [{"id": f"i{i}", "text": f"This is comment number {i}."} for i in range(n)]
    ratings = []
    for i in range(n):
        for j in range(raters):
            place = (j + i // (raters + 1)) % raters if in_turn else j
            choice = "A" if place < i % (raters + 1) else "B"
            ratings.append({"item": f"i{i}", "rater": f"r{j}", "value": choice})
            if response_sets:
                endorsed = ["A", "B"] if (i + j) % 3 == 0 else [choice]
                ratings.append(
                    {
                        "item": f"i{i}",
                        "rater": f"r{j}",
                        "elicitation": "response_set",
                        "value": endorsed,
                    }
                )
    write_jsonl(folder / "items.jsonl", items)
    write_jsonl(folder / "ratings.jsonl", ratings)
    return folder


def make_pairwise_folder(folder: Path, n: int = 8, **fields: object) -> Path:
    """Write a pairwise task: two answers to a question, which two raters prefer in turn."""
    folder.mkdir(parents=True)
    description = {
        "name": "pairs",
        "property": "which answer is better",
        "scale": "pairwise",
        "options": ["A", "B", "tie"],
        "text": ["question", "answer_a", "answer_b"],
        "pairwise": {"answers": ["answer_a", "answer_b"], "first": "A", "second": "B"},
    }
    (folder / "task.yaml").write_text(json.dumps(description | fields), encoding="utf-8")
    items = [
        {"id": f"i{i}", "question": f"q{i}", "answer_a": f"long {i}", "answer_b": f"short {i}"}
        for i in range(n)
    ]
    write_jsonl(folder / "items.jsonl", items)
    ratings = ["item,rater,value", *(f"i{i},r{r},{'AB'[r]}" for i in range(n) for r in range(2))]
    (folder / "ratings.csv").write_text("\n".join(ratings), encoding="utf-8")
    return folder


def write_jsonl(path: Path, rows: list[dict]) -> None:
    """Write one JSON object per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def make_truth_task(truth: Path, name: str, parent: Path, **fields) -> Path:
    """Copy ``truth/data/<name>`` into ``parent/<name>`` with a ``task.yaml``; return that folder.

    ``fields`` adds fields to ``task.yaml`` or replaces them. Works for every data set with one list
    of options (topical_chat and kilogram have none).
    """
    source = truth / "data" / name
    meta = json.loads((source / "meta.json").read_text(encoding="utf-8"))
    folder = parent / name
    folder.mkdir(parents=True)
    for table in TRUTH_TABLES:
        if (source / table).exists():
            shutil.copyfile(source / table, folder / table)
    description = {
        "name": name,
        "property": TRUTH_PROPERTIES.get(name, meta["title"]),
        "scale": meta["scale"],
        "options": meta["options"],
        "raters": meta["rater_kind"],
        "rater_ids": meta["rater_ids"],
        "source": meta["source"].get("paper", ""),
        "licence": meta["licence"],
        **TRUTH_FIELDS.get(name, {}),
        **fields,
    }
    text = json.dumps(description, indent=1)  # JSON is YAML
    (folder / "task.yaml").write_text(text, encoding="utf-8")
    return folder


def copy_place(made: Path, place: Path) -> str:
    """Copy a folder with tasks and runs, as if they had been made there; return its first run."""
    shutil.copytree(made, place, dirs_exist_ok=True)
    manifests = sorted(place.rglob("manifest.json"))
    for manifest in manifests:
        text = manifest.read_text(encoding="utf-8").replace(str(made), str(place))
        manifest.write_text(text, encoding="utf-8")
    return manifests[0].parent.name
