"""Robustness probes: verdicts on perturbed items."""
