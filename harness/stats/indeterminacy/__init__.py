"""Indeterminacy: translation between response sets and forced choices, beta, and bounds."""
