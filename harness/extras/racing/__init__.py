"""Races of judges, which drop judges that can no longer be the best. Imported when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.extras.racing.compared_pair import compared_source
from harness.extras.racing.race_options import race_options
from harness.extras.racing.race_outcome import raced_source
from harness.extras.racing.race_pool import pool_of
from harness.extras.racing.race_rounds import rounds

__all__ = [
    "compared_source",
    "improve",
    "plan_first_round",
    "pool_of",
    "race_options",
    "raced_source",
    "rounds",
]

if TYPE_CHECKING:
    from harness.analysis.improvement import Improvement
    from harness.app.judge_search import JudgeSearch, SearchEdge, Watch
    from harness.app.plan import Plan, RaceEdge
    from harness.extras import racing
    from harness.judging.running.stopping import StopRequests

    OFFERED: RaceEdge = racing
    SEARCHES: SearchEdge = racing


def plan_first_round(search: JudgeSearch) -> Plan | None:
    """Plan the first round of a search. See `harness.extras.racing.search.plan_round`."""
    from harness.extras.racing import search as searching  # noqa: PLC0415 -- plans load this

    return searching.plan_first_round(search)


def improve(search: JudgeSearch, watch: Watch, stop: StopRequests | None = None) -> Improvement:
    """Search for a better way to query a judge. See `harness.extras.racing.search.improve`."""
    from harness.extras.racing import search as searching  # noqa: PLC0415 -- as above

    return searching.improve(search, watch, stop)
