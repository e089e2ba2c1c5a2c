"""What Ray costs: asking on a cluster of one machine against asking in one process, side by side.

    python benchmarks/ray_overhead.py [--rounds 3] [--scale 1]

Both use a PostgreSQL server of this machine and one stub. Each round asks few and many units, in
turn in one process and on Ray; requests/s are those of the additional units, so that the start of
processes does not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.machines import Machine, ended
from support.postgres import postgres_running
from support.processes import start_server
from support.ray_running import ray_running

FEW = 500
SETTINGS = {"64": (64, 0, 6_000), "200ms": (100, 200, 6_000)}  # calls in flight, ms, units
EXECUTORS = ("local", "ray")


def main() -> None:
    """Print requests/s and seconds of start per setting and executor."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1)
    options = parser.parse_args()
    numbers = count()
    with postgres_running() as server, ray_running() as cluster, start_server() as stub:

        def asking_s(executor: str, n: int, concurrency: int, ms: float) -> float:
            store = server.create_database(f"bench{next(numbers)}")
            with tempfile.TemporaryDirectory() as folder:
                limits = {"n": n, "concurrency": concurrency, "deadline_s": 60}
                machine = Machine(Path(folder) / "a", stub.url(ms=ms), env=cluster.env, **limits)
                ended(machine.run(store, "--executor", executor), timeout_s=1200)
                manifest = machine.log.with_name("manifest.json").read_text(encoding="utf-8")
                return json.loads(manifest)["asking_s"]

        for name, (concurrency, ms, most) in SETTINGS.items():
            many = FEW + int(most * options.scale)
            rates = {executor: [] for executor in EXECUTORS}
            starts = {executor: [] for executor in EXECUTORS}
            for _ in range(options.rounds):
                for executor in EXECUTORS:
                    few_s, many_s = (asking_s(executor, n, concurrency, ms) for n in (FEW, many))
                    rates[executor].append((many - FEW) / (many_s - few_s))
                    starts[executor].append(few_s - FEW / rates[executor][-1])
            for executor in EXECUTORS:
                rate, start = (statistics.median(v[executor]) for v in (rates, starts))
                print(f"{name} {executor}: {rate:.0f} requests/s, start {start:.1f} s", flush=True)
            ratios = [ray / local for ray, local in zip(rates["ray"], rates["local"], strict=True)]
            print(f"{name} requests/s of one process: {statistics.median(ratios):.2f}", flush=True)


if __name__ == "__main__":
    main()
