"""Raters' part of the advantage probability, on options, numbers and texts."""

from __future__ import annotations
