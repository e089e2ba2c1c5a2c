"""Options of a search for a better way of asking a judge."""

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
    """How long a search for a better way of asking goes on."""

    rounds: int = option(3, "Rounds of candidates, each against the best so far.", ge=1, le=20)
    candidates: int = option(4, "Other ways of asking in a round, at most.", ge=1, le=20)
    writer: str | None = option(
        None,
        "A model that writes other instructions and descriptions of the options, from the second "
        "round on: an alias or a litellm model. It is shown development items.",
    )


class SearchedHoldout(Holdout):
    """Which items are kept for the end of a search."""

    holdout: float | None = option(
        None,
        "Share of the items to hold out until the end of the search, if none is held out yet; 0.3 "
        "by default.",
        metavar="SHARE",
        gt=0,
        lt=1,
    )


class SearchedDifference(Within):
    """The difference that doesn't matter in a search."""

    within: float | None = option(
        None,
        f"Largest difference in mean disagreement with raters to ignore; {WITHIN} by default.",
        rare=True,
        ge=0,
        lt=1,
        allow_inf_nan=False,
    )


class SearchSettings(Limit, SearchedHoldout, Seed, Criterion, SearchedDifference):
    """What a search asks about, and what that may cost."""


class SearchPlace(Out, Cache):
    """Where a search keeps replies and runs."""
