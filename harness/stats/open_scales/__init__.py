"""Metrics and comparisons of judges whose answers are not chosen among options."""
