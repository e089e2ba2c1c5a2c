"""The peak of a process's memory, as the kernel counts it for that process alone.

`resource.getrusage` isn't used: a process inherits the peak of the one that started it, and a
peak that was reached before a call hides what the call itself takes.
"""

from __future__ import annotations

import re
from pathlib import Path


def forget_peak() -> int:
    """Let the peak of this process begin at what it holds now; return that in KiB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return peak_kib()


def peak_kib() -> int:
    """Return the most memory that this process has held since the last `forget_peak`."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found
    return int(found[1])
