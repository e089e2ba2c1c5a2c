"""Addresses of Ray clusters, and folders and settings for a cluster on this machine."""

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

FORCE = "HARNESS_RAY_PUBLIC"  # if 1, permits a public address
SETTINGS = {  # Ray's settings, unless the user has set them
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "15",  # not 60, while out of reach
}
LOOPBACK = {  # Ray's setting to keep all servers on loopback, its default only on these systems
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
FOLDER = "harness-ray"
FOLDERS = Path("/tmp")  # noqa: S108 -- sockets need short paths; a fresh folder is made there


def settings(address: str | None) -> dict[str, str]:
    """Return the environment of a process that connects to a cluster or starts one."""
    fresh = LOOPBACK | {"RAY_AUTH_TOKEN": secrets.token_hex()}
    return SETTINGS | ({} if address else fresh) | os.environ


def cluster_address(executor: str) -> str | None:
    """Return the address of a Ray cluster, or None for a new cluster on this machine.

    Parameters
    ----------
    executor : str
        ``ray`` for the cluster in $RAY_ADDRESS or, if that is empty, one on this machine.
        ``ray://HOST:PORT`` for a Ray client server.

    Raises
    ------
    RunError
        If the executor is unknown, or the address is public.
    """
    if executor != "ray" and not executor.startswith("ray://"):
        raise RunError("--executor: write local, ray, or a cluster's address, ray://HOST:PORT.")
    address = os.environ.get("RAY_ADDRESS") if executor == "ray" else executor
    if not address or address in {"auto", "local"}:
        return address if address == "auto" else None
    _check_private(address)
    return address


def require_ray() -> None:
    """Check that Ray and the packages for the shared store are installed.

    Raises
    ------
    RunError
        If they are not.
    """
    if find_spec("ray") is None or find_spec("psycopg") is None:
        raise RunError("--executor ray needs Ray", "Install it: pip install 'judge-harness[ray]'")


def _check_private(address: str) -> None:
    """Reject a public address, because others could run programs on the cluster."""
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
            f"--executor: {public[0]} is a public address, and anyone who can reach a Ray "
            f"cluster can run programs on it. Use a private address, or set {FORCE}=1 if its "
            "network is closed."
        )


def _resolve(host: str) -> list[IPv4Address | IPv6Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        return [ip_address(str(entry[4][0])) for entry in socket.getaddrinfo(host, None)]
