"""Estimates of means over items that nobody rated, from a judge's answers."""
