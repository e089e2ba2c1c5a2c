"""Asking judges: executor, rate limit, budget, batches."""
