"""Render the report as one HTML page."""
