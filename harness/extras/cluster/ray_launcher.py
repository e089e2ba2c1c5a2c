"""Launcher that starts and monitors a run's processes on a Ray cluster.

Ray handles placement, restarts and logs. Only the shared store protects paid replies.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import Pipe
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from harness.app.ask import shared_store
from harness.errors import RunError
from harness.extras.cluster.ray_cluster import (
    FOLDER,
    FOLDERS,
    cluster_address,
    require_ray,
    settings,
)
from harness.judging.running.recorder import NoObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from harness.app.plan import Plan
    from harness.judging.running.recorder import Observer
    from harness.judging.running.stopping import StopRequests
    from harness.judging.storage.reply_store import Store
    from harness.options.concerns import Place
    from harness.runs.run_folder import RunFolder

CONNECT_S = 15.0
START_S = 60.0  # for a cluster on this machine
LOOK_S = 1.0
PROGRAM = "from harness.extras.cluster.ray_processes import main; main()"


class SharedRun(NamedTuple):
    """Plan for the processes on a cluster, and a function that opens the store.

    API keys are referred to by name and never sent.
    """

    plan: Plan
    open_store: Callable[[], Store]


def launcher(
    plan: Plan, folder: RunFolder, place: Place
) -> Callable[[Store, Observer, StopRequests], str]:
    """Return a function that starts a run's processes on a cluster and waits until they end.

    The function returns the reason if they ended early, or "".

    Raises
    ------
    RunError
        If the cluster's address cannot be used, or Ray is not installed. Nothing was started.
    """
    address = cluster_address(place.executor)
    require_ray()
    sent = replace(plan, folder=None)
    open_store = partial(
        shared_store,
        str(place.store),
        sent,
        folder.manifest.run_id,
        NoObserver(),
        budget=place.budget_name,
        folder=folder.path.name,
        is_started=True,
    )

    def follow(store: Store, observer: Observer, stop: StopRequests) -> str:
        with _connected(address, SharedRun(sent, open_store)) as (connection, text):
            observer.say(text)
            return asyncio.run(_follow(connection, _name(address), store, observer, stop))

    return follow


def describe_cluster(executor: str) -> str:
    """Describe the resources of a cluster. A cluster on this machine is started first.

    Raises
    ------
    RunError
        If the cluster cannot be reached or started.
    """
    address = cluster_address(executor)
    require_ray()
    with _connected(address, None) as (_, text):
        return text


async def _follow(
    connection: Connection, name: str, store: Store, observer: Observer, stop: StopRequests
) -> str:
    """Wait for processes on a cluster. Return why they ended early, or ""."""
    problems: list[str] = []

    def on_stop() -> None:
        with suppress(OSError):
            connection.send("stop")

    with stop.handled_by(on_stop):
        while True:
            has_message = await asyncio.to_thread(connection.poll, LOOK_S)
            if progress := store.shared_progress():
                observer.progressed(progress)
            try:
                problem = connection.recv() if has_message else ""
            except (EOFError, OSError):
                return "" if stop.signals else f"Ray {name} has ended"
            if problem is None:
                return f"a process on Ray {name}: {problems[0]}" if problems else ""
            problems += [problem] if problem else []


@contextmanager
def _connected(address: str | None, run: SharedRun | None) -> Iterator[tuple[Connection, str]]:
    """Run `ray_processes`, and yield the connection and the description of the cluster.

    Ray's files are in a folder that only this user can open.
    """
    prefix = f"{FOLDER}-{os.getpid()}-"
    with TemporaryDirectory(prefix=prefix, dir=FOLDERS, ignore_cleanup_errors=True) as folder:
        connection, other = Pipe()
        with (
            connection,
            subprocess.Popen(  # noqa: S603 -- this program
                [sys.executable, "-c", PROGRAM, str(other.fileno()), folder, address or ""],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=settings(address),
                pass_fds=(other.fileno(),),
                start_new_session=True,  # an interrupt from the terminal reaches only this process
            ) as process,
        ):
            other.close()
            try:
                problem, text = _first_message(connection, address, run)
                if problem:
                    raise RunError(f"--executor: no Ray cluster {_name(address)} ({problem}).")
                yield connection, text
            finally:
                process.kill()  # Ray ends its actors, and the cluster if Ray started it


def _first_message(
    connection: Connection, address: str | None, run: SharedRun | None
) -> tuple[str, str]:
    """Describe a cluster's resources or the problem with the cluster."""
    seconds = CONNECT_S if address else START_S
    try:
        connection.send(run)
        if connection.poll(seconds):
            problem, text = connection.recv()
            return problem, text
    except (EOFError, OSError):
        return "it ended", ""
    return f"no reply within {seconds:g} s", ""


def _name(address: str | None) -> str:
    return f"at {address}" if address else "on this machine"
