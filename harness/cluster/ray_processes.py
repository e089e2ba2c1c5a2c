"""Process that connects to a Ray cluster: describes it, or starts processes of a run as actors.

It runs beside the one that the user started, since Ray ends the process that has lost its cluster.

    python -c "from harness.cluster.ray_processes import main; main()" FOLDER [ADDRESS]

In the folder, which nobody else can enter, lies what the actors ask; without it the cluster is
described. Each line that is printed is a JSON object. A line on stdin stops the actors; the end of
stdin ends this process, and Ray the actors with it.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import platform
import sys
import threading
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.app import start
from harness.cluster.database import StoreAway
from harness.errors import HarnessError
from harness.judging.running.recorder import NoObserver
from harness.open_units import ask_open_units, shared_store
from harness.stopping import StopRequests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.cluster.ray_launcher import Description
    from harness.judging.storage.reply_store import Store

DESCRIPTION = "description"
OBJECT_STORE_BYTES = 200 << 20
LOOK_S = 0.5
STORE_AGAIN_S = 1.0


class RunProcess:
    """Actor: one process of a run, as ``harness run`` would be; it leaves its replies in the store.

    Ray starts it again where it died.
    """

    def __init__(self) -> None:
        self._stop = StopRequests()

    def run(self, description: Description) -> tuple[int, str]:
        """Ask what no other process asks; return the exit code, and what was wrong."""
        plan = description.plan
        with TemporaryDirectory() as folder:
            try:
                run = start(plan, Path(folder))
                store = self._open_store(description)
                asked = ask_open_units(
                    plan,
                    run,
                    store,
                    observer=NoObserver(),
                    retry=description.retry,
                    stop=self._stop,
                )
            except HarnessError as error:
                return 2, str(error)
        return int(asked.exit_code), ""

    def stop(self) -> None:
        """Send nothing more; calls in flight end."""
        self._stop.request()

    def _open_store(self, description: Description) -> Store:
        """Open the store; wait while the database is away."""
        while True:
            try:
                return shared_store(
                    description.store,
                    description.plan,
                    description.run_id,
                    NoObserver(),
                    budget=description.budget,
                    folder=description.folder,
                    is_started=True,
                )
            except StoreAway:
                if self._stop.signals:
                    raise
                time.sleep(STORE_AGAIN_S)


def main() -> None:
    """Connect, say so, and do what the folder asks for."""
    folder, address = Path(sys.argv[1]), (*sys.argv[2:], None)[0]
    _keep_stdout()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        ray = connect(address, folder / "ray")
    except Exception as error:  # noqa: BLE001 -- Ray raises many kinds
        _print({"error": str(error).strip().partition("\n")[0]})
        sys.exit(1)
    _print({"connected": True})
    description = folder / DESCRIPTION
    if description.exists():
        content = description.read_bytes()
        _follow(ray, pickle.loads(content))  # noqa: S301 -- nobody else can write there
    else:
        _print(_describe(ray))
    ray.shutdown()


def connect(address: str | None, folder: Path) -> Any:  # noqa: ANN401 -- Ray is untyped here
    """Connect to a cluster, or start one whose files lie in a folder; return the module ``ray``."""
    import ray  # noqa: PLC0415 -- an extra, and heavy

    logging.getLogger("ray").setLevel(logging.ERROR)
    own = {
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE_BYTES,
        "_temp_dir": str(folder),
    }
    ray.init(
        address=address or "local",
        logging_level="ERROR",
        log_to_driver=False,
        configure_logging=False,
        **({} if address else own),
    )
    return ray


def _follow(ray: Any, description: Description) -> None:  # noqa: ANN401 -- Ray is untyped here
    """Start a process of the run per processor, and say how each ended."""
    n_cpus = int(ray.cluster_resources().get("CPU", 1))
    n = max(1, min(n_cpus, sum(len(job.items) for job in description.plan.jobs)))
    options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": -1, "max_concurrency": 2}
    actors = [ray.remote(RunProcess).options(**options).remote() for _ in range(n)]
    content = ray.put(description)
    running = [actor.run.remote(content) for actor in actors]
    _print({"processes": n})
    is_stopping = False
    while running:
        done, running = ray.wait(running, timeout=LOOK_S)
        for ended in done:
            code, problem = ray.get(ended)
            _print({"ended": code, "problem": problem})
        if STOPPED.is_set() and not is_stopping:
            is_stopping = True
            for actor in actors:
                actor.stop.remote()


def _describe(ray: Any) -> dict[str, str]:  # noqa: ANN401 -- Ray is untyped here
    """Return what a cluster consists of, and which of its nodes have another version installed."""
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    look = ray.remote(num_cpus=0)(_versions)
    on_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    there = [look.options(scheduling_strategy=on_node(n, soft=False)).remote() for n in nodes]
    others = Counter(found for found in ray.get(there) if found != _versions())
    n_cpus = int(ray.cluster_resources().get("CPU", 0))
    return {
        "text": f"Ray {ray.__version__}, {n_cpus} processors on {len(nodes)} nodes",
        "others": "; ".join(f"{n} nodes have {found}" for found, n in others.items()),
    }


def _versions() -> str:
    return f"judge-harness {version('judge-harness')}, Python {platform.python_version()}"


LINES = 1  # where the lines of this process go: its stdout
STOPPED = threading.Event()


def _end_with_parent() -> None:
    """Stop at a line, and end at the end of stdin."""
    while sys.stdin.readline():
        STOPPED.set()
    os._exit(1)


def _keep_stdout() -> None:
    """Let what Ray prints, as of workers that died, go to stderr: stdout is for `_print` alone."""
    global LINES  # noqa: PLW0603 -- one per process
    LINES = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def _print(entry: Mapping[str, object]) -> None:
    os.write(LINES, (json.dumps(entry) + "\n").encode())
