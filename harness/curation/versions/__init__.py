"""Versions of a task: differences, exports and data cards."""
