"""Statistics of judges: pure functions over arrays, needing numpy and scipy alone."""
