"""Import, audit, collect and version ratings, and import other tools' verdicts."""
