"""What went wrong stands once in the output of a run."""

from __future__ import annotations

import pytest

from harness.cli.progress import watch


@pytest.mark.parametrize("quiet", [True, False])
def test_why_a_judge_is_incomplete_was_printed_before_the_result_and_in_it(capsys, quiet):
    """A run has it as a note of its result; a probe, whose result has no notes, says it."""
    with watch({"gone": 4}, quiet=quiet, says_why=False) as observer:
        observer.ended("gone", "unreachable")
    assert "incomplete" not in capsys.readouterr().err
    with watch({"gone": 4}, quiet=quiet) as observer:
        observer.ended("gone", "unreachable")
    assert "gone is incomplete (unreachable: " in capsys.readouterr().err


def test_the_same_counts_were_printed_twice_at_the_end(capsys):
    """The last line of a judge repeats none before it."""
    with watch({"gone": 4}, quiet=False) as observer:
        observer.ended("gone", "")
        observer.ended("gone", "")
    assert capsys.readouterr().err.count("gone: 0/4 replies") == 1
