"""Starts processes of a run on a Ray cluster and follows them.

Placement, restarts and logs are Ray's; what was paid for is guarded by the shared store alone.
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
START_S = 60.0  # of a cluster on this machine
LOOK_S = 1.0
PROGRAM = "from harness.extras.cluster.ray_processes import main; main()"


class SharedRun(NamedTuple):
    """What processes on a cluster ask, and how each opens the store: keys are named, never sent."""

    plan: Plan
    open_store: Callable[[], Store]


def launcher(
    plan: Plan, folder: RunFolder, place: Place
) -> Callable[[Store, Observer, StopRequests], str]:
    """Return what starts processes of a run on a cluster and follows them to their end.

    Called, it returns why they ended before their time, else "".

    Raises
    ------
    RunError
        If the address of the cluster cannot be used, or Ray is not installed; nothing was started.
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
    """Return what a cluster consists of; one on this machine is started for that.

    Raises
    ------
    RunError
        If it cannot be reached or started.
    """
    address = cluster_address(executor)
    require_ray()
    with _connected(address, None) as (_, text):
        return text


async def _follow(
    connection: Connection, name: str, store: Store, observer: Observer, stop: StopRequests
) -> str:
    """Follow processes on a cluster; return why they ended before their time, else ""."""
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
    """Run `ray_processes`; yield the connection to it, and what it says of the cluster.

    Ray's files lie in a folder that nobody else can enter.
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
                start_new_session=True,  # an interrupt from the terminal goes to this process alone
            ) as process,
        ):
            other.close()
            try:
                problem, text = _first_message(connection, address, run)
                if problem:
                    raise RunError(f"--executor: no Ray cluster {_name(address)} ({problem}).")
                yield connection, text
            finally:
                process.kill()  # Ray ends its actors, and a cluster that it has started


def _first_message(
    connection: Connection, address: str | None, run: SharedRun | None
) -> tuple[str, str]:
    """Return what is wrong with a cluster, or what it consists of."""
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
