"""Verdicts of judges in files of other tools, written as a file that `harness validate` takes."""

from harness.curation.verdicts.verdict_entries import Selection
from harness.curation.verdicts.verdict_import import VerdictSummary, import_verdicts

__all__ = ["Selection", "VerdictSummary", "import_verdicts"]
