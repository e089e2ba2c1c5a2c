"""Connects to a Ray cluster, or starts one that listens on this machine's loopback alone."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
import shutil
import socket
from collections import Counter
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.errors import RunError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from ipaddress import IPv4Address, IPv6Address

INSTALL = "pip install 'judge-harness[ray]'"
FORCE = "HARNESS_RAY_PUBLIC"  # set to 1, permits an address that anybody can reach
ADDRESS = "RAY_ADDRESS"  # of a cluster, as Ray's own tools read it
SETTINGS = {  # of Ray; those that the user has set are kept
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
LOOPBACK = {  # Ray's setting that keeps all servers on loopback; by default for these systems only
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
FOLDER = "harness-ray"
FOLDERS = Path("/tmp")  # noqa: S108 -- sockets need short paths; a fresh folder is made there
OBJECT_STORE_BYTES = 200 << 20
QUIET: dict[str, Any] = {
    "logging_level": "ERROR",
    "log_to_driver": False,
    "configure_logging": False,
}


def cluster_address(executor: str) -> str | None:
    """Return the address of a Ray cluster; None for one that is started on this machine.

    Parameters
    ----------
    executor : str
        ``ray`` for the cluster in $RAY_ADDRESS, else for one on this machine; or
        ``ray://HOST:PORT`` of a Ray client server.

    Raises
    ------
    RunError
        If it is another executor, Ray is not installed, or the address is a public one.
    """
    if executor != "ray" and not executor.startswith("ray://"):
        raise RunError("--executor: write local, ray, or ray://HOST:PORT of a cluster.")
    if find_spec("ray") is None or find_spec("psycopg") is None:
        raise RunError("--executor ray needs Ray", f"install it: {INSTALL}")
    address = os.environ.get(ADDRESS) if executor == "ray" else executor
    if not address or address in {"auto", "local"}:
        return address if address == "auto" else None
    _check_private(address)
    return address


def _check_private(address: str) -> None:
    """Refuse an address that others can reach: they could run programs on the cluster."""
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname
        addresses = _resolve(host) if host else []
    except (ValueError, OSError):
        addresses = []
    if not addresses:
        raise RunError(f"--executor: {address} cannot be resolved; write ray://HOST:PORT.")
    public = [str(address) for address in addresses if address.is_global]
    if public and os.environ.get(FORCE) != "1":
        raise RunError(
            f"--executor: {public[0]} is a public address, and whoever reaches a Ray cluster may "
            f"run programs on it; use a private one, or set {FORCE}=1 if its network is closed."
        )


def _resolve(host: str) -> list[IPv4Address | IPv6Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        return [ip_address(str(entry[4][0])) for entry in socket.getaddrinfo(host, None)]


@asynccontextmanager
async def connected(address: str | None) -> AsyncIterator[Any]:
    """Connect to a cluster, or start one for the time of the block; yield the module ``ray``.

    Raises
    ------
    RunError
        If the cluster cannot be reached or started.
    """
    for name, value in (SETTINGS | ({} if address else LOOPBACK)).items():
        os.environ.setdefault(name, value)
    remove_abandoned(FOLDERS)
    with TemporaryDirectory(prefix=f"{FOLDER}-{os.getpid()}-", dir=FOLDERS) as folder:
        ray = await asyncio.to_thread(_connect, address, folder)
        try:
            yield ray
        finally:
            await asyncio.to_thread(ray.shutdown)


def remove_abandoned(parent: Path) -> None:
    """Remove folders of clusters whose process was killed before it could."""
    for folder in parent.glob(f"{FOLDER}-*-*"):
        process = folder.name.removeprefix(f"{FOLDER}-").partition("-")[0]
        if process.isdecimal() and not _is_running(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def _connect(address: str | None, folder: str) -> Any:  # noqa: ANN401 -- Ray is untyped here
    if address is None:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())
    import ray  # noqa: PLC0415 -- an extra, and heavy

    logging.getLogger("ray").setLevel(logging.ERROR)
    own = {
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE_BYTES,
        "_temp_dir": folder,
    }
    try:
        ray.init(address=address or "local", **QUIET, **({} if address else own))
    except Exception as error:  # noqa: BLE001 -- Ray raises many kinds
        where = address or "on this machine"
        reason = str(error).strip().partition("\n")[0]
        raise RunError(f"--executor: no Ray cluster {where} ({reason}).") from None
    return ray


def describe_cluster(executor: str) -> tuple[str, str]:
    """Return what a cluster consists of, and which of its nodes have another version installed.

    Raises
    ------
    RunError
        If it cannot be reached or started.
    """
    return asyncio.run(_describe(cluster_address(executor)))


async def _describe(address: str | None) -> tuple[str, str]:
    async with connected(address) as ray:
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        look = ray.remote(num_cpus=0)(_versions)
        on_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        versions = await asyncio.gather(
            *(
                look.options(scheduling_strategy=on_node(node, soft=False)).remote()
                for node in nodes
            )
        )
        n_cpus = int(ray.cluster_resources().get("CPU", 0))
        text = f"Ray {ray.__version__}, {n_cpus} processors on {len(nodes)} nodes"
    others = Counter(found for found in versions if found != _versions())
    return text, "; ".join(f"{n} nodes have {found}" for found, n in others.items())


def _versions() -> str:
    return f"judge-harness {version('judge-harness')}, Python {platform.python_version()}"
