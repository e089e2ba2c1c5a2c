"""CPU time of reading 100,000 replies: bare keys, and the labelled replies of the tests.

    PYTHONPATH=. python benchmarks/reading.py [CHECKOUT]

With a checkout of an earlier version, a process of each reads the same replies in small rounds, one
after the other, so that other work on the machine slows both alike. The ratio of their CPU times is
printed for all replies, with the time for the first ones, which compile the phrases.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml

from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.requests import Unit  # where earlier versions have it, too
from harness.judging.strategies.strategy_registry import named
from harness.tasks import Item, Option, Task

CORPORA = Path(__file__).resolve().parent.parent / "tests" / "judging" / "parsing"
N_REPLIES, N_ROUNDS, N_IN_ROUND = 100_000, 18, 5_000
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


def seconds(folders: list[str], n_replies: int = N_REPLIES) -> float:
    """Return the CPU time of reading replies, with the caches for short replies as they are."""
    rows = replies(folders)
    start = time.process_time()
    for i in range(n_replies):
        read, text, kind = rows[i % len(rows)]
        read.verdict(Reply(request="0" * 64, text=text), Unit("i", kind), "judge")
    return time.process_time() - start


def serve(folders: list[str]) -> None:
    """Time a round for each line of the standard input, the first round without waiting."""
    print(seconds(folders, N_IN_ROUND), flush=True)
    for _ in sys.stdin:
        print(seconds(folders, N_IN_ROUND), flush=True)


def main() -> None:
    """Time this version, or this and an earlier one in turn."""
    earlier = sys.argv[1:]
    for mix, folders in MIXES.items():
        if not earlier:
            print(f"{mix}: {seconds(folders):.2f} s")
            continue
        old, new = (_process(path, folders) for path in (earlier[0], "."))
        first = [_next(process) for process in (old, new)]
        rounds = [[_next(process, ask=True) for process in (old, new)] for _ in range(N_ROUNDS)]
        for process in (old, new):
            process.communicate()
        n_later = N_REPLIES / N_IN_ROUND - 1
        totals = [
            start + n_later * statistics.median(times)
            for start, times in zip(first, zip(*rounds, strict=True), strict=True)
        ]
        print(f"{mix}: {totals[1] / totals[0]:.2f} times as long (median of {N_ROUNDS} rounds)")


def _process(path: str, folders: list[str]) -> subprocess.Popen[str]:
    """Start a process that imports a checkout and times rounds."""
    here = str(Path(__file__).parent)
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.append({here!r}); import reading; reading.serve({folders})",
        ],
        cwd=path,  # the first place that is searched for the package
        env=os.environ | {"PYTHONPATH": str(Path(path).resolve())},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _next(process: subprocess.Popen[str], *, ask: bool = False) -> float:
    """Return the time of a process's next round."""
    assert process.stdin
    assert process.stdout
    if ask:
        process.stdin.write("\n")
        process.stdin.flush()
    return float(process.stdout.readline())


if __name__ == "__main__":
    main()
