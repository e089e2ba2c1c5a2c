"""Sizes of data collections: items, raters per item and replies for a wanted power or width."""
