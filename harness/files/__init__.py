"""Files: folders, logs, tables, YAML and text."""
