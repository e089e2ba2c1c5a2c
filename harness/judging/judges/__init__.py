"""Kinds of judges, their configuration and prices."""
