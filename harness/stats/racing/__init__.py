"""Races, which only keep running judges that could still be the best."""
