"""Data sets of ratings: importing, auditing, collecting, versions, verdicts of other tools."""
