"""Pytest plugin with the fixture ``judge_run``, a finished run to make assertions about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.api.asked_runs import Run


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--judge-run`` and the setting ``judge_run``."""
    text = "the run folder that the fixture judge_run loads"
    parser.getgroup("judge-harness").addoption("--judge-run", metavar="RUN", help=text)
    parser.addini("judge_run", text)


@pytest.fixture(scope="session")
def judge_run(request: pytest.FixtureRequest) -> Run:
    """Open the run from ``--judge-run`` or ``judge_run``, a path relative to the rootdir."""
    import harness  # noqa: PLC0415 -- the plug-in imports the harness only when it's used

    config = request.config
    path = config.getoption("--judge-run") or config.getini("judge_run")
    if not path:
        pytest.fail(
            "no run is set. Pass --judge-run RUN, or set judge_run in pytest's settings",
            pytrace=False,
        )
    return harness.load_run(config.rootpath / path)
