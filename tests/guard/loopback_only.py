"""An audit hook: who reaches for anything but this machine is stopped and written down.

uvloop looks names up and connects in C, where Python audits nothing; so its loop is made to tell.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

EVENTS = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
HERE = {"localhost", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"}


def watch() -> None:
    """Begin; an audit hook is never taken away."""
    sys.addaudithook(_hook)
    sys.meta_path.insert(0, _TellingUvloop)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event not in EVENTS:
        return
    address = arguments[EVENTS[event]]
    host = address[0] if isinstance(address, tuple) else address
    if event in {"socket.connect", "socket.sendto"} and not isinstance(address, tuple):
        return  # a socket of this machine: a path
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "localhost")
    if text in HERE or (text.startswith("127.") and text.replace(".", "").isdecimal()):
        return
    if record := os.environ.get("HARNESS_TEST_BLOCKED"):
        with open(record, "a", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib costs start-up
            file.write(f"{event} {text}\n")
    raise AssertionError(f"a test reached for {text}")


class _TellingUvloop:
    """Finds uvloop and makes its loop tell whom it is asked for."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "uvloop":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), _make_tell(module))
        return spec


def _make_tell(uvloop) -> None:
    class Loop(uvloop.Loop):
        async def getaddrinfo(self, host, *arguments, **more):
            sys.audit("socket.getaddrinfo", host)
            return await super().getaddrinfo(host, *arguments, **more)

        async def create_connection(self, factory, host=None, *arguments, **more):
            if host is not None:
                sys.audit("socket.getaddrinfo", host)
            return await super().create_connection(factory, host, *arguments, **more)

    uvloop.Loop = Loop
