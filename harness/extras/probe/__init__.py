"""Robustness probes: verdicts on perturbed items."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.app.plan import Plan, ProbeEdge
    from harness.extras import probe
    from harness.runs.run_folder import RunFolder

    OFFERED: ProbeEdge = probe


def plan_within(plan: Plan) -> Plan | None:
    """Plan the probe of a run's judges; see `harness.extras.probe.within_run.plan_within`."""
    from harness.extras.probe import within_run  # noqa: PLC0415 -- it imports plans, which load this

    return within_run.plan_within(plan)


def write_flips(folder: RunFolder, plan: Plan) -> None:
    """Write the flip rates of a run that followed a plan; see `write_probe`."""
    from harness.extras.probe import flip_rates  # noqa: PLC0415 -- scipy, after the last reply

    flip_rates.write_probe(folder, plan)
