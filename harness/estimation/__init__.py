"""Estimates of means over unlabelled items, from a judge's answers."""
