"""Agreement metrics and their registry."""
