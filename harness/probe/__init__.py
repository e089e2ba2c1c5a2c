"""What moves a judge's verdict that should not: texts that ask for a verdict of their own."""

from harness.probe.attacks import Attack, attacked_task, read_attacks
from harness.probe.flip_rates import (
    PROBE,
    JudgeFlips,
    Probe,
    Shares,
    check_attacked,
    flips_of,
    refuse_attacked,
)

__all__ = [
    "PROBE",
    "Attack",
    "JudgeFlips",
    "Probe",
    "Shares",
    "attacked_task",
    "check_attacked",
    "flips_of",
    "read_attacks",
    "refuse_attacked",
]
