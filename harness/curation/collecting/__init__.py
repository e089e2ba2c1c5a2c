"""Planning which ratings to collect."""
