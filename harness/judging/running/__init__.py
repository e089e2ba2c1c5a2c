"""Running of judges: executor, rate limit, budget and batches."""
