"""Find systems from a judge's model family by their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LETTERS = re.compile(r"[a-z]{3,}")


def model_family(model: str) -> str:
    """Return the first word of a model's name, or "" if the name has no word.

    Examples
    --------
    >>> model_family("openai/gpt-4o"), model_family("ollama/llama3:8b"), model_family("o3")
    ('gpt', 'llama', '')
    """
    found = LETTERS.match(model.rpartition("/")[2].lower())
    return found[0] if found else ""


def of_same_family(model: str, systems: Iterable[str]) -> tuple[str, ...]:
    """Return the systems whose names contain the first word of the judge's model name.

    Examples
    --------
    >>> of_same_family("openai/gpt-4o", ["GPT-4", "my-llama", "the gpt one"])
    ('GPT-4', 'the gpt one')
    """
    family = model_family(model)
    return tuple(name for name in systems if family and family in LETTERS.findall(name.lower()))
