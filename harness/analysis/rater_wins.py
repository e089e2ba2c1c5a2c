"""Compute the raters' part of the advantage probability for options, numbers and texts."""

from __future__ import annotations
