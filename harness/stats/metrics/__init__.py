"""Agreement metrics and the registry of them."""
