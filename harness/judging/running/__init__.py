"""Running judges: executor, rate limit, budget, batches."""
