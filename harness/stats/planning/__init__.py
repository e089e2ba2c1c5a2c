"""Size of a data collection: items, raters per item and replies for a target power or width."""
