"""Kinds of judges, with their configuration and prices."""
