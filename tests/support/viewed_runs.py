"""Two finished runs and one that goes on, with hostile texts, as `harness view` shows them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from support.hostile_run import HOSTILE
from support.processes import run_harness
from support.task_folders import make_task_folder, write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

N_VIEWED = 24
N_CHANGED = 6  # items to which the judge gives another answer in the second run
JUDGE = "<i>judge</i>"


def make_runs(place: Path) -> tuple[str, str, str]:
    """Write runs below ``place``; return the names of the first, the second and the running one."""
    task = make_task_folder(place / "task", N_VIEWED, response_sets=False)
    items = [
        {
            "id": f"i{i}",
            "text": f"Comment {i}. {HOSTILE[i % len(HOSTILE)]}",
            "language": ("de", "en")[i % 2],
        }
        for i in range(N_VIEWED)
    ]
    write_jsonl(task / "items.jsonl", items)
    names = [_run(place, n_changed) for n_changed in (0, N_CHANGED)]
    return names[0], names[1], _running(place / "runs", names[0])


def _run(place: Path, n_changed: int) -> str:
    """Run a scripted judge, which answers some items differently, and one that abstains."""
    replies = {f"i{i}": "AB"[i % 2 == (i < n_changed)] for i in range(N_VIEWED)}
    judges = {
        JUDGE: {"kind": "scripted", "model": "script", "samples": 1, "replies": replies},
        "mute": {"kind": "scripted", "model": "script", "samples": 1, "replies": {"*": HOSTILE[0]}},
    }
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    before = set((place / "runs").glob("*")) if (place / "runs").exists() else set()
    command = ("run", "--task", "task", "--judges", ",".join(judges), "--no-store", "--keep-going")
    words = ("--judges-file", "judges.yaml", "--elicitation", "forced_choice")
    done = run_harness(*command, *words, cwd=place)  # a browser has the event loop of this process
    assert done.returncode in {0, 3}, done.stderr
    [new] = set((place / "runs").glob("*")) - before
    return new.name


def _running(runs: Path, name: str) -> str:
    """Copy a run as it was when half of its replies were there."""
    copy = shutil.copytree(runs / name, runs / f"{name}-now")
    for file in ("metrics.json", "report.html"):
        (copy / file).unlink()
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"state": "running", "exit_code": None, "metrics_hash": ""}
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    lines = (copy / "verdicts.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (copy / "verdicts.jsonl").write_text("".join(lines[: 1 + N_VIEWED]), encoding="utf-8")
    return copy.name
