"""Strategies for prompting a judge, registered by name and appended to a judge's name."""
