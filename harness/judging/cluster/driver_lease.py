"""Lease of the process that started a run, as its workers on a cluster see it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.judging.cluster.worker_lease import WorkerLease

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
    lease : WorkerLease
        Of this process, as long as that of the driver.
    """

    def __init__(self, driver: str, lease: WorkerLease) -> None:
        self._driver = driver
        self._lease = lease
        self._looked_s = float("-inf")
        self._renewed_s = float("-inf")
        lease.background.append(self._look)

    @property
    def is_fresh(self) -> bool:
        """Whether the driver renewed its lease just now."""
        return time.monotonic() - self._renewed_s < DRIVER_S

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked_s < LOOK_EVERY_S:
            return
        values = (self._lease.lease_s, self._driver)
        row = self._lease.exchange(lambda c: c.execute(AGE, values).fetchone())
        self._looked_s = now
        if row is not None:
            self._renewed_s = now - row[0]

    def __repr__(self) -> str:
        return f"DriverLease({'fresh' if self.is_fresh else 'not renewed'})"
