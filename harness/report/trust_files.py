"""Write tables of accepted verdicts, and of items that a person must rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.files.tables.writer import csv_text

if TYPE_CHECKING:
    from harness.analysis.verdict_trust import VerdictTrust

COLUMNS = ("item", "judge", "value", "confidence", "accepted", "error")
QUEUE = ("item", "elicitation")
FORMS = {"majority": "forced_choice", "rater": "forced_choice", "set": "response_set"}


def accepted_csv(result: VerdictTrust) -> str:
    """Return a CSV row for each verdict. `harness validate --verdicts` can read this format."""
    rows = [
        {
            "item": verdict.item,
            "judge": result.judge,
            "value": verdict.value or "",
            "confidence": "" if verdict.confidence is None else f"{verdict.confidence:.6g}",
            "accepted": "true" if verdict.accepted else "false",
            "error": "" if verdict.error is None else f"{verdict.error:.6g}",
        }
        for verdict in result.verdicts
    ]
    return csv_text(rows, COLUMNS)


def queue_csv(result: VerdictTrust) -> str:
    """Return the items to rate as CSV for ``harness annotate --queue``, least confident first."""
    form = FORMS[result.error_kind]
    return csv_text([{"item": item, "elicitation": form} for item in result.rest], QUEUE)
