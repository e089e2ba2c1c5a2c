"""Data sets of ratings: importing, auditing, collecting, versions, and verdicts made elsewhere."""
