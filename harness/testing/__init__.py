"""Assertions about judges for test suites, and a pytest fixture."""

from harness.testing.judge_assertions import (
    JudgeAssertion,
    MetricAssertion,
    assert_judge,
    assert_unchanged,
)

__all__ = ["JudgeAssertion", "MetricAssertion", "assert_judge", "assert_unchanged"]
