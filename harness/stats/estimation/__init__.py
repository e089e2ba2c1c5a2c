"""Population means from a judge's verdicts on all items and human labels for some."""
