"""Pages that this computer serves to itself: the list of runs, and two runs side by side."""
