"""From a task and verdicts to every number of a run."""

from harness.analysis.estimates import check_choices, compares_response_sets
from harness.analysis.inputs import JudgeFacts, Settings, Source
from harness.analysis.result import JudgeResult, Validation
from harness.analysis.validation import validate
from harness.command_options import Choices

__all__ = [
    "Choices",
    "JudgeFacts",
    "JudgeResult",
    "Settings",
    "Source",
    "Validation",
    "check_choices",
    "compares_response_sets",
    "validate",
]
