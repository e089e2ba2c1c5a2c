"""A task folder read into one checked, frozen value: options, items and human ratings."""

from __future__ import annotations
