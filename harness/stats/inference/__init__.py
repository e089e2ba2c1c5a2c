"""Metrics, estimates, the engine of resamples, intervals and multiple testing."""
