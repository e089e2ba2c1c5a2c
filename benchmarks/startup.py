"""CPU time of help pages as a multiple of `import typer`; wanted: at most 3.

    python benchmarks/startup.py

All run as whole processes, in turn; the ratios are those of the medians. The help of a command
includes pydantic, with which typer reads options and which every command needs.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

ROUNDS = 15
COMMANDS = {
    "import typer": [sys.executable, "-c", "import typer"],
    **{
        f"harness {arguments}": [sys.executable, "-m", "harness", *arguments.split()]
        for arguments in ("--help", "--version", "run --help")
    },
}


def cpu_s(command: list[str]) -> float:
    """CPU seconds, user and system, of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the medians and their ratios."""
    for command in COMMANDS.values():
        cpu_s(command)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(cpu_s(command))
    medians = {name: statistics.median(spent) for name, spent in times.items()}
    for name, median in medians.items():
        ratio = median / medians["import typer"]
        print(f"{name:<18} {median * 1000:7.1f} ms CPU (median of {ROUNDS}), {ratio:.2f} times")


if __name__ == "__main__":
    main()
