"""Robustness probes: verdicts on perturbed items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.extras.probe.judge_check import check_judge, plans_in_run, plans_of_judge

__all__ = ["check_judge", "plans_in_run", "plans_of_judge"]

if TYPE_CHECKING:
    from harness.app.plan import CheckEdge
    from harness.extras import probe

    OFFERED: CheckEdge = probe
