"""What the benchmarks of `harness.stats` share: CPU-time ratios, and a table of bounds.

Both sides of a ratio run back to back in one process, and must give the same numbers. Matrix
products run on one thread on both sides: threads that wait for each other spend CPU time too.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 3
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def on_one_thread() -> None:
    """Start the process again with matrix products on one thread, unless they are."""
    if not ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)


def same(wanted: object, actual: object) -> None:
    """Refuse numbers that are not the same but for rounding."""
    np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-12)


def cpu_s(work: Callable[[], object], times: int = 1) -> tuple[float, object]:
    """CPU seconds of one call, the mean over several, and what the last one gave."""
    start = time.process_time()
    for _ in range(times - 1):
        work()
    result = work()
    return (time.process_time() - start) / times, result


def times_faster(
    slow: Callable[[], object],
    fast: Callable[[], object],
    *,
    agree: Callable[[object, object], None] = same,
    share: float = 1.0,
    calls: int = 1,
    rounds: int = ROUNDS,
) -> float:
    """Median CPU time of ``slow`` over that of ``fast``, after one round to warm up.

    ``slow`` may do a ``share`` of the work only; ``calls`` of ``fast`` make one measurement.
    """
    slow_s, fast_s = [], []
    for warm in range(rounds + 1):
        a, wanted = cpu_s(slow)
        b, actual = cpu_s(fast, calls)
        agree(wanted, actual)
        if warm:
            slow_s.append(a / share)
            fast_s.append(b)
    return statistics.median(slow_s) / statistics.median(fast_s)


def in_child(code: str) -> dict[str, float]:
    """Run code in a process of its own; it prints a JSON object. Add the process's peak memory."""
    # not ru_maxrss, which a child inherits
    peak = "\nprint(next(line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line))"
    ran = subprocess.run([sys.executable, "-c", code + peak], stdout=subprocess.PIPE, check=True)
    *_, actual, kib = ran.stdout.decode().splitlines()
    return json.loads(actual) | {"peak_mib": int(kib) / 1024}


@dataclass
class Bounds:
    """Figures held against their bounds, printed as they come."""

    failed: list[str] = field(default_factory=list)

    def at_least(self, what: str, actual: float, bound: float) -> None:
        """Want a ratio of at least the bound."""
        self._line(what, f"{actual:10.1f} times", f">= {bound:g}", holds=actual >= bound)

    def at_most(self, what: str, actual: float, bound: float, unit: str) -> None:
        """Want a figure of at most the bound."""
        self._line(what, f"{actual:10.3g} {unit}", f"<= {bound:g}", holds=actual <= bound)

    def _line(self, what: str, actual: str, bound: str, *, holds: bool) -> None:
        print(f"{what:58} {actual:18} {bound:>8}  {'holds' if holds else 'FAILS'}", flush=True)
        if not holds:
            self.failed.append(what)

    def leave(self) -> None:
        """End the process: 1 if a bound failed."""
        sys.exit(1 if self.failed else 0)
