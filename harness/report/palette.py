"""Colours: one accent, and Okabe and Ito's palette where judges must be told apart."""

from __future__ import annotations

import re

# Name -> (on light, on dark). Text and marks keep a contrast of at least 4.5 and 3 to the ground.
PALETTE: dict[str, tuple[str, str]] = {
    "ground": ("#fbfaf7", "#14161a"),
    "card": ("#ffffff", "#1c1f25"),
    "ink": ("#1c2026", "#e9e7e2"),
    "quiet": ("#59616d", "#a3abb6"),
    "line": ("#dedad2", "#343a44"),
    "soft": ("#f1eee8", "#23272e"),
    "accent": ("#0067a5", "#62b8ec"),
    "tint": ("#e3eff7", "#17303f"),
    "pale": ("#8f98a3", "#737c88"),
    "warn": ("#a63f00", "#f0935a"),
    # Okabe and Ito 2008; on light ground the pale ones are darkened until they reach 3 to 1
    "j0": ("#0072b2", "#56a8e0"),
    "j1": ("#d55e00", "#e8813a"),
    "j2": ("#00815e", "#22b98c"),
    "j3": ("#b3588d", "#d98fb9"),
    "j4": ("#b27a00", "#e9b03a"),
    "j5": ("#2f8fc4", "#8fd0f5"),
    "j6": ("#1c2026", "#e9e7e2"),
    "j7": ("#87800f", "#e6dc55"),
}
_VARIABLE = re.compile(r"var\(--(\w+)\)")


def variables() -> str:
    """Return the palette as CSS custom properties that follow the colour scheme."""
    pairs = (f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items())
    return f":root {{ {' '.join(pairs)} }}\n"


def plain(style: str) -> str:
    """Return a style sheet with its variables replaced by the colours on light ground."""
    return _VARIABLE.sub(lambda found: PALETTE[found[1]][0], style)
