"""Rank LLM judges against several human raters.

Examples
--------
>>> import harness
>>> validation = harness.validate("diagnoses")
>>> round(validation.humans.agreement["fleiss_kappa"].value, 2)
0.43
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.api import (
        Run,
        arun,
        confirm,
        confirm_verdicts,
        load_run,
        load_task,
        revalidate,
        run,
        validate,
    )
    from harness.errors import HarnessError
    from harness.experiments.self_test import selftest
    from harness.tasks import Task

__version__ = "0.1.0"
__all__ = [
    "HarnessError",
    "Run",
    "Task",
    "Validation",
    "arun",
    "confirm",
    "confirm_verdicts",
    "load_run",
    "load_task",
    "revalidate",
    "run",
    "selftest",
    "validate",
]
_MODULES = {
    "HarnessError": "errors",
    "Task": "tasks",
    "Validation": "analysis",
    "selftest": "experiments.self_test",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute: object = getattr(import_module(f"harness.{_MODULES.get(name, 'api')}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
