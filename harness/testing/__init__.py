"""Assertions about judges for test suites. `pytest_plugin` adds the fixture ``judge_run``."""

from harness.testing.judge_assertions import (
    JudgeAssertion,
    MetricAssertion,
    assert_judge,
    assert_unchanged,
)

__all__ = ["JudgeAssertion", "MetricAssertion", "assert_judge", "assert_unchanged"]
