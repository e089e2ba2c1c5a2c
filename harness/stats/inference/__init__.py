"""Metrics, estimates, bootstrap, permutation and multiple testing."""
