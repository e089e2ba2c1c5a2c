"""Lease of the process that started a run, as its workers on a cluster see it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Connection

DRIVER_S = 3.5  # nothing is sent when the driver did not renew its lease for so long
LOOK_EVERY_S = 0.5
AGE = (
    "SELECT %s + extract(epoch FROM clock_timestamp() - expires)::float8 "
    "FROM harness_worker WHERE worker = %s"
)


class DriverLease:
    """Looks regularly when the driver of a run last renewed its lease.

    Parameters
    ----------
    driver : str
        Id of its lease.
    lease_s : float
        How long the lease lasts after it was renewed.
    """

    def __init__(self, driver: str, lease_s: float) -> None:
        self._driver = driver
        self._lease_s = lease_s
        self._looked_s = float("-inf")
        self._renewed_s = float("-inf")

    @property
    def is_fresh(self) -> bool:
        """Whether the driver renewed its lease just now."""
        return time.monotonic() - self._renewed_s < DRIVER_S

    def look(self, connection: Connection) -> None:
        """Look, unless that was done just now; for the thread of this process's own lease."""
        now = time.monotonic()
        if now - self._looked_s < LOOK_EVERY_S:
            return
        row = connection.execute(AGE, (self._lease_s, self._driver)).fetchone()
        self._looked_s = now
        if row is not None:
            self._renewed_s = now - row[0]

    def __repr__(self) -> str:
        return f"DriverLease({'fresh' if self.is_fresh else 'not renewed'})"
