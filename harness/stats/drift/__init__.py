"""Sequential tests for a judge's drift."""
