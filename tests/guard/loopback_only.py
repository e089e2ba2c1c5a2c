"""An audit hook: who reaches for anything but this machine is stopped and written down."""

from __future__ import annotations

import os
import sys

EVENTS = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
HERE = ("127.", "::1", "localhost", "0.0.0.0", "::")


def watch() -> None:
    """Begin; an audit hook is never taken away."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event not in EVENTS:
        return
    address = arguments[EVENTS[event]]
    host = address[0] if isinstance(address, tuple) else address
    if event in {"socket.connect", "socket.sendto"} and not isinstance(address, tuple):
        return  # a socket of this machine: a path
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "localhost")
    if text.startswith(HERE):
        return
    if record := os.environ.get("HARNESS_TEST_REACHED"):
        with open(record, "a", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib costs start-up
            file.write(f"{event} {text}\n")
    raise AssertionError(f"a test reached for {text}")
