"""File handling: folders, logs, tables, YAML and text."""
