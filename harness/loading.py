"""Loading of objects by name: plug-ins, and edges that the core does not need.

An installation without an edge lacks the edge's commands, and its other features give a one-line
error. Some libraries need temporary changes to the process while they are loaded, such as
environment variables.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from harness.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from contextlib import AbstractContextManager

Offers = TypeVar("Offers")

JUDGES = "judge_harness.judges"
METRICS = "judge_harness.metrics"
STRATEGIES = "judge_harness.strategies"
MAX_PROBLEM_CHARS = 200
EDGES = {  # by name, the package that offers it
    "annotation": "harness.annotation",
    "batch": "harness.extras.batch",
    "cluster": "harness.extras.cluster",
    "curation": "harness.curation.importing",
    "estimation": "harness.estimation",
    "experiments": "harness.extras.experiments",
    "probe": "harness.extras.probe",
    "racing": "harness.extras.racing",
    "revalidation": "harness.revalidation",
}


def names(group: str) -> tuple[str, ...]:
    """Return the sorted names in an entry-point group, without loading anything.

    Distributions are read again once one was installed or removed, or ``sys.path`` was changed.
    """
    return _names(group, tuple((place, _changed_at(place)) for place in sys.path))


@cache
def _names(group: str, _places: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def _changed_at(place: str) -> int:
    """Return the modification time of a folder in ns since 1970, or 0 if there is no folder."""
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


def built_in(group: str, package: str, places: Mapping[str, str]) -> dict[str, EntryPoint]:
    """Convert names and their ``module:object`` paths to this package's entry points."""
    return {name: EntryPoint(name, f"{package}.{place}", group) for name, place in places.items()}


@cache
def _loaded(entry: EntryPoint) -> Any:  # noqa: ANN401 -- whatever the entry point refers to
    return entry.load()


def load(group: str, name: str, own: Mapping[str, EntryPoint] | None = None) -> Any:  # noqa: ANN401 -- as above
    """Load the object that an entry point registers under a name.

    Parameters
    ----------
    group : str
        Entry-point group: `JUDGES`, `METRICS` or `STRATEGIES`.
    name : str
        Name of the entry point.
    own : mapping of str to EntryPoint, optional
        This package's own entry points, which other distributions cannot replace. See `built_in`.

    Raises
    ------
    PluginError
        If no distribution registers the name, several do, or loading fails; one line that names the
        distribution.
    """
    if own is not None and name in own:
        return _loaded(own[name])
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
        f"plug-in {name!r} of {source} cannot be loaded ({problem}). Fix or remove this plug-in."
    )


def in_one_line(error: BaseException) -> str:
    """Return the type and message of a plug-in's error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:MAX_PROBLEM_CHARS]


def edge(name: str, offers: type[Offers]) -> Offers:
    """Load one of this package's edges, which `EDGES` lists.

    Parameters
    ----------
    name : str
        Name of the edge.
    offers : type
        Protocol that the edge's `__init__` implements.

    Raises
    ------
    PluginError
        If this installation lacks the edge.
    """
    del offers
    check_edge(name)
    return cast("Offers", import_module(EDGES[name]))


def check_edge(name: str) -> None:
    """Raise an error if this installation lacks an edge. The edge is not loaded.

    Raises
    ------
    PluginError
        If it was left out.
    """
    if not has_edge(name):
        raise PluginError(f"this installation of judge-harness has no {EDGES[name]}.")


def has_edge(name: str) -> bool:
    """Return whether this installation includes an edge. The edge is not loaded."""
    package, _, _ = EDGES[name].rpartition(".")
    return find_spec(package) is not None and find_spec(EDGES[name]) is not None


@contextmanager
def variables_set(**variables: str) -> Iterator[None]:
    """Set environment variables for a library, and restore them at the end of the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def silenced(loggers: Collection[str], warnings_about: Collection[str] = ()) -> Iterator[None]:
    """Silence loggers, and ignore warnings that match the given patterns."""
    own = [(logging.getLogger(name), logging.getLogger(name).level) for name in loggers]
    with warnings.catch_warnings():
        for message in warnings_about:
            warnings.filterwarnings("ignore", message)
        for logger, _ in own:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in own:
                logger.setLevel(level)


class SharedBlock:
    """Context manager that can be entered again while it is open. The last exit closes it.

    Parameters
    ----------
    opened : callable
        Returns the context manager of the block.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[None]]) -> None:
        self._opened = opened
        self._mutex = threading.Lock()
        self._n_inside = 0
        self._block = ExitStack()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Enter the block, and leave it at the end."""
        with self._mutex:
            if not self._n_inside:
                self._block.enter_context(self._opened())
            self._n_inside += 1
        try:
            yield
        finally:
            with self._mutex:
                self._n_inside -= 1
                if not self._n_inside:
                    self._block.close()
