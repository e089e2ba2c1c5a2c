"""Verdicts of judges in files of other tools, written as a file that `harness validate` takes."""

from harness.curation.verdict_sources.verdict_entries import Selection
from harness.curation.verdict_sources.verdict_import import (
    JudgeCounts,
    RejectedVerdict,
    VerdictSummary,
    import_verdicts,
)

__all__ = ["JudgeCounts", "RejectedVerdict", "Selection", "VerdictSummary", "import_verdicts"]
