"""Means over a population that a judge rated and people rated a part of."""
