"""A test named ``test_<kind>`` that asks for ``golden`` runs once per golden case of that kind.

The cases are those of the first truth folder. Without one, the tests are skipped with that reason.
"""

from __future__ import annotations

import pytest
from support.known_answers import golden_cases, truth_folders


def pytest_generate_tests(metafunc):
    """Give each test the cases of its kind."""
    if "golden" not in metafunc.fixturenames:
        return
    if truth_folders():
        kind = metafunc.function.__name__.removeprefix("test_")
        cases = [pytest.param(case, id=case["id"]) for case in golden_cases(kind)]
        assert cases, f"no golden case is of kind {kind}"
    else:
        absent = pytest.mark.skip(reason="no truth folder: set HARNESS_TRUTH to run the goldens")
        cases = [pytest.param(None, id="no-truth", marks=absent)]
    metafunc.parametrize("golden", cases)
