"""An audit hook that blocks and records every connection beyond loopback.

uvloop resolves names and connects in C, where Python raises no audit events; its loop is replaced
by a subclass that raises them.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

ADDRESS_POSITION = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
LOOPBACK = {"localhost", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"}


def watch() -> None:
    """Install the hook; it cannot be removed."""
    sys.addaudithook(_block)
    sys.meta_path.insert(0, _AuditedUvloop)


def _block(event: str, arguments: tuple[object, ...]) -> None:
    if event not in ADDRESS_POSITION:
        return
    address = arguments[ADDRESS_POSITION[event]]
    host = address[0] if isinstance(address, tuple) else address
    if event in {"socket.connect", "socket.sendto"} and not isinstance(address, tuple):
        return  # a Unix socket
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "localhost")
    if text in LOOPBACK or (text.startswith("127.") and text.replace(".", "").isdecimal()):
        return
    if record := os.environ.get("HARNESS_TEST_BLOCKED"):
        with open(record, "a", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib costs start-up
            file.write(f"{event} {text}\n")
    raise AssertionError(f"a test tried to reach {text}")


class _AuditedUvloop:
    """Import hook that gives uvloop a loop with audit events."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "uvloop":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), _add_audit_events(module))
        return spec


def _add_audit_events(uvloop) -> None:
    class Loop(uvloop.Loop):
        async def getaddrinfo(self, host, *arguments, **options):
            sys.audit("socket.getaddrinfo", host)
            return await super().getaddrinfo(host, *arguments, **options)

        async def create_connection(self, factory, host=None, *arguments, **options):
            if host is not None:
                sys.audit("socket.getaddrinfo", host)
            return await super().create_connection(factory, host, *arguments, **options)

    uvloop.Loop = Loop
