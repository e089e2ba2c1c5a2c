"""Versions of a task: differences, export and the data card."""
