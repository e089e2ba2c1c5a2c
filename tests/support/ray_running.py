"""A Ray cluster on this machine that several runs of the tests use, since a start takes seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.extras.cluster.ray_cluster import FOLDER, FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRETS = {"CLUSTER_KEY": "sk-of-the-judge-5e1f07", "PGPASSWORD": "of-the-store-93ac41"}
PROGRAM = """
import os, sys, tempfile
from pathlib import Path
from harness.extras.cluster.ray_cluster import FOLDER, FOLDERS, settings
from harness.extras.cluster.ray_processes import connect
os.environ.update(settings(None))
with tempfile.TemporaryDirectory(prefix=f"{FOLDER}-{os.getpid()}-", dir=FOLDERS) as folder:
    ray = connect(None, Path(folder) / "ray")
    shown = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    shown["RAY_ADDRESS"] = ray.get_runtime_context().gcs_address
    print(*(f"{name}={value}" for name, value in shown.items()), flush=True)
    sys.stdin.read()
    ray.shutdown()
"""


class RayCluster:
    """A cluster that `harness` started, with a worker per processor.

    Attributes
    ----------
    env : dict of str to str
        With which other processes connect to it.
    folder : Path
        Where Ray keeps its logs and its state.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.env = dict(word.split("=", 1) for word in process.stdout.readline().split())
        [self.folder] = FOLDERS.glob(f"{FOLDER}-{process.pid}-*")

    def workers(self) -> list[int]:
        """Return the processes that ask units."""
        return [pid for pid in self._processes() if b"ray::RunProcess" in _command(pid)]

    def listens_at(self) -> set[str]:
        """Return the addresses at which processes of the cluster listen."""
        ours = {
            str(path.readlink())
            for pid in self._processes()
            for path in Path(f"/proc/{pid}/fd").iterdir()
            if path.is_symlink()
        }
        rows = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        ]
        listening = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in ours]
        return {_address(row[1].partition(":")[0]) for row in listening}

    def _processes(self) -> list[int]:
        """Return all processes of the cluster, which its environment tells."""
        token = f"RAY_AUTH_TOKEN={self.env['RAY_AUTH_TOKEN']}".encode()
        result = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdecimal() and token in (folder / "environ").read_bytes():
                    result.append(int(folder.name))
            except OSError:
                continue
        return result


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _address(digits: str) -> str:
    """Return an address of /proc/net/tcp, which stands there in words of the machine's order."""
    import socket
    import struct

    words = [int(digits[i : i + 8], 16) for i in range(0, len(digits), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))


@contextmanager
def ray_running() -> Iterator[RayCluster]:
    """Start a cluster, whose machine has `SECRETS` in its environment; end it with the block."""
    command = [sys.executable, "-c", PROGRAM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=os.environ | SECRETS, text=True, **pipes) as process:
        try:
            yield RayCluster(process)
        finally:
            process.stdin.close()
            process.wait()
