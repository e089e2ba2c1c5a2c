"""What the shared store costs: asking through PostgreSQL against the local cache, side by side.

    python benchmarks/store.py [YARDSTICK] [--rounds 5] [--scale 1]

Every round asks the same units through the local cache and through a PostgreSQL server of its own,
in turn, against one stub; ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.postgres import postgres_running
from wire import measure
from yardstick import find_yardstick, report, stub_running

SETTINGS = {  # calls in flight, ms of the stub, units; bound on the ratio of requests/s
    "64": (64, 0, 20_000, 0.5),
    "200ms": (100, 200, 5_000, 0.95),
}


def main() -> None:
    """Compare the two stores in every setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("yardstick", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default=",".join(SETTINGS))
    options = parser.parse_args()
    yardstick = find_yardstick(options.yardstick)
    holds = True
    with postgres_running() as server:
        for name in options.only.split(","):
            concurrency, ms, n, bound = SETTINGS[name]
            shape = [
                "--n",
                int(n * options.scale),
                "--concurrency",
                concurrency,
                "--latency-ms",
                ms,
            ]
            rounds = []
            for i in range(options.rounds):
                with stub_running(yardstick) as port:
                    address = server.create_database(f"round_{name}_{i}")
                    local = client(*shape, "--port", port)
                    rounds.append((local, client(*shape, "--port", port, "--store", address)))
            holds &= judge(name, rounds, bound)
    sys.exit(not holds)


def judge(name, rounds, bound):
    """Print the medians of a setting and whether its bound holds."""
    for who, rows in zip(("local cache", "PostgreSQL"), zip(*rounds, strict=True), strict=True):
        shown = {k: statistics.median(r[k] for r in rows) for k in ("rps", "cpu_ms_per_req")}
        print(f"{name} {who}: {shown['rps']:.0f} requests/s, {shown['cpu_ms_per_req']:.3f} ms CPU")
    wrong = sum(row["wrong"] for pair in rounds for row in pair)
    ratio = statistics.median(shared["rps"] / local["rps"] for local, shared in rounds)
    holds = report(f"{name} wrong answers", wrong, 0, at_least=False)
    return report(f"{name} requests/s of the local cache's", ratio, bound, at_least=True) and holds


def client(*arguments):
    """Run one client as a process; read the line that it prints."""
    command = [sys.executable, "-W", "ignore", __file__, "--client", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def be_client() -> None:
    """Be the measured process; see `wire.measure`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", action="store_true")
    for name in ("n", "concurrency", "port"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--latency-ms", type=float)
    parser.add_argument("--store")
    options = parser.parse_args(namespace=argparse.Namespace(samples=1, kind="endpoint"))
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options)))


if __name__ == "__main__":
    be_client() if "--client" in sys.argv else main()
