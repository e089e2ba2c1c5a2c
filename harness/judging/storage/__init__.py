"""Response cache, request locks and verdict log."""
