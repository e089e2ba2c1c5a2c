"""A run whose items, replies and names try to inject scripts into the report."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from support.processes import run_harness
from support.task_folders import make_task_folder, write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

N_ITEMS = 60
N_RATERS = 5
HOSTILE = (
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit=1">',
    "<svg onload=window.hit=1>",
    "javascript:window.hit=1",
    "{{ 7*7 }} ${7*7} {% raw %}",
    "<!-- --><style>body{display:none}</style>",
    "\u2028\u2029</textarea><iframe srcdoc='<script>parent.hit=1</script>'>",
    "]]><a href='http://192.0.2.1/'>away</a>",
)
BAD_NAME = "<img src=x onerror=window.hit=1>"


def replies(choice: str, endorsed: str) -> dict:
    """Return a judge's reply per elicitation."""
    return {"forced_choice": choice, "response_set": endorsed, "paired": ((endorsed, choice),)}


def scripted_judges() -> dict:
    """Return judges that follow the raters, are lenient, and reply with hostile texts."""
    follows, lenient = {}, {}
    for i in range(N_ITEMS):
        toxic = i % (N_RATERS + 1)
        follows[f"i{i}"] = replies("A" if toxic >= 3 else "B", "A, B" if toxic in (2, 3) else "B")
        lenient[f"i{i}"] = replies("A" if toxic >= 1 else "B", "A" if toxic >= 2 else "A, B")
    hostile = {"*": "B", **{f"i{i}": HOSTILE[i % len(HOSTILE)] for i in range(0, N_ITEMS, 3)}}
    return {
        name: {"kind": "scripted", "model": f"{name} model", "replies": by_item, "samples": 1}
        for name, by_item in (("follows", follows), ("lenient", lenient), (BAD_NAME, hostile))
    }


def _as_of_a_server(manifest: Path) -> None:
    """Let scripted judges, which are controls and never recommended, be judges at a server."""
    fields = json.loads(manifest.read_text(encoding="utf-8"))
    for judge in fields["judges"]:
        judge |= {"kind": "endpoint", "base_url": "http://127.0.0.1:9/v1"}
        judge.pop("replies", None)
    manifest.write_text(json.dumps(fields), encoding="utf-8")


def run_hostile_task(folder: Path) -> Path:
    """Write a hostile task into a new folder and run `harness` on it there."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a worker that failed
    task = make_task_folder(
        folder / "task", N_ITEMS, raters=N_RATERS, response_sets=False, in_turn=True
    )
    items = [
        {"id": f"i{i}", "text": f"Comment {i}. {HOSTILE[i % len(HOSTILE)]}"} for i in range(N_ITEMS)
    ]
    write_jsonl(task / "items.jsonl", items)
    yaml = (task / "task.yaml").read_text(encoding="utf-8")
    yaml = yaml.replace("label: Toxic", 'label: "<b onclick=window.hit=1>Toxic</b>"')
    (task / "task.yaml").write_text(yaml, encoding="utf-8")
    judges = scripted_judges()
    env = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    (folder / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    run = run_harness(
        *("run", "--task", "task", "--judges", ",".join(judges), "--no-store"),
        *("--judges-file", "judges.yaml", "--elicitation", "forced_choice,response_set,paired"),
        cwd=folder,
        env=env,
    )
    assert run.returncode == 3, run.stderr  # a third of one judge's replies can't be read
    [path] = (folder / "runs").iterdir()
    _as_of_a_server(path / "manifest.json")
    run = run_harness("validate", path.relative_to(folder), cwd=folder, env=env)
    assert run.returncode == 3, run.stderr
    return folder
