"""From a validation to words, tables and one page."""
