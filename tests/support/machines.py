"""Machines of the tests of a shared store: homes of their own, a link that can be cut, runs."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from support.processes import start_harness
from support.task_folders import make_task_folder

from harness.judging.storage.verdict_log import read_log

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

JUDGES = """\
judges:
  local: {{kind: endpoint, model: stub, base_url: "{url}", samples: 1, \
concurrency: {concurrency}, deadline_s: {deadline_s}, {more}params: {{max_tokens: 8}}}}
"""


class Machine:
    """A home folder with a judge and a task; `run` starts ``harness run`` there, `start` anything.

    Attributes
    ----------
    name : str
        Of the machine.
    runs : Path
        Its run folders.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        *,
        n: int,
        concurrency: int = 8,
        deadline_s: float = 30,
        more: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = folder.name
        self.runs = folder / "runs"
        self._home = folder
        self._more_env = dict(env or {})
        self._processes: list[subprocess.Popen[str]] = []
        task = folder.parent / "task"
        if not task.exists():
            make_task_folder(task, n)
        folder.mkdir()
        self._task = task
        judges = JUDGES.format(url=url, concurrency=concurrency, deadline_s=deadline_s, more=more)
        (folder / "judges.yaml").write_text(judges, encoding="utf-8")
        own = folder / "config" / "judge-harness"  # a resume and a round ask the user's own judges
        own.mkdir(parents=True)
        (own / "judges.yaml").symlink_to(folder / "judges.yaml")

    def run(self, store: str, *arguments: object, resume: bool = False) -> subprocess.Popen[str]:
        """Start a run with a store, or resume the last one."""
        task = ["resume"] if resume else ["run", "--task", self._task, "--judges", "local"]
        task += ["--judges-file", self._home / "judges.yaml"]
        if not resume:
            task += ["--elicitation", "forced_choice", "--details"]
        return self.start(*task, "--store", store, *arguments)

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Start ``harness`` with these arguments."""
        home = self._more_env | {
            "HOME": str(self._home),
            "XDG_CACHE_HOME": str(self._home / "cache"),
            "XDG_CONFIG_HOME": str(self._home / "config"),
            "XDG_DATA_HOME": str(self._home / "data"),
            "HARNESS_RUNS": str(self.runs),
        }
        process = start_harness(*arguments, cwd=self._home, env=os.environ | home)
        self._processes.append(process)
        return process

    @property
    def log(self) -> Path:
        """Verdict log of the only run."""
        [path] = self.runs.glob("*/verdicts.jsonl")
        return path

    def verdicts(self):
        """Final verdicts of the only run, by unit."""
        return read_log(self.log).final

    def wait_for_verdicts(self, n: int, timeout_s: float = 120) -> None:
        """Wait until the only run has at least ``n`` verdicts."""
        wait_until(lambda: self._n_logged() >= n, timeout_s)

    def kill_all(self) -> None:
        """Kill every run that was started and is not over."""
        for process in self._processes:
            process.kill()
            process.communicate()

    def _n_logged(self) -> int:
        logs = self.runs.glob("*/verdicts*.jsonl")
        return sum(max(log.read_bytes().count(b"\n") - 1, 0) for log in logs)


def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Wait until a condition holds."""
    give_up_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up_s
        time.sleep(0.02)


def ended(process: subprocess.Popen[str], code: int = 0, timeout_s: float = 200) -> str:
    """Wait for a run to end with an exit code; return what it printed."""
    out, err = process.communicate(timeout=timeout_s)
    assert process.returncode == code, (process.returncode, out, err)
    return out + err


class Link:
    """A proxy on loopback; while it is cut, it holds connections open and passes nothing on."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._ended = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Pass nothing on from now."""
        self._open.clear()

    def mend(self) -> None:
        """Pass everything on again."""
        self._open.set()

    def close(self) -> None:
        """Accept no more connections."""
        self._ended = True
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._ended:
                client, _ = self._server.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            self._open.wait()
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                other = {client: server, server: client}
                while not self._ended:
                    ready, _, _ = select.select([client, server], [], [], 0.5)
                    for source in ready:
                        self._open.wait()
                        data = source.recv(1 << 16)
                        if not data:
                            return
                        other[source].sendall(data)


@contextmanager
def linked(port: int) -> Iterator[Link]:
    """Run a proxy to a port until the block ends."""
    link = Link(port)
    try:
        yield link
    finally:
        link.mend()
        link.close()
