"""Statistics of single raters."""
