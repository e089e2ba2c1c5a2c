"""Time of a second run over cached verdicts, and of planning a large first one.

    python benchmarks/replay.py [YARDSTICK] [--rounds 5]

The second run is the whole command, from process start to metrics.json; nothing may be asked.
Beside it stands what the yardstick's prototype does in its second pass on this machine, its replies
in memory and nothing validated: how fast a machine is shows in that.
Planning is timed from the moment that the task was checked to the first request that leaves, for
10,000 items, 10 judges and 10 samples.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from wire import run
from yardstick import find_yardstick, n_requests, report, stub_running, write_judges, write_task

SAMPLES, ELICITATIONS = 10, 2
PROTOTYPE = ["proto_harness", "--warm", "--n", 20_000, "--concurrency", 64, "--latency-ms", 0]
PLANNING = """
import os, sys, time
from harness import app
from harness.cli import main
from harness.judging.judges import http_exchange

load_task = app.load_task
post = http_exchange.Wire.post
checked = []

def checking(*arguments):
    task = load_task(*arguments)
    checked.append(time.perf_counter())
    return task

async def first_request(*arguments):
    print(time.perf_counter() - checked[0], flush=True)
    os._exit(0)

app.load_task = checking
http_exchange.Wire.post = first_request
sys.argv = ["harness", *sys.argv[1:]]
main()
"""


def main() -> None:
    """Fill a cache, then run again and again; then plan."""
    parser = argparse.ArgumentParser()
    parser.add_argument("yardstick", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--items", type=int, default=5_000, help="20 verdicts each")
    options = parser.parse_args()
    yardstick = find_yardstick(options.yardstick)
    n_verdicts = options.items * SAMPLES * ELICITATIONS
    with stub_running(yardstick) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_task(folder / "task", options.items)
        write_judges(folder / "judges.yaml", port, samples=SAMPLES, concurrency=256)
        first = timed(folder, [sys.executable, "-m", "harness", *command("local")])
        asked = n_requests(port)
        again = [
            timed(folder, [sys.executable, "-m", "harness", *command("local")])
            for _ in range(options.rounds)
        ]
        more = n_requests(port) - asked
        prototype = run([yardstick / "client.py", *PROTOTYPE, "--port", port])["rps"]
        plans = [planned(folder / f"plan{i}", port) for i in range(options.rounds)]
    seconds = statistics.median(took.metrics_s for took in again)
    whole = statistics.median(took.all_s for took in again)
    print(f"first run over {n_verdicts} units: {first.all_s:.1f} s, load {os.getloadavg()[0]:.1f}")
    print(f"second run, report included: {whole:.1f} s")
    holds = report("requests of the second run", more, 0, at_least=False)
    holds &= report("seconds to the metrics of the second run", seconds, 4, at_least=False)
    holds &= report("verdicts/s of the second run", n_verdicts / seconds, 25_000, at_least=True)
    print(f"  {n_verdicts / seconds / prototype:.2f} of the prototype's {prototype:.0f} verdicts/s")
    planning = statistics.median(plans)
    holds &= report("seconds to the first of 1,000,000 requests", planning, 1, at_least=False)
    sys.exit(not holds)


def command(judges: str) -> list[str]:
    """Arguments of `harness` for a run."""
    more = ["--judges-file", "judges.yaml", "--cache", "cache", "--quiet"]
    return ["run", "--task", "task", "--judges", judges, *more]


class Took(NamedTuple):
    """Seconds from a process's start to its metrics, and to its end."""

    metrics_s: float
    all_s: float


def timed(folder: Path, arguments: list[str]) -> Took:
    """Run a command to its end."""
    earlier = set(folder.glob("runs/*"))
    start = time.time()
    ran(folder, arguments)
    end = time.time()
    [run] = set(folder.glob("runs/*")) - earlier
    return Took((run / "metrics.json").stat().st_mtime - start, end - start)


def ran(folder: Path, arguments: list[str]) -> str:
    """Run a command; its output."""
    env = {"PATH": "", "HOME": str(folder), "STUB_KEY": "sk-stub"}
    done = subprocess.run(
        arguments, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def planned(folder: Path, port: int) -> float:
    """Seconds from a checked task to the first request, for 1,000,000 units."""
    write_task(folder / "task", 10_000)
    single = write_judges(folder / "judges.yaml", port, samples=10).read_text(encoding="utf-8")
    head, line = single.split("\n", 1)
    names = [f"local{i}" for i in range(10)]
    judges = "".join(line.replace("local:", f"{n}:").replace("stub,", f"{n},") for n in names)
    (folder / "judges.yaml").write_text(f"{head}\n{judges}", encoding="utf-8")
    arguments = [*command(",".join(names)), "--elicitation", "forced_choice"]
    return float(ran(folder, [sys.executable, "-c", PLANNING, *arguments]))


if __name__ == "__main__":
    main()
