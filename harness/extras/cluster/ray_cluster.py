"""Addresses of Ray clusters, and the folders and settings of one that is started here."""

from __future__ import annotations

import os
import secrets
import socket
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.errors import RunError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

FORCE = "HARNESS_RAY_PUBLIC"  # set to 1, permits an address that anybody can reach
SETTINGS = {  # of Ray; those that the user has set are kept
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "15",  # from 60: how long a cluster may be away
}
LOOPBACK = {  # Ray's setting that keeps all servers on loopback; by default for these systems only
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
FOLDER = "harness-ray"
FOLDERS = Path("/tmp")  # noqa: S108 -- sockets need short paths; a fresh folder is made there


def settings(address: str | None) -> dict[str, str]:
    """Return the environment of a process that connects to a cluster, or that starts one."""
    fresh = LOOPBACK | {"RAY_AUTH_TOKEN": secrets.token_hex()}
    return SETTINGS | ({} if address else fresh) | os.environ


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
        If it is another executor, or the address is a public one.
    """
    if executor != "ray" and not executor.startswith("ray://"):
        raise RunError("--executor: write local, ray, or ray://HOST:PORT of a cluster.")
    address = os.environ.get("RAY_ADDRESS") if executor == "ray" else executor
    if not address or address in {"auto", "local"}:
        return address if address == "auto" else None
    _check_private(address)
    return address


def require_ray() -> None:
    """Check that Ray, and what talks to the shared store, are installed.

    Raises
    ------
    RunError
        If they aren't.
    """
    if find_spec("ray") is None or find_spec("psycopg") is None:
        raise RunError("--executor ray needs Ray", "Install it: pip install 'judge-harness[ray]'")


def _check_private(address: str) -> None:
    """Refuse an address that others can reach: they could run programs on the cluster."""
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname or ""
        hosts = _resolve(host)
    except (ValueError, OSError):
        raise RunError(
            f"--executor: {address} cannot be resolved. Write ray://HOST:PORT."
        ) from None
    public = [str(host) for host in hosts if host.is_global]
    if public and os.environ.get(FORCE) != "1":
        raise RunError(
            f"--executor: {public[0]} is a public address, and whoever reaches a Ray cluster may "
            f"run programs on it. Use a private one, or set {FORCE}=1 if its network is closed."
        )


def _resolve(host: str) -> list[IPv4Address | IPv6Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        return [ip_address(str(entry[4][0])) for entry in socket.getaddrinfo(host, None)]
