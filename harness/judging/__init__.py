"""Asking judges: prompts, judges, parsing, running and storage."""
