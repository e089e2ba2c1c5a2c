"""The probe of a run's judges, planned with the run and asked after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.app.plan import plan_changed_items
from harness.extras.probe.perturbations import perturbed_task, read_perturbations
from harness.options.concerns import N_PROBED
from harness.runs.asked_items import items_of
from harness.runs.injection_flips import why_not_probed

if TYPE_CHECKING:
    from harness.app.plan import Plan


def plan_within(plan: Plan) -> Plan | None:
    """Plan to ask the judges of a run once more, about its first items with changed texts.

    None where none of them can be probed.

    Raises
    ------
    TaskError
        If the texts of the items cannot be changed; see `perturbed_task`.
    """
    probe = plan.config.probe
    specs = tuple(spec for spec in plan.specs if not why_not_probed(spec, plan.task))
    if probe is None or not specs:
        return None
    readable = [item for item in items_of(plan.task, plan.config) if plan.task.has_text(item)]
    changed = perturbed_task(plan.task, readable[:N_PROBED], read_perturbations(probe), probe)
    return plan_changed_items(plan, changed, specs, probe)
