"""Means over a population that a judge rated fully and people rated partly."""
