"""Evaluation and selection of judges."""
