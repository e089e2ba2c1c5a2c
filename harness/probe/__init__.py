"""Robustness probes: verdicts on perturbed items."""

from harness.probe.flip_rates import (
    FlipRates,
    JudgeFlips,
    Probe,
    check_judges,
    check_probe,
    flip_table,
    headline,
    is_perturbed,
    measure_flips,
    probe_of,
    summaries,
    write_probe,
)
from harness.probe.perturbations import (
    PROBES,
    TEXT_PROBES,
    Perturbation,
    ProbeName,
    perturbed_task,
    read_perturbations,
    swapped_task,
)

__all__ = [
    "PROBES",
    "TEXT_PROBES",
    "FlipRates",
    "JudgeFlips",
    "Perturbation",
    "Probe",
    "ProbeName",
    "check_judges",
    "check_probe",
    "flip_table",
    "headline",
    "is_perturbed",
    "measure_flips",
    "perturbed_task",
    "probe_of",
    "read_perturbations",
    "summaries",
    "swapped_task",
    "write_probe",
]
