"""Options of a search for a better way to query a judge."""

from __future__ import annotations

from harness.options.concerns import (
    WITHIN,
    Cache,
    Criterion,
    Holdout,
    Limit,
    Out,
    Seed,
    Within,
)
from harness.options.declaration import Options, option


class Searching(Options):
    """Options for the length of a search."""

    rounds: int = option(
        3, "Number of rounds. Each compares candidates with the best so far.", ge=1, le=20
    )
    candidates: int = option(4, "Maximum number of candidates per round.", ge=1, le=20)
    writer: str | None = option(
        None,
        "Alias or litellm model that writes new instructions and option descriptions from the "
        "second round on. The writer sees development items.",
    )


class SearchedHoldout(Holdout):
    """Option to hold out items for the end of a search."""

    holdout: float | None = option(
        None,
        "Share of the items to hold out until the end of the search, if none are held out yet. "
        "Default: 0.3.",
        metavar="SHARE",
        gt=0,
        lt=1,
    )


class SearchedDifference(Within):
    """Option for the difference that does not matter in a search."""

    within: float | None = option(
        None,
        f"Largest difference in mean disagreement with raters to ignore. Default: {WITHIN}.",
        rare=True,
        ge=0,
        lt=1,
        allow_inf_nan=False,
    )


class SearchSettings(Limit, SearchedHoldout, Seed, Criterion, SearchedDifference):
    """Options for the items and the cost limit of a search."""


class SearchPlace(Out, Cache):
    """Options for where a search's replies and runs are stored."""
