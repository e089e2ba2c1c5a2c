"""Metrics, estimates, the resampling engine, intervals and multiple testing."""
