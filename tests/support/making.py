"""Makes small task folders and runs the command line, as a user would."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from support.forking import shared

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from click.testing import Result

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


def make_task(folder: Path, n: int = 6, *, raters: int = 3, response_sets: bool = True) -> Path:
    """Write a task of ``n`` items; item i is called toxic by i % (raters + 1) of its raters."""
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(TASK, encoding="utf-8")
    items = [{"id": f"i{i}", "text": f"This is comment number {i}."} for i in range(n)]
    ratings = []
    for i in range(n):
        for j in range(raters):
            choice = "A" if j < i % (raters + 1) else "B"
            ratings.append({"item": f"i{i}", "rater": f"r{j}", "value": choice})
            if response_sets:
                both = ["A", "B"] if (i + j) % 3 == 0 else [choice]
                ratings.append(
                    {
                        "item": f"i{i}",
                        "rater": f"r{j}",
                        "elicitation": "response_set",
                        "value": both,
                    }
                )
    for name, rows in (("items.jsonl", items), ("ratings.jsonl", ratings)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def command(*arguments: object) -> Result:
    """Run ``harness`` with these arguments in this process; cheaper than `harness`."""
    from typer.testing import CliRunner

    from harness.cli import app

    return CliRunner().invoke(app, list(map(str, arguments)))


def harness(
    *arguments: object, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``harness`` with these arguments in ``cwd``, in a process of its own, to its end."""
    started = shared().start(*arguments, cwd=cwd, env=env)
    said, complained = started.wait()
    return subprocess.CompletedProcess(list(arguments), started.returncode, said, complained)
