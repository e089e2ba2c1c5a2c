"""Process that connects to a Ray cluster and starts processes of a run there, as actors.

Ray ends a process that has lost its cluster, so this is not the process that the user started.

The arguments are a connection, a folder and an address (see `ray_launcher.PROGRAM`).

The process receives a `SharedRun`, or None to only describe the cluster. It sends a problem, if
any, and a description of the cluster. Then it sends the problem of each actor, and None at the
end. The next message to the process stops the actors. One more message, or the end of the parent
process, ends this process, and Ray ends its actors.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import threading
import time
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.app.ask import ask_open_units
from harness.app.run import start
from harness.errors import HarnessError
from harness.extras.cluster.database import StoreAway
from harness.judging.running.recorder import NoObserver
from harness.judging.running.stopping import StopRequests

if TYPE_CHECKING:
    from harness.extras.cluster.ray_launcher import SharedRun
    from harness.runs.run_folder import RunFolder

STORE_AGAIN_S = 1.0
VERSION = version("judge-harness")


class RunProcess:
    """Actor that works like one ``harness run`` process and puts its replies into the store.

    Ray restarts it if it dies.
    """

    def __init__(self) -> None:
        self._stop = StopRequests()

    def run(self, installed: str, pickled: bytes) -> str:
        """Send the requests that no other process sends. Return any problem, or ""."""
        if installed != VERSION:
            return f"the cluster has judge-harness {VERSION}, but this machine has {installed}"
        run: SharedRun = pickle.loads(pickled)  # noqa: S301 -- of the run that started it
        with TemporaryDirectory() as name:
            try:
                folder = start(run.plan, Path(name))
                while not self._has_asked(run, folder):
                    time.sleep(STORE_AGAIN_S)
            except HarnessError as error:
                return str(error)
        return ""

    def stop(self) -> None:
        """Stop sending requests, and let calls in flight end."""
        self._stop.request()

    def _has_asked(self, run: SharedRun, folder: RunFolder) -> bool:
        """Send open requests, and return whether the database could be reached."""
        try:
            ask_open_units(
                run.plan,
                folder,
                run.open_store(),
                observer=NoObserver(),
                stop=self._stop,
            )
        except StoreAway:
            if self._stop.signals:
                raise
            return False
        return True


def main() -> None:
    """Connect to the cluster, start actors, and report how the actors ended."""
    connection, folder = Connection(int(sys.argv[1])), Path(sys.argv[2])
    run: SharedRun | None = connection.recv()
    actors: list[Any] = []
    threading.Thread(target=_obey, args=(connection, folder, actors), daemon=True).start()
    try:
        ray = connect(sys.argv[3] or None, folder / "ray")
    except Exception as error:  # noqa: BLE001 -- Ray raises many kinds
        connection.send((str(error).strip().partition("\n")[0] or repr(error), ""))
        sys.exit(1)
    n_cpus = int(ray.cluster_resources().get("CPU", 1))
    n_nodes = sum(node["Alive"] for node in ray.nodes())
    text = f"Ray {ray.__version__}, {n_cpus} processors on {n_nodes} nodes"
    running = []
    if run is not None:
        n = max(1, min(n_cpus, sum(len(job.items) for job in run.plan.jobs)))
        options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": -1, "max_concurrency": 2}
        actors += [ray.remote(RunProcess).options(**options).remote() for _ in range(n)]
        pickled = ray.put(pickle.dumps(run))
        running = [actor.run.remote(VERSION, pickled) for actor in actors]
        text += f": {n} processes of this run were started"
    connection.send(("", text))
    while running:
        [ended], running = ray.wait(running)
        connection.send(ray.get(ended))
    ray.shutdown()
    connection.send(None)


def connect(address: str | None, folder: Path) -> Any:  # noqa: ANN401 -- Ray is untyped here
    """Connect to a cluster, or start one with its files in a folder. Return the module ``ray``."""
    import ray  # noqa: PLC0415 -- an extra, and heavy

    own = {"include_dashboard": False, "object_store_memory": 200 << 20, "_temp_dir": str(folder)}
    ray.init(address or "local", log_to_driver=False, **({} if address else own))
    return ray


def _obey(connection: Connection, folder: Path, actors: list[Any]) -> None:
    """Stop the actors after a first message. Exit after a second, or if the parent ends."""
    try:
        connection.recv()
        for actor in actors:
            actor.stop.remote()
        connection.recv()
    except (EOFError, OSError):
        shutil.rmtree(folder, ignore_errors=True)  # the parent process may have been killed
    os._exit(1)
