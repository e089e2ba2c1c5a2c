"""CPU time of reading 100,000 replies: bare keys, and the labelled replies of the tests.

    PYTHONPATH=. python benchmarks/reading.py [CHECKOUT]

With a checkout of an earlier version, both read the same replies in turn, each in a process of its
own, and the ratio of their CPU times is printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import yaml

from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.strategies.strategy_registry import named
from harness.tasks import Item, Option, Task

CORPORA = Path(__file__).resolve().parent.parent / "tests" / "judging" / "parsing"
N_REPLIES, N_ROUNDS = 100_000, 3
MIXES = {"bare keys": [], "labelled replies": ["replies", "held_out"]}


def reader(fields: dict, strategy: str) -> ReplyReader:
    """Return a reader of replies to a task of a corpus."""
    task = Task(
        name="corpus",
        property="as labelled",
        scale=fields["scale"],
        options=tuple(Option(**option) for option in fields.get("options", ())),
        abstain=fields.get("abstain", True),
        bounds=tuple(fields["bounds"]) if "bounds" in fields else None,
        items=(Item("i", {"text": "A text."}),),
        ratings=(),
    )
    return ReplyReader(task, named(strategy))


def replies(folders: list[str]) -> list[tuple[ReplyReader, str, str]]:
    """Return readers with the replies that they read, and how these were asked for."""
    rows = []
    for folder in folders:
        tasks = yaml.safe_load((CORPORA / folder / "tasks.yaml").read_text("utf-8"))
        readers: dict[tuple[str, str], ReplyReader] = {}
        for line in (CORPORA / folder / "replies.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            key = row["task"], row.get("strategy", "zero-shot")
            readers.setdefault(key, reader(tasks[key[0]], key[1]))
            rows.append((readers[key], row["reply"], row.get("elicitation", "forced_choice")))
    if rows:
        return rows
    toxic = {"scale": "binary", "options": [{"key": "A"}, {"key": "B"}]}
    return [(reader(toxic, "zero-shot"), key, "forced_choice") for key in ("A", "B", "A\n", " B")]


def seconds(folders: list[str]) -> float:
    """Return the CPU time of reading `N_REPLIES`, with the caches for short replies as they are."""
    rows = replies(folders)
    start = time.process_time()
    for i in range(N_REPLIES):
        read, text, kind = rows[i % len(rows)]
        read.verdict(Reply(request="0" * 64, text=text), Unit("i", kind), "judge")
    return time.process_time() - start


def main() -> None:
    """Time this version, or this and an earlier one in turn."""
    earlier = sys.argv[1:]
    for mix, folders in MIXES.items():
        if not earlier:
            print(f"{mix}: {seconds(folders):.2f} s")
            continue
        times = [[_elsewhere(path, folders) for path in (earlier[0], ".")] for _ in range(N_ROUNDS)]
        ratios = sorted(new / old for old, new in times)
        print(f"{mix}: {ratios[N_ROUNDS // 2]:.2f} times as long (median of {N_ROUNDS} pairs)")


def _elsewhere(path: str, folders: list[str]) -> float:
    """Return the time in a process that imports a checkout."""
    here = str(Path(__file__).parent)
    code = (
        f"import sys; sys.path.append({here!r}); import reading; print(reading.seconds({folders}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=path,  # the first place that is searched for the package
        env=os.environ | {"PYTHONPATH": str(Path(path).resolve())},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


if __name__ == "__main__":
    main()
