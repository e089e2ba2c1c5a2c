"""Parsing of replies into verdicts."""
