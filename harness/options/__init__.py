"""Declarations of options, and options as keyword arguments."""
