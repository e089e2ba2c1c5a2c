"""Simulations and the published synthetic experiments."""
