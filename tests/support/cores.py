"""Each worker keeps to a core of its own; servers and browsers that it starts may use them all."""

from __future__ import annotations

import os
from contextlib import contextmanager

ALL = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def cores() -> int:
    """How many cores this process may use."""
    return len(ALL) if ALL else os.cpu_count() or 1


def keep_to_one(worker: str) -> None:
    """Keep this process, and all it starts, to one core; ``worker`` is ``gw0``, ``gw1``, ...

    A language model's threads wait for each other at every step: on a core that another worker
    also uses, ten times as long. Workers beyond the number of cores fill what the others leave.
    """
    number = int(worker.removeprefix("gw"))
    if ALL and number < len(ALL):
        os.sched_setaffinity(0, {sorted(ALL)[number]})


@contextmanager
def on_all_cores():
    """What is started in here may use every core."""
    if not ALL:
        yield
        return
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ALL)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
