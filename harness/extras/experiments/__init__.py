"""Simulations, self-tests and the published synthetic experiments, imported when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.extras.experiments.self_test_page import selftest_section

__all__ = ["selftest_section"]

if TYPE_CHECKING:
    from harness.extras import experiments
    from harness.report.html.details import ExperimentEdge

    OFFERED: ExperimentEdge = experiments
