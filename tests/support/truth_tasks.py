"""Data sets of the truth folder as task folders, made in a temporary folder."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("items.jsonl", "groups.jsonl", "ratings.csv")
PROPERTIES = {
    "qags": "whether the sentence is consistent with the article",
    "wax": "the relation between the cue and the association",
}
MORE = {
    "qags": {"positive": ["yes"], "text": ["article", "sentence"]},
    "wax": {"text": ["cue", "association", "explanation"]},
}


def make_task(truth: Path, name: str, parent: Path, **more) -> Path:
    """Copy ``truth/data/<name>`` into ``parent/<name>`` with a ``task.yaml``; return that folder.

    ``more`` adds fields to ``task.yaml`` or replaces them. Works for every data set with one list
    of options (topical_chat and kilogram have none).
    """
    source = truth / "data" / name
    meta = json.loads((source / "meta.json").read_text(encoding="utf-8"))
    folder = parent / name
    folder.mkdir(parents=True)
    for table in TABLES:
        if (source / table).exists():
            shutil.copyfile(source / table, folder / table)
    said = {
        "name": name,
        "property": PROPERTIES.get(name, meta["title"]),
        "scale": meta["scale"],
        "options": meta["options"],
        "raters": meta["rater_kind"],
        "rater_ids": meta["rater_ids"],
        "source": meta["source"].get("paper", ""),
        "licence": meta["licence"],
        **MORE.get(name, {}),
        **more,
    }
    (folder / "task.yaml").write_text(json.dumps(said, indent=1), encoding="utf-8")  # JSON is YAML
    return folder
