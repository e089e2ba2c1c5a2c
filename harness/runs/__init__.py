"""Runs: folders, ledger, and where verdicts come from."""
