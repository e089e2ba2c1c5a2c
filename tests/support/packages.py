"""Packages of the group `check`; tests that need one are skipped where it is absent."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import pytest


def need(package: str) -> None:
    """Skip the test, or the file, without a package of the group `check`, by its name there."""
    try:
        distribution(package)
    except PackageNotFoundError:
        reason = f"no {package}, which is in the group `check`: see CONTRIBUTING.md"
        pytest.skip(reason, allow_module_level=True)


def checking(package: str, module: str) -> Any:
    """Import a module of a package of the group; without it, skip the test, or the file."""
    need(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what others write while they are imported
        return import_module(module)
