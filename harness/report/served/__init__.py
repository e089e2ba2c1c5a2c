"""Pages for use on this computer only: the list of runs, and two runs side by side."""
