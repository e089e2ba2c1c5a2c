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
    from harness.api.accepted_verdicts import trust
    from harness.api.asked_runs import Run, arun, confirm, load_run, run
    from harness.api.improvements import improve
    from harness.api.judge_checks import check
    from harness.api.revalidations import revalidate
    from harness.api.table_tasks import load_task
    from harness.api.unrated_estimates import estimate
    from harness.api.validations import confirm_verdicts, validate
    from harness.errors import HarnessError
    from harness.extras.experiments.self_test import selftest
    from harness.tasks import Task

__version__ = "0.1.0"
__all__ = [
    "HarnessError",
    "Run",
    "Task",
    "Validation",
    "arun",
    "check",
    "confirm",
    "confirm_verdicts",
    "estimate",
    "improve",
    "load_run",
    "load_task",
    "revalidate",
    "run",
    "selftest",
    "trust",
    "validate",
]
_MODULES = {  # where each stands
    "HarnessError": "errors",
    "Run": "api.asked_runs",
    "Task": "tasks",
    "Validation": "analysis",
    "arun": "api.asked_runs",
    "check": "api.judge_checks",
    "confirm": "api.asked_runs",
    "confirm_verdicts": "api.validations",
    "estimate": "api.unrated_estimates",
    "improve": "api.improvements",
    "load_run": "api.asked_runs",
    "load_task": "api.table_tasks",
    "revalidate": "api.revalidations",
    "run": "api.asked_runs",
    "selftest": "extras.experiments.self_test",
    "trust": "api.accepted_verdicts",
    "validate": "api.validations",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"harness.{_MODULES[name]}")
    except ModuleNotFoundError as error:  # of an edge that was left out
        problem = f"harness.{name} needs {error.name}, which is not installed"
        raise AttributeError(problem) from None
    attribute: object = getattr(module, name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
