"""Import of other tools' verdicts into a file for `harness validate`."""

from harness.curation.verdicts.verdict_entries import Selection
from harness.curation.verdicts.verdict_import import VerdictSummary, import_verdicts

__all__ = ["Selection", "VerdictSummary", "import_verdicts"]
