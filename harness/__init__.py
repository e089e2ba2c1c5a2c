"""Ranks LLM judges by how well they agree with people, who need not agree with each other."""

__version__ = "0.1.0"
