"""Races of judges: those that can no longer be the best are not asked on; imported when used."""

from harness.racing.race_options import race_options
from harness.racing.race_outcome import raced_source
from harness.racing.race_pool import pool_of
from harness.racing.race_rounds import rounds

__all__ = ["pool_of", "race_options", "raced_source", "rounds"]
