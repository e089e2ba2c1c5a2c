"""From a task to a judge to a verdict: everything that meets a model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.elicit.embedded import scripted
    from harness.elicit.judges import build, load_judges, resolve
    from harness.elicit.specs import JudgeSpec

__all__ = ["JudgeSpec", "build", "load_judges", "resolve", "scripted"]

_HOMES = {
    "JudgeSpec": "harness.elicit.specs",
    "build": "harness.elicit.judges",
    "load_judges": "harness.elicit.judges",
    "resolve": "harness.elicit.judges",
    "scripted": "harness.elicit.embedded",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 -- one of the names above
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
