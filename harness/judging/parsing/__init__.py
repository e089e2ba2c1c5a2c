"""Parsers that convert replies to verdicts."""
