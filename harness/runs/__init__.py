"""Run folders, the ledger of tried judges, and the sources of verdicts."""
