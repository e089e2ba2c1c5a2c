"""Strategies for prompting a judge, whose names are appended to a judge's name."""
