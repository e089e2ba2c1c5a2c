"""Strategies: ways of asking a judge, registered by name and written as the end of its own."""
