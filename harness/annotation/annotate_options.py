"""Options of `harness annotate`."""

from __future__ import annotations

from pathlib import Path

from harness.options.concerns import Elicitation
from harness.options.declaration import Options, Repeated, option


class PageOptions(Options):
    """Options for the page: rater, form, questions and port."""

    rater: str = option(..., "Name of the rater.")
    asked_form: Elicitation = option(
        "forced_choice",
        (
            "What raters are asked: one option, all reasonable options, or first the set and "
            "then the option."
        ),
        flag="--elicitation",
    )
    queue: Path | None = option(
        None, "Table of what to rate: item and, optionally, elicitation and raters."
    )
    checks: Path | None = option(
        None, "Table of attention checks: id, the fields shown, and answer."
    )
    port: int = option(0, "Port on 127.0.0.1; 0 for any free port.", ge=0, le=65535)


class CollectedRaters(Options):
    """Options that select raters."""

    only_rater: str | None = option(None, "Only include ratings from this rater.", flag="--rater")
    without: Repeated = option((), "A rater to leave out. Repeatable.")


class MergeOptions(CollectedRaters):
    """Options that select the ratings to add to a task."""

    outdated: bool = option(
        False, "Also add ratings of earlier versions of the item's text or options."
    )
