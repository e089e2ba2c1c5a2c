"""Replies written by shape, with their mirror images in every option; see shapes.yaml."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERY = 3  # of the tasks of a shape, when only some of its replies are read
ENDORSED = {"yes": ["A"], "no": []}  # the first option is the one asked about
YES_NO = [{"key": "yes", "label": "Yes"}, {"key": "no", "label": "No"}]


@cache
def tasks_of(folder: Path) -> dict[str, dict]:
    """Return the tasks of a reply corpus by name, each with fields of a task.yaml."""
    return yaml.load((folder / "tasks.yaml").read_text("utf-8"), yaml.CSafeLoader)


def shape_rows(folder: Path, *, some: bool = False) -> list[dict]:
    """Return the replies of a folder's shapes.yaml as rows of a reply corpus.

    Each row also names the option that it was written for, in ``about``. With ``some``, every
    template is filled in for a third of its tasks, and at least one, and for one option of each, in
    turn.
    """
    if not (path := folder / "shapes.yaml").exists():
        return []
    shapes = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    tasks = tasks_of(folder)
    return [
        row
        for shape, group in shapes.items()
        for place, task in enumerate(group["tasks"])
        for number, template in enumerate(group["replies"].splitlines())
        if not some or (number - place) % min(EVERY, len(group["tasks"])) == 0
        for rows in [list(_rows(shape, group, template, task, tasks[task]["options"]))]
        for row in ([rows[(number // EVERY) % len(rows)]] if some else rows)
    ]


def _rows(shape: str, group: dict, template: str, task: str, options: list[dict]) -> Iterator[dict]:
    """Yield a reply of a shape for every option of a task."""
    options = YES_NO if group.get("strategy") == "endorse" else options
    mirrored = [option for option in options if option["key"] not in group.get("skip", [])]
    for i, option in enumerate(mirrored):
        other = mirrored[(i + 1) % len(mirrored)]
        yield {
            "task": task,
            "elicitation": group.get("elicitation", "forced_choice"),
            "strategy": group.get("strategy", "zero-shot"),
            "family": shape,
            "about": option["key"],
            "reply": _filled(template, option, other),
            "expect": _expected(group["expect"], option["key"], other["key"], options),
        }


def _filled(template: str, option: dict, other: dict) -> str:
    label, other_label = (one.get("label", one["key"]) for one in (option, other))
    values = {
        "{k}": option["key"],
        "{l}": label.lower(),
        "{L}": label,
        "{o}": other["key"],
        "{p}": other_label.lower(),
        "{P}": other_label,
        r"\n": "\n",
    }
    for slot, value in values.items():
        template = template.replace(slot, value)
    return template


def _expected(kind: str, key: str, other: str, options: list[dict]) -> str | list[str]:
    """Return what a person reads in a reply about an option."""
    if kind == "endorsed":
        return ENDORSED[key]
    if kind in {"set", "pair"}:
        named = {key, other} if kind == "pair" else {key}
        return [option["key"] for option in options if option["key"] in named]
    return key if kind == "key" else kind
