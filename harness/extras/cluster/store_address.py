"""Parser for a shared store's address and connection parameters."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from harness.errors import RunError
from harness.loading import variables_set

SCHEMES = ("postgresql://", "postgres://")
VARIABLE = "HARNESS_STORE"  # the whole address, including the password
SECRETS = ("password", "sslpassword", "oauth_client_secret")
VERIFIED = "verify-full"


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Address of a shared store. Its name is shown, but libpq parameters may contain a password."""

    name: str
    parameters: dict[str, str] = field(repr=False)

    def hide(self, message: str) -> str:
        """Return the first line of a libpq message, without the password."""
        line = message.strip().partition("\n")[0]
        for name in SECRETS:
            if secret := self.parameters.get(name):
                line = line.replace(secret, "***")
        return line


def store_address(text: str) -> StoreAddress:
    """Parse and complete the address given with ``--store``.

    Missing parts come from libpq's environment variables, service file and password file. If the
    address is just ``postgresql://``, all of it comes from $HARNESS_STORE.

    Raises
    ------
    RunError
        If the address is invalid, contains a password, or would connect to a different machine
        without checking its certificate.
    """
    if not text.startswith(SCHEMES):
        raise RunError(
            "--store: not an address of PostgreSQL. Write postgresql://HOST:PORT/DATABASE, or "
            f"postgresql:// with the whole address in ${VARIABLE}."
        )
    explicit = _parsed(text, "--store")
    if any(name in explicit for name in SECRETS):
        raise RunError(
            "--store: the address contains a password, which other users of this machine can "
            "read. Leave out the password and set PGPASSWORD, ~/.pgpass, a service file or "
            f"${VARIABLE}."
        )
    if text in SCHEMES and VARIABLE in os.environ:
        explicit = _parsed(os.environ[VARIABLE], f"${VARIABLE}")
    service = explicit.get("service", os.environ.get("PGSERVICE", ""))
    with variables_set(**({"PGSERVICE": service} if service else {})):
        effective = _defaults() | explicit
    if not _is_local(effective):
        mode = effective.get("sslmode", "prefer")
        if mode not in {"prefer", VERIFIED}:  # the first is libpq's default
            raise RunError(
                f"--store: sslmode={mode} doesn't check the server's identity. Outside this "
                f"machine, use {VERIFIED}, with sslrootcert if the system doesn't know the "
                "certificate."
            )
        explicit["sslmode"] = VERIFIED
    name = f"{effective.get('host') or 'local socket'}:{effective.get('port', '5432')}"
    return StoreAddress(f"{name}/{effective.get('dbname', '')}", explicit)


def _parsed(text: str, source: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except ProgrammingError:  # the message may repeat a password
        raise RunError(
            f"{source}: cannot be read. Write postgresql://HOST:PORT/DATABASE."
        ) from None


def _defaults() -> dict[str, str]:
    """Return the connection parameters set in the environment and the service file."""
    try:
        options = Conninfo.get_defaults()
    except Exception:  # noqa: BLE001 -- psycopg has no narrower error for a bad service file
        raise RunError("--store: the service file cannot be read or lacks the service.") from None
    return {
        option.keyword.decode(): option.val.decode("utf-8", "replace")
        for option in options
        if option.val is not None
    }


def _is_local(parameters: dict[str, str]) -> bool:
    """Return whether all hosts are this machine, judged by address or, if missing, by name."""
    hosts = (parameters.get("hostaddr") or parameters.get("host") or "/").split(",")
    return all(map(_is_loopback, hosts))


def _is_loopback(host: str) -> bool:
    if not host or host[0] in "/@" or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
