"""Starts processes of a run on a Ray cluster and follows them.

Placement, restarts and logs are Ray's; what was paid for is guarded by the shared store alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from harness.cluster.ray_cluster import (
    FOLDER,
    FOLDERS,
    cluster_address,
    remove_abandoned,
    settings,
)
from harness.errors import RunError
from harness.files import write_file

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Callable

    from harness.command_options import Place
    from harness.json_values import JsonObject
    from harness.judging.running.recorder import Observer
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.storage.reply_store import Store
    from harness.run_plans import Plan
    from harness.runs import RunFolder
    from harness.stopping import StopRequests

CONNECT_S = 15.0
START_S = 60.0  # of a cluster on this machine
DESCRIBE_S = 15.0
LOOK_S = 1.0
END_S = 10.0  # after the second interrupt


@dataclass(frozen=True, slots=True)
class Description:
    """What processes on a cluster ask, and where: keys are named, never sent."""

    plan: Plan
    run_id: str
    folder: str
    store: str
    budget: str
    retry: RetryPolicy | None


class RayEnded(RunError):  # noqa: N818 -- a state of the cluster
    """The process that is connected to a cluster has ended before its time."""


def launcher(
    plan: Plan, folder: RunFolder, place: Place, retry: RetryPolicy | None
) -> Callable[[Store, Observer, StopRequests], str]:
    """Return what starts processes of a run on a cluster and follows them to their end.

    Raises
    ------
    RunError
        If the address of the cluster cannot be used; nothing was started.
    """
    address = cluster_address(place.executor)
    description = Description(
        plan=replace(plan, folder=None),
        run_id=folder.manifest.run_id,
        folder=folder.path.name,
        store=str(place.store),
        budget=place.budget_name,
        retry=retry,
    )

    def follow(store: Store, observer: Observer, stop: StopRequests) -> str:
        return asyncio.run(_follow(address, description, store, observer, stop))

    return follow


def describe_cluster(executor: str) -> tuple[str, str]:
    """Return what a cluster consists of, and which of its nodes have another version installed.

    Raises
    ------
    RunError
        If it cannot be reached or started.
    """
    return asyncio.run(_describe(cluster_address(executor)))


async def _describe(address: str | None) -> tuple[str, str]:
    async with connected(address, None) as process:
        try:
            async with asyncio.timeout(DESCRIBE_S):
                entry = await _next(process)
        except (TimeoutError, RayEnded):
            raise RunError(f"--executor: no reply from Ray {_name(address)}.") from None
    return str(entry["text"]), str(entry["others"])


async def _follow(
    address: str | None,
    description: Description,
    store: Store,
    observer: Observer,
    stop: StopRequests,
) -> str:
    """Follow processes on a cluster; return why they ended before their time, else ""."""
    problems: dict[str, None] = {}
    async with connected(address, description) as process:
        with stop.handled_by(lambda: _stop(process, len(stop.signals))):
            n_left = (await _next(process))["processes"]
            observer.say(f"{n_left} processes of this run were started on Ray {_name(address)}")
            reading = asyncio.ensure_future(_next(process))
            while n_left:
                await asyncio.wait({reading}, timeout=LOOK_S)
                if progress := store.shared_progress():
                    observer.progressed(progress)
                if not reading.done():
                    continue
                try:
                    entry = reading.result()
                except RayEnded:
                    return "" if stop.signals else f"Ray {_name(address)} has ended"
                n_left -= 1
                if entry["problem"]:
                    problems[entry["problem"]] = None
                reading = asyncio.ensure_future(_next(process))
            reading.cancel()
    return f"a process on Ray {_name(address)}: {next(iter(problems))}" if problems else ""


def _stop(process: Process, n_requests: int) -> None:
    """Let calls in flight end; at the second request, end at once."""
    with suppress(OSError):
        if n_requests == 1 and process.stdin is not None:
            process.stdin.write(b"stop\n")
        else:
            process.kill()


@asynccontextmanager
async def connected(address: str | None, description: Description | None) -> AsyncIterator[Process]:
    """Run `ray_processes` in a folder that nobody else can enter, once it is connected.

    Raises
    ------
    RunError
        If the cluster cannot be reached or started.
    """
    remove_abandoned(FOLDERS)
    with TemporaryDirectory(prefix=f"{FOLDER}-{os.getpid()}-", dir=FOLDERS) as name:
        folder = Path(name)
        if description is not None:
            write_file(folder / "description", pickle.dumps(description))
        arguments = [name, *([address] if address else [])]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from harness.cluster.ray_processes import main; main()",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=settings(address),
            start_new_session=True,  # an interrupt from the terminal goes to this process alone
        )
        try:
            await _wait_for_connection(process, address)
            yield process
        finally:
            await _end(process)


async def _wait_for_connection(process: Process, address: str | None) -> None:
    seconds = CONNECT_S if address else START_S
    try:
        async with asyncio.timeout(seconds):
            entry = await _next(process)
    except TimeoutError:
        reason = f"no reply within {seconds:g} s"
    except RayEnded:
        reason = "it ended"
    else:
        if "error" not in entry:
            return
        reason = entry["error"]
    raise RunError(f"--executor: no Ray cluster {_name(address)} ({reason}).")


async def _next(process: Process) -> JsonObject:
    """Return the next line that the process prints."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise RayEnded("Ray has ended")
    entry: JsonObject = json.loads(line)
    return entry


async def _end(process: Process) -> None:
    """End the process, whose end ends its actors, and a cluster that it has started."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _name(address: str | None) -> str:
    return f"at {address}" if address else "on this machine"
