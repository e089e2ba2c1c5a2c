"""Simulations, self-tests and the published synthetic experiments; imported when used."""

from __future__ import annotations

from harness.extras.experiments.self_test_page import selftest_section

__all__ = ["selftest_section"]
