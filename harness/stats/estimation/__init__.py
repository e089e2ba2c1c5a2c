"""Means over a population that a judge rated in full and people rated in part."""
