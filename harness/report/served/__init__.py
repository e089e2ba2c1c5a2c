"""Serve pages that only this computer can open: the list of runs, and two runs side by side."""
