"""Races that run only judges that may still be best, until the answer is known."""
