"""Statistics for individual raters."""
