"""Making tasks from tables of ratings."""
