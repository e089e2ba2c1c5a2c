"""Metrics and comparisons of judges on continuous and text scales."""
