"""Judges that return a number per item instead of an option."""
