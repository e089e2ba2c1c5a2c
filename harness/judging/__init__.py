"""Asking judges: prompts, judges, parsing, running and storage."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.judging.judges.config import JudgeSpec, load_judges
    from harness.judging.judges.embedded import scripted
    from harness.judging.judges.judge_registry import build, resolve

__all__ = ["JudgeSpec", "build", "load_judges", "resolve", "scripted"]

_HOMES = {
    "JudgeSpec": "harness.judging.judges.config",
    "build": "harness.judging.judges.judge_registry",
    "load_judges": "harness.judging.judges.config",
    "resolve": "harness.judging.judges.judge_registry",
    "scripted": "harness.judging.judges.embedded",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 -- one of the names above
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
