"""Property tests draw a few examples in the default tests, and all of them in the slow ones."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CI = Path(__file__).resolve().parents[1] / ".ci" / "run"


def drawn_by(profile):
    """Return the examples that a law is tested with."""
    seen = []

    @settings(settings.get_profile(profile))
    @given(st.integers())
    def law(number):
        seen.append(number)

    law()
    return seen


@pytest.mark.parametrize(("profile", "n"), [("few", 20), ("all", 100)])
def test_a_profile_draws_its_number_of_examples_and_the_same_in_every_run(profile, n):
    """The few are the first of all."""
    examples = drawn_by(profile)
    assert len(examples) == n
    assert drawn_by(profile) == examples
    assert drawn_by("all")[:n] == examples


def test_every_law_is_tested_with_all_examples_in_ci():
    """The line of the slow tests also runs the laws that the default tests try with a few."""
    [slow] = [
        line
        for line in CI.read_text("utf-8").splitlines()
        if "-m pytest" in line and "slow" in line
    ]
    words = shlex.split(slow)
    assert "slow or hypothesis" in words
    assert "--hypothesis-profile=all" in words
