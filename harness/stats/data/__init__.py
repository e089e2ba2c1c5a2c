"""Options, rating tables, labels and aggregated ratings."""
