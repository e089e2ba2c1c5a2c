"""The weights of the language model are unpacked once for all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _shared_weights(shared_weights):
    """No test unpacks them again."""
