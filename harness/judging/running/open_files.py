"""Limit on open files: raised as far as the system allows, and shared by calls in flight."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SPARE = 48  # files that a run may open beside its connections
USUALLY_OPEN = 32


def share_connections(wanted: Sequence[int]) -> list[int]:
    """Return the maximum number of connections per judge, at least one.

    The soft limit on open files is raised as far as needed. If the hard limit is lower, each judge
    gets the same share of its wanted connections.
    """
    n_reserved = _n_open() + SPARE
    room = _raise_limit(n_reserved + sum(wanted)) - n_reserved
    if room >= sum(wanted):
        return list(wanted)
    return [max(1, n * max(room, 0) // sum(wanted)) for n in wanted]


def open_files_limit() -> int:
    """Return the number of files this process can open."""
    import resource  # noqa: PLC0415 -- Windows lacks it, and most commands send nothing

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _raise_limit(needed: int) -> int:
    """Raise the limit on open files to a number, if possible; return the limit."""
    import resource  # noqa: PLC0415 -- as above

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return needed
    if soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        with suppress(OSError, ValueError):  # macOS has a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return open_files_limit()


def _n_open() -> int:
    try:
        return len(os.listdir("/dev/fd"))  # noqa: PTH208 -- names alone
    except OSError:
        return USUALLY_OPEN
