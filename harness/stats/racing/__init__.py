"""Races, which only run judges that can still be the best, until the best one is known."""
