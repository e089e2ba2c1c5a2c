"""Options: how they are declared, and as keyword arguments."""
