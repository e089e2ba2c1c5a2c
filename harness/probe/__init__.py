"""Prompt-injection probe: whether texts can change a judge's verdict on them."""

from harness.probe.attacks import Attack, attacked_task, read_attacks
from harness.probe.flip_rates import (
    PROBE,
    FlipRates,
    JudgeFlips,
    Probe,
    check_attacked,
    flip_table,
    headline,
    measure_flips,
    refuse_attacked,
    summaries,
)

__all__ = [
    "PROBE",
    "Attack",
    "FlipRates",
    "JudgeFlips",
    "Probe",
    "attacked_task",
    "check_attacked",
    "flip_table",
    "headline",
    "measure_flips",
    "read_attacks",
    "refuse_attacked",
    "summaries",
]
