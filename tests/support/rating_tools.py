"""Exports of rating tools, filled in as a team would fill in the projects."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def controls_of(configuration: str) -> list[dict[str, Any]]:
    """Return tag, name, object and choices of each control of a labelling configuration."""
    root = ET.fromstring(configuration)
    return [
        {
            "tag": node.tag,
            "name": node.get("name"),
            "to_name": node.get("toName"),
            "choice": node.get("choice"),
            "values": [choice.get("alias") for choice in node.iter("Choice")],
            "low": float(node.get("min", 0)),
            "high": float(node.get("max", 100)),
        }
        for node in root.iter()
        if node.get("toName")
    ]


def label_studio_result(control: Mapping[str, Any], value: object) -> dict[str, Any]:
    """Return a result as Label Studio writes it."""
    kinds = {"Choices": "choices", "Number": "number", "TextArea": "textarea"}
    fields = {"Choices": "choices", "Number": "number", "TextArea": "text"}
    return {
        "id": "Dx_aB91ISN",
        "type": kinds[control["tag"]],
        "value": {fields[control["tag"]]: value},
        "origin": "manual",
        "to_name": control["to_name"],
        "from_name": control["name"],
    }


def drawn_results(controls: Sequence[Mapping[str, Any]], rng: random.Random) -> list[dict]:
    """Answer every control; a choice is among the options of the set before it."""
    results, endorsed = [], None
    for control in controls:
        name = control["name"]
        if name in {"comment", "flag"}:
            continue
        if control["tag"] == "Number":
            value: object = round(rng.uniform(control["low"], control["high"]), 3)
        elif control["tag"] == "TextArea":
            value = [f"answer {rng.randrange(3)}"]
        elif control["choice"] == "multiple":
            options = [v for v in control["values"] if v != "CANNOT_ASSESS"]
            value = endorsed = rng.sample(options, rng.randint(1, len(options)))
        else:
            among = endorsed or [v for v in control["values"] if v != "CANNOT_ASSESS"]
            value, endorsed = [rng.choice(among)], None
        results.append(label_studio_result(control, value))
    return results


def label_studio_export(folder: Path, accounts: Sequence[object], seed: int = 0) -> list[dict]:
    """Return the export (JSON) of a project all of whose tasks every account has rated."""
    rng = random.Random(seed)
    controls = controls_of((folder / "label-config.xml").read_text(encoding="utf-8"))
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    return [
        {
            "id": number,
            "data": task["data"],
            "annotations": [
                {
                    "id": 100 * number + n,
                    "completed_by": account,
                    "result": drawn_results(controls, rng),
                    "was_cancelled": False,
                    "ground_truth": False,
                    "created_at": f"2026-11-20T10:{number % 60:02}:{n:02}.728353Z",
                    "updated_at": f"2026-11-20T11:{number % 60:02}:{n:02}.728378Z",
                    "draft_created_at": None,
                    "lead_time": 4.288,
                    "prediction": {},
                    "result_count": 0,
                    "unique_id": "0c7d1b4e",
                    "task": number,
                    "project": 1,
                }
                for n, account in enumerate(accounts, 1)
            ],
            "drafts": [],
            "predictions": [],
            "meta": {},
            "created_at": "2026-11-20T09:00:00.000000Z",
            "updated_at": "2026-11-20T12:00:00.000000Z",
            "inner_id": number,
            "total_annotations": len(accounts),
            "cancelled_annotations": 0,
            "comment_count": 0,
            "project": 1,
        }
        for number, task in enumerate(tasks, 1)
    ]
