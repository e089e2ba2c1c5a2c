"""Races of judges: those that can no longer be the best are not asked on; imported when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.extras.racing.race_options import race_options
from harness.extras.racing.race_outcome import raced_source
from harness.extras.racing.race_pool import pool_of
from harness.extras.racing.race_rounds import rounds

__all__ = ["pool_of", "race_options", "raced_source", "rounds"]

if TYPE_CHECKING:
    from harness.app.plan import RaceEdge
    from harness.extras import racing

    OFFERED: RaceEdge = racing
