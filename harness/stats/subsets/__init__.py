"""Strata, abstention and selective prediction."""
