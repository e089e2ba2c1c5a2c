"""Verdicts that don't need a person's check, at a bounded error."""
