"""From a task and verdicts to every number of a run."""

from harness.validate.everything import check_settings, validate
from harness.validate.result import JudgeResult, Ranking, Validation
from harness.validate.source import JudgeFacts, Source

__all__ = [
    "JudgeFacts",
    "JudgeResult",
    "Ranking",
    "Source",
    "Validation",
    "check_settings",
    "validate",
]
