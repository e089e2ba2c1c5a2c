"""Sequential tests for drift of a judge."""
