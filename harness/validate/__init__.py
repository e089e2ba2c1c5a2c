"""From a task and verdicts to every number of a run."""

from harness.validate.everything import validate
from harness.validate.prepared import check_choices
from harness.validate.result import JudgeResult, Ranking, Validation
from harness.validate.source import Choices, JudgeFacts, Source

__all__ = [
    "Choices",
    "JudgeFacts",
    "JudgeResult",
    "Ranking",
    "Source",
    "Validation",
    "check_choices",
    "validate",
]
