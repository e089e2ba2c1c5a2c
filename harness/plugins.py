"""Plug-ins of other distributions, registered as entry points and loaded by name."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from harness.errors import PluginError

JUDGES = "judge_harness.judges"
METRICS = "judge_harness.metrics"
MAX_PROBLEM_CHARS = 200


def names(group: str) -> tuple[str, ...]:
    """Return the names registered in an entry-point group, sorted; nothing is loaded."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def load(group: str, name: str) -> Any:  # noqa: ANN401 -- whatever the entry point refers to
    """Load the object that another distribution registered under a name.

    Parameters
    ----------
    group : str
        Entry-point group: `JUDGES` or `METRICS`.
    name : str
        Name of the entry point.

    Raises
    ------
    PluginError
        If no distribution registers the name, several do, or loading fails; one line that names the
        distribution.
    """
    entries = {entry.value: entry for entry in entry_points(group=group, name=name)}
    if len(entries) != 1:
        count = "several distributions register" if entries else "no installed distribution has"
        raise PluginError(f"plug-in {name!r}: {count} it in the entry-point group {group}.")
    [entry] = entries.values()
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a plug-in may raise anything
        problem = in_one_line(error)
        source = entry.dist.name if entry.dist else entry.value
    raise PluginError(
        f"plug-in {name!r} of {source} cannot be loaded ({problem}); fix or remove it."
    )


def in_one_line(error: BaseException) -> str:
    """Return the type and message of an error of a plug-in, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:MAX_PROBLEM_CHARS]
