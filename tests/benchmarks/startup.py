"""CPU time of `harness --help` as a multiple of `import typer`; wanted: at most 3.

    python tests/benchmarks/startup.py

Both run as whole processes, in turn; the ratio is that of the medians.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

ROUNDS = 15
COMMANDS = {
    "import typer": [sys.executable, "-c", "import typer"],
    "harness --help": [sys.executable, "-m", "harness", "--help"],
}


def cpu_s(command: list[str]) -> float:
    """CPU seconds, user and system, of one process."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system


def main() -> None:
    """Print both medians and their ratio."""
    for command in COMMANDS.values():
        cpu_s(command)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(cpu_s(command))
    medians = {name: statistics.median(spent) for name, spent in times.items()}
    for name, spent in medians.items():
        print(f"{name:<16} {spent * 1000:7.1f} ms CPU (median of {ROUNDS})")
    print(f"ratio            {medians['harness --help'] / medians['import typer']:7.2f}")


if __name__ == "__main__":
    main()
