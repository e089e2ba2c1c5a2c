"""Options, rating tables, labels and their aggregation."""
