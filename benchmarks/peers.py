"""How many times as fast asking is as through peers, in one run: requests/s, CPU per request.

    python benchmarks/peers.py [YARDSTICK] [--rounds 5] [--concurrency 256]

Every round runs ours, the yardstick's litellm and inspect_ai clients and its raw one against one
stub, in turn. The clients' environments are those that the yardstick's ``setup_venvs.sh`` makes
($BENCH_VENVS). The raw client is the most that any can reach here: its ratios are printed, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from wire import run
from yardstick import find_yardstick, report, stub_running

CLIENTS = {"ours": 20_000, "raw_aiohttp": 20_000, "litellm": 2_000, "inspect_ai": 500}
VENVS = {"litellm": "litellm", "inspect_ai": "inspect"}
BOUNDS = {"litellm": 15, "inspect_ai": 100}
KEYS = ("rps", "cpu_ms_per_req")


def main() -> None:
    """Compare ours with the peers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("yardstick", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=256)
    options = parser.parse_args()
    yardstick = find_yardstick(options.yardstick)
    rounds = []
    for _ in range(options.rounds):
        with stub_running(yardstick) as port:
            rounds.append({name: measured(name, yardstick, port, options) for name in CLIENTS})
    print(f"medians of {options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    for name in CLIENTS:
        rps, cpu_ms = (median(row[name][key] for row in rounds) for key in KEYS)
        print(f"  {name:12} {rps:8.0f} requests/s  {cpu_ms:.3f} ms CPU each")
    wrong = sum(row["ours"]["wrong"] for row in rounds)
    holds = report("wrong answers of ours", wrong, 0, at_least=False)
    for peer, bound in BOUNDS.items():
        for who in ("raw_aiohttp", "ours"):
            rps = median(row[who]["rps"] / row[peer]["rps"] for row in rounds)
            cpu = median(row[peer]["cpu_ms_per_req"] / row[who]["cpu_ms_per_req"] for row in rounds)
            if who == "ours":
                holds &= report(f"requests/s of {peer}'s", rps, bound, at_least=True)
                holds &= report(f"{peer}'s CPU of ours", cpu, bound, at_least=True)
            else:
                print(f"  raw client: {rps:.0f} times {peer}'s requests/s, its CPU {cpu:.0f} times")
    sys.exit(not holds)


def measured(name, yardstick, port, options):
    """Run one client against the stub."""
    shape = ["--n", CLIENTS[name], "--concurrency", options.concurrency]
    shape += ["--latency-ms", 0, "--port", port]
    if name == "ours":
        return run([Path(__file__).with_name("wire.py"), "--ours", *shape, "--samples", 1])
    venvs = Path(os.environ.get("BENCH_VENVS") or Path(tempfile.gettempdir()) / "bench-venvs")
    python = venvs / VENVS[name] / "bin" / "python" if name in VENVS else sys.executable
    return run([yardstick / "client.py", name, *shape], python=python)


if __name__ == "__main__":
    main()
