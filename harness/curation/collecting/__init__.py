"""What to have rated next."""
