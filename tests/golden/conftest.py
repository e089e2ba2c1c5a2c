"""A test named ``test_<kind>`` that asks for ``golden`` runs once per golden case of that kind.

The cases are those of ``answers`` and of the first truth folder. Without one, a kind that has all
its cases there is skipped with that reason.
"""

from __future__ import annotations

import pytest
from support.known_answers import golden_cases, truth_folders


def pytest_generate_tests(metafunc):
    """Give each test the cases of its kind."""
    if "golden" not in metafunc.fixturenames:
        return
    kind = metafunc.function.__name__.removeprefix("test_")
    cases = [pytest.param(case, id=case["id"]) for case in golden_cases(kind)]
    if not cases:
        assert not truth_folders(), f"no golden case is of kind {kind}"
        absent = pytest.mark.skip(reason="no truth folder: set HARNESS_TRUTH to run the goldens")
        cases = [pytest.param(None, id="no-truth", marks=absent)]
    metafunc.parametrize("golden", cases)
