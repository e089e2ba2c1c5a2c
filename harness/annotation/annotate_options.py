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
            "The question: one option, all reasonable options, or first the set and then a choice "
            "from it."
        ),
        flag="--elicitation",
    )
    queue: Path | None = option(
        None,
        "Table of items to rate, with the column item and, optionally, elicitation and raters.",
    )
    checks: Path | None = option(
        None, "Table of attention checks, with the columns id, answer and the fields shown."
    )
    port: int = option(0, "Port on 127.0.0.1, or 0 for any free port.", ge=0, le=65535)


class CollectedRaters(Options):
    """Options that select raters."""

    only_rater: str | None = option(None, "Only include ratings from this rater.", flag="--rater")
    without: Repeated = option((), "A rater to leave out. Repeatable.")


class MergeOptions(CollectedRaters):
    """Options that select the ratings to add to a task."""

    outdated: bool = option(
        False, "Also add ratings made before an item's text or options changed."
    )
