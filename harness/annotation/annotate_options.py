"""Options of `harness annotate`."""

from __future__ import annotations

from pathlib import Path

from harness.options.concerns import Elicitation
from harness.options.declaration import (
    ANNOTATE,
    ANNOTATE_EXPORT,
    ANNOTATE_MERGE,
    Options,
    Repeated,
    option,
)

ENDING = (ANNOTATE_EXPORT, ANNOTATE_MERGE)


class PageOptions(Options):
    """Who rates what, in which form, on a page at which port."""

    rater: str | None = option(
        None,
        "Name of the rater; with {export} or {merge}, take only this rater's ratings.",
        (ANNOTATE, *ENDING),
    )
    asked_form: Elicitation = option(
        "forced_choice",
        "One option, all reasonable options, or first the set and then the option.",
        (ANNOTATE,),
        flag="--elicitation",
    )
    queue: Path | None = option(
        None, "Table of what to rate: item and, optionally, elicitation and raters.", (ANNOTATE,)
    )
    checks: Path | None = option(
        None, "Table of attention checks: id, the fields shown, and answer.", (ANNOTATE,)
    )
    port: int = option(0, "Port on 127.0.0.1; 0 for any free port.", (ANNOTATE,), ge=0, le=65535)


class CollectedOptions(Options):
    """What becomes of the ratings made so far."""

    export: Path | None = option(
        None,
        "Write the ratings made so far as csv, jsonl or parquet, and end.",
        (ANNOTATE_EXPORT,),
    )
    merge: bool = option(
        False, "Add the ratings made so far to the task, and end.", (ANNOTATE_MERGE,)
    )
    without: Repeated = option(
        (), "With {export}, {merge}: a rater to leave out; repeatable.", ENDING
    )
    outdated: bool = option(
        False,
        "With {merge}: also add ratings of earlier versions of the item's text or options.",
        (ANNOTATE_MERGE,),
    )
