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
    """Length of a search for a better way of asking."""

    rounds: int = option(3, "Rounds of candidates, each against the best so far.", ge=1, le=20)
    candidates: int = option(4, "Maximum number of other ways of asking per round.", ge=1, le=20)
    writer: str | None = option(
        None,
        "A model that writes other instructions and descriptions of the options, from the "
        "second round on: an alias or a litellm model. The writer sees development items.",
    )


class SearchedHoldout(Holdout):
    """Items held out for the end of a search."""

    holdout: float | None = option(
        None,
        "Share of the items to hold out until the end of the search, if none are held out yet. "
        "Default: 0.3.",
        metavar="SHARE",
        gt=0,
        lt=1,
    )


class SearchedDifference(Within):
    """The difference that doesn't matter in a search."""

    within: float | None = option(
        None,
        f"Largest difference in mean disagreement with raters to ignore. Default: {WITHIN}.",
        rare=True,
        ge=0,
        lt=1,
        allow_inf_nan=False,
    )


class SearchSettings(Limit, SearchedHoldout, Seed, Criterion, SearchedDifference):
    """Items and cost limit of a search."""


class SearchPlace(Out, Cache):
    """Folders for a search's replies and runs."""
