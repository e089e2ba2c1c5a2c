"""Importing, auditing, collecting and versioning ratings, and importing other tools' verdicts."""
