"""Racing judges: running only those that may still be best, until the answer is known."""
