"""Readers and writers of the formats of other tools."""
