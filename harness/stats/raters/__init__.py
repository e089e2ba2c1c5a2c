"""Statistics of individual raters."""
