"""Write the known answers whose inputs stand in their case, so that a clone checks them.

    python tests/golden/write_answers.py

Reads the golden cases of the truth folder (see ``support/known_answers.py``) and writes one file
per kind into ``tests/golden/answers``, one line per case. Cases on data sets stay where they are.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.known_answers import ANSWERS, truth_cases

FIELDS = ("id", "kind", "inputs", "expect", "tolerance")


def answers() -> dict[str, str]:
    """Return the text of each file by kind."""
    lines = defaultdict(list)
    for case in truth_cases():
        if "dataset" not in case["inputs"]:
            lines[case["kind"]].append(json.dumps({name: case[name] for name in FIELDS}) + "\n")
    return {kind: "".join(of_kind) for kind, of_kind in sorted(lines.items())}


if __name__ == "__main__":
    ANSWERS.mkdir(exist_ok=True)
    for kind, text in answers().items():
        (ANSWERS / f"{kind}.jsonl").write_text(text, encoding="utf-8")
