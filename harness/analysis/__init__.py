"""Compute all numbers of a run from its task and verdicts."""

from harness.analysis.choice_checks import check_choices
from harness.analysis.inputs import JudgeFacts, Settings, Source
from harness.analysis.judge_result import JudgeResult
from harness.analysis.prepared import compares_response_sets
from harness.analysis.result import Validation
from harness.analysis.validation import validate
from harness.options.concerns import Choices

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
