"""Edges: packages that the core does not need, loaded by name.

Without an edge its commands are gone, and what else it offers is refused in one line.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from harness.errors import PluginError

EDGES = {
    name: f"harness.{name}"
    for name in (
        "annotation",
        "batch",
        "cluster",
        "curation",
        "estimation",
        "experiments",
        "interop",
        "probe",
        "racing",
        "revalidation",
    )
}


def edge(name: str) -> Any:  # noqa: ANN401 -- its `__init__` says what it offers
    """Load an edge of this package, one of `EDGES`.

    Raises
    ------
    PluginError
        If it was left out of this installation.
    """
    try:
        return import_module(EDGES[name])
    except ModuleNotFoundError as error:
        if error.name != EDGES[name]:
            raise
    raise PluginError(f"this installation of judge-harness has no {EDGES[name]}.")


def has_edge(name: str) -> bool:
    """Whether an edge is in this installation; it is not loaded."""
    return find_spec(EDGES[name]) is not None
